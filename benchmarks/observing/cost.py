"""What it costs to observe recalls: metrics, traces and logs on, beside recalls without.

Protocol. One scope of `n` synthetic memories, the bundled embedding, `k = 10`, optimizers of one store. Latency: each
query is asked of all of them in turn, in an order that moves on; what is compared is the median of the differences
to the one without observers, so that a machine that gets busier tells on all. Processor: blocks of recalls of one
optimizer after another's, with what is done beside the caller, until all is told. Spans go through the SDK's batch
processor to nobody; lines go to the null device. A first round is not counted.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.shared.extras import require
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.asking import frozen
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

K = 10
OFF, AGAIN, METRICS, TRACING, LOGS, ALL = "off", "off, again", "metrics", "traces", "logs", "all"
QUEUE = 1_000_000  # spans: none is to be dropped
BOUND = 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one optimizer.

    Args:
        median_ms: of a recall.
        more_ms: median of the differences to the same query without observers.
        more: the same, as a share.
        cpu_ms: processor time of a recall with all that is done beside it.
        cpu_more: how much more that is, as a share.
    """

    median_ms: float
    more_ms: float
    more: float
    cpu_ms: float
    cpu_more: float


def run(
    console: Console,
    *,
    memories: int = 10_000,
    queries_per_plan: int = 20,
    rounds: int = 5,
    json_path: str | Path | None = None,
    seed: int = 0,
) -> dict[str, Cost]:
    """Measure, print the table, and write the report if asked.

    Args:
        console: where the table goes.
        memories: in the scope.
        queries_per_plan: queries of each kind.
        rounds: how often each is asked, besides the first.
        json_path: file for the report.
        seed: of memories and queries.

    Raises:
        InvalidArgument: a number under 1, or a report that could not be written.
        MissingExtra: what traces or metrics need is not installed.
    """
    from recall_integrations import MemoryStore

    if min(memories, queries_per_plan, rounds) < 1:
        raise InvalidArgument("memories, queries and rounds must be at least 1.")
    output = checked_output(json_path)
    queries = [query for plan in PLANS for query in synthetic_queries(plan, queries_per_plan, seed=seed)]
    with MemoryStore.open() as store:
        store.remember_many(synthetic_memories(memories, seed), scope=SCOPE)
        optimizers = observed(store)
        _latency(optimizers, queries, 1)
        with frozen():
            times = _latency(optimizers, queries, rounds)
            processor = _processor(optimizers, queries, rounds)
        for optimizer in optimizers.values():
            optimizer.close()
    costs = _costs(times, processor)
    show(costs, memories, console)
    report = {name: asdict(cost) for name, cost in costs.items()}
    write_report(output, {"environment": environment(), "memories": memories, "costs": report}, console)
    return costs


def observed(store: Any) -> dict[str, QueryOptimizer]:
    """Optimizers of a store, by what observes them."""
    from recall_integrations import QueryOptimizer
    from recall_integrations.observability.logs import RecallLog
    from recall_integrations.observability.metrics import Metrics
    from recall_integrations.observability.tracing import Tracing

    provider = _provider()
    logger = logging.getLogger("recall_integrations.recall.benchmark")
    logger.propagate, logger.level = False, logging.INFO
    logger.handlers = [logging.FileHandler(os.devnull)]
    log = RecallLog(logger.name)
    given: dict[str, list[Any]] = {
        OFF: [],
        AGAIN: [],
        METRICS: [Metrics()],
        TRACING: [Tracing(provider)],
        LOGS: [log],
        ALL: [Metrics(), Tracing(provider), log],
    }
    return {name: QueryOptimizer(store, observers=own) for name, own in given.items()}


def _provider() -> Any:
    """Of OpenTelemetry's SDK: spans are batched, and go nowhere."""
    export = require("opentelemetry.sdk.trace.export")

    class Nowhere(export.SpanExporter):  # type: ignore[misc, name-defined]
        def export(self, spans: Sequence[Any]) -> Any:
            return export.SpanExportResult.SUCCESS

    provider = require("opentelemetry.sdk.trace").TracerProvider()
    provider.add_span_processor(export.BatchSpanProcessor(Nowhere(), max_queue_size=QUEUE))
    return provider


def _latency(optimizers: dict[str, QueryOptimizer], queries: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each recall, by optimizer, in one order of recalls."""
    times: dict[str, list[float]] = {name: [] for name in optimizers}
    names = list(optimizers)
    for turn in range(rounds):
        for i, query in enumerate(queries):
            first = (turn + i) % len(names)
            for name in (*names[first:], *names[:first]):
                began = time.perf_counter()
                optimizers[name].recall(query, k=K, scope=SCOPE, now=END)
                times[name].append((time.perf_counter() - began) * 1e3)
    return times


def _processor(optimizers: dict[str, QueryOptimizer], queries: Sequence[str], rounds: int) -> dict[str, float]:
    """Milliseconds of the processor for a recall: the median of blocks."""
    blocks: dict[str, list[float]] = {name: [] for name in optimizers}
    for _ in range(rounds):
        for name, optimizer in optimizers.items():
            optimizer.recall(queries[0], k=K, scope=SCOPE, now=END)
            began = time.process_time()
            for query in queries:
                optimizer.recall(query, k=K, scope=SCOPE, now=END)
            optimizer.flush()
            blocks[name].append((time.process_time() - began) * 1e3 / len(queries))
    return {name: float(np.median(found)) for name, found in blocks.items()}


def _costs(times: dict[str, list[float]], processor: dict[str, float]) -> dict[str, Cost]:
    without = np.asarray(times[OFF])
    usual = float(np.median(without))
    costs = {}
    for name, found in times.items():
        more = float(np.median(np.asarray(found) - without))
        costs[name] = Cost(
            median_ms=float(np.median(found)),
            more_ms=more,
            more=more / usual,
            cpu_ms=processor[name],
            cpu_more=processor[name] / processor[OFF] - 1,
        )
    return costs


def show(costs: dict[str, Cost], memories: int, console: Console) -> None:
    """Print it."""
    table = Table(title=f"{memories:,} memories, a recall in ms", title_justify="left")
    table.add_column("observed by")
    for column in ("median", "more", "", "processor", ""):
        table.add_column(column, justify="right")
    for name, cost in costs.items():
        table.add_row(
            name,
            f"{cost.median_ms:.3f}",
            f"{cost.more_ms:+.3f}",
            f"{cost.more:+.1%}",
            f"{cost.cpu_ms:.3f}",
            f"{cost.cpu_more:+.1%}",
        )
    console.print(table)
    console.print(f"Bound: all of it on costs a recall at most {BOUND:.0%} more: {costs[ALL].more:+.1%}.")
