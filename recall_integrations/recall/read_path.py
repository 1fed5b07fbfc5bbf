"""The read paths of an optimizer: its stages and all that a recall goes through around them, by settings of scopes.

The module is loaded when an optimizer is made; a program that only imports `QueryOptimizer` loads none of it.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from cachetools import LRUCache

from recall_integrations.adapters.llm import resolve_llm
from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.arms.retrievers import ArmSpec, registered
from recall_integrations.config import RecallConfig
from recall_integrations.config.recall_config import ScopeSettings, acting, by_pattern
from recall_integrations.delivery.showing import Showing, Shown, complaint, withheld
from recall_integrations.errors import InvalidArgument, RecallError
from recall_integrations.learning.versions import BY_RULES, Served, Shelf, signature_of
from recall_integrations.learning.versions import served as served_by
from recall_integrations.planning.planner import RARE_ABOVE, settled
from recall_integrations.privacy.door import Door, passing, screened
from recall_integrations.query.entities.fallback import EntityFallback
from recall_integrations.query.parser import clean
from recall_integrations.ranking.feature_sum import Ranker, known_of
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.recall.caching import Caching, ResultCache
from recall_integrations.recall.checking import checked_request, checked_window, checked_zone
from recall_integrations.recall.deliver import Deliver, Delivery, of_several
from recall_integrations.recall.looking import Lately, Looked, Looking
from recall_integrations.recall.plan import LONG_CHARS, Facts, Parse, Plan, decision
from recall_integrations.recall.rank import Arrange, Rank, Rerank, Words
from recall_integrations.recall.rewrite import Again, Ask, Rewrite
from recall_integrations.recall.runner import Observer, RecallState, Runner, Stage, arranged
from recall_integrations.recall.search import Arms, Embed
from recall_integrations.records import changed
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.reranking.reranking import RerankStage
from recall_integrations.resilience.admission import Admission, Admitted
from recall_integrations.resilience.breaker import BREAKERS_FILE, CACHE_FILE, CONTRACT_FILE
from recall_integrations.resilience.breaker import Shelf as BreakerShelf
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import TRIES, serving
from recall_integrations.resilience.guard import Guards, Health
from recall_integrations.rewriting.asking import Contract, RewriteCache, Rewriting
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import (
    Degradation,
    Filters,
    Note,
    ParsedQuery,
    RecallResult,
    Scope,
    ScopeLike,
    checked_scope,
    checked_time,
)
from recall_integrations.types.observing import RecallObserver, RecallRequest, Window
from recall_integrations.types.result import NOT_SEARCHED

SCOPE_SETTINGS = "settings.scope"
ENTITY_LLM_MS = 1_000.0  # longest wait for an LLM that is asked about names
CACHE = "cache"  # name in `timings_ms` and events of an answer that was kept
EMBED_FAIR_MS = 500.0  # half of a recall of one second; remote embeddings take some 150
BUSY_S = 0.01  # seconds until a scope is asked for again where as many as may be are being read
LATE_S = 1.0  # seconds beyond the deadline that a recall waits for a store's server: a small scope may come late
PATHS_MAX = 256  # number of entries of `scopes` that are in use at once
AWAY = "record.away"
SEMANTIC = "semantic"
DETAIL = "Nothing could be searched: that there are no hits says nothing of what is remembered."


def unsearched(state: RecallState) -> tuple[Degradation, ...]:
    """Return the problem "nothing was searched"; empty if memories were searched, or there are hits or no memories."""
    if state.hits or not _missed(state):
        return ()
    return (Degradation(stage="recall", reason=NOT_SEARCHED, detail=DETAIL),)


def _missed(state: RecallState) -> bool:
    """Say whether memories that could answer were not looked at.

    The semantic arm compares every memory with the query: where it ran, no other arm matters. Where the plan has no
    semantic arm, each of the other arms matters.
    """
    if state.loading:
        return True
    view = state.view
    if view is None:  # while the database is away, nobody knows whether there is such a scope
        return any(problem.reason == AWAY for problem in state.degraded)
    if not view.count or (state.allowed is not None and not (state.allowed & view.alive).any()):
        return False
    arms = {arm.name for arm in state.plan.arms}
    failed = {problem.stage for problem in state.degraded}
    if SEMANTIC in arms:
        return SEMANTIC in failed or all(result.arm != SEMANTIC for result in state.results)
    return not arms.isdisjoint(failed)


class Sources:
    """Objects that a user brought, and those that all read paths of an optimizer share: breakers, threads, times."""

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        *,
        llm: Any,
        reranker: Any,
        clock: Callable[[], datetime],
        ranker: Ranker | None,
        arms: Sequence[ArmSpec],
        stages: Sequence[Stage],
        observers: Sequence[Observer | RecallObserver],
    ) -> None:
        self.store, self.clock, self.ranker = store, clock, ranker
        self.specs, self.stages, self.observers = registered(arms), stages, observers
        self.admission = Admission()
        self.lately = Lately()
        self.shelf = Shelf(store.learned, store.entity_key)
        self.reranker, self.llm = resolve_reranker(reranker), resolve_llm(llm)
        self.guards = Guards(
            config.breakers,
            BreakerShelf(store.path / BREAKERS_FILE),
            waiting=self.admission.waiting,
        )
        self.showing = Showing(self.admission.waiting)
        looking = [observer for observer in observers if isinstance(observer, RecallObserver)]
        self.looking = Looking(looking, store.entity_key) if looking else None
        if self.looking is not None:  # when the optimizer goes, tell what nobody has been told of yet
            weakref.finalize(self, self.looking.later.flush).atexit = False
        self.literal = any(given is not None for given in (llm, reranker, ranker)) or bool(arms or stages)

    def health(self) -> tuple[Health, ...]:
        """Return the health of each component; metrics ask for it, and `QueryOptimizer.health`."""
        return (*self.guards.health(), *self.store.health())

    def tell(self, what: str, value: object) -> None:
        """Tell observers of whole recalls, if there are any, of something besides recalls (`Looking.tell_later`)."""
        if self.looking is not None:
            self.looking.tell_later(what, value)

    def flush(self) -> None:
        """Wait for observers; see `QueryOptimizer.flush`."""
        if self.looking is not None:
            self.looking.later.flush()


class ReadPath:
    """A read path with its settings. Threads share it."""

    def __init__(
        self, sources: Sources, config: RecallConfig, results: ResultCache | None = None, acting: str = ""
    ) -> None:
        self.store, self.config, self._clock = sources.store, config, sources.clock
        self._says = (Note(reason=SCOPE_SETTINGS, detail=acting),) if acting else ()
        self._admission, self.guards, self._showing = sources.admission, sources.guards, sources.showing
        self.reranking = self._rerank_stage(sources.reranker)
        known = self._default_stages(sources.llm, sources.ranker, sources.specs)
        outside = {stage.name: self.guards.of(f"stage.{stage.name}") for stage in sources.stages if _may_hang(stage)}
        if sources.ranker is not None and _may_hang(sources.ranker):
            outside.setdefault("rank", self.guards.of("ranker"))
        of_stages = [observer for observer in sources.observers if not isinstance(observer, RecallObserver)]
        self.runner = Runner(arranged(known, sources.stages), of_stages, outside)
        # `parse` and `plan` do the same without a recall as in one.
        self._parse = next((s for s in self.runner.stages if isinstance(s, Parse)), cast("Parse", known[0]))
        self.planning = next((s for s in self.runner.stages if isinstance(s, Plan)), cast("Plan", known[1]))
        self._caching: Caching | None = None
        if results is not None:
            self._caching = Caching(self.store, config, self._reading, results, literal=sources.literal)

    def _default_stages(
        self, llm: Callable[[str], str] | None, ranker: Ranker | None, specs: tuple[ArmSpec, ...]
    ) -> list[Stage]:
        """Make the stages of a recall, in order."""
        store, config, ranking = self.store, self.config, self.config.ranking
        own = ranker is not None and _may_hang(ranker)
        if ranker is None:
            ranker = resolve_ranker(ranking)
        reasons = {spec.name: spec.reason for spec in specs if spec.reason}
        delivery = Delivery(store, ranking.recency_half_life_days, reasons, known_of(ranker).labels, self._showing)
        guards = self.guards
        self.rewriting = rewriting = self._rewriting(llm)
        makers = {spec.name: spec.make(store, config) for spec in specs}
        unsure = None
        if config.query.entity_llm and llm is not None:
            unsure = EntityFallback(llm, guards.of("entities", who=_name(llm), limit_ms=ENTITY_LLM_MS, attempts=TRIES))
        precise = config.planner.precise_threshold
        parse = Parse(store, config, unsure, self._admission.waiting)
        embed = Embed(store, guards.of("embed", attempts=TRIES, fair_ms=EMBED_FAIR_MS))
        facts = Facts(store, store.slots) if config.facts.read and store.slots is not None else None
        arms = Arms(
            specs,
            makers,
            lambda name: guards.of(f"arm.{name}"),
            reranks=self.reranking is not None,
            facts=None if facts is None else store.facts_in,
        )
        rank = Rank(store, config, delivery, ranker, specs, makers)
        again = Again(embed, arms, rank, guards.of("ranker") if own else None)
        return [
            parse,
            Plan(store, config, specs, self._admission.waiting),
            *([] if facts is None else [facts]),
            *([Ask(rewriting, precise)] if rewriting.on and config.rewriting.mode == "full" else []),
            *([Words(arms, rank)] if config.retrieval.semantic_remote else []),
            embed,
            arms,
            rank,
            Rewrite(rewriting, parse, again, precise),
            *([] if self.reranking is None else [Rerank(self.reranking, delivery)]),
            Arrange(ranking, delivery, lambda: store.cosine_spread, *([] if facts is None else [store.facts_in])),
            Deliver(delivery, ranking.abstain_below, ranking.score_min),
        ]

    def _rewriting(self, llm: Callable[[str], str] | None) -> Rewriting:
        """Make the component that asks the LLM for phrasings; its cache and its contract are kept beside the store."""
        settings, path = self.config.rewriting, self.store.path
        return Rewriting(
            llm,
            self.guards.of("rewrite", who=_name(llm), limit_ms=settings.timeout_ms, attempts=TRIES),
            settings,
            RewriteCache(path / CACHE_FILE, ttl_s=settings.cache_s),
            Contract(path / CONTRACT_FILE),
        )

    def _rerank_stage(self, reranker: Reranker | None) -> RerankStage | None:
        if reranker is None:
            return None
        limit_ms = self.config.limits.rerank_budget_ms
        guard = self.guards.of("rerank", who=reranker.name, limit_ms=limit_ms, attempts=TRIES)
        return RerankStage(reranker, self.config.rerank, guard)

    # -- called by the optimizer ------------------------------------------------------------------------------------

    def read(
        self, query: str, scope: ScopeLike | None, now: datetime | None, window: Window, name: str | None
    ) -> ParsedQuery:
        """Parse a query; see `QueryOptimizer.parse`."""
        text = clean(query)
        where, zone = checked_scope(scope), checked_zone(name)
        moment = self._clock() if now is None else checked_time(now, "now", InvalidArgument)
        return self._read(text, moment, where, checked_window(window), zone)

    def _read(self, text: str, now: datetime, scope: Scope, window: Window, zone: ZoneInfo | None) -> ParsedQuery:
        parsed = self._parse.read(text, now, scope, window, zone)
        scope_id = self.store.scope_id(scope)
        return settled(parsed, None if scope_id is None else self.store.view(scope_id))[0]

    def _reading(self, request: RecallRequest, now: datetime) -> ParsedQuery | None:
        """Read a query as a recall at that time would; `None` where that may take long."""
        scope_id = self.store.scope_id(request.scope)
        if len(request.text) >= LONG_CHARS or (scope_id is not None and not self.store.in_memory(scope_id)):
            return None
        with self.store.reading():
            return self._read(request.text, now, request.scope, request.window, request.zone)

    def load(self, request: RecallRequest, scope: Scope, until: Deadline) -> bool:
        """Wait until what a recall of the scope needs is in memory; say whether it had to be read."""
        store, filters = self.store, request.filters
        scope_id = store.known(scope)
        if scope_id is None or (store.in_memory(scope_id) and self._filters_there(scope_id, filters)):
            return False
        with store.reading(until.remaining()):
            while not self._parse.loader.loaded(scope_id, until) and not until.over:
                until.wait(BUSY_S)
            while not until.over and not self._filters_there(scope_id, filters):
                if self.planning.filters_read(store.view(scope_id), request, until):
                    break
                until.wait(BUSY_S)
        return True

    def _filters_there(self, scope_id: int, filters: Filters) -> bool:
        """Say whether the columns of the filters are in memory."""
        return not filters or self.store.reader.filters_ready(self.store.view(scope_id), filters)

    def answer(
        self,
        request: RecallRequest,
        deadline: Deadline,
        door: Door,
        looked: Looked | None,
        served: Served = BY_RULES,
        *,
        kept: bool = True,
    ) -> RecallResult:
        """Answer a checked request for one scope: from the result cache, or by the stages."""
        if self._caching is None or not kept:
            return self._computed(request, deadline, door, looked, served)[0]
        began, asked = time.perf_counter(), self._caching.asked(request)
        found = None if self.store.away else self._caching.found(asked)
        if found is not None:
            return self._given_again(request, found, began, door)
        result, state = self._computed(request, deadline, door, looked)
        return self._caching.kept(asked, state, result)

    def _computed(
        self, request: RecallRequest, deadline: Deadline, door: Door, looked: Looked | None, served: Served = BY_RULES
    ) -> tuple[RecallResult, RecallState]:
        kept = {} if looked is None else self.store.reader.hydration()
        began = time.perf_counter()
        reading = self.store.reading((deadline.remaining_ms() + request.llm_wait_ms) / 1e3 + LATE_S)
        whose = str(self.store.known(request.scope) or "")
        with self._admission.admitted(deadline) as given, reading, serving(whose):
            k = given.k(request.k)
            asked = replace(request, k=k) if k != request.k else request
            state = RecallState(request=asked, door=door, level=given.level, looked=looked, served=served)
            shown = Shown(door, deadline, self._showing)
            shown.query(request.text)
            if self.store.away:  # writes of others since then are not in the answer
                state = state.degraded_by(Degradation(stage="store", reason=AWAY, detail=self.store.away))
            state = state.degraded_by(*_pressed(given, request, k, deadline))
            state, timings = self.runner.run(state, deadline)
            state = state.degraded_by(*unsearched(state))
            if state.query.original != request.text:  # there was time to read only a part of it
                shown.query(state.query.original)
        if looked is not None:
            after = self.store.reader.hydration()
            looked.computed(state, after["hits"] - kept["hits"], after["misses"] - kept["misses"])
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
            facts=None
            if state.held is None or state.view is None or door.blocked
            else decision(state.held, state.view, door),
            notes=tuple(Note(reason=n.reason, detail=door.detail(n.detail)) for n in (*self._says, *state.notes)),
        )
        return result, state

    def _given_again(self, request: RecallRequest, kept: RecallResult, began: float, door: Door) -> RecallResult:
        """Return an answer of the result cache, with the time it took to find it."""
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
        told = self.runner.tell(CACHE, state, took)
        timings = {CACHE: round(took, 3), "total": round((time.perf_counter() - began) * 1e3, 3)}
        new = told.degraded[len(kept.degraded) :]  # problems of observers that raised
        return replace(kept, timings_ms=timings, degraded=(*kept.degraded, *door.degradations(new)))


def _may_hang(given: object) -> bool:
    """Say whether a part that the user brought is called in a thread that may be left behind."""
    return bool(getattr(given, "may_hang", True))


def _name(llm: Callable[[str], str] | None) -> str:
    return getattr(llm, "__name__", "")


def _pressed(given: Admitted, request: RecallRequest, k: int, deadline: Deadline) -> tuple[Degradation, ...]:
    """Return the problems of pressure: what is left out, step by step."""
    if not given.steps:
        return ()
    why = f"{deadline.remaining_ms():.1f} of {request.time_budget_ms:g} ms are left; a whole recall takes "
    why += f"{given.usual_ms:.1f}." if given.usual_ms else "longer."
    said = {"reduced_top_k": f"k {request.k} → {k}: {why}"}
    steps = [step for step in given.steps if step != "reduced_top_k" or k < request.k]
    return tuple(Degradation(stage="admission", reason=step, detail=said.get(step, why)) for step in steps)


class ReadPaths:
    """The read paths of one configuration. Threads share it. It never changes: other settings are another object."""

    def __init__(self, sources: Sources, config: RecallConfig) -> None:
        self.sources, self.config = sources, config
        cache = config.cache
        self._results = (
            ResultCache(sources.store.revisions, cache.ttl_seconds, cache.max_entries) if config.caches else None
        )
        self.base = ReadPath(sources, config.with_entry(None), self._results)
        self._share = config.learned.traffic_fraction_for_new_weights if config.mode == "learned" else None
        self._entries = by_pattern(config.scopes)
        self._made: LRUCache[ScopeSettings, ReadPath] = LRUCache(PATHS_MAX)
        self._lock = threading.Lock()

    def of(self, scope: Scope) -> ReadPath:
        """Return the path of a scope."""
        entry = acting(self._entries, scope) if self._entries else None
        if entry is None:
            return self.base
        with self._lock:
            path = self._made.get(entry)
            if path is None:
                place = self.config.scopes.index(entry)
                says = f"scopes[{place}] of the settings acts here ({entry})."
                path = self._made[entry] = ReadPath(
                    self.sources, self.config.with_entry(entry), self._results, acting=says
                )
            return path

    def path(self, scope: ScopeLike | None) -> ReadPath:
        """Return the path of a scope as a caller gives it."""
        return self.of(checked_scope(scope)) if self._entries else self.base

    def forget(self) -> None:
        """Forget the answers that are kept."""
        if self._results is not None:
            self._results.drop(None)

    def checked(self, **arguments: Any) -> RecallRequest:
        """Check the arguments of a recall. Errors about them go through a door."""
        sources, config = self.sources, self.base.config
        dimensions = functools.partial(getattr, sources.store, "dimensions")  # asked only where a vector is given

        def check() -> RecallRequest:
            request = checked_request(config.limits, sources.clock, dimensions, **arguments)
            return changed(request, filters=screened(request.filters, Door(request.privacy, config.privacy.compiled)))

        try:
            # No memory has been read, and the caller must learn what is wrong with them: here `block` is as `redact`.
            hidden = arguments.get("mode") in ("redact", "block")
            request = passing(Door("redact" if hidden else "allow", config.privacy.compiled), check)
        except RecallError as e:
            self.sources.tell("refused", e)
            raise
        if arguments.get("time_budget_ms") is not None or request.scopes:
            return request
        path = self.path(request.scope)
        limits, wait_ms = path.config.limits, path.rewriting.wait_ms
        return changed(
            request, time_budget_ms=limits.time_budget_ms, load_wait_ms=limits.load_wait_ms, llm_wait_ms=wait_ms
        )

    def load(self, request: RecallRequest, deadline: Deadline) -> float:
        """Wait until what a recall needs is in memory, up to `load_wait_ms` beyond its time; return seconds waited."""
        if not request.load_wait_ms:
            return 0.0
        began, until = time.monotonic(), deadline.later(request.load_wait_ms / 1e3)
        loaded = [self.of(scope).load(request, scope, until) for scope in request.scopes or (request.scope,)]
        return time.monotonic() - began if any(loaded) else 0.0

    def recall(self, request: RecallRequest, deadline: Deadline, *, strict: bool = False) -> RecallResult:
        """Answer a checked request."""
        door = Door(request.privacy, self.base.config.privacy.compiled)
        path = self.base if request.scopes else self.of(request.scope)
        looking = self.sources.looking
        looked = None if looking is None else Looked(looking, request, _thresholds(path.config))
        served = BY_RULES
        try:
            waited = passing(door, functools.partial(self.load, request, deadline))
            if waited:
                deadline = deadline.later(waited)
            if request.scopes:
                result = passing(door, functools.partial(self._of_several, request, deadline, door, looked))
            else:
                served = self._served(request)
                result = passing(door, functools.partial(path.answer, request, deadline, door, looked, served))
            label = result.version if served.version is None else served.label  # of several: the first's
            result_id = self.sources.lately.new_id()  # by which feedback will name it
            signature = functools.partial(signature_of, result.query)
            self.sources.lately.note(result_id, request, result, label, signature)
            result = changed(result, id=result_id, version=label)
            if waited:
                took, ms = dict(result.timings_ms), round(waited * 1e3, 3)
                whole = round(took.pop("total", 0.0) + ms, 3)
                result = changed(result, timings_ms={"load": ms, **took, "total": whole})
            if not door.open:
                result = changed(result, timings_ms={name: float(round(ms)) for name, ms in result.timings_ms.items()})
        except BaseException as e:
            if looked is not None:
                looked.failed(e)
            raise
        error = complaint(result, request.time_budget_ms) if strict else None
        if looked is not None:
            result = looked.answered(result, door, error)
        if error is not None:
            raise error
        return result

    def _served(self, request: RecallRequest) -> Served:
        """Return the version learned from use that answers a request for one scope; by default the rules."""
        if self._share is None:
            return BY_RULES
        return served_by(self.sources.shelf, request.scope, request.text, self._share)

    def _of_several(
        self, request: RecallRequest, deadline: Deadline, door: Door, looked: Looked | None
    ) -> RecallResult:
        """Answer for each scope by its own settings, and merge the answers."""

        def answer(part: RecallRequest, own: Deadline) -> RecallResult:
            # A placeholder of an answer that was kept would stand for something else here.
            served = self._served(part)
            result = self.of(part.scope).answer(part, own, door, looked, served, kept=door.open)
            return result if served.version is None else changed(result, version=served.label)

        return of_several(request, deadline, answer, door, self.config.ranking.abstain_below)


def _thresholds(config: RecallConfig) -> dict[str, float]:
    """Return the thresholds that decide about plans, reranks and answers, by name."""
    planner = config.planner
    return {
        "precise": planner.precise_threshold,
        "exploratory": planner.exploratory_threshold,
        "entity_confidence_min": planner.entity_confidence_min,
        "rarity_promotion": RARE_ABOVE,
        "rerank": config.rerank.threshold or 0.0,
        "abstain_below": config.ranking.abstain_below,
    }
