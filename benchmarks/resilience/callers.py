"""Many callers at once, in threads and in one event loop: how many get an answer, and when."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.resilience.matrix import K
from benchmarks.resilience.samples import FAILED, Figures, Sample, figures, timed, timed_async
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_queries

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

CALLERS = 100
PATIENCE_S = 600.0  # longer than any of them may take
THREADS, TASKS = "threads", "arecall"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Callers that all begin at once.

    Args:
        how: `threads`, or `arecall`: tasks of one event loop.
        callers: how many.
        budget_ms: of each.
        total_s: until the last has its answer.
        figures: of them all.
    """

    how: str
    callers: int
    budget_ms: float
    total_s: float
    figures: Figures

    @property
    def p99_of_budget(self) -> float:
        """p99 as a share of the budget."""
        return self.figures.p99_ms / self.budget_ms


def measure(optimizer: QueryOptimizer, budgets: Sequence[float], callers: int = CALLERS) -> list[Crowd]:
    """Both kinds of callers at every budget. Queries of all plans, the same for both."""
    each = -(-callers // len(PLANS))
    queries = [
        query for row in zip(*(synthetic_queries(plan, each, seed=2) for plan in PLANS), strict=True) for query in row
    ]
    crowds = []
    for budget in budgets:
        for how, run in ((THREADS, in_threads), (TASKS, in_tasks)):
            begin = time.perf_counter()
            samples = run(optimizer, queries[:callers], budget)
            total_s = time.perf_counter() - begin
            crowds.append(
                Crowd(how=how, callers=callers, budget_ms=budget, total_s=round(total_s, 3), figures=figures(samples))
            )
    return crowds


def in_threads(optimizer: QueryOptimizer, queries: Sequence[str], budget_ms: float) -> list[Sample]:
    """A thread for each query. Threads are there before the first begins."""
    start = threading.Barrier(len(queries) + 1)
    samples: list[Sample] = []

    def call(query: str) -> None:
        start.wait(PATIENCE_S)
        samples.append(
            timed(lambda: optimizer.recall(query, k=K, scope=SCOPE, now=END, time_budget_ms=budget_ms), budget_ms)
        )

    threads = [threading.Thread(target=call, args=(query,), daemon=True) for query in queries]
    for thread in threads:
        thread.start()
    start.wait(PATIENCE_S)
    for thread in threads:
        thread.join(PATIENCE_S)
    lost = Sample(budget_ms=budget_ms, ms=PATIENCE_S * 1e3, outcome=FAILED, reasons=("raised:never came back",))
    return samples + [lost] * (len(queries) - len(samples))


def in_tasks(optimizer: QueryOptimizer, queries: Sequence[str], budget_ms: float) -> list[Sample]:
    """A task for each query, in one event loop."""

    async def all_of_them() -> list[Sample]:
        async def call(query: str) -> Sample:
            return await timed_async(
                lambda: optimizer.arecall(query, k=K, scope=SCOPE, now=END, time_budget_ms=budget_ms), budget_ms
            )

        return await asyncio.gather(*(call(query) for query in queries))

    return asyncio.run(all_of_them())
