"""How long it takes to understand a query: `QueryOptimizer.parse` and `plan`, without any language model, step by step.

Made-up memories (`synthetic`) in one scope; each also mentions somebody or something of a large cast, so
that the scope has as many entities as asked for, with syllables in common, as names have. Queries are of mixed kinds
and all different, so that no cache of answers helps; a first part of them warms up and is not counted. Times are wall
clock, with the garbage collector on but what exists before collected and frozen. Steps are those that the parser
guards; `other` is the rest of the parse (words, features, roles, what the store knows of the scope).

What a fresh process pays for its first parse is measured in one: `python -m benchmarks.speed.parsing
DIRECTORY` prints it as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.asking import frozen
from benchmarks.speed.cast import cast, mixed_queries, populated
from benchmarks.speed.probe import in_fresh_process
from benchmarks.speed.synthetic import END, SCOPE
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output
from recall_integrations.query.findings import Findings

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

MODULE = "benchmarks.speed.parsing"
ALL, PLAN, PARSE, OTHER = "all", "plan", "parse", "other"
STEPS = (
    "temporal",
    "session",
    "negation",
    "entities",
    "identifiers",
    "asked_role",
    "spelling",
    "rarity",
    "router",
    "conversational",
    "type_cues",
    "predicates",
    "asides",
    "entity_density",
    "entity_llm",
    "terms",
    "corrected_query",
    "tokens",
    "talk",
)
TARGET_MS = (2.0, 4.0)  # p50 and p95 of parse and plan together


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds over `count` queries."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseReport:
    """What was measured.

    Args:
        memories: in the scope.
        entities: that the scope's catalogue holds.
        queries: that were timed.
        degraded: parses in which a step failed.
        kinds: kind of query (`all` first) → parse and plan together.
        steps: step → time of it over all queries; with `other`, `parse` (all of them) and `plan`.
        cold: of a fresh process: `import_ms`, `open_ms`, `first_ms` (parse and plan), `second_ms`, `later_ms` (median).
    """

    memories: int
    entities: int
    queries: int
    degraded: int
    kinds: Mapping[str, Timing]
    steps: Mapping[str, Timing]
    cold: Mapping[str, float]


def run(
    console: Console,
    *,
    memories: int = 100_000,
    entities: int = 10_000,
    queries: int = 2_000,
    json_path: str | Path | None = None,
    seed: int = 0,
) -> ParseReport:
    """Fill a temporary store, measure, print the tables, and write the report if asked.

    Args:
        console: where tables and progress go.
        memories: in the scope.
        entities: in its cast; each memory mentions one, so there must be at least as many memories.
        queries: timed ones; a tenth as many warm up.
        json_path: file for the report.
        seed: of memories, names and queries.

    Raises:
        InvalidArgument: a number under 1, more entities than memories, or a report that could not be written.
        MissingExtra: `psutil`, of the `bench` extra, is missing.
    """
    for name, value in (("memories", memories), ("entities", entities), ("queries", queries)):
        if value < 1:
            raise InvalidArgument(f"{name} must be at least 1, not {value}.")
    if entities > memories:
        raise InvalidArgument(f"{entities:,} entities need as many memories; there are {memories:,}.")
    extras.check(extras.PROCESSES)
    output = checked_output(json_path)
    report = measure(console, memories=memories, entities=entities, queries=queries, seed=seed)
    show(report, console)
    write_report(output, {**asdict(report), "environment": environment()}, console)
    return report


def measure(console: Console, *, memories: int, entities: int, queries: int, seed: int) -> ParseReport:
    """Write, parse once in a fresh process, open again, warm up, parse."""
    from recall_integrations import MemoryStore, QueryOptimizer

    names = cast(entities, seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-bench-"))) / "store"
        with console.status(f"{memories:,} memories: remembering"), MemoryStore.open(folder) as store:
            store.remember_many(populated(memories, names, seed), scope=SCOPE)
        with console.status("a fresh process"):
            cold = in_fresh_process(folder, MODULE)
        store = stack.enter_context(MemoryStore.open(folder))
        store.warm(scope=SCOPE)
        optimizer = QueryOptimizer(store)
        stack.callback(optimizer.close)
        known = int(store.stats()["entities"])
        asked = mixed_queries(queries + queries // 10 + 1, names, seed)
        warm_up, timed = asked[: len(asked) - queries], asked[len(asked) - queries :]
        with console.status("parsing"):
            _parse_all(optimizer, warm_up)
            rows = _parse_all(optimizer, timed)
    totals: dict[str, list[float]] = {ALL: []}
    steps: dict[str, list[float]] = {step: [] for step in (*STEPS, OTHER, PARSE, PLAN)}
    for (kind, _text), times in zip(timed, rows, strict=True):
        for group in (ALL, kind):
            totals.setdefault(group, []).append(times[PARSE] + times[PLAN])
        times[OTHER] = times[PARSE] - sum(times.get(step, 0.0) for step in STEPS)
        for step, found in steps.items():
            found.append(times.get(step, 0.0))
    return ParseReport(
        memories=memories,
        entities=known,
        queries=queries,
        degraded=sum(bool(times.get("failed")) for times in rows),
        kinds={kind: _timing(times) for kind, times in totals.items()},
        steps={step: _timing(times) for step, times in steps.items()},
        cold=cold,
    )


def _timing(times: Sequence[float]) -> Timing:
    p50, p95, p99 = (float(v) for v in np.percentile(times, (50, 95, 99)))
    return Timing(count=len(times), p50=p50, p95=p95, p99=p99)


# --- timing -----------------------------------------------------------------------------------------------------


def _parse_all(optimizer: QueryOptimizer, queries: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
    """For each query: step → milliseconds; `failed` where a step did."""
    rows = []
    with frozen():
        for _kind, text in queries:
            with stepwise() as times:
                begin = time.perf_counter()
                parsed = optimizer.parse(text, scope=SCOPE, now=END)
                middle = time.perf_counter()
                optimizer.plan(parsed)
                end = time.perf_counter()
            rows.append({**times, PARSE: (middle - begin) * 1e3, PLAN: (end - middle) * 1e3})
    return rows


@contextmanager
def stepwise() -> Iterator[dict[str, float]]:
    """Times the guarded steps of the parses inside: step → milliseconds; `failed` where one did."""
    times: dict[str, float] = {}
    guard = Findings.guard

    def timed(found: Findings, stage: str, step: Callable[[], Any], fallback: Any) -> Any:
        failed, begin, name = len(found.degraded), time.perf_counter(), stage.removeprefix("parse.")
        result = guard(found, stage, step, fallback)
        times[name] = times.get(name, 0.0) + (time.perf_counter() - begin) * 1e3
        if len(found.degraded) > failed:
            times["failed"] = 1.0
        return result

    with patch.object(Findings, "guard", timed):
        yield times


def first_parses(directory: str | Path) -> dict[str, float]:
    """Open the store and parse a few queries; see `ParseReport.cold`."""
    start = time.perf_counter()
    from recall_integrations import MemoryStore, QueryOptimizer

    found = {"import_ms": (time.perf_counter() - start) * 1e3}
    start = time.perf_counter()
    with MemoryStore.open(directory) as store:
        found["open_ms"] = (time.perf_counter() - start) * 1e3
        optimizer = QueryOptimizer(store)
        times = []
        for _kind, text in mixed_queries(40, cast(20), seed=-1):
            start = time.perf_counter()
            optimizer.plan(optimizer.parse(text, scope=SCOPE, now=END))
            times.append((time.perf_counter() - start) * 1e3)
        optimizer.close()
    return {**found, "first_ms": times[0], "second_ms": times[1], "later_ms": float(np.median(times[2:]))}


# --- tables -----------------------------------------------------------------------------------------------------


def show(report: ParseReport, console: Console) -> None:
    """Print the tables."""
    title = f"Parse and plan: {report.memories:,} memories, {report.entities:,} entities, ms"
    console.print(_table(title, "queries", report.kinds))
    console.print(_table("Of all queries, by step, ms", "step", report.steps))
    whole = report.kinds[ALL]
    met = whole.p50 <= TARGET_MS[0] and whole.p95 <= TARGET_MS[1]
    console.print(f"Target p50 ≤ {TARGET_MS[0]:g}, p95 ≤ {TARGET_MS[1]:g}: {'met' if met else 'missed'}")
    cold = ", ".join(f"{name.removesuffix('_ms')} {ms:,.1f}" for name, ms in report.cold.items())
    console.print(f"A fresh process, ms: {cold}")
    console.print(f"Parses with a failed step: {report.degraded:,}")


def _table(title: str, what: str, rows: Mapping[str, Timing]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(what)
    for column in ("count", "p50", "p95", "p99"):
        table.add_column(column, justify="right")
    for name, t in rows.items():
        table.add_row(name, f"{t.count:,}", f"{t.p50:.3f}", f"{t.p95:.3f}", f"{t.p99:.3f}")
    return table


if __name__ == "__main__":
    print(json.dumps(first_parses(sys.argv[1])))
