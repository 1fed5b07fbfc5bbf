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
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import RecallConfig
from recall_integrations.delivery.deliver import Delivery, Found
from recall_integrations.delivery.withholding import withheld
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.errors import InvalidArgument, StoreClosed
from recall_integrations.planning.planner import make_plan, worth_asking
from recall_integrations.planning.when import Asked, asked_for, settled
from recall_integrations.query.entities.fallback import EntityFallback
from recall_integrations.query.entities.implicit import implicit_user
from recall_integrations.query.parser import QueryParser, ScopeKnowledge, Settled, Spans, clean
from recall_integrations.ranking import arrange, lexicon
from recall_integrations.ranking.calibration import within
from recall_integrations.ranking.exact import exact_shares
from recall_integrations.ranking.fusion import Fused, FusionInput, fuse, lifted
from recall_integrations.ranking.gate import GateSettings
from recall_integrations.ranking.multi_stage import MultiStage
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
    ParsedQuery,
    RecallResult,
    RerankOutcome,
    RetrievalPlan,
    Scope,
    checked_scope,
    checked_time,
)
from recall_integrations.request import RecallRequest, Window, checked_window, checked_zone
from recall_integrations.resilience.daemons import DaemonThreads
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.run import Run
from recall_integrations.retrievers import fan_out
from recall_integrations.retrievers.base import Arm, ArmRequest, ArmResult
from recall_integrations.retrievers.graph import GraphRetriever
from recall_integrations.retrievers.lexical import LexicalRetriever
from recall_integrations.retrievers.second_hop import SecondHop
from recall_integrations.retrievers.semantic import SemanticRetriever
from recall_integrations.retrievers.temporal import TemporalRetriever
from recall_integrations.retrievers.type_filter import TypeFilterRetriever
from recall_integrations.rewriting.llm import resolve_llm
from recall_integrations.rewriting.stage import Rewriting
from recall_integrations.roles import Role
from recall_integrations.store.filtering import asked_mask
from recall_integrations.store.memory_store import MemoryStore, utc_now
from recall_integrations.store.scope_view import TYPE_CODES, Mask, ScopeView
from recall_integrations.store.worth import bundled_worth

T = TypeVar("T")
# Of the time left, for a rewrite or an embedding that may be slow; the rest is for the arms.
SHARE_BEFORE_ARMS = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the arms look at: the scope's columns, the rows that may be returned, how many memories hold a stem, and as
    soon as they are there the query's vectors and their cosines; `asked`: the time or session that decides."""

    view: ScopeView
    allowed: Mask | None
    frequency: Callable[[str], int]
    vectors: NDArray[np.float32] | None = None
    similarities: NDArray[np.float32] | None = None
    asked: Asked | None = None


class QueryOptimizer:
    """Understands a query, asks the arms that are worth asking, and says why each hit is there.

    Args:
        store: where the memories are.
        llm: for query rewrites: a LangChain chat model / LLM / Runnable, a LlamaIndex LLM, or `Callable[[str], str]`.
        reranker: a sentence-transformers cross-encoder name or path, a LangChain document compressor, a LlamaIndex
            node postprocessor, or `Callable[[str, list[str]], list[float]]`.
        config: all settings.
        clock: where `now` comes from when a call does not give it.
        ranker: orders the candidates instead of the one that `fusion.strategy` names.

    Threads may share one optimizer. `close` stops its threads; the store stays open.
    """

    def __init__(
        self,
        store: MemoryStore,
        *,
        llm: Any = None,
        reranker: Any = None,
        config: RecallConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
        ranker: Ranker | None = None,
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
        self._delivery = Delivery(store, self.config.fusion.recency_half_life_days)
        workers = self.config.limits.workers
        # Arms and whole recalls have pools of their own: a recall that waits for its arms must not hold their threads.
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="recall-arm")
        self._callers = ThreadPoolExecutor(workers, thread_name_prefix="recall-async")
        # What users bring (LLM, cross-encoder) may hang; it must not take the arms' threads with it.
        self._outside = DaemonThreads(workers, "recall-model")
        self._unsure = EntityFallback(
            self._llm, self._outside.submit, timeout_ms=self.config.query.entity_llm_timeout_ms
        )
        self._rewriting = Rewriting(self._llm, self._outside.submit, timeout_ms=self.config.limits.rewrite_timeout_ms)
        self._stages, self._reranking = self._rerank_stage()
        retrieval = self.config.retrieval
        graph = self._graph = GraphRetriever(
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
        window: Window = None,
        timezone: str | None = None,
    ) -> ParsedQuery:
        """Understand a query without searching. Arguments as for `recall`.

        Raises:
            InvalidQuery: empty, blank, too long, or not valid text.
            InvalidArgument: a naive `now`, an unknown time zone, a window that is none.
        """
        text = clean(query, self.config.limits.query_chars_max)
        where, zone = checked_scope(scope), checked_zone(timezone)
        moment = self._clock() if now is None else checked_time(now, "now", InvalidArgument)
        known = self._knowledge(where)
        parsed, _ = self._parser.parse(text, moment, known, window=checked_window(window), zone=zone)
        scope_id = self.store.scope_id(where)
        return settled(parsed, None if scope_id is None else self.store.view(scope_id))[0]

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
        window: Window = None,
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
        request = self._checked(
            query=query,
            k=k,
            scope=scope,
            filters=filters,
            now=now,
            time_budget_ms=time_budget_ms,
            tokens_max=tokens_max,
            mode=privacy,
            window=window,
            timezone=timezone,
            context=context,
            vector=query_vector,
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
        window: Window = None,
        timezone: str | None = None,
        context: int = 0,
        query_vector: Any = None,
    ) -> RecallResult:
        """`recall` without blocking the event loop: the same path, in a thread. Cancelling it stops its arms."""
        request = self._checked(
            query=query,
            k=k,
            scope=scope,
            filters=filters,
            now=now,
            time_budget_ms=time_budget_ms,
            tokens_max=tokens_max,
            mode=privacy,
            window=window,
            timezone=timezone,
            context=context,
            vector=query_vector,
        )
        deadline = Deadline.after(request.time_budget_ms)
        run = functools.partial(contextvars.copy_context().run, self._recall, request, deadline)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._callers, run)
        except asyncio.CancelledError:
            deadline.cancel()
            raise

    def _checked(self, **arguments: Any) -> RecallRequest:
        limits = self.config.limits
        request = RecallRequest.checked(limits, self._clock, lambda: self.store.embedding.dimensions, **arguments)
        if not self._finalizer.alive:
            raise StoreClosed("This optimizer is closed. Make another: QueryOptimizer(store).")
        self.store.scope_id(request.scope)  # a closed store is an error before anything else happens
        return request

    # -- the read path ---------------------------------------------------------------------------------------------

    def _recall(self, request: RecallRequest, deadline: Deadline) -> RecallResult:
        begin = time.perf_counter()
        run, k = Run(deadline), request.k
        with run.stage("parse"):
            known = self._knowledge(request.scope, deadline)
            parsed, problems = self._parser.parse(
                request.text, request.now, known, window=request.window, zone=request.zone
            )
            run.degraded.extend(problems)
        scope_id = self.store.scope_id(request.scope)
        view: ScopeView | None = None
        if scope_id is not None:
            with run.stage("view"):
                view = self.store.view(scope_id)
        with run.stage("plan"):
            parsed, session = settled(parsed, view)
            plan = self.plan(parsed)
            parsed = replace(parsed, type_hints=plan.type_hints)
        parsed, rewrite = self._rewriting.run(parsed, plan, run, deadline.remaining_ms() * SHARE_BEFORE_ARMS)
        hits: tuple[Hit, ...] = ()
        confidence: float | None = None
        rerank = RerankOutcome()
        if view is not None:
            with run.stage("view"):
                allowed = self.store.filter_mask(view, request.filters, request.now)
                self._admit_lag(run)
                limit = max(self.config.planner.arm_limit, k)
                decided = asked_for(parsed, plan, session, view, allowed, limit)
                plan, asked = decided.plan, decided.asked
            searched = None if asked is None else asked.searched(k)
            seen = _Seen(
                view=view, allowed=allowed if searched is None else searched, frequency=known.frequency, asked=asked
            )
            seen, typed = self._typed(plan, seen, k)
            seen, results = self._ask(parsed, plan, seen, request, run)
            with run.stage("fuse"):
                fused, confidence = self._order(results, parsed, plan, seen, request, run)
            if asked is not None and asked.order is not None:
                confidence = max(confidence or 0.0, asked.confidence)
            if decided.trust < 1:
                fused = replace(fused, scores=fused.scores * np.float32(decided.trust))
                confidence = None if confidence is None else confidence * decided.trust
            fused, reranked, rerank = self._rerank(parsed, plan, view, fused, k, run)
            found = self._arranged(parsed, plan, seen, typed, fused, reranked, k, run)
            if confidence is not None:  # known before what was folded, moved down and put into another order
                confidence = within(confidence, found.fused.scores[:k].tolist())
            if not self._abstains(found.fused, confidence, run):
                with run.stage("deliver"):
                    hits = self._delivery.deliver(parsed, view, allowed, found, request, run)
                if confidence is not None:  # not all of them may have fitted
                    confidence = within(confidence, (hit.score for hit in hits))
        run.timings_ms["total"] = (time.perf_counter() - begin) * 1e3
        query, plan, degraded = withheld(parsed, plan, run.degraded, request.privacy)
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

    def _ask(
        self, parsed: ParsedQuery, plan: RetrievalPlan, seen: _Seen, request: RecallRequest, run: Run
    ) -> tuple[_Seen, list[ArmResult]]:
        """Ask the arms that have something to look for. Words need no vector: the lexical arm works while the query is
        embedded and compared."""
        asked = [arm for arm in plan.arms if worth_asking(arm, parsed, plan)]
        fan = fan_out.FanOut(self._pool, self._arms, run.deadline, run.timings_ms)
        words = [arm for arm in asked if arm.name == "lexical"]
        fan.start(self._requests(words, parsed, plan, seen, request.k, run))
        vectors = self._embed(parsed, request, plan, run)
        with run.stage("scan"):
            seen = replace(seen, vectors=vectors, similarities=seen.view.scan(vectors))
        with run.stage("retrieve"):
            others = [arm for arm in asked if arm.name != "lexical"]
            fan.start(self._requests(others, parsed, plan, seen, request.k, run))
            results, late = fan.collect([arm.name for arm in asked])
        run.degraded.extend(late)
        return seen, results

    def _embed(
        self, parsed: ParsedQuery, request: RecallRequest, plan: RetrievalPlan, run: Run
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
        self, arms: Sequence[ArmPlan], parsed: ParsedQuery, plan: RetrievalPlan, seen: _Seen, k: int, run: Run
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
                    asked=None if seen.asked is None else seen.asked.mask,
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
        self,
        results: Sequence[ArmResult],
        parsed: ParsedQuery,
        plan: RetrievalPlan,
        seen: _Seen,
        request: RecallRequest,
        run: Run,
    ) -> tuple[Fused, float | None]:
        """One list from those of the arms: ranked by its features, or by the fusion of the arms' scores."""
        view, settings = seen.view, self.config.fusion
        texts = functools.partial(self._delivery.texts, view)
        given = FusionInput(
            view=view,
            plan=plan,
            vectors=seen.vectors,
            similarities=seen.similarities,
            window=parsed.temporal_window,
            now=request.now,
            cosine_worth=self.store.cosine_worth_in(parsed.language, parsed.original),
            word_worth=bundled_worth(parsed.language, parsed.original),
        )
        if self._ranker is not None and view.text is not None:
            try:
                wanted = RankInput(
                    fusion=given,
                    parsed=parsed,
                    frequency=seen.frequency,
                    count=view.count,
                    allowed=seen.allowed,
                    texts=texts,
                    k=request.k,
                    hop=self._second_hop(parsed, seen, texts),
                )
                ranked = rank(results, wanted, view.text, self._ranker, settings)
            except Exception as e:  # noqa: BLE001 - named in the result; the arms' own scores still order
                run.failed("rank", e)
            else:
                return ranked.fused, ranked.confidence
        fused = fuse(results, given, settings)
        n = min(len(fused.rows), max(EXACT_POOL, 2 * request.k))
        if not plan.exact_match or not n:
            return fused, None
        shares = np.zeros(len(fused.rows), dtype=np.float32)
        shares[:n] = exact_shares(texts(fused.rows[:n]), parsed.identifiers)
        return lifted(view, fused, "exact", shares, settings.exact), None

    def _second_hop(
        self, parsed: ParsedQuery, seen: _Seen, texts: Callable[[NDArray[np.int64]], list[str]]
    ) -> SecondHop | None:
        """Whatever the plan: it starts from what other arms found. `None` where the graph arm is switched off."""
        if "graph" not in self.config.planner.arms:
            return None
        return self._graph.second_hop(seen.view, texts, terms=parsed.terms, allowed=seen.allowed)

    @staticmethod
    def _windowed(parsed: ParsedQuery, plan: RetrievalPlan, seen: _Seen) -> Mask | None:
        """For an entity plan with a sure window: only what lies in it, unless nothing does.

        Who asks for a relation wants it whenever it was stated: "who reports to Priya since March".
        """
        window = parsed.temporal_window
        if not plan.window_filter or window is None or parsed.predicate_hints:
            return seen.allowed
        inside = asked_mask(seen.view, window.start, window.end)
        if seen.allowed is not None:
            inside &= seen.allowed
        return inside if bool((inside & seen.view.alive).any()) else seen.allowed

    def _rerank(
        self, parsed: ParsedQuery, plan: RetrievalPlan, view: ScopeView, fused: Fused, k: int, run: Run
    ) -> tuple[Fused, dict[int, Contribution], RerankOutcome]:
        """Let the cross-encoder order the best candidates, where its gate lets it. They share out the scores."""
        if self._reranking is None or plan.in_order:  # in their order, memories are not compared with the query
            return fused, {}, RerankOutcome()
        n = self._stages.survivors(fused.scores, k)
        if n < len(fused.rows):
            fused = fused.take(np.arange(n, dtype=np.int64), fused.scores[:n])
        with run.stage("rerank"):
            done = self._reranking.run(
                RerankRequest(
                    query=parsed.original,
                    calibrated=fused.scores,
                    texts=lambda count: self._delivery.texts(view, fused.rows[:count]),
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

    def _arranged(
        self,
        parsed: ParsedQuery,
        plan: RetrievalPlan,
        seen: _Seen,
        typed: Mask | None,
        fused: Fused,
        reranked: Mapping[int, Contribution],
        k: int,
        run: Run,
    ) -> Found:
        """The order in which candidates are returned: diversity, types, time, negation, repeats."""
        view, asked = seen.view, seen.asked
        ranking, texts = self.config.ranking, functools.partial(self._delivery.texts, view)
        if plan.diversity:
            with run.stage("diversify"):
                fused = arrange.diversified(fused, view, k, ranking.diversity_lambda)
        if typed is not None:
            fused = arrange.wanted_first(fused, typed)
        if asked is not None:
            fused = asked.first(fused)
        denied: frozenset[int] = frozenset()
        if parsed.negations:
            with run.stage("negation"):
                fused, denied = arrange.denied_last(
                    fused, parsed.negations, texts, k, ranking.negation_threshold, parsed.language
                )
        with run.stage("fold"):
            fused, folded = arrange.folded(fused, view, texts, k, ranking.duplicate_similarity)
        return Found(fused=fused, reranked=reranked, denied=denied, folded=folded, asked=asked)

    def _abstains(self, fused: Fused, confidence: float | None, run: Run) -> bool:
        """Whether too little was found to be worth returning."""
        least = self.config.ranking.abstain_below
        sure = confidence if confidence is not None else float(fused.scores.max(initial=0))
        if not sure < least:
            return False
        detail = f"The confidence {sure:.2f} is below ranking.abstain_below {least:g}."
        run.degraded.append(Degradation(stage="deliver", reason="abstain", detail=detail))
        return True

    # -- what the stages share -------------------------------------------------------------------------------------

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

        view = self.store.view(scope_id)
        users, assistants = view.speakers(Role.USER), view.speakers(Role.ASSISTANT)
        return ScopeKnowledge(
            entities=index,
            frequency=functools.cache(lambda term: self.store.lexical.document_frequency(scope_id, term)),
            memories=view.count,
            speller=speller,
            user=implicit_user(scope, index, users),
            assistant=bool(assistants),
            alike=lexicon.shared().alike,
            spoken=self.store.languages(scope_id),
            unsure=unsure if settings.entity_llm and self._llm is not None else None,
        )

    def _admit_lag(self, run: Run) -> None:
        for name, lag in self.store.indexes.lag.items():
            if lag:
                run.degraded.append(
                    Degradation(stage=name, reason="index.behind", detail=f"{lag} changes not applied yet.")
                )


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
