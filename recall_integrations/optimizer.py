"""`QueryOptimizer`: understands a query, asks the arms that are worth asking, and says why each hit is there.

    text ─ parse ─ plan ─ embed ─ arms ─ rank ─ rewrite ─ rerank ─ arrange ─ deliver ─▶ RecallResult

The stages are in `recall/stages`, a file each; `recall/runner.py` takes a recall through them.
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from recall_integrations.adapters.llm import LlmError, resolve_llm
from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.arms.registry import ArmSpec, registered
from recall_integrations.config import RecallConfig
from recall_integrations.delivery.deliver import Delivery
from recall_integrations.delivery.showing import Showing, Shown
from recall_integrations.delivery.withholding import withheld
from recall_integrations.errors import InvalidArgument, RecallTimeout, StoreClosed
from recall_integrations.planning.when import settled
from recall_integrations.privacy.door import Door, passing
from recall_integrations.query.entities.fallback import EntityFallback
from recall_integrations.query.parser import clean
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.ranking.rankers.feature_sum import Ranker, known_of
from recall_integrations.recall.again import Again
from recall_integrations.recall.caching import Caching
from recall_integrations.recall.checking import checked_request, checked_window, checked_zone
from recall_integrations.recall.runner import Observer, Runner, Stage, arranged
from recall_integrations.recall.stages.arms import Arms
from recall_integrations.recall.stages.arrange import Arrange
from recall_integrations.recall.stages.deliver import Deliver
from recall_integrations.recall.stages.embed import Embed
from recall_integrations.recall.stages.parse import LONG_CHARS, Parse
from recall_integrations.recall.stages.plan import Plan
from recall_integrations.recall.stages.rank import Rank
from recall_integrations.recall.stages.rerank import Rerank
from recall_integrations.recall.stages.rewrite import Ask, Rewrite
from recall_integrations.recall.state import RecallState
from recall_integrations.recall.strictness import complaint
from recall_integrations.reranking.depth import MultiStage
from recall_integrations.reranking.gate import RISK, GateSettings
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.reranking.reranking import RerankSettings, RerankStage
from recall_integrations.resilience.admission import Admission, Admitted
from recall_integrations.resilience.breaker import BREAKERS_FILE, FileShelf
from recall_integrations.resilience.bulkhead import Bulkhead, Busy
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard, Health
from recall_integrations.resilience.guards import Guards
from recall_integrations.resilience.shared_file import CACHE_FILE, CONTRACT_FILE
from recall_integrations.rewriting.asking import Rewriting
from recall_integrations.rewriting.contract import Contract, Limits
from recall_integrations.rewriting.kept import RewriteCache
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.parts import utc_now
from recall_integrations.types import (
    Degradation,
    Filters,
    ParsedQuery,
    RecallResult,
    RetrievalPlan,
    Scope,
    checked_scope,
    checked_time,
)
from recall_integrations.types.request import RecallRequest, Window

CALLERS_MAX = 256  # of `arecall` at once; each waits in a thread of its own
BUSY_SECONDS = 0.002  # how soon the next looks whether one of them has ended
CACHE = "cache"  # in `timings_ms` and events: an answer that was kept
EMBED_ATTEMPTS = 2  # a remote embedding is the cheapest to ask again, and the dearest to do without


class QueryOptimizer:
    """Understands a query, asks the arms that are worth asking, and says why each hit is there.

    Args:
        store: where the memories are.
        llm: for query rewrites: a LangChain chat model / LLM / Runnable, a LlamaIndex LLM, or `Callable[[str], str]`.
        reranker: a sentence-transformers cross-encoder name or path, a LangChain document compressor, a LlamaIndex
            node postprocessor, or `Callable[[str, list[str]], list[float]]`.
        config: all settings.
        clock: where `now` comes from when a call does not give it.
        ranker: orders the candidates instead of the one that `ranking.strategy` names.
        arms: arms of your own, beside the five (`ArmSpec`).
        stages: stages of your own (`recall.Stage`); each says behind which it comes, or has the name of one whose place
            it takes.
        observers: called with a `recall.StageEvent` when a stage of a recall has ended; under `privacy="redact"` and
            `"block"` they get no state.

    Threads may share one optimizer. Its threads end with the process, or when they have nothing to do; the store stays
    open when it is closed.
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
        arms: Sequence[ArmSpec] = (),
        stages: Sequence[Stage] = (),
        observers: Sequence[Observer] = (),
    ) -> None:
        if not isinstance(store, MemoryStore):
            raise InvalidArgument(
                f"store must be a MemoryStore, not {type(store).__name__}. Use MemoryStore.open(...)."
            )
        self.store = store
        self.config = config or store.config
        self._sources = {
            "llm": llm,
            "reranker": reranker,
            "ranker": ranker,
            "clock": clock,
            "arms": tuple(arms),
            "stages": tuple(stages),
            "observers": tuple(observers),
        }
        self._clock = clock
        specs = registered(arms)
        workers = self.config.limits.workers
        self._admission = Admission()
        shelf = FileShelf(store.path / BREAKERS_FILE)
        self._guards = Guards(self.config.breakers, shelf, workers, waiting=self._admission.waiting)
        self._callers = Bulkhead("async", CALLERS_MAX)
        self._showing = Showing(self._admission.waiting)
        self._reranking = self._rerank_stage(resolve_reranker(reranker))
        known = self._default_stages(resolve_llm(llm), ranker, specs)
        outside = {stage.name: self._guards.of(f"stage.{stage.name}") for stage in stages}
        if ranker is not None:
            outside.setdefault("rank", self._guards.of("ranker"))
        self._runner = Runner(arranged(known, stages), observers, outside)
        # What `parse` and `plan` do without a recall is what they do in one.
        self._parse = next((s for s in self.stages if isinstance(s, Parse)), cast("Parse", known[0]))
        self._plan = next((s for s in self.stages if isinstance(s, Plan)), cast("Plan", known[1]))
        self._caching: Caching | None = None
        if self.config.caches:
            literal = any(given is not None for given in (llm, reranker, ranker)) or bool(arms or stages)
            self._caching = Caching(store, self.config, self._reading, literal=literal)
        self._open = True

    def _default_stages(
        self, llm: Callable[[str], str] | None, ranker: Ranker | None, specs: tuple[ArmSpec, ...]
    ) -> list[Stage]:
        """The stages of a recall, in order."""
        store, config, ranking = self.store, self.config, self.config.ranking
        if ranker is None:
            ranker = resolve_ranker(ranking)
        reasons = {spec.name: spec.reason for spec in specs if spec.reason}
        delivery = Delivery(store, ranking.recency_half_life_days, reasons, known_of(ranker).labels, self._showing)
        depth = MultiStage(coarse_factor=config.rerank.coarse_factor, score_percentile=config.rerank.score_percentile)
        guards = self._guards
        rewriting = self._rewriting(llm)
        makers = {spec.name: spec.make(store, config) for spec in specs}
        unsure = None
        if config.query.entity_llm and llm is not None:
            unsure = EntityFallback(
                llm, guards.of("entities", who=_name(llm), limit_ms=config.query.entity_llm_timeout_ms)
            )
        validating = None if llm is None else self._validating(llm)
        precise = config.planner.precise_threshold
        parse = Parse(store, config, validating, unsure, self._admission.waiting)
        embed = Embed(store, guards.of("embed", attempts=EMBED_ATTEMPTS))
        arms = Arms(specs, makers, self._arm_guard, None if self._reranking is None else depth, config.budgets)
        rank = Rank(store, config, delivery, ranker, specs, makers)
        again = Again(embed, arms, rank, guards.of("ranker") if self._sources["ranker"] is not None else None)
        return [
            parse,
            Plan(store, config, specs),
            *([Ask(rewriting, precise)] if rewriting.on and config.rewriting.ask == "vague" else []),
            embed,
            arms,
            rank,
            Rewrite(rewriting, parse, again, precise),
            *([] if self._reranking is None else [Rerank(self._reranking, depth, delivery)]),
            Arrange(ranking, delivery, config.rewriting.keep_first),
            Deliver(delivery, ranking.abstain_below),
        ]

    def _rewriting(self, llm: Callable[[str], str] | None) -> Rewriting:
        """Asks the LLM for other words. What is known of it is kept beside the store."""
        settings, path = self.config.rewriting, self.store.path
        limits = Limits(fallback=settings.fallback_max, empty=settings.empty_max, median_ms=settings.median_max_ms)
        return Rewriting(
            llm,
            self._guards.of("rewrite", who=_name(llm), limit_ms=settings.timeout_ms),
            settings,
            RewriteCache(path / CACHE_FILE, ttl_s=settings.cache_s, entries_max=settings.cache_entries),
            Contract(limits, path / CONTRACT_FILE),
        )

    def _rerank_stage(self, reranker: Reranker | None) -> RerankStage | None:
        if reranker is None:
            return None
        r, limits = self.config.rerank, self.config.limits
        gate = GateSettings(
            min_k=r.min_k,
            regret_max=r.regret_max,
            risk=RISK if r.regret_max else 0,
            budget_ms=limits.rerank_budget_ms,
            skip_when_slow=r.disable_when_slow,
        )
        settings = RerankSettings(
            gate=gate,
            top_n=r.top_n,
            weight=r.weight,
            threshold=r.threshold,
        )
        return RerankStage(
            reranker, settings, self._guards.of("rerank", who=reranker.name, limit_ms=limits.rerank_budget_ms)
        )

    def _validating(self, llm: Callable[[str], str]) -> Callable[[str], str]:
        """The LLM as the speller asks it, beside the recall, about corrections that it has made."""
        guard = self._guards.of("spelling", who=_name(llm), limit_ms=self.config.rewriting.timeout_ms)

        def ask(prompt: str) -> str:
            answer = guard.call(Deadline.after(None), llm, prompt, empty=lambda text: not text.strip())
            if answer.value is None:
                raise LlmError(answer.detail) from answer.error
            return answer.value

        return ask

    def _arm_guard(self, name: str) -> Guard:
        return self._guards.of(f"arm.{name}")

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages that a recall goes through, in order."""
        return self._runner.stages

    def warm(self, timeout: float | None = None) -> None:
        """Load the cross-encoder's model, if there is one, so that no recall has to go without it.

        Raises:
            RerankError: it cannot be loaded.
            TimeoutError: it was not ready within `timeout` seconds; loading goes on.
        """
        loading = None if self._reranking is None else self._reranking.warm()
        if loading is not None:
            loading.result(timeout)

    def health(self) -> tuple[Health, ...]:
        """How each component is that may fail or hang (LLM, reranker, embedding, indexes): its breaker, calls under
        way, calls that hang, the usual time. In the order of names; those that were never used are left out."""
        return self._guards.health()

    def close(self) -> None:
        """Later recalls raise `StoreClosed`; those that are under way end as they would have."""
        self._open = False
        if self._caching is not None:
            self._caching.clear()

    def __deepcopy__(self, _memo: dict[int, Any]) -> QueryOptimizer:
        return self  # threads and an open store are shared, not copied

    def __reduce__(self) -> Any:
        """Pickles what it was made from. The copy uses the store that is open in its process, or opens it there."""
        store = self.store
        opening = {"embedding": store.embedding_source, "config": store.config, "extractor": store.extractor_source}
        return _reopen, (str(store.path.resolve()), opening, self.config, self._sources)

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
        return self._read(text, moment, where, checked_window(window), zone)

    def _read(self, text: str, now: datetime, scope: Scope, window: Window, zone: ZoneInfo | None) -> ParsedQuery:
        parsed = self._parse.read(text, now, scope, window, zone)
        scope_id = self.store.scope_id(scope)
        return settled(parsed, None if scope_id is None else self.store.view(scope_id))[0]

    def _reading(self, request: RecallRequest, now: datetime) -> ParsedQuery | None:
        """How a recall at that time would read its query; `None` where that may take long."""
        scope_id = self.store.scope_id(request.scope)
        if len(request.text) >= LONG_CHARS or (scope_id is not None and not self.store.in_memory(scope_id)):
            return None
        with self.store.reading():
            return self._read(request.text, now, request.scope, request.window, request.zone)

    def plan(self, parsed: ParsedQuery) -> RetrievalPlan:
        """What would be done about a parsed query. Pure."""
        return self._plan.made(parsed)

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
        strict: bool = False,
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
            privacy: `allow`, `redact` (personal data and secrets are replaced) or `block` (no text at all: ids, refs
                and scores). It holds for everything that leaves the recall: the result with its query, plan, reasons
                and details, errors, logs, observers, and what an LLM or a reranker is given; under `block` these are
                not asked. An embedding sees the query, as it saw the memories (docs/privacy.md).
            window: the time that is asked for, instead of what the query says: `TemporalWindow(start=…, end=…)`; with
                `False` no dates are read at all.
            timezone: IANA name of the zone in which "yesterday" is read; default `timezone` of the configuration.
            context: of each hit, so many memories before and after it in its thread come along.
            query_vector: the query's embedding, if the caller has it already.
            strict: raise where the default leaves something out and names it in `degraded`.

        Raises:
            InvalidQuery, InvalidArgument, InvalidScope, InvalidFilter: nothing was searched.
            StoreClosed: the store was closed.
            RecallTimeout, IndexUnavailable, PrivacyViolation, DegradationFailed: with `strict`, what was found is the
                error's `result`.
        """
        began = time.monotonic()
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
        return self._recall(request, Deadline(began + request.time_budget_ms / 1e3), strict=strict)

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
        strict: bool = False,
    ) -> RecallResult:
        """`recall` without blocking the event loop: the same path, in a thread. Cancelling it stops its arms.

        Raises:
            RecallTimeout: 256 others are under way, and none of them ended within the time.
        """
        began = time.monotonic()
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
        deadline = Deadline(began + request.time_budget_ms / 1e3)
        run = functools.partial(self._recall, request, deadline, strict=strict)
        try:
            while True:
                running = self._callers.submit(run)
                if not (running.done() and isinstance(running.exception(), Busy)):
                    return await asyncio.wrap_future(running)
                if deadline.over:
                    raise RecallTimeout(
                        f"{CALLERS_MAX} recalls are under way. Ask fewer at once, or give them more time."
                    )
                await asyncio.sleep(BUSY_SECONDS)
        except asyncio.CancelledError:
            deadline.cancel()
            raise

    def _checked(self, **arguments: Any) -> RecallRequest:
        limits = self.config.limits
        # No memory has been read, and what is wrong with an argument must be said: here `block` is as `redact`.
        hides = arguments["mode"] in ("redact", "block")
        door = Door("redact" if hides else "allow", self.config.privacy.compiled)
        check = functools.partial(checked_request, limits, self._clock, lambda: self.store.dimensions, **arguments)
        request = passing(door, check)
        if not self._open:
            raise StoreClosed("This optimizer is closed. Make another: QueryOptimizer(store).")
        self.store.scope_id(request.scope)  # a closed store is an error before anything else happens
        return request

    def _recall(self, request: RecallRequest, deadline: Deadline, *, strict: bool = False) -> RecallResult:
        door = Door(request.privacy, self.config.privacy.compiled)
        result = passing(door, functools.partial(self._answer, request, deadline, door))
        error = complaint(result, request.time_budget_ms) if strict else None
        if error is not None:
            raise error
        return result

    def _answer(self, request: RecallRequest, deadline: Deadline, door: Door) -> RecallResult:
        """One that is kept, or of the stages."""
        if self._caching is None:
            return self._computed(request, deadline, door)[0]
        began, asked = time.perf_counter(), self._caching.asked(request)
        kept = self._caching.found(asked)
        if kept is not None:
            return self._given_again(request, kept, began, door)
        result, state = self._computed(request, deadline, door)
        return self._caching.kept(asked, state, result)

    def _computed(self, request: RecallRequest, deadline: Deadline, door: Door) -> tuple[RecallResult, RecallState]:
        began = time.perf_counter()
        with self._admission.admitted(deadline) as given, self.store.reading():
            k = given.k(request.k)
            state = RecallState(
                request=replace(request, k=k) if k != request.k else request,
                door=door,
                level=given.level,
            )
            shown = Shown(door, deadline, self._showing)
            shown.query(request.text)
            state, timings = self._runner.run(state.degraded_by(*_pressed(given, request, k, deadline)), deadline)
            if state.query.original != request.text:  # there was time to read a part of it only
                shown.query(state.query.original)
        query, plan = withheld(state.query, state.plan, door)
        degraded = (*door.degradations(state.degraded), *shown.problems)
        hits, confidence = state.hits, state.confidence
        timings["total"] = (time.perf_counter() - began) * 1e3
        result = RecallResult(
            hits=hits,
            query=query,
            plan=plan,
            rewrite=state.rewrite,
            rerank=state.rerank,
            degraded=degraded,
            timings_ms={name: round(ms, 3) for name, ms in timings.items()},
            confidence=confidence if confidence is not None else hits[0].score if hits else 0.0,
        )
        return result, state

    def _given_again(self, request: RecallRequest, kept: RecallResult, began: float, door: Door) -> RecallResult:
        """An answer of the result cache, with what it took to find it."""
        took = (time.perf_counter() - began) * 1e3
        state = RecallState(
            request=request,
            door=door,
            cache=kept.cache,
            parsed=kept.query,
            planned=kept.plan,
            rewrite=kept.rewrite,
            rerank=kept.rerank,
            confidence=kept.confidence,
            hits=kept.hits,
            degraded=kept.degraded,
        )
        told = self._runner.tell(CACHE, state, took)
        timings = {CACHE: round(took, 3), "total": round((time.perf_counter() - began) * 1e3, 3)}
        new = told.degraded[len(kept.degraded) :]  # an observer that raised
        return replace(kept, timings_ms=timings, degraded=(*kept.degraded, *door.degradations(new)))


def _name(llm: Callable[[str], str] | None) -> str:
    return getattr(llm, "__name__", "")


def _pressed(given: Admitted, request: RecallRequest, k: int, deadline: Deadline) -> tuple[Degradation, ...]:
    """What is left out under pressure, step by step."""
    why = f"{deadline.remaining_ms():.1f} of {request.time_budget_ms:g} ms are left; a whole recall takes "
    why += f"{given.usual_ms:.1f}." if given.usual_ms else "longer."
    said = {"reduced_top_k": f"k {request.k} → {k}: {why}"}
    steps = [step for step in given.steps if step != "reduced_top_k" or k < request.k]
    return tuple(Degradation(stage="admission", reason=step, detail=said.get(step, why)) for step in steps)


def _reopen(path: str, opening: dict[str, Any], config: RecallConfig, sources: dict[str, Any]) -> QueryOptimizer:
    def opened() -> MemoryStore:
        return MemoryStore.attach(path, **opening)

    if multiprocessing.parent_process() is None:
        return QueryOptimizer(opened(), config=config, **sources)
    return _Copy(opened, config, sources)


class _Copy(QueryOptimizer):
    """The copy of an optimizer in a worker process: it opens its store when it is first used.

    A `multiprocessing.Pool` loses a task whose arguments cannot be unpickled, and waits for its result for ever. Where
    the store cannot be opened (most often since the parent has it open), the error is that of the first call instead.
    """

    def __init__(self, opened: Callable[[], MemoryStore], config: RecallConfig, sources: dict[str, Any]) -> None:
        self._opened, self._given, self._opening = opened, {"config": config, **sources}, threading.RLock()

    def close(self) -> None:
        """Later recalls raise `StoreClosed`, whether there was one or not."""
        if "_open" in self.__dict__:
            super().close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_opened", "_given", "_opening"):
            raise AttributeError(name)
        with self._opening:
            if name not in self.__dict__:
                QueryOptimizer.__init__(self, self._opened(), **self._given)
        return self.__dict__[name]
