"""Tells observers of whole recalls (`types.observing`) about each recall. Their errors cannot cost it the answer.

Without such observers nothing here is made or called.
"""

from __future__ import annotations

import contextvars
import functools
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from recall_integrations.privacy.door import Door, told
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import TIMEOUT
from recall_integrations.resilience.later import Later
from recall_integrations.types import Degradation, RecallResult
from recall_integrations.types.observing import ArmSeen, Look, PartSeen, RecallEvent, RecallObserver

if TYPE_CHECKING:
    from recall_integrations.arms.base import ArmResult
    from recall_integrations.recall.state import RecallState
    from recall_integrations.types.observing import RecallRequest

logger = logging.getLogger("recall_integrations")
ARMS = "arms"
DIGEST_BYTES = 8
Searching = tuple[str, float, float]  # an arm, when it began, when it ended


class Looking:
    """The observers of one optimizer. Threads share it."""

    def __init__(self, observers: Sequence[RecallObserver], key: bytes) -> None:
        self.observers, self._key = tuple(observers), key[:64]
        self.later = Later()
        self._complained: set[str] = set()

    def tell_later(self, what: str, value: object) -> None:
        """Tell observers in the thread for that; `what` is `refused`, `learned` or `judged`."""
        context = contextvars.copy_context()
        for observer in self.observers:
            call = functools.partial(getattr(observer, what), value)
            self.later.add(functools.partial(context.run, self.tell, observer, call))

    def tell(self, observer: RecallObserver, call: Callable[[], object]) -> None:
        """Tell an observer. If it raises, log that once for each kind of error."""
        try:
            call()
        except failures() as e:
            kind = f"{type(observer).__name__} raised {type(e).__name__}"
            if kind not in self._complained:
                self._complained.add(kind)
                logger.warning("The observer %s: %s. It is told of further recalls.", kind, told(e))

    def digest(self, scope: str) -> str:
        """Return the digest of a scope under the key of this store."""
        return hashlib.blake2b(scope.encode("utf-8", "replace"), digest_size=DIGEST_BYTES, key=self._key).hexdigest()


class Looked:
    """One recall that is observed. Work that can wait is done when observers are told."""

    def __init__(self, looking: Looking, request: RecallRequest, thresholds: Mapping[str, float]) -> None:
        self._looking, self.request, self._thresholds = looking, request, thresholds
        self._context = contextvars.copy_context()
        self.began_s = self._stage_s = time.perf_counter()
        self._parts: list[Callable[[], PartSeen]] = []
        self._searched: list[_Searched] = []
        self._raised: list[BaseException] = []
        self._of = [(observer, self._begun(observer)) for observer in looking.observers]
        self._looks = [look for _, look in self._of if look is not None]

    def stage(self, name: str) -> None:
        """Tell the observers that a stage begins."""
        self._stage_s = time.perf_counter()
        for look in self._looks:
            self._asked(look.stage, name)

    def ended(
        self, name: str, state: RecallState, failed: bool, degraded: Sequence[Degradation], searching: list[Searching]
    ) -> None:
        """Tell the observers that a stage has ended."""
        if name == ARMS:
            late = [problem.stage for problem in degraded if problem.reason == TIMEOUT]
            self._searched.append(_Searched(searching, late, self._stage_s, time.perf_counter()))
        if self._looks:
            told = state.door.degradations(degraded) if degraded else ()
            for look in self._looks:
                self._asked(look.ended, name, failed, told)

    def computed(self, state: RecallState, hydrated: int, read: int) -> None:
        """Note the figures of one scope, all stages of which have ended."""
        fused = state.fused
        first = () if fused is None else fused.rows[: len(state.hits)].tolist()
        searched, self._searched = self._searched, []
        candidates = 0 if fused is None else len(fused.rows)
        # Nothing that is kept until observers are told holds the scope's columns.
        arms = functools.partial(_arms, searched, state.results, frozenset(first))
        figures = {"level": state.level, "candidates": candidates, "hydrated": hydrated, "read": read}
        self._parts.append(lambda: PartSeen(arms=arms(), **figures))

    def answered(self, result: RecallResult, door: Door, error: BaseException | None = None) -> RecallResult:
        """Tell the observers of the answer, and return it with a note on observers that raised."""
        self._over(result, error)
        if not self._raised:
            return result
        e = self._raised[0]
        named = Degradation(stage="observer", reason="error", detail=f"{type(e).__name__}: {e}")
        return replace(result, degraded=(*result.degraded, *door.degradations((named,))))

    def failed(self, error: BaseException) -> None:
        """Tell the observers that the recall failed."""
        self._over(None, error)

    def _over(self, result: RecallResult | None, error: BaseException | None) -> None:
        took_ms = (time.perf_counter() - self.began_s) * 1e3
        for look in self._looks:
            self._asked(look.over)
        self._looking.later.add(functools.partial(self._context.run, self._tell, took_ms, result, error))

    def _tell(self, took_ms: float, result: RecallResult | None, error: BaseException | None) -> None:
        request = self.request
        event = RecallEvent(
            took_ms=took_ms,
            privacy=request.privacy,
            k=request.k,
            scopes=tuple(self._looking.digest(str(scope)) for scope in request.scopes or (request.scope,)),
            thresholds=self._thresholds,
            parts=tuple(part() for part in self._parts),
            result=result,
            error=error,
        )
        for observer, look in self._of:
            self._looking.tell(observer, functools.partial(observer.recalled, event, look))

    def _begun(self, observer: RecallObserver) -> Look | None:
        try:
            return observer.begin()
        except failures() as e:  # as in `_asked`
            self._raised.append(e)
            return None

    def _asked(self, call: Callable[..., object], *args: object) -> None:
        try:
            call(*args)
        except failures() as e:  # an observer must not cost the answer; the result names it
            self._raised.append(e)


class _Searched(NamedTuple):
    """A run of the arms: those that searched, those that were given up, its begin and its end."""

    searching: list[Searching]
    late: list[str]
    began_s: float
    ended_s: float


def _arms(runs: Sequence[_Searched], results: Sequence[ArmResult], first: frozenset[int]) -> tuple[ArmSeen, ...]:
    """Return the arms of each run in the order in which they began; those that were given up last."""
    by_name, arms = {found.arm: found for found in results}, []
    for run in runs:
        last = {one[0]: one for one in run.searching}  # an arm that lacked something in memory was asked again
        for name, began, ended in sorted(last.values(), key=lambda one: one[1]):
            found, took_ms = by_name.get(name), (ended - began) * 1e3
            if found is None:
                arms.append(ArmSeen(name=name, began_s=began, took_ms=took_ms))
                continue
            arms.append(
                ArmSeen(
                    name=name,
                    began_s=began,
                    took_ms=took_ms,
                    found=len(found.rows),
                    placed=len(first.intersection(found.rows.tolist())),
                    seeds=found.seeds,
                    edges=found.edges,
                    by=found.note if name == "semantic" else "",
                )
            )
        took_ms = (run.ended_s - run.began_s) * 1e3
        arms += [ArmSeen(name=n, began_s=run.began_s, took_ms=took_ms) for n in run.late if n not in last]
    return tuple(arms)
