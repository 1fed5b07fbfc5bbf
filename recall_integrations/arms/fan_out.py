"""Asks the arms of a plan under one deadline: in threads of their own, or in the caller's where they only compute.

An arm that fails or is late costs its results, not the answer: it is named in the degradations. Threads are there for
the deadline, so that a stuck arm can be left behind; its guard sees to it that it takes no other arm's. An arm that
only computes on columns that are in memory cannot get stuck, and takes less time than handing it to a thread does: it
runs in the caller's, while the others work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import ERROR, SUCCESS, Answer, Call, Guard
from recall_integrations.types import Degradation


def _compared(request: ArmRequest) -> bool:
    return request.similarities is not None


@dataclass(frozen=True, slots=True)
class InMemory:
    """Makes an arm that reads nothing else where what it needs of the scope is in memory.

    Args:
        make: makes it.
        there: whether that is so. Default: where the vectors are.
    """

    make: Callable[[], Arm]
    there: Callable[[ArmRequest], bool] = _compared

    def __call__(self) -> Arm:
        return self.make()


class FanOut:
    """The arms of one recall. `start` them, as soon as what they need is there, then `collect`.

    Args:
        guards: an arm's name → what calls it where it needs a thread.
        arms: what makes each arm; opening an index is a part of the arm that may fail.
        deadline: of the recall.
        timings_ms: gets `arm.<name>`.
        share: of an arm in the time that is left, in (0, 1].
    """

    def __init__(
        self,
        guards: Callable[[str], Guard],
        arms: Mapping[str, Callable[[], Arm]],
        deadline: Deadline,
        timings_ms: dict[str, float],
        share: Callable[[str], float] = lambda _name: 1.0,
    ) -> None:
        self._guards = guards
        self._arms = arms
        self._deadline = deadline
        self._timings_ms = timings_ms
        self._share = share
        self._started: dict[str, Call[ArmResult] | Answer[ArmResult]] = {}

    def start(self, requests: Sequence[tuple[str, ArmRequest]]) -> None:
        """Ask arms. Returns when those that need no thread are done."""
        alone = []
        for name, request in requests:
            arm = self._arms[name]
            if isinstance(arm, InMemory) and arm.there(request):
                alone.append((name, request))
            else:
                limit = self._deadline.child(self._deadline.remaining_ms() * self._share(name))
                given = replace(request, deadline=limit)
                self._started[name] = self._guards(name).begin(limit, self._timed, name, given)
        for name, request in alone:
            self._started[name] = self._here(name, request)

    def collect(self, order: Sequence[str]) -> tuple[list[ArmResult], list[Degradation]]:
        """Results in the order of names given (not of arrival), and what went wrong. Waits until the deadline."""
        results: list[ArmResult] = []
        degraded: list[Degradation] = []
        for name in (n for n in order if n in self._started):
            call = self._started[name]
            answer = call if isinstance(call, Answer) else self._guards(name).ended(call)
            if answer.value is not None:
                results.append(answer.value)
            else:
                degraded.append(Degradation(stage=name, reason=answer.code, detail=answer.detail))
        return results, degraded

    def _here(self, name: str, request: ArmRequest) -> Answer[ArmResult]:
        try:
            return Answer(reason=SUCCESS, value=self._timed(name, request))
        except failures() as e:  # handled with those of the other arms
            return Answer(reason=ERROR, detail=f"{type(e).__name__}: {e}", error=e)

    def _timed(self, name: str, request: ArmRequest) -> ArmResult:
        begin = time.perf_counter()
        try:
            return checked(self._arms[name]().search(request), name, request)
        finally:
            self._timings_ms[f"arm.{name}"] = (time.perf_counter() - begin) * 1e3


def checked(found: object, name: str, request: ArmRequest) -> ArmResult:
    """What an arm gave, if it is a result: what comes after relies on it.

    Raises:
        TypeError, ValueError: it is none, or has rows that are not in the scope, or scores that are no numbers.
    """
    if not isinstance(found, ArmResult):
        raise TypeError(f"The arm {name!r} gave {type(found).__name__}. Return an ArmResult.")
    for rows, scores in ((found.rows, found.scores), (found.support_rows, found.support_scores)):
        if len(rows) != len(scores):
            raise ValueError(f"The arm {name!r} gave {len(rows)} rows and {len(scores)} scores.")
        if len(rows) and not (int(rows.min()) >= 0 and int(rows.max()) < request.view.size):
            raise ValueError(f"The arm {name!r} gave rows that are not in the scope.")
        if len(rows) and not np.isfinite(scores).all():
            raise ValueError(f"The arm {name!r} gave scores that are no finite numbers.")
    return found
