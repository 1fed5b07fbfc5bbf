"""How long recall takes on texts as people have them, next to the frameworks' fusions in the same run.

Protocol. Of each data set the largest scope is stored, in a temporary directory, with the bundled embedding for every
system, and `k = 10`. The set's questions are asked of it, its own ones first, no text twice, systems taking turns
question by question, the order rotating; the first are a warm-up and are not counted. Times are of
`QueryOptimizer.recall` and of each peer's own entry point: wall clock, and time of this process on all its threads,
which other processes of a busy machine touch less. The ratio is that of the medians by processor.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import load
from benchmarks.peers.frameworks import PACKAGES, LangChainEnsemble, LlamaIndexFusion, Peer
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.asking import OURS, frozen
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output

SETS = ("phone", "assistant", "documents", "projects", "talk")
K = 10
WARM_UP = 20

Ask = Callable[[Question], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Median and 95th percentile of one system, in milliseconds, by wall clock and by processor."""

    wall_p50: float
    wall_p95: float
    processor_p50: float
    processor_p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport:
    """What was measured on one data set.

    Args:
        dataset: its name.
        memories: in its largest scope.
        characters: mean length of a memory.
        questions: that were timed.
        ingest_per_s: system → memories indexed in a second, all in one call.
        times: system → its times.
        stages_ms: stage of ours → median of `result.timings_ms`.
        ratio: median by processor of ours ÷ that of the fastest peer.
    """

    dataset: str
    memories: int
    characters: float
    questions: int
    ingest_per_s: Mapping[str, float]
    times: Mapping[str, Times]
    stages_ms: Mapping[str, float]
    ratio: float


def run(
    console: Console,
    data_path: str | Path,
    *,
    datasets: Sequence[str] = SETS,
    questions: int = 100,
    json_path: str | Path | None = None,
) -> list[SetReport]:
    """Measure each set, print the table, the worst ratio first, and write the report that is asked for.

    Args:
        console: where the table and progress go.
        data_path: the folder with the data sets.
        datasets: their names.
        questions: of each set at most, after the warm-up.
        json_path: file for the report.

    Raises:
        InvalidArgument: a number under 1, an unknown set, or a set without questions enough.
        MissingExtra: a package of the `bench` extra is missing.
    """
    if questions < 1:
        raise InvalidArgument("questions must be at least 1.")
    extras.check(*PACKAGES)
    output = checked_output(json_path)
    reports = []
    for name in datasets:
        with console.status(name):
            reports.append(measure(name, load(data_path, name), questions))
    reports.sort(key=lambda r: (-r.ratio, r.dataset))
    show(reports, console)
    write_report(output, {"environment": environment(), "sets": [asdict(r) for r in reports]}, console)
    return reports


def measure(dataset: str, data: EvaluationData, most: int) -> SetReport:
    """Store the largest collection of a set in every system, and ask the set's questions of it."""
    from recall_integrations import MemoryStore, QueryOptimizer

    collection, *others = sorted(data.collections, key=lambda c: (-len(c.memories), c.name))
    every = (replace(q, scope=collection.scope) for c in (collection, *others) for q in c.questions)
    asked = list({q.text: q for q in every}.values())[: WARM_UP + most]
    if len(asked) <= WARM_UP:
        raise InvalidArgument(f"{dataset}: {len(asked)} questions; more than {WARM_UP} are needed, the warm-up.")
    stages: dict[str, list[float]] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-bench-"))
        store = stack.enter_context(MemoryStore.open(folder))
        _ = store.embedding.embed_query("warm up")
        system = RecallSystem(stack.enter_context(closing(QueryOptimizer(store))), time_budget_ms=TIME_BUDGET_MS)
        seconds = {OURS: _seconds(partial(system.enter, collection))}

        def ours(question: Question) -> None:
            for stage, ms in system.recall(question, K).timings_ms.items():
                stages.setdefault(stage, []).append(float(ms))

        systems: dict[str, Ask] = {OURS: ours}
        for peer in (LangChainEnsemble(store.embedding), LlamaIndexFusion(store.embedding)):
            stack.callback(peer.close)
            seconds[peer.name] = _seconds(partial(peer.build, collection.memories))
            systems[peer.name] = partial(_searched, peer)
        with frozen():
            times = _times(systems, asked)
    fastest = min(t.processor_p50 for name, t in times.items() if name != OURS)
    return SetReport(
        dataset=dataset,
        memories=len(collection.memories),
        characters=statistics.fmean(len(m.text) for m in collection.memories),
        questions=len(asked) - WARM_UP,
        ingest_per_s={name: len(collection.memories) / took for name, took in seconds.items()},
        times=times,
        stages_ms={stage: statistics.median(ms[WARM_UP:] or ms) for stage, ms in stages.items()},
        ratio=times[OURS].processor_p50 / fastest,
    )


def _searched(peer: Peer, question: Question) -> object:
    return peer.search(question.text, K)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _times(systems: Mapping[str, Ask], asked: Sequence[Question]) -> dict[str, Times]:
    """Ask all systems in turns; times of what follows the warm-up."""
    names = list(systems)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for turn, question in enumerate(asked):
        for i in range(len(names)):
            name = names[(i + turn) % len(names)]
            wall, processor = time.perf_counter(), time.process_time()
            systems[name](question)
            taken[name].append((time.perf_counter() - wall, time.process_time() - processor))
    found = {}
    for name in names:
        ms = np.asarray(taken[name][WARM_UP:]) * 1e3
        (wall_50, processor_50), (wall_95, processor_95) = np.percentile(ms, (50, 95), axis=0)
        found[name] = Times(
            wall_p50=float(wall_50),
            wall_p95=float(wall_95),
            processor_p50=float(processor_50),
            processor_p95=float(processor_95),
        )
    return found


def show(reports: Sequence[SetReport], console: Console) -> None:
    """Print a table of the systems, and what each set takes to index and in our stages."""
    table = Table(title="p50 / p95 in ms, wall (processor)")
    for heading in ("set", "memories · characters", "questions", *reports[0].times, "ratio"):
        table.add_column(heading, justify="left" if heading == "set" else "right")
    for r in reports:
        cells = (
            f"{t.wall_p50:.1f} / {t.wall_p95:.1f} ({t.processor_p50:.1f} / {t.processor_p95:.1f})"
            for t in r.times.values()
        )
        table.add_row(r.dataset, f"{r.memories:,} · {r.characters:.0f}", str(r.questions), *cells, f"{r.ratio:.2f}")
    console.print(table)
    for r in reports:
        indexed = ", ".join(f"{name} {n:,.0f}" for name, n in r.ingest_per_s.items())
        console.print(f"{r.dataset}: indexed in a second: {indexed}")
        console.print("  stages, ms: " + ", ".join(f"{s} {ms:.1f}" for s, ms in r.stages_ms.items() if ms >= 0.05))
