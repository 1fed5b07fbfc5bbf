"""The read paths of an optimizer: one for all, and others for the scopes that have settings of their own."""

from __future__ import annotations

import functools
import threading
import time
from datetime import datetime
from typing import Any

from cachetools import LRUCache

from recall_integrations.config import RecallConfig
from recall_integrations.config.scopes import ScopeSettings, acting, by_pattern
from recall_integrations.errors import RecallError
from recall_integrations.learning.serving import BY_RULES, Served
from recall_integrations.learning.serving import served as served_by
from recall_integrations.learning.version import signature_of
from recall_integrations.privacy.door import Door, passing
from recall_integrations.ranking.rank import resolve_ranker
from recall_integrations.recall.lately import RESULTS_MAX
from recall_integrations.recall.looking import Looked
from recall_integrations.recall.read_path import ReadPath, Sources
from recall_integrations.recall.result_cache import ResultCache
from recall_integrations.recall.several import of_several
from recall_integrations.recall.strictness import complaint
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import ParsedQuery, RecallResult, RetrievalPlan, Scope, ScopeLike, checked_scope
from recall_integrations.types.making import changed
from recall_integrations.types.request import RecallRequest, Window

PATHS_MAX = 256  # number of entries of `scopes` that are in use at once


class ReadPaths:
    """The read paths of one configuration. Threads share it. It never changes: other settings are another object.

    Args:
        sources: the objects that the paths are made of.
        config: all settings.

    Raises:
        ConfigError: weights cannot be read, also those of an entry of `scopes`.
    """

    def __init__(self, sources: Sources, config: RecallConfig) -> None:
        self.sources, self.config = sources, config
        cache = config.cache
        self._results = (
            ResultCache(sources.store.revisions, cache.ttl_seconds, cache.max_entries) if config.caches else None
        )
        self.base = ReadPath(sources, config.with_entry(None), self._results)
        learned = config.learned
        sources.lately.hold(RESULTS_MAX if learned.feedback else 0)
        self._learned = (learned.traffic_fraction_for_new_weights, learned.shared) if config.mode == "learned" else None
        self._entries = by_pattern(config.scopes)
        self._made: LRUCache[ScopeSettings, ReadPath] = LRUCache(PATHS_MAX)
        self._lock = threading.Lock()
        if sources.ranker is None:
            for ranking in {config.with_entry(entry).ranking for entry in config.scopes}:
                resolve_ranker(ranking)  # tell of a missing file of weights now, not to whoever recalls

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

    def with_config(self, config: RecallConfig) -> ReadPaths:
        """Return read paths with other settings: breakers and times are kept, answers are not."""
        return ReadPaths(self.sources, config)

    def forget(self) -> None:
        """Forget the answers that are kept."""
        if self._results is not None:
            self._results.drop(None)

    def read(
        self, query: str, scope: ScopeLike | None, now: datetime | None, window: Window, name: str | None
    ) -> ParsedQuery:
        """Parse a query; see `QueryOptimizer.parse`."""
        path = self.of(checked_scope(scope)) if self._entries else self.base
        return path.read(query, scope, now, window, name)

    def plan(self, parsed: ParsedQuery, scope: ScopeLike | None) -> RetrievalPlan:
        """Plan a parsed query; see `QueryOptimizer.plan`."""
        path = self.of(checked_scope(scope)) if self._entries else self.base
        return path.plan(parsed)

    def checked(self, **arguments: Any) -> RecallRequest:
        """Check the arguments of a recall."""
        try:
            request = self.base.checked(**arguments)
        except RecallError as e:
            if self.sources.looking is not None:
                self.sources.looking.refused(e)
            raise
        if self._entries and arguments["time_budget_ms"] is None and not request.scopes:
            limits = self.of(request.scope).config.limits
            return changed(request, time_budget_ms=limits.time_budget_ms, load_wait_ms=limits.load_wait_ms)
        return request

    def load(self, request: RecallRequest, deadline: Deadline) -> float:
        """Wait until what a recall needs is in memory, up to `load_wait_ms` beyond its time; return seconds waited."""
        if not request.load_wait_ms:
            return 0.0
        began, until = time.monotonic(), deadline.later(request.load_wait_ms / 1e3)
        loaded = [self.of(scope).load(request, scope, until) for scope in request.scopes or (request.scope,)]
        return time.monotonic() - began if any(loaded) else 0.0

    def recall(self, request: RecallRequest, deadline: Deadline, *, strict: bool = False) -> RecallResult:
        """Answer a checked request."""
        door = self.base.door(request.privacy)
        path = self.base if request.scopes else self.of(request.scope)
        looking = self.sources.looking
        looked = None if looking is None else looking.begun(request, _thresholds(path.config))
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
            result = _with_wait(self._identified(request, result, served), waited)
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
        if self._learned is None:
            return BY_RULES
        return served_by(self.sources.shelf, request.scope, request.text, *self._learned)

    def _identified(self, request: RecallRequest, result: RecallResult, served: Served) -> RecallResult:
        """Return the answer with an id, by which feedback will name it."""
        lately = self.sources.lately
        result_id = lately.new_id()
        label = result.version if served.version is None else served.label  # of several: the first's
        lately.note(result_id, request, result, label, functools.partial(signature_of, result.query))
        return changed(result, id=result_id, version=label)

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


def _with_wait(result: RecallResult, seconds: float) -> RecallResult:
    """Return the answer with the time that the recall waited until what it needed was in memory."""
    if not seconds:
        return result
    took, ms = dict(result.timings_ms), round(seconds * 1e3, 3)
    whole = round(took.pop("total", 0.0) + ms, 3)
    return changed(result, timings_ms={"load": ms, **took, "total": whole})


def _thresholds(config: RecallConfig) -> dict[str, float]:
    """Return the thresholds that decide about plans, reranks and answers, by name."""
    planner = config.planner
    return {
        "precise": planner.precise_threshold,
        "exploratory": planner.exploratory_threshold,
        "entity_confidence_min": planner.entity_confidence_min,
        "rarity_promotion": planner.rarity_promotion,
        "rerank": config.rerank.threshold or 0.0,
        "abstain_below": config.ranking.abstain_below,
    }
