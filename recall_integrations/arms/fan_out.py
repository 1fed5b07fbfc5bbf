"""Asks the arms of a plan under one deadline: in threads of a pool, or in the caller's where they only compute.

An arm that fails or is late costs its results, not the answer: it is named in the degradations. Threads are there for
the deadline, so that a stuck arm can be left behind; one long-lived pool serves all recalls. An arm that only computes
on columns that are in memory cannot get stuck, and takes less time than handing it to a thread does: it runs in the
caller's, while the others work.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult
from recall_integrations.errors import RecallError
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Degradation

POLL_SECONDS = 0.05  # how soon a cancelled recall lets go


@dataclass(frozen=True, slots=True)
class InMemory:
    """Makes an arm that, where the vectors of the scope are in memory, reads nothing else."""

    make: Callable[[], Arm]

    def __call__(self) -> Arm:
        return self.make()


class FanOut:
    """The arms of one recall. `start` them, as soon as what they need is there, then `collect`.

    Args:
        pool: of threads.
        arms: what makes each arm; opening an index is a part of the arm that may fail.
        deadline: of the recall.
        timings_ms: gets `arm.<name>`.
    """

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        arms: Mapping[str, Callable[[], Arm]],
        deadline: Deadline,
        timings_ms: dict[str, float],
    ) -> None:
        self._pool = pool
        self._arms = arms
        self._deadline = deadline
        self._timings_ms = timings_ms
        self._started: dict[str, Future[ArmResult]] = {}
        self._refused: list[Degradation] = []

    def start(self, requests: Sequence[tuple[str, ArmRequest]]) -> None:
        """Ask arms. Returns when those that need no thread are done."""
        here = []
        for name, request in requests:
            if isinstance(self._arms[name], InMemory) and request.similarities is not None:
                here.append((name, request))
                continue
            run = contextvars.copy_context().run
            try:
                self._started[name] = self._pool.submit(run, self._timed, name, request)
            except RuntimeError as e:  # the pool is shut down
                self._refused.append(Degradation(stage=name, reason="error", detail=str(e)))
        for name, request in here:
            done: Future[ArmResult] = Future()
            try:
                done.set_result(self._timed(name, request))
            except Exception as e:  # noqa: BLE001 - handled with those of the other arms
                done.set_exception(e)
            self._started[name] = done

    def collect(self, order: Sequence[str]) -> tuple[list[ArmResult], list[Degradation]]:
        """Results in the order of names given (not of arrival), and what went wrong. Waits until the deadline."""
        pending: set[Future[Any]] = set(self._started.values())
        while pending and not self._deadline.over:
            left = min(POLL_SECONDS, max(self._deadline.remaining(), 0.0))
            _, pending = wait(pending, timeout=left, return_when=FIRST_COMPLETED)
        results: list[ArmResult] = []
        degraded = list(self._refused)
        for name in (n for n in order if n in self._started):
            future = self._started[name]
            if not future.done() or future.cancelled():  # cancelled: the optimizer was closed meanwhile
                reason = "cancelled" if self._deadline.cancelled or future.cancelled() else "timeout"
                future.cancel()
                degraded.append(Degradation(stage=name, reason=reason, detail="The arm did not answer in time."))
                continue
            error = future.exception()
            if error is None:
                results.append(future.result())
            else:
                code = error.code.lower() if isinstance(error, RecallError) else "error"
                degraded.append(Degradation(stage=name, reason=code, detail=f"{type(error).__name__}: {error}"))
        return results, degraded

    def _timed(self, name: str, request: ArmRequest) -> ArmResult:
        begin = time.perf_counter()
        try:
            return self._arms[name]().search(request)
        finally:
            self._timings_ms[f"arm.{name}"] = (time.perf_counter() - begin) * 1e3
