"""Asks the arms of a plan in parallel under one deadline.

An arm that fails or is late costs its results, not the answer: it is named in the degradations. Threads are there for
the deadline, so that a stuck arm can be left behind; one long-lived pool serves all recalls.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from recall_integrations.errors import RecallError
from recall_integrations.records import Degradation
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.retrievers.base import Arm, ArmRequest, ArmResult

POLL_SECONDS = 0.05  # how soon a cancelled recall lets go


def ask(
    pool: ThreadPoolExecutor,
    arms: Mapping[str, Callable[[], Arm]],
    requests: Sequence[tuple[str, ArmRequest]],
    deadline: Deadline,
    timings_ms: dict[str, float],
) -> tuple[list[ArmResult], list[Degradation]]:
    """Results in the order of `requests` (not of arrival), and what went wrong."""
    started: list[tuple[str, Future[ArmResult]]] = []
    degraded: list[Degradation] = []
    for name, request in requests:
        run = contextvars.copy_context().run
        try:
            started.append((name, pool.submit(run, _timed, arms[name], request, name, timings_ms)))
        except RuntimeError as e:  # the pool is shut down
            degraded.append(Degradation(stage=name, reason="error", detail=str(e)))
    pending: set[Future[Any]] = {future for _, future in started}
    while pending and not deadline.over:
        _, pending = wait(
            pending, timeout=min(POLL_SECONDS, max(deadline.remaining(), 0.0)), return_when=FIRST_COMPLETED
        )
    results: list[ArmResult] = []
    for name, future in started:
        if not future.done() or future.cancelled():  # cancelled: the optimizer was closed meanwhile
            reason = "cancelled" if deadline.cancelled or future.cancelled() else "timeout"
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


def _timed(arm: Callable[[], Arm], request: ArmRequest, name: str, timings_ms: dict[str, float]) -> ArmResult:
    begin = time.perf_counter()
    try:
        return arm().search(request)
    finally:
        timings_ms[f"arm.{name}"] = (time.perf_counter() - begin) * 1e3
