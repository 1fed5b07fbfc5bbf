"""`QueryOptimizer`: the read path, one stage after the other.

    text ─ parse ─▶ ParsedQuery ─ plan ─▶ RetrievalPlan ─ rewrite? ─▶ embed ─▶ arms in parallel under one deadline
         ─▶ candidates ─ fuse ─▶ rerank? ─▶ diversify? ─▶ negation ─▶ fetch ─▶ privacy ─ pack ─ explain ─▶ RecallResult

Every stage that can fail has a fallback, and its use is named in `RecallResult.degraded`.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import math
import statistics
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeVar
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import RecallConfig
from recall_integrations.delivery import packing, privacy
from recall_integrations.delivery.explanation import reason
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.errors import InvalidArgument, InvalidFilter, RecallError, StoreClosed
from recall_integrations.planning.planner import make_plan, worth_asking
from recall_integrations.query.entities.fallback import EntityFallback
from recall_integrations.query.entities.implicit import USER, implicit_user
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.parser import QueryParser, ScopeKnowledge, Settled, Spans, clean
from recall_integrations.ranking.diversify import mmr
from recall_integrations.ranking.duplicates import fold
from recall_integrations.ranking.exact import exact_shares
from recall_integrations.ranking.fusion import Fused, FusionInput, fuse, lifted
from recall_integrations.ranking.gate import GateSettings
from recall_integrations.ranking.multi_stage import MultiStage
from recall_integrations.ranking.negation import demote, negation_scores
from recall_integrations.ranking.ranker import Ranker
from recall_integrations.ranking.rerank import resolve_reranker
from recall_integrations.ranking.rerank_stage import RerankRequest, RerankSettings, RerankStage
from recall_integrations.ranking.stage import EXACT_POOL, RankInput, rank, resolve_ranker
from recall_integrations.records import (
    ArmPlan,
    Contribution,
    Degradation,
    EntityRef,
    Filters,
    Hit,
    Memory,
    ParsedQuery,
    RecallResult,
    RerankOutcome,
    RetrievalPlan,
    RewriteOutcome,
    Scope,
    TemporalWindow,
    checked_scope,
    checked_time,
    indexed_text,
)
from recall_integrations.resilience.daemons import DaemonThreads
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.retrievers import fan_out
from recall_integrations.retrievers.base import Arm, ArmRequest, ArmResult
from recall_integrations.retrievers.graph import GraphRetriever
from recall_integrations.retrievers.lexical import LexicalRetriever
from recall_integrations.retrievers.semantic import SemanticRetriever
from recall_integrations.retrievers.temporal import TemporalRetriever
from recall_integrations.retrievers.type_filter import TypeFilterRetriever
from recall_integrations.rewriting.llm import resolve_llm
from recall_integrations.rewriting.rewrite import parse_rewrites, prompt_for, skip_reason
from recall_integrations.store.filtering import window_mask
from recall_integrations.store.memory_store import MemoryStore, utc_now
from recall_integrations.store.scope_view import TYPE_CODES, Mask, ScopeView

T = TypeVar("T")
CONTEXT_MAX = 50  # memories before and after a hit
FOLD_POOL = 200  # candidates among which repeats are looked for, where many repeat each other
NEGATION_POOL = 50  # candidates whose text is compared with the negated terms
# Of the time left, for a rewrite or an embedding that may be slow; the rest is for the arms.
SHARE_BEFORE_ARMS = 0.6
REWRITES_REMEMBERED = 32  # recent rewrite durations that the budget check looks at


@dataclass(slots=True)
class _Run:
    """What one recall gathers on its way."""

    deadline: Deadline
    degraded: list[Degradation] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + (time.perf_counter() - begin) * 1e3

    def failed(self, stage: str, error: BaseException, code: str | None = None) -> None:
        named = code or (error.code.lower() if isinstance(error, RecallError) else "error")
        self.degraded.append(Degradation(stage=stage, reason=named, detail=f"{type(error).__name__}: {error}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """The checked arguments of a recall."""

    text: str
    k: int
    scope: Scope
    filters: Filters
    now: datetime
    time_budget_ms: float
    tokens_max: int | None
    privacy: str
    window: TemporalWindow | Literal[False] | None
    zone: ZoneInfo | None
    context: int
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the arms look at: the scope's columns, the rows that may be returned, how many memories hold a stem, and as
    soon as they are there the query's vectors and their cosines."""

    view: ScopeView
    allowed: Mask | None
    frequency: Callable[[str], int]
    vectors: NDArray[np.float32] | None = None
    similarities: NDArray[np.float32] | None = None


class QueryOptimizer:
    """Understands a query, asks the arms that are worth asking, and says why each hit is there.

    Args:
        store: where the memories are.
        llm: for query rewrites: a LangChain chat model / LLM / Runnable, a LlamaIndex LLM, or `Callable[[str], str]`.
        reranker: a sentence-transformers cross-encoder name or path, a LangChain document compressor, a LlamaIndex
            node postprocessor, or `Callable[[str, list[str]], list[float]]`.
        ranker: orders the candidates instead of the one that `fusion.strategy` names.
        config: all settings.
        clock: where `now` comes from when a call does not give it.

    Threads may share one optimizer. `close` stops its threads; the store stays open.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        llm: Any = None,
        reranker: Any = None,
        ranker: Ranker | None = None,
        config: RecallConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        if not isinstance(store, MemoryStore):
            raise InvalidArgument(
                f"store must be a MemoryStore, not {type(store).__name__}. Use MemoryStore.open(...)."
            )
        self.store = store
        self.config = config or store.config
        self._llm_source, self._llm = llm, resolve_llm(llm)
        self._reranker_source, self._reranker = reranker, resolve_reranker(reranker)
        self._clock = clock
        self._parser = QueryParser(self.config)
        self._ranker_source = ranker
        self._ranker = ranker
        if ranker is None and self.config.ranking.features:
            self._ranker = resolve_ranker(self.config.fusion)
        self._rewrite_ms: deque[float] = deque(maxlen=REWRITES_REMEMBERED)
        self._rewrite_lock = threading.Lock()
        workers = self.config.limits.workers
        # Arms and whole recalls have pools of their own: a recall that waits for its arms must not hold their threads.
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="recall-arm")
        self._callers = ThreadPoolExecutor(workers, thread_name_prefix="recall-async")
        # What users bring (LLM, cross-encoder) may hang; it must not take the arms' threads with it.
        self._outside = DaemonThreads(workers, "recall-model")
        self._unsure = EntityFallback(
            self._llm, self._outside.submit, timeout_ms=self.config.query.entity_llm_timeout_ms
        )
        self._stages, self._reranking = self._rerank_stage()
        retrieval = self.config.retrieval
        graph = GraphRetriever(
            store.engine,
            store.entities,
            hops=retrieval.graph_hops,
            neighbours=retrieval.graph_neighbours,
            mentions=retrieval.graph_mentions,
        )
        temporal, types = TemporalRetriever(store.engine), TypeFilterRetriever()
        # Arms over an index are made per call: opening the index is a part of the arm that may fail.
        self._arms: dict[str, Callable[[], Arm]] = {
            "semantic": fan_out.InMemory(
                lambda: SemanticRetriever(lambda: store.semantic, store.indexes.home_of, overfetch=retrieval.overfetch)
            ),
            "lexical": lambda: LexicalRetriever(store.lexical, overfetch=retrieval.overfetch),
            "graph": lambda: graph,
            "temporal": fan_out.InMemory(lambda: temporal),
            "type_filter": fan_out.InMemory(lambda: types),
        }
        self._finalizer = weakref.finalize(self, _shutdown, self._pool, self._callers)

    def _rerank_stage(self) -> tuple[MultiStage, RerankStage | None]:
        r, limits = self.config.ranking, self.config.limits
        stages = MultiStage(coarse_factor=r.coarse_factor, score_percentile=r.score_percentile)
        if self._reranker is None:
            return stages, None
        gate = GateSettings(
            min_k=r.rerank_min_k,
            answer=r.rerank_answer,
            regret_max=r.rerank_regret_max,
            risk=r.rerank_risk,
            budget_ms=limits.rerank_budget_ms,
            skip_when_slow=r.disable_rerank_when_slow,
        )
        settings = RerankSettings(
            gate=gate,
            top_n=r.rerank_top_n,
            weight=r.rerank_weight,
            threshold=r.rerank_threshold,
            failures_max=r.rerank_failures_max,
            open_s=r.rerank_open_s,
        )
        return stages, RerankStage(self._reranker, settings, self._outside.submit)

    def warm(self, timeout: float | None = None) -> None:
        """Load the cross-encoder's model, if there is one, so that no recall has to go without it.

        Raises:
            RerankError: it cannot be loaded.
            TimeoutError: it was not ready within `timeout` seconds; loading goes on.
        """
        loading = None if self._reranking is None else self._reranking.warm()
        if loading is not None:
            loading.result(timeout)

    def close(self) -> None:
        """Stop the threads. Recalls that are under way lose their arms; later ones raise `StoreClosed`."""
        self._finalizer()

    def __deepcopy__(self, _memo: dict[int, Any]) -> QueryOptimizer:
        return self  # threads and an open store are shared, not copied

    def __reduce__(self) -> Any:
        """Pickles what it was made from. The copy uses the store that is open in its process, or opens it there."""
        store = self.store
        return _reopen, (
            str(store.path.resolve()),
            store.embedding_source,
            self.config,
            self._llm_source,
            self._reranker_source,
            self._ranker_source,
            self._clock,
        )

    # -- the public read side --------------------------------------------------------------------------------------

    def parse(
        self,
        query: str,
        *,
        scope: Scope | None = None,
        now: datetime | None = None,
        window: TemporalWindow | Literal[False] | None = None,
        timezone: str | None = None,
    ) -> ParsedQuery:
        """Understand a query without searching. Arguments as for `recall`.

        Raises:
            InvalidQuery: empty, blank, too long, or not valid text.
            InvalidArgument: a naive `now`, an unknown time zone, a window that is none.
        """
        text = clean(query, self.config.limits.query_chars_max)
        where, moment, zone = checked_scope(scope), self._now(now), _checked_zone(timezone)
        known = self._knowledge(where)
        return self._parser.parse(text, moment, known, window=_checked_window(window), zone=zone)[0]

    def plan(self, parsed: ParsedQuery) -> RetrievalPlan:
        """What would be done about a parsed query. Pure."""
        return make_plan(parsed, self.config)

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        scope: Scope | None = None,
        filters: Filters | None = None,
        now: datetime | None = None,
        time_budget_ms: float | None = None,
        tokens_max: int | None = None,
        privacy: str = "allow",
        window: TemporalWindow | Literal[False] | None = None,
        timezone: str | None = None,
        context: int = 0,
        query_vector: Any = None,
    ) -> RecallResult:
        """Find the memories that answer a query.

        Args:
            query: a question or words, up to `limits.query_chars_max` characters.
            k: how many hits are wanted; exactly that many come back where there are that many.
            scope: the tenant; default `Scope()`.
            filters: hard conditions.
            now: what "yesterday" is relative to; timezone-aware; default the optimizer's clock.
            time_budget_ms: the deadline; default `limits.time_budget_ms`. Arms that are late are left out and named.
            tokens_max: keep the hits' texts together within about this many tokens.
            privacy: `allow`, `redact` (personal data is replaced) or `block` (no text at all). It is about what the
                caller gets: an embedding, LLM or reranker that you configure sees the query, the reranker texts too,
                and with `query.entity_llm` the LLM up to 20 names of entities.
            window: the time that is asked for, instead of what the query says: `TemporalWindow(start=…, end=…)`; with
                `False` no dates are read at all.
            timezone: IANA name of the zone in which "yesterday" is read; default `timezone` of the configuration.
            context: of each hit, so many memories before and after it in its thread come along.
            query_vector: the query's embedding, if the caller has it already.

        Raises:
            InvalidQuery, InvalidArgument, InvalidScope, InvalidFilter: nothing was searched.
            StoreClosed: the store was closed.
        """
        request = self._request(
            query, k, scope, filters, now, time_budget_ms, tokens_max, privacy, window, timezone, context, query_vector
        )
        return self._recall(request, Deadline.after(request.time_budget_ms))

    async def arecall(
        self,
        query: str,
        *,
        k: int = 5,
        scope: Scope | None = None,
        filters: Filters | None = None,
        now: datetime | None = None,
        time_budget_ms: float | None = None,
        tokens_max: int | None = None,
        privacy: str = "allow",
        window: TemporalWindow | Literal[False] | None = None,
        timezone: str | None = None,
        context: int = 0,
        query_vector: Any = None,
    ) -> RecallResult:
        """`recall` without blocking the event loop: the same path, in a thread. Cancelling it stops its arms."""
        request = self._request(
            query, k, scope, filters, now, time_budget_ms, tokens_max, privacy, window, timezone, context, query_vector
        )
        deadline = Deadline.after(request.time_budget_ms)
        run = functools.partial(contextvars.copy_context().run, self._recall, request, deadline)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._callers, run)
        except asyncio.CancelledError:
            deadline.cancel()
            raise

    # -- the read path ---------------------------------------------------------------------------------------------

    def _recall(self, request: _Request, deadline: Deadline) -> RecallResult:
        begin = time.perf_counter()
        run = _Run(deadline)
        with run.stage("parse"):
            known = self._knowledge(request.scope, deadline)
            parsed, problems = self._parser.parse(
                request.text, request.now, known, window=request.window, zone=request.zone
            )
            run.degraded.extend(problems)
        with run.stage("plan"):
            plan = make_plan(parsed, self.config)
            parsed = replace(parsed, type_hints=plan.type_hints)
        parsed, rewrite = self._rewrite(parsed, plan, run)
        scope_id = self.store.scope_id(request.scope)
        hits: tuple[Hit, ...] = ()
        confidence: float | None = None
        rerank = RerankOutcome()
        if scope_id is not None:
            with run.stage("view"):
                view = self.store.view(scope_id)
                allowed = self.store.filter_mask(view, request.filters, request.now)
                self._admit_lag(run)
                seen, typed = self._typed(plan, _Seen(view=view, allowed=allowed, frequency=known.frequency), request.k)
                asked = [arm for arm in plan.arms if worth_asking(arm, parsed, plan)]
                fan = fan_out.FanOut(self._pool, self._arms, run.deadline, run.timings_ms)
                # Words need no vector: the lexical arm works while the query is embedded and compared.
                fan.start(self._requests([a for a in asked if a.name == "lexical"], parsed, plan, seen, request.k, run))
            vectors = self._embed(parsed, request, plan, run)
            with run.stage("scan"):
                seen = replace(seen, vectors=vectors, similarities=view.scan(vectors))
            with run.stage("retrieve"):
                fan.start(self._requests([a for a in asked if a.name != "lexical"], parsed, plan, seen, request.k, run))
                results, late = fan.collect([arm.name for arm in asked])
            run.degraded.extend(late)
            with run.stage("fuse"):
                given = FusionInput(
                    view=view,
                    plan=plan,
                    vectors=vectors,
                    similarities=seen.similarities,
                    window=parsed.temporal_window,
                    now=request.now,
                )
                fused, confidence = self._order(results, given, parsed, seen, request.k, run)
            fused, reranked, rerank = self._rerank(parsed, plan, view, fused, request.k, run)
            fused = self._diversify(plan, view, fused, request.k, run)
            fused = fused if typed is None else _first(fused, typed)
            fused, demoted = self._negate(parsed, view, fused, request.k, run)
            fused, folded = self._fold(view, fused, request.k, run)
            if not self._abstains(fused, confidence, run):
                hits = self._deliver(parsed, view, allowed, fused, reranked, demoted, folded, request, run)
        run.timings_ms["total"] = (time.perf_counter() - begin) * 1e3
        query, plan, degraded = _withheld(parsed, plan, run.degraded, request.privacy)
        return RecallResult(
            hits=hits,
            query=query,
            plan=plan,
            rewrite=rewrite,
            rerank=rerank,
            degraded=degraded,
            timings_ms={name: round(ms, 3) for name, ms in dict(run.timings_ms).items()},
            confidence=confidence if confidence is not None else hits[0].score if hits else 0.0,
        )

    def _rewrite(self, parsed: ParsedQuery, plan: RetrievalPlan, run: _Run) -> tuple[ParsedQuery, RewriteOutcome]:
        """Alternative phrasings by the LLM, where one is configured and worth its time."""
        if self._llm is None:
            return parsed, RewriteOutcome()
        skip = "skip.specific_query" if not plan.rewrite else skip_reason(parsed.original)
        budget = min(self.config.limits.rewrite_timeout_ms, run.deadline.remaining_ms() * SHARE_BEFORE_ARMS)
        if skip is None and self._too_slow_for(budget):
            skip = "skip.budget"
        if skip is not None:
            return parsed, RewriteOutcome(strategy="skipped", reason=skip)
        begin = time.perf_counter()
        with run.stage("rewrite"):
            future = self._outside.submit(self._llm, prompt_for(parsed.original))
            try:
                rewrites = parse_rewrites(future.result(timeout=budget / 1e3), parsed.original)
                why = "success" if rewrites else "failure.empty"
            except FutureTimeout:
                rewrites, why = (), "failure.timeout"
                future.cancel()
            except Exception as e:  # noqa: BLE001 - a rewrite is an optimisation; its failure is named in the result
                rewrites, why = (), "failure.error"
                run.failed("rewrite", e)
        duration = (time.perf_counter() - begin) * 1e3
        with self._rewrite_lock:
            self._rewrite_ms.append(duration)
        outcome = RewriteOutcome(
            strategy="llm" if rewrites else "fallback", reason=why, duration_ms=duration, used=bool(rewrites)
        )
        return replace(parsed, rewrites=rewrites), outcome

    def _too_slow_for(self, budget_ms: float) -> bool:
        """Whether recent rewrites took longer than there is time. What is refused by fades, so that a model that was
        slow once (cold, say) is tried again."""
        with self._rewrite_lock:
            if not self._rewrite_ms or statistics.median(self._rewrite_ms) <= budget_ms:
                return False
            self._rewrite_ms.popleft()
            return True

    def _embed(
        self, parsed: ParsedQuery, request: _Request, plan: RetrievalPlan, run: _Run
    ) -> NDArray[np.float32] | None:
        """Vectors of the query and its rewrites, `(1 + r, d)`; `None` if the embedding failed or is not needed."""
        if plan.arm("semantic") is None:
            return None
        with run.stage("embed"):
            readings = [] if parsed.reread is None else [parsed.reread]
            texts = [*([] if request.vector is not None else [parsed.original]), *readings, *parsed.rewrites]
            given = [] if request.vector is None else [request.vector]
            try:
                if not texts or isinstance(self.store.embedding, StaticEmbedding):  # microseconds; a thread costs more
                    return np.stack([*given, *map(self.store.embedding.embed_query, texts)])
                future = self._outside.submit(lambda: [self.store.embedding.embed_query(t) for t in texts])
                return np.stack([*given, *future.result(run.deadline.remaining() * SHARE_BEFORE_ARMS)])
            except FutureTimeout as e:
                run.failed("embed", e, "timeout")
                return None
            except Exception as e:  # noqa: BLE001 - users bring embeddings; words and graph still answer
                run.failed("embed", e)
                return None

    def _requests(
        self, arms: Sequence[ArmPlan], parsed: ParsedQuery, plan: RetrievalPlan, seen: _Seen, k: int, run: _Run
    ) -> list[tuple[str, ArmRequest]]:
        """What to ask of arms."""
        return [
            (
                arm.name,
                ArmRequest(
                    parsed=parsed,
                    plan=plan,
                    view=seen.view,
                    vectors=seen.vectors,
                    similarities=seen.similarities,
                    terms=parsed.terms,
                    allowed=self._windowed(parsed, plan, seen) if arm.name == "graph" else seen.allowed,
                    limit=max(arm.limit, k) if self._reranking is None else self._stages.coarse(k, arm.limit),
                    deadline=run.deadline,
                    frequency=seen.frequency,
                ),
            )
            for arm in arms
        ]

    @staticmethod
    def _typed(plan: RetrievalPlan, seen: _Seen, k: int) -> tuple[_Seen, Mask | None]:
        """Where the plan filters by type: only such memories, if there are k of them; else those to be put first."""
        if not plan.type_filter:
            return seen, None
        wanted = np.isin(seen.view.types, [TYPE_CODES[t.value] for t in plan.type_hints])
        allowed = wanted if seen.allowed is None else wanted & seen.allowed
        count = int((allowed & seen.view.alive).sum())
        if count >= k:
            return replace(seen, allowed=allowed), None
        return seen, wanted if count else None

    def _order(
        self, results: Sequence[ArmResult], given: FusionInput, parsed: ParsedQuery, seen: _Seen, k: int, run: _Run
    ) -> tuple[Fused, float | None]:
        """One list from those of the arms: ranked by its features, or by the fusion of the arms' scores."""
        view, settings = given.view, self.config.fusion
        if self._ranker is not None and view.text is not None:
            try:
                wanted = RankInput(
                    fusion=given,
                    parsed=parsed,
                    frequency=seen.frequency,
                    count=view.count,
                    allowed=seen.allowed,
                    texts=functools.partial(self._texts, view),
                    k=k,
                )
                ranked = rank(results, wanted, view.text, self._ranker, settings)
            except Exception as e:  # noqa: BLE001 - named in the result; the arms' own scores still order
                run.failed("rank", e)
            else:
                return ranked.fused, ranked.confidence
        fused = fuse(results, given, settings)
        n = min(len(fused.rows), max(EXACT_POOL, 2 * k))
        if not given.plan.exact_match or not n:
            return fused, None
        shares = np.zeros(len(fused.rows), dtype=np.float32)
        shares[:n] = exact_shares(self._texts(view, fused.rows[:n]), parsed.identifiers)
        return lifted(view, fused, "exact", shares, settings.exact), None

    @staticmethod
    def _windowed(parsed: ParsedQuery, plan: RetrievalPlan, seen: _Seen) -> Mask | None:
        """For an entity plan with a sure window: only what lies in it, unless nothing does.

        Who asks for a relation wants it whenever it was stated: "who reports to Priya since March".
        """
        window = parsed.temporal_window
        if not plan.window_filter or window is None or parsed.predicate_hints:
            return seen.allowed
        inside = window_mask(seen.view, window.start, window.end)
        if seen.allowed is not None:
            inside &= seen.allowed
        return inside if bool((inside & seen.view.alive).any()) else seen.allowed

    def _rerank(
        self, parsed: ParsedQuery, plan: RetrievalPlan, view: ScopeView, fused: Fused, k: int, run: _Run
    ) -> tuple[Fused, dict[int, Contribution], RerankOutcome]:
        """Let the cross-encoder order the best candidates, where its gate lets it. They share out the scores."""
        if self._reranking is None:
            return fused, {}, RerankOutcome()
        n = self._stages.survivors(fused.scores, k)
        if n < len(fused.rows):
            fused = fused.take(np.arange(n, dtype=np.int64), fused.scores[:n])
        with run.stage("rerank"):
            done = self._reranking.run(
                RerankRequest(
                    query=parsed.original,
                    calibrated=fused.scores,
                    texts=lambda count: self._texts(view, fused.rows[:count]),
                    k=k,
                    allowed=plan.rerank,
                    deadline=run.deadline,
                )
            )
        run.degraded.extend(done.degraded)
        scores = fused.scores[: len(done.order)]
        place_of = {int(before): after for after, before in enumerate(done.order)}
        judged = {
            int(fused.rows[before]): Contribution(
                source="rerank",
                rank=said.rank,
                score=said.score,
                added=float(scores[place_of[before]] - fused.scores[before]),
                note=str(said.band or ""),
            )
            for before, said in done.judged.items()
            if before in place_of
        }
        return fused.take(done.order, scores), judged, done.outcome

    def _diversify(self, plan: RetrievalPlan, view: ScopeView, fused: Fused, k: int, run: _Run) -> Fused:
        """Maximal marginal relevance over the best candidates, where the plan asks for it."""
        n = min(len(fused.rows), max(2 * k, 20))
        if not plan.diversity or view.vectors is None or n < 3:
            return fused
        with run.stage("diversify"):
            vectors = np.asarray(view.vectors[fused.rows[:n]], dtype=np.float32)
            order = mmr(_relevance(fused.scores[:n]), vectors, n, self.config.ranking.diversity_lambda)
            return fused.take(np.concatenate([order, np.arange(n, len(fused.rows))]), fused.scores)

    def _negate(
        self, parsed: ParsedQuery, view: ScopeView, fused: Fused, k: int, run: _Run
    ) -> tuple[Fused, frozenset[int]]:
        """Move candidates that are about a negated term below the others; nothing is removed."""
        n = min(len(fused.rows), max(NEGATION_POOL, 2 * k))
        if not parsed.negations or not n:
            return fused, frozenset()
        with run.stage("negation"):
            against = negation_scores(self._texts(view, fused.rows[:n]), parsed.negations)
            moved = demote(fused.scores[:n], against, self.config.ranking.negation_threshold)
            order = np.concatenate([moved.order, np.arange(n, len(fused.rows))])
            scores = np.concatenate([moved.scores, np.minimum(fused.scores[n:], moved.scores.min())]).astype(np.float32)
            demoted = frozenset(
                int(fused.rows[i])
                for i in np.flatnonzero((against > self.config.ranking.negation_threshold).any(axis=1))
            )
            return fused.take(order, scores), demoted

    def _abstains(self, fused: Fused, confidence: float | None, run: _Run) -> bool:
        """Whether too little was found to be worth returning."""
        least = self.config.ranking.abstain_below
        sure = confidence if confidence is not None else float(fused.scores.max(initial=0))
        if not sure < least:
            return False
        detail = f"The confidence {sure:.2f} is below ranking.abstain_below {least:g}."
        run.degraded.append(Degradation(stage="deliver", reason="abstain", detail=detail))
        return True

    def _deliver(
        self,
        parsed: ParsedQuery,
        view: ScopeView,
        allowed: Mask | None,
        fused: Fused,
        reranked: dict[int, Contribution],
        demoted: frozenset[int],
        folded: dict[int, list[int]],
        request: _Request,
        run: _Run,
    ) -> tuple[Hit, ...]:
        """Fetch the best k, explain them, withhold what privacy asks for, keep within the token budget."""
        with run.stage("deliver"):
            memories = self._fetch(view, fused.rows, request.k)
            around = self._around(view, allowed, [int(fused.rows[p]) for p, _ in memories], request, run)
            made_of = _contributions(fused, [place for place, _ in memories], reranked)
            hits = []
            for place, memory in memories:
                row, parts = int(fused.rows[place]), made_of[place]
                shown = privacy.apply(memory, request.privacy)
                said = None
                if view.text is not None and request.privacy == "allow":  # else only what is shown may be spoken of
                    said = view.text.held(row, parsed.terms)
                why = reason(parsed, shown, parts, demoted=row in demoted, mode=request.privacy, said=said)
                hits.append(
                    Hit(
                        memory=shown,
                        score=float(fused.scores[place]),
                        reason=why,
                        contributions=parts,
                        duplicates=tuple(view.ids[i] for i in folded.get(row, ())),
                        context=around.get(row, ()),
                    )
                )
            kept: Sequence[Hit] = hits
            if request.tokens_max is not None:
                kept, dropped = packing.pack(hits, request.tokens_max)
                if dropped:
                    detail = f"{dropped} hits did not fit into {request.tokens_max} tokens."
                    run.degraded.append(Degradation(stage="pack", reason="budget.tokens", detail=detail))
            return tuple(kept)

    def _fold(self, view: ScopeView, fused: Fused, k: int, run: _Run) -> tuple[Fused, dict[int, list[int]]]:
        """Leave out what repeats a better candidate, as far down as k hits need; leader row -> rows folded in."""
        threshold = self.config.ranking.duplicate_similarity
        if len(fused.rows) < 2 or threshold > 1:
            return fused, {}
        with run.stage("fold"):
            n = min(len(fused.rows), 2 * k)
            while True:
                leaders = self._leaders(view, fused.rows[:n], threshold)
                kept = [place for place, leader in enumerate(leaders) if leader == place]
                if len(kept) >= k or n >= min(len(fused.rows), max(FOLD_POOL, 2 * k)):
                    break
                n = min(len(fused.rows), 2 * n)
            if len(kept) == n:
                return fused, {}
            folded: dict[int, list[int]] = {}
            again: list[int] = []  # where there is nothing else, repeats fill the places up to k
            missing = max(0, k - len(kept) - (len(fused.rows) - n))
            for place, leader in enumerate(leaders):
                if leader != place and len(again) < missing:
                    again.append(place)
                elif leader != place:
                    folded.setdefault(int(fused.rows[leader]), []).append(int(fused.rows[place]))
            order = np.asarray([*kept, *range(n, len(fused.rows)), *again], dtype=np.int64)
            return fused.take(order, np.minimum.accumulate(fused.scores[order])), folded

    def _leaders(self, view: ScopeView, rows: NDArray[np.int64], threshold: float) -> list[int]:
        vectors = view.vectors_of(rows)
        if vectors is None or not _any_close(vectors, threshold):
            return list(range(len(rows)))
        return fold(self._texts(view, rows), vectors, threshold)

    def _around(
        self, view: ScopeView, allowed: Mask | None, rows: list[int], request: _Request, run: _Run
    ) -> dict[int, tuple[Memory, ...]]:
        """The neighbours of hits in their threads, as far as the filters let them through."""
        if not request.context or not rows:
            return {}
        if view.text is None:
            detail = "The words and threads of this scope are not in memory (ranking.features, retrieval.cache_mb)."
            run.degraded.append(Degradation(stage="context", reason="unavailable", detail=detail))
            return {}
        before = after = np.asarray(rows, dtype=np.int64)
        steps: list[NDArray[np.int64]] = []
        for _ in range(request.context):
            before, after = view.text.previous(before), view.text.following(after)
            steps = [before, *steps, after]
        table = np.stack(steps, axis=1)
        if allowed is not None:
            table = np.where((table >= 0) & allowed[np.maximum(table, 0)], table, -1)
        nums = view.nums[np.unique(table[table >= 0])].tolist()
        memories = self.store.fetch(view.scope_id, nums)
        found = {}
        for row, beside in zip(rows, table.tolist(), strict=True):
            there = (memories.get(int(view.nums[i])) for i in beside if i >= 0)
            found[row] = tuple(privacy.apply(m, request.privacy) for m in there if m is not None)
        return found

    # -- what the stages share -------------------------------------------------------------------------------------

    def _fetch(self, view: ScopeView, rows: NDArray[np.int64], k: int) -> list[tuple[int, Memory]]:
        """The first k candidates that are still in the store, as `(place, memory)`."""
        found: list[tuple[int, Memory]] = []
        start = 0
        while len(found) < k and start < len(rows):
            part = rows[start : start + k - len(found)]
            nums = view.nums[part].tolist()
            memories = self.store.fetch(view.scope_id, nums)
            gone = [view.ids[row] for row, num in zip(part.tolist(), nums, strict=True) if num not in memories]
            newer = self.store.fetch_ids(view.scope_id, gone) if gone else {}  # replaced since the columns were read
            versions = [memories.get(n) or newer.get(view.ids[r]) for r, n in zip(part.tolist(), nums, strict=True)]
            found.extend((start + i, memory) for i, memory in enumerate(versions) if memory is not None)
            start += len(part)
        return found

    def _texts(self, view: ScopeView, rows: NDArray[np.int64]) -> list[str]:
        """Candidates as they were indexed, actor in front: "not Sam" is about what Sam said as well."""
        nums = view.nums[rows].tolist()
        memories = self.store.fetch(view.scope_id, nums)
        return [indexed_text(memories[n].text, memories[n].actor) if n in memories else "" for n in nums]

    def _knowledge(self, scope: Scope, deadline: Deadline | None = None) -> ScopeKnowledge:
        scope_id = self.store.scope_id(scope)
        if scope_id is None:
            return ScopeKnowledge(user=implicit_user(scope))
        index, settings = self.store.entities(scope_id).index, self.config.query
        speller = None
        if settings.spelling:
            speller = self.store.speller(scope_id, validate=self._llm)

        def unsure(text: str, refs: tuple[EntityRef, ...], reserved: Spans) -> Settled:
            left = math.inf if deadline is None else deadline.remaining_ms() * SHARE_BEFORE_ARMS
            threshold = self.config.planner.entity_confidence_min
            return self._unsure.resolve(
                text, refs, index, scope_id=scope_id, threshold=threshold, budget_ms=left, reserved=reserved
            )

        return ScopeKnowledge(
            entities=index,
            frequency=functools.cache(lambda term: self.store.lexical.document_frequency(scope_id, term)),
            memories=self.store.view(scope_id).count,
            speller=speller,
            user=implicit_user(scope, index),
            unsure=unsure if settings.entity_llm and self._llm is not None else None,
        )

    def _admit_lag(self, run: _Run) -> None:
        for name, lag in self.store.indexes.lag.items():
            if lag:
                run.degraded.append(
                    Degradation(stage=name, reason="index.behind", detail=f"{lag} changes not applied yet.")
                )

    def _now(self, now: datetime | None) -> datetime:
        return self._clock() if now is None else checked_time(now, "now", InvalidArgument)

    def _request(
        self,
        query: str,
        k: int,
        scope: Scope | None,
        filters: Filters | None,
        now: datetime | None,
        time_budget_ms: float | None,
        tokens_max: int | None,
        mode: str,
        window: TemporalWindow | Literal[False] | None,
        timezone: str | None,
        context: int,
        vector: Any,
    ) -> _Request:
        text = clean(query, self.config.limits.query_chars_max)
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidArgument(f"k must be a whole number from 1 on, not {k!r}.")
        if filters is not None and not isinstance(filters, Filters):
            raise InvalidFilter(
                f"filters must be a Filters object, not {type(filters).__name__}. Write Filters(types=[...])."
            )
        if isinstance(context, bool) or not isinstance(context, int) or not 0 <= context <= CONTEXT_MAX:
            raise InvalidArgument(f"context must be a whole number from 0 to {CONTEXT_MAX}, not {context!r}.")
        budget = self.config.limits.time_budget_ms if time_budget_ms is None else time_budget_ms
        if isinstance(budget, bool) or not isinstance(budget, int | float) or not 0 < budget < math.inf:
            raise InvalidArgument(f"time_budget_ms must be a positive number, not {time_budget_ms!r}.")
        if tokens_max is not None and (
            isinstance(tokens_max, bool) or not isinstance(tokens_max, int) or tokens_max < 1
        ):
            raise InvalidArgument(f"tokens_max must be a whole number from 1 on, not {tokens_max!r}.")
        where, moment = checked_scope(scope), self._now(now)
        if not self._finalizer.alive:
            raise StoreClosed("This optimizer is closed. Make another: QueryOptimizer(store).")
        self.store.scope_id(where)  # a closed store is an error before anything else happens
        return _Request(
            text=text,
            k=k,
            scope=where,
            filters=filters or Filters(),
            now=moment,
            time_budget_ms=float(budget),
            tokens_max=tokens_max,
            privacy=privacy.check_mode(mode),
            window=_checked_window(window),
            zone=_checked_zone(timezone),
            context=context,
            vector=self._checked_vector(vector),
        )

    def _checked_vector(self, vector: Any) -> NDArray[np.float32] | None:
        if vector is None:
            return None
        try:
            array = np.asarray(vector, dtype=np.float32)
        except (TypeError, ValueError) as e:
            raise InvalidArgument(f"query_vector must be a list of numbers: {e}.") from e
        dimensions = self.store.embedding.dimensions
        if array.shape != (dimensions,) or not np.isfinite(array).all():
            raise InvalidArgument(
                f"query_vector must be {dimensions} finite numbers, not an array of shape {array.shape}."
            )
        return array / max(float(np.linalg.norm(array)), 1e-12)


def _relevance(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Falling scores on a scale from 1 to 0 that weighs against a cosine: log odds, for probabilities are mostly small
    and would all be alike beside it."""
    bounded = np.clip(np.asarray(scores, dtype=np.float64), 1e-6, 1 - 1e-6)
    odds = np.log(bounded / (1 - bounded))
    spread = odds.max() - odds.min()
    return np.asarray((odds - odds.min()) / spread if spread > 0 else np.ones_like(odds), dtype=np.float32)


def _any_close(vectors: NDArray[np.float32], threshold: float) -> bool:
    """Whether any two rows reach the threshold: nearly always not, and then no text need be read."""
    cosines = np.einsum("id,jd->ij", vectors, vectors)
    np.fill_diagonal(cosines, -1)
    return bool((cosines >= threshold - 1e-6).any())


def _checked_window(window: object) -> TemporalWindow | Literal[False] | None:
    if window is None or window is False:
        return window
    if not isinstance(window, TemporalWindow):
        raise InvalidArgument(
            f"window must be a TemporalWindow, False or None, not {type(window).__name__}. "
            "Write TemporalWindow(start=..., end=...)."
        )
    return window


def _checked_zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except Exception as e:  # zoneinfo raises several unrelated kinds for bad names
        raise InvalidArgument(f"Unknown time zone {name!r}. Use an IANA name such as 'Europe/Berlin'.") from e


def _first(fused: Fused, wanted: Mask) -> Fused:
    """The wanted rows first, in their order; the others score no more than the last of them."""
    inside = wanted[fused.rows]
    order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
    scores = np.minimum.accumulate(fused.scores[order])
    return fused.take(order, scores)


def _withheld(
    parsed: ParsedQuery, plan: RetrievalPlan, degraded: Sequence[Degradation], mode: str
) -> tuple[ParsedQuery, RetrievalPlan, tuple[Degradation, ...]]:
    """What else a result says, under the privacy mode: canonical names come from the store, details from exceptions."""
    if mode == "allow":
        return parsed, plan, tuple(degraded)
    blocked = mode == "block"

    def shown_name(ref: EntityRef) -> str:
        if ref.stage == IMPLICIT:
            return USER
        return ref.mention if blocked else privacy.redact(ref.name)[0]

    def shown(ref: EntityRef) -> EntityRef:
        name = shown_name(ref)
        hidden = blocked or name != ref.name  # the id begins with the name
        return replace(ref, name=name, entity_id=f"ent_{ref.entity_id.rpartition('_')[2]}" if hidden else ref.entity_id)

    names = {r.name: shown_name(r) for r in parsed.entity_refs if r.stage != IMPLICIT}

    def without_names(text: str) -> str:
        for name in sorted(names, key=lambda n: (-len(n), n)):
            text = text.replace(name, names[name])
        return text

    own = {token.stem for token in parsed.tokens}
    return (
        replace(
            parsed,
            entity_refs=tuple(map(shown, parsed.entity_refs)),
            corrections=(),  # what a word was corrected to comes from the memories
            reread=None,
            terms=tuple(t for t in parsed.terms if t in own),
        ),
        replace(
            plan,
            reason=without_names(plan.reason),
            checks=tuple(replace(c, because=without_names(c.because)) for c in plan.checks),
        ),
        tuple(replace(d, detail="" if blocked else privacy.redact(d.detail)[0]) for d in degraded),
    )


def _contributions(
    fused: Fused, places: Sequence[int], reranked: Mapping[int, Contribution]
) -> dict[int, tuple[Contribution, ...]]:
    """What each source added, by place; the columns are read once for all of them."""
    at = np.asarray(places, dtype=np.int64)
    sources = {**fused.added, **fused.raw}
    names = sorted(sources)
    nothing = np.zeros(len(places))
    values = np.asarray(
        [
            [column[name][at] if name in column else nothing for name in names]
            for column in (sources, fused.added, fused.ranks)
        ]
    ).reshape(3, len(names), len(places))
    effective = values.any(axis=0) & ~np.isnan(values[0])
    scores, added, ranks = values.tolist()
    found = {}
    for i, place in enumerate(places):
        parts = [
            Contribution(source=names[n], rank=int(ranks[n][i]) or None, score=scores[n][i], added=added[n][i])
            for n in np.flatnonzero(effective[:, i]).tolist()
        ]
        if (judged := reranked.get(int(fused.rows[place]))) is not None:
            parts.append(judged)
        found[place] = tuple(sorted(parts, key=_most_first))
    return found


def _most_first(part: Contribution) -> tuple[float, str]:
    return -part.added, part.source


def _reopen(
    path: str,
    embedding: Any,
    config: RecallConfig,
    llm: Any,
    reranker: Any,
    ranker: Ranker | None,
    clock: Callable[[], datetime],
) -> QueryOptimizer:
    store = MemoryStore.attach(path, embedding=embedding, config=config)
    return QueryOptimizer(store, llm=llm, reranker=reranker, ranker=ranker, config=config, clock=clock)


def _shutdown(*pools: ThreadPoolExecutor) -> None:
    for pool in pools:
        pool.shutdown(wait=False, cancel_futures=True)
