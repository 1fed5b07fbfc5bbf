"""How long recall takes, per plan and size, next to the peers in the same run.

Protocol. One scope of `n` synthetic memories, the bundled embedding, `k = 10`. Each round has its own queries, so that
no cache of answers or embeddings helps. Systems take turns query by query, the order rotating, so that all of
them see the same state of the machine. A warm-up round is not counted. p50, p95 and p99 are taken over the queries of a
round, and the median over the rounds is reported. The garbage collector stays on, as in an application, but what exists
before measuring is collected and frozen, so that the benchmark's own lists are not traversed. Times are end to end
(`recall`, `search`), wall clock.

A peer that is too slow to answer everything is given fewer queries of each kind and one round; its count is in the
table. Queries are grouped by the plan that our planner chose, not by the one they were made for.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.peers.frameworks import PACKAGES, LangChainEnsemble, LlamaIndexFusion, Peer
from benchmarks.speed.probe import SCOPE, in_fresh_process
from benchmarks.speed.synthetic import END, PLANS, synthetic_memories, synthetic_queries
from benchmarks.speed.timing import frozen
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import extras
from recall_integrations.evaluation.reports import checked_output, environment, write_report
from recall_integrations.types import Memory, Scope

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, QueryOptimizer
    from recall_integrations.embeddings.base import Embedding

OURS = "recall"
ALL = "all"
K = 10
SINGLE_WRITES = 21
SLOW_MS = 100.0  # a peer slower than this is asked only `SLOW_QUERIES` queries of each kind, in one round
SLOW_QUERIES = 5
RECALL_QUERIES = 100
_TIE = 1e-4  # stored vectors are float16, so neighbours this close to the k-th are as good


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Latency of one system for one plan, in milliseconds; `queries` per round."""

    queries: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeReport:
    """What was measured at one size.

    Args:
        size: memories in the scope.
        ingest_per_s: memories per second of `remember_many`, everything durable and indexed.
        remember_ms: median of a single `remember`.
        fresh: what a fresh process pays (see `probe`).
        peer_build_s: peer → seconds to index the same memories.
        latency: system → plan (and `all`) → percentiles.
        stages_ms: stage → median of `result.timings_ms`.
        stages_by_plan: plan → stage → median.
        degraded: `stage:reason` → how often it came in our measured results; empty when all went well.
        hnsw_recall: recall@10 of the approximate index against an exact scan; `None` where scans are exact.
    """

    size: int
    ingest_per_s: float
    remember_ms: float
    fresh: Mapping[str, float]
    peer_build_s: Mapping[str, float] = field(default_factory=dict)
    latency: Mapping[str, Mapping[str, Percentiles]] = field(default_factory=dict)
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    stages_by_plan: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    degraded: Mapping[str, int] = field(default_factory=dict)
    hnsw_recall: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One timed call."""

    system: str
    round: int
    query: str
    ms: float


@dataclass(slots=True)
class Seen:
    """What our own results said, by query."""

    plan: dict[str, str] = field(default_factory=dict)
    timings: dict[str, Mapping[str, float]] = field(default_factory=dict)
    degraded: dict[str, tuple[str, ...]] = field(default_factory=dict)


def run(
    console: Console,
    *,
    sizes: Sequence[int] = (1_000, 10_000, 100_000),
    queries_per_plan: int = 50,
    peers: bool = True,
    json_path: str | Path | None = None,
    seed: int = 0,
    rounds: int = 3,
) -> list[SizeReport]:
    """Measure every size, print the tables, and write the report if asked.

    Args:
        console: where tables and progress go.
        sizes: memories in the scope.
        queries_per_plan: queries of each kind in a round.
        peers: measure the frameworks' retrievers too.
        json_path: file for the report.
        seed: of memories and queries.
        rounds: measured rounds, after one that is not.

    Raises:
        InvalidArgument: a number under 1, or a report that could not be written.
        MissingExtra: a package of the `bench` extra is missing.
    """
    for name, values in (("sizes", sizes), ("queries_per_plan", [queries_per_plan]), ("rounds", [rounds])):
        if not values or min(values) < 1:
            raise InvalidArgument(f"{name} must be at least 1.")
    extras.check(extras.PROCESSES, *(PACKAGES if peers else ()))
    output = checked_output(json_path)
    reports = []
    for size in sizes:
        report = measure(size, console, queries_per_plan=queries_per_plan, peers=peers, seed=seed, rounds=rounds)
        show(report, console)
        reports.append(report)
    write_report(output, {"environment": environment(), "sizes": [asdict(r) for r in reports]}, console)
    return reports


def measure(size: int, console: Console, *, queries_per_plan: int, peers: bool, seed: int, rounds: int) -> SizeReport:
    """One size: write, reopen in a fresh process, warm up, ask."""
    from recall_integrations import MemoryStore, QueryOptimizer

    memories = list(synthetic_memories(size, seed))
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-bench-"))
        with console.status(f"{size:,}: remembering"):
            ingest_per_s, remember_ms = _write(Path(folder) / "store", memories, seed)
        with console.status(f"{size:,}: a fresh process"):
            fresh = in_fresh_process(Path(folder) / "store")
        store = stack.enter_context(MemoryStore.open(Path(folder) / "store"))
        seen = Seen()
        optimizer = QueryOptimizer(store)
        stack.callback(optimizer.close)
        systems: dict[str, Callable[[str], object]] = {OURS: _our_search(optimizer, seen)}
        built: dict[str, float] = {}
        for peer in _peers(store.embedding) if peers else ():
            stack.callback(peer.close)
            with console.status(f"{size:,}: building {peer.name}"):
                built[peer.name] = _timed(peer.build, memories)[0]
            systems[peer.name] = _peer_search(peer)
        plans = [
            [synthetic_queries(p, queries_per_plan, seed=seed * 1_000 + r) for p in PLANS] for r in range(rounds + 1)
        ]
        with console.status(f"{size:,}: asking"), frozen():
            samples = list(ask(systems, plans))
        found = hnsw_recall(store, SCOPE, [q for group in plans[0] for q in group][:RECALL_QUERIES])
    asked = {s.query for s in samples if s.system == OURS}
    return SizeReport(
        size=size,
        ingest_per_s=ingest_per_s,
        remember_ms=remember_ms,
        fresh=fresh,
        peer_build_s=built,
        latency=percentiles(samples, seen.plan),
        stages_ms=_stage_medians(seen, asked),
        stages_by_plan={
            plan: _stage_medians(seen, {q for q in asked if seen.plan[q] == plan})
            for plan in sorted({seen.plan[q] for q in asked})
        },
        degraded=dict(sorted(Counter(reason for q in sorted(asked) for reason in seen.degraded[q]).items())),
        hnsw_recall=found,
    )


# --- writing ----------------------------------------------------------------------------------------------------


def _write(directory: Path, memories: Sequence[Memory], seed: int) -> tuple[float, float]:
    """Memories per second of `remember_many`, and the median of single writes in milliseconds. Leaves `memories`."""
    from recall_integrations import MemoryStore

    with MemoryStore.open(directory) as store:
        _ = store.embedding.embed_query("warm up")
        seconds, _ids = _timed(lambda items: store.remember_many(items, scope=SCOPE), memories)
        singles = []
        for memory in synthetic_memories(SINGLE_WRITES, seed + 1):
            extra = Memory(
                text=memory.text,
                id=f"extra-{memory.id}",
                type=memory.type,
                actor=memory.actor,
                event_at=memory.event_at,
                created_at=memory.created_at,
                entities=memory.entities,
            )
            singles.append(_timed(lambda item: store.remember(item, scope=SCOPE), extra)[0] * 1e3)
        for i in range(SINGLE_WRITES):
            store.forget(f"extra-m{i}", scope=SCOPE)
    return len(memories) / seconds, statistics.median(singles)


def _timed(call: Callable[[Any], Any], argument: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    value = call(argument)
    return time.perf_counter() - start, value


# --- asking -----------------------------------------------------------------------------------------------------


def _peers(embedding: Embedding) -> list[Peer]:
    return [LangChainEnsemble(embedding), LlamaIndexFusion(embedding)]


def _our_search(optimizer: QueryOptimizer, seen: Seen) -> Callable[[str], object]:
    def search(query: str) -> object:
        result = optimizer.recall(query, k=K, scope=SCOPE, now=END)
        seen.plan[query] = result.plan.name
        seen.timings[query] = dict(result.timings_ms)
        seen.degraded[query] = tuple(f"{d.stage}:{d.reason}" for d in result.degraded)
        return result

    return search


def _peer_search(peer: Peer) -> Callable[[str], object]:
    return lambda query: peer.search(query, K)


def ask(systems: Mapping[str, Callable[[str], object]], plans: Sequence[Sequence[Sequence[str]]]) -> Iterator[Sample]:
    """Warm up with the first round's queries, then time the others, systems taking turns."""
    slow = {name for name, search in systems.items() if _warm_up(search, plans[0]) > SLOW_MS and name != OURS}
    names = list(systems)
    turn = 0
    for number, kinds in enumerate(plans[1:]):
        for queries in kinds:
            for place, query in enumerate(queries):
                turn += 1
                for i in range(len(names)):
                    name = names[(i + turn) % len(names)]
                    if name in slow and (number > 0 or place >= SLOW_QUERIES):
                        continue
                    yield Sample(system=name, round=number, query=query, ms=_timed(systems[name], query)[0] * 1e3)


def _warm_up(search: Callable[[str], object], kinds: Sequence[Sequence[str]]) -> float:
    """Ask every query, or only a few of a slow system; the median in milliseconds."""
    times: list[float] = []
    for place in range(max(len(queries) for queries in kinds)):
        times.extend(_timed(search, queries[place])[0] * 1e3 for queries in kinds if place < len(queries))
        if statistics.median(times) > SLOW_MS:
            break
    return statistics.median(times)


def percentiles(samples: Sequence[Sample], plan_of: Mapping[str, str]) -> dict[str, dict[str, Percentiles]]:
    """System → `all` and each plan → the median over rounds of the percentiles within a round."""
    times: dict[str, dict[str, dict[int, list[float]]]] = {}
    for sample in samples:
        for group in (ALL, plan_of[sample.query]):
            rounds = times.setdefault(sample.system, {}).setdefault(group, {})
            rounds.setdefault(sample.round, []).append(sample.ms)
    order = [ALL, *PLANS]
    found: dict[str, dict[str, Percentiles]] = {}
    for system in sorted(times, key=lambda name: (name != OURS, name)):
        found[system] = {}
        for group in sorted(times[system], key=lambda g: (order.index(g) if g in order else len(order), g)):
            rounds = times[system][group]
            rows = np.asarray([np.percentile(ms, (50, 95, 99)) for ms in rounds.values()])
            p50, p95, p99 = (float(v) for v in np.median(rows, axis=0))
            count = round(statistics.median(len(ms) for ms in rounds.values()))
            found[system][group] = Percentiles(queries=count, p50=p50, p95=p95, p99=p99)
    return found


def _stage_medians(seen: Seen, queries: set[str]) -> dict[str, float]:
    """Median of each stage over the queries in which it ran, in the order of the first that had it; `total` last."""
    times: dict[str, list[float]] = {}
    for query, timings in seen.timings.items():
        if query in queries:
            for stage, ms in timings.items():
                times.setdefault(stage, []).append(float(ms))
    ordered = sorted(times, key=lambda stage: stage == "total")  # stable
    return {stage: statistics.median(times[stage]) for stage in ordered}


# --- the approximate index --------------------------------------------------------------------------------------


def hnsw_recall(store: MemoryStore, scope: Scope, queries: Sequence[str]) -> float | None:
    """Share of the ten exact nearest neighbours that the approximate index returns; `None` where scans are exact.

    A neighbour counts if its exact cosine is within `_TIE` of the tenth best, as approximate indexes are commonly
    scored: which of two equally near memories comes back is no loss.
    """
    scope_id = store.scope_id(scope)
    if scope_id is None or not queries or store.count(scope=scope) <= store.config.retrieval.exact_max:
        return None
    view = store.view(scope_id)
    if view.exact or view.vectors is None:
        return None
    shares = []
    living = np.flatnonzero(view.alive)
    for query in queries:
        vector = store.embedding.embed_query(query)
        exact = np.full(view.size, -2.0, dtype=np.float32)
        exact[living] = view.vectors[living].astype(np.float32) @ vector
        tenth = np.partition(exact, view.size - K)[view.size - K]
        nums, _ = store.semantic.nearest(store.indexes.home_of(scope_id), vector, K)
        rows = view.rows_of(nums)
        shares.append(int((exact[rows] >= tenth - _TIE).sum()) / K)
    return float(np.mean(shares))


# --- tables -----------------------------------------------------------------------------------------------------


def show(report: SizeReport, console: Console) -> None:
    """Print one size."""
    fresh = report.fresh
    console.rule(f"{report.size:,} memories")
    console.print(
        f"remember_many {report.ingest_per_s:,.0f} per s · remember {report.remember_ms:.1f} ms · fresh process: "
        f"import {fresh['import_ms']:,.0f} ms, open {fresh['open_ms']:,.0f} ms, first recall "
        f"{fresh['first_recall_ms']:,.0f} ms, resident {fresh['rss_mb']:,.0f} MB "
        f"({fresh['rss_import_mb']:,.0f} MB after import)"
    )
    if report.hnsw_recall is None:
        console.print("vectors: exact scan, recall@10 1")
    else:
        console.print(f"vectors: HNSW, recall@10 against an exact scan {report.hnsw_recall:.3f}")
    for peer, seconds in report.peer_build_s.items():
        console.print(f"{peer}: built in {seconds:,.1f} s ({report.size / seconds:,.0f} per s)")
    table = Table(title="Latency in ms", title_justify="left")
    for column in ("plan", "system"):
        table.add_column(column)
    for column in ("queries", "p50", "p95", "p99"):
        table.add_column(column, justify="right")
    for plan in report.latency.get(OURS, {}):
        label = plan
        for system, groups in report.latency.items():
            if plan in groups:
                p = groups[plan]
                table.add_row(label, system, str(p.queries), f"{p.p50:.2f}", f"{p.p95:.2f}", f"{p.p99:.2f}")
                label = ""
        table.add_section()
    console.print(table)
    stages = ", ".join(f"{stage} {ms:.2f}" for stage, ms in report.stages_ms.items())
    console.print(f"Stages, median ms: {stages}")
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.degraded.items())
    console.print(f"Degraded results: {reasons or 'none'}")
