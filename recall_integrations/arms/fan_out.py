"""Asking the arms of a plan under one deadline: in threads, or in the caller's thread where they only compute.

An arm that fails or is late costs its results, not the answer: it is named in the degradations. Threads are there for
the deadline, so that a stuck arm can be left behind; its guard sees to it that it takes no other arm's. An arm that
only computes on columns that are in memory cannot get stuck, and takes less time than handing it to a thread does: it
runs in the caller's, while the others work.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult, NotAtHand
from recall_integrations.errors import RecallError
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import ERROR, SUCCESS, Answer, Call, Guard
from recall_integrations.types import Degradation
from recall_integrations.types.watching import Step

FIRST = 10  # of what an arm found, whose ids are told to who looks on


def _compared(request: ArmRequest) -> bool:
    return request.similarities is not None


@record(frozen=True, slots=True)
class InMemory:
    """Maker of an arm that reads nothing from the store where its data is in memory."""

    make: Callable[[], Arm]
    there: Callable[[ArmRequest], bool] = _compared  # whether its data is in memory. Default: whether the vectors are.
    # makes the arm to ask in a thread where the first raises `NotAtHand`; `None` = it never does
    beside: Callable[[], Arm] | None = None

    def __call__(self) -> Arm:
        return self.make()


def _made(make: Callable[[], Arm]) -> Arm:
    return make()


def whole(make: Callable[[], Arm]) -> Arm:
    """Make the arm that may also read data from the store."""
    return make.beside() if isinstance(make, InMemory) and make.beside is not None else make()


class FanOut:
    """The arms of one recall. `start` them, as soon as what they need is there, then `collect`."""

    def __init__(
        self,
        guards: Callable[[str], Guard],
        arms: Mapping[str, Callable[[], Arm]],
        deadline: Deadline,
        timings_ms: dict[str, float],
        share: Callable[[str], float] = lambda _name: 1.0,
        step: Step | None = None,
        searching: list[tuple[str, float, float]] | None = None,
    ) -> None:
        self._guards = guards
        self._arms = arms
        self._deadline = deadline
        self._timings_ms = timings_ms
        self._share = share
        self._started: dict[str, Call[ArmResult] | Answer[ArmResult]] = {}
        self._step = step
        self._steps: dict[str, Step] = {}
        self._searching = searching

    def start(self, requests: Sequence[tuple[str, ArmRequest]]) -> None:
        """Ask arms, and return when those without a thread are done."""
        alone = []
        if self._step is not None:
            for name, request in requests:
                inputs = {"terms": list(request.terms), "limit": request.limit}
                self._steps[name] = self._step.begin(f"arm.{name}", inputs)
        for name, request in requests:
            arm = self._arms[name]
            if isinstance(arm, InMemory) and arm.there(request):
                alone.append((name, request))
            else:
                self._beside(name, request)
        for name, request in alone:
            answer = self._here(name, request)
            if answer is None:
                self._beside(name, request)
            else:
                self._started[name] = answer

    def collect(self, order: Sequence[str]) -> tuple[list[ArmResult], list[Degradation]]:
        """Wait until the deadline; return results in the order of names given (not of arrival), and degradations."""
        results: list[ArmResult] = []
        degraded: list[Degradation] = []
        for name in (n for n in order if n in self._started):
            call = self._started[name]
            answer = call if isinstance(call, Answer) else self._guards(name).ended(call)
            if answer.value is None and self._steps:
                self._steps[name].end({}, answer.error or RecallError(f"{answer.code}: {answer.detail}"))
            if answer.value is not None:
                results.append(answer.value)
                if answer.value.without is not None:
                    reason, detail = answer.value.without
                    degraded.append(Degradation(stage=name, reason=reason, detail=detail))
            else:
                degraded.append(Degradation(stage=name, reason=answer.code, detail=answer.detail))
        return results, degraded

    def _beside(self, name: str, request: ArmRequest) -> None:
        limit = self._deadline.child(self._deadline.remaining_ms() * self._share(name))
        given = replace(request, deadline=limit)
        self._started[name] = self._guards(name).begin(limit, self._timed, whole, name, given)

    def _here(self, name: str, request: ArmRequest) -> Answer[ArmResult] | None:
        """Ask an arm in this thread; return `None` where its data is not in memory."""
        try:
            return Answer(reason=SUCCESS, value=self._timed(_made, name, request))
        except NotAtHand:
            return None
        except failures() as e:  # handled with those of the other arms
            return Answer(reason=ERROR, detail=f"{type(e).__name__}: {e}", error=e)

    def _timed(self, made: Callable[[Callable[[], Arm]], Arm], name: str, request: ArmRequest) -> ArmResult:
        begin = time.perf_counter()
        try:
            found = checked(made(self._arms[name]).search(request), name, request)
            if self._steps:
                self._steps[name].end(_told(found, request))
            return found
        finally:
            ended = time.perf_counter()
            self._timings_ms[f"arm.{name}"] = (ended - begin) * 1e3
            if self._searching is not None:
                self._searching.append((name, begin, ended))


def _told(found: ArmResult, request: ArmRequest) -> dict[str, Any]:
    """Summarise an arm's result as JSON for the watcher."""
    rows, scores = found.rows[:FIRST].tolist(), found.scores[:FIRST].tolist()
    best = [{"id": request.view.ids[row], "score": score} for row, score in zip(rows, scores, strict=True)]
    return {"found": len(found.rows), "best": best, "note": found.note}


def checked(found: object, name: str, request: ArmRequest) -> ArmResult:
    """Return an arm's answer if it is a valid result; later stages rely on it."""
    if not isinstance(found, ArmResult):
        raise TypeError(f"The arm {name!r} gave {type(found).__name__}. Return an ArmResult.")
    for rows, scores in ((found.rows, found.scores), (found.support_rows, found.support_scores)):
        if len(rows) != len(scores):
            raise ValueError(f"The arm {name!r} gave {len(rows)} rows and {len(scores)} scores.")
        if not len(rows):
            continue
        # Without their sign, rows below 0 are far above all others.
        if np.maximum.reduce(np.asarray(rows, dtype=np.int64).view(np.uint64)) >= request.view.size:
            raise ValueError(f"The arm {name!r} gave rows that are not in the scope.")
        # A sum that is finite has no other numbers in it; large ones may have one that is not.
        if not (math.isfinite(np.add.reduce(scores)) or np.isfinite(scores).all()):
            raise ValueError(f"The arm {name!r} gave scores that are no finite numbers.")
    return found
