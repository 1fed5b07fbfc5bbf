"""What a hit of the result cache takes, and what keeping answers costs the recalls that are computed.

Protocol. One scope of `n` synthetic memories, the bundled embedding, `k = 10`. Each query is asked four times in a row:
of an optimizer with `mode: rule`, of one with `mode: cached` (a miss), of that again (a hit in the same letters), and
of that in capitals (a hit that is read first). A first round is not counted. Times are end to end, wall clock; the
garbage collector runs as in `speed.latency`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.asking import Percentiles, frozen
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations.config import CacheConfig, RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer, RecallResult

K = 10
TTL_SECONDS = 3_600.0  # a slow machine is not to lose entries
PLAIN, MISS, SAME, ALIKE = "mode: rule", "mode: cached, miss", "hit, same letters", "hit, other letters"
REASONS = {SAME: "same", ALIKE: "alike"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """What was measured.

    Args:
        memories: in the scope.
        latency: kind of recall → percentiles in milliseconds.
        outcomes: `strategy:reason` of the cached recalls → how many.
    """

    memories: int
    latency: dict[str, Percentiles]
    outcomes: dict[str, int]


def run(
    console: Console,
    *,
    memories: int = 10_000,
    queries_per_plan: int = 50,
    json_path: str | Path | None = None,
    seed: int = 0,
) -> CacheReport:
    """Measure, print the table, and write the report if asked.

    Args:
        console: where the table goes.
        memories: in the scope.
        queries_per_plan: queries of each kind.
        json_path: file for the report.
        seed: of memories and queries.

    Raises:
        InvalidArgument: a number under 1, or a report that could not be written.
    """
    from recall_integrations import MemoryStore, QueryOptimizer

    if min(memories, queries_per_plan) < 1:
        raise InvalidArgument("memories and queries must be at least 1.")
    output = checked_output(json_path)
    kept = CacheConfig(ttl_seconds=TTL_SECONDS, max_entries=100_000)
    config = RecallConfig(mode="cached", cache=kept)
    with MemoryStore.open() as store:
        store.remember_many(synthetic_memories(memories, seed), scope=SCOPE)
        plain, cached = QueryOptimizer(store), QueryOptimizer(store, config=config)
        for query in _queries(queries_per_plan, seed + 1):
            for optimizer in (plain, cached):
                optimizer.recall(query, k=K, scope=SCOPE, now=END)
        with frozen():
            report = measure(plain, cached, memories, _queries(queries_per_plan, seed))
    show(report, console)
    write_report(output, {"environment": environment(), **asdict(report)}, console)
    return report


def _queries(each: int, seed: int) -> list[str]:
    return list(dict.fromkeys(query for plan in PLANS for query in synthetic_queries(plan, each, seed=seed)))


def measure(
    plain: QueryOptimizer,
    cached: QueryOptimizer,
    memories: int,
    queries: Sequence[str],
) -> CacheReport:
    """Ask each query in the four ways."""
    times: dict[str, list[float]] = {}
    outcomes: Counter[str] = Counter()

    def timed(kind: str, optimizer: QueryOptimizer, query: str) -> RecallResult:
        began = time.perf_counter()
        result = optimizer.recall(query, k=K, scope=SCOPE, now=END)
        took = (time.perf_counter() - began) * 1e3
        if kind in (PLAIN, MISS) or result.cache.reason == REASONS[kind]:
            times.setdefault(kind, []).append(took)
        return result

    for query in queries:
        timed(PLAIN, plain, query)
        for kind, text in ((MISS, query), (SAME, query), (ALIKE, query.upper())):
            cache = timed(kind, cached, text).cache
            outcomes[f"{cache.strategy}:{cache.reason}"] += 1
    return CacheReport(
        memories=memories,
        latency={kind: _percentiles(found) for kind, found in times.items()},
        outcomes=dict(sorted(outcomes.items())),
    )


def _percentiles(times: Sequence[float]) -> Percentiles:
    p50, p95, p99 = (float(v) for v in np.percentile(times, (50, 95, 99)))
    return Percentiles(queries=len(times), p50=p50, p95=p95, p99=p99)


def show(report: CacheReport, console: Console) -> None:
    """Print it."""
    table = Table(title=f"{report.memories:,} memories, latency in ms", title_justify="left")
    table.add_column("recall")
    for column in ("queries", "p50", "p95", "p99"):
        table.add_column(column, justify="right")
    for kind, p in report.latency.items():
        table.add_row(kind, str(p.queries), f"{p.p50:.3f}", f"{p.p95:.3f}", f"{p.p99:.3f}")
    console.print(table)
    console.print("Outcomes: " + ", ".join(f"{name} {count}" for name, count in report.outcomes.items()))
