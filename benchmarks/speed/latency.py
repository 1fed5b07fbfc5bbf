"""How long recall takes, per plan and size, next to the peers in the same run; and what stands around it.

Protocol. One scope of `n` synthetic memories, the bundled embedding, `k = 10`. Each round has its own queries, so that
no cache of answers or embeddings helps; `recall` through the optimizer and through each framework's entry point have
queries of their own, of the same kinds. Systems take turns query by query, the order rotating, so that all of them see
the same state of the machine. A warm-up round is not counted. p50, p95 and p99 are taken over the queries of a round,
and the median over the rounds is reported. The garbage collector stays on, as in an application, but what exists before
measuring is collected and frozen, so that the benchmark's own lists are not traversed. Times are end to end (`recall`,
`invoke`, `retrieve`), wall clock.

A peer that is too slow to answer everything is given fewer queries of each kind and one round; its count is in the
table. Above `PEERS_MAX` memories peers are left out: building them takes longer than all the rest. Queries are grouped
by the plan that our planner chose, not by the one they were made for.
"""

from __future__ import annotations

import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from rich.console import Console

from benchmarks.peers.frameworks import PACKAGES, LangChainEnsemble, LlamaIndexFusion, Peer
from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.asking import ALL, OURS, Percentiles, Round, Search, ask, frozen, over_rounds, percentiles, timed
from benchmarks.speed.crowd import Crowd, crowd
from benchmarks.speed.floors import floors
from benchmarks.speed.hostile import hostile
from benchmarks.speed.nearest import dense_recall
from benchmarks.speed.probe import fresh_process
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output
from recall_integrations.types import Memory

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, QueryOptimizer
    from recall_integrations.embeddings.base import Embedding

LANGCHAIN, LLAMAINDEX = f"{OURS}, LangChain's invoke", f"{OURS}, LlamaIndex's retrieve"
K = 10
SINGLE_WRITES = 41
RECALL_QUERIES = 100
CROWD_QUERIES = 960
PEERS_MAX = 100_000
HOSTILE_AT = 10_000  # hostile queries cost the same at every size
# By the beginning of the name of what is in the directory.
PARTS = {"recall.db": "record", "columns": "columns", "semantic": "vectors of large scopes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeReport:
    """What was measured at one size.

    Args:
        size: memories in the scope.
        ingest_per_s: memories per second of `remember_many`, everything durable and indexed.
        remember_ms: of a single `remember`.
        bytes_per_memory: part of the store's directory → bytes a memory, after `close`; `all` is their sum.
        fresh: what a fresh process pays (see `probe.fresh_process`).
        peer_build_s: peer → seconds to index the same memories.
        latency: system → plan (and `all`) → percentiles.
        crowd: what 16 threads get done.
        stages_ms: stage → median of `result.timings_ms`.
        stages_by_plan: plan → stage → median.
        floors_ms: what the parts of a recall that are not ours take alone (see `floors`).
        hostile_ms: piece → milliseconds per kB of a recall whose query is nothing else; empty at the sizes where it is
            not measured.
        degraded: `stage:reason` → how often it came in our measured results; empty when all went well.
        dense_recall: recall@10 of the semantic arm against an exact search of all vectors.
    """

    size: int
    ingest_per_s: float
    remember_ms: Percentiles
    bytes_per_memory: Mapping[str, float]
    fresh: Mapping[str, float]
    peer_build_s: Mapping[str, float] = field(default_factory=dict)
    latency: Mapping[str, Mapping[str, Percentiles]] = field(default_factory=dict)
    crowd: Crowd | None = None
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    stages_by_plan: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    floors_ms: Mapping[str, float] = field(default_factory=dict)
    hostile_ms: Mapping[str, float] = field(default_factory=dict)
    degraded: Mapping[str, int] = field(default_factory=dict)
    dense_recall: float = 1.0


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
    markdown_path: str | Path | None = None,
    seed: int = 0,
    rounds: int = 3,
) -> list[SizeReport]:
    """Measure every size, print the tables, and write the reports that are asked for.

    Args:
        console: where tables and progress go.
        sizes: memories in the scope.
        queries_per_plan: queries of each kind in a round.
        peers: measure the frameworks' retrievers too, up to `PEERS_MAX` memories.
        json_path: file for the report.
        markdown_path: file for the tables as they stand in docs/benchmarks.md.
        seed: of memories and queries.
        rounds: measured rounds, after one that is not.

    Raises:
        InvalidArgument: a number under 1, or a report that could not be written.
        MissingExtra: a package of the `bench` extra is missing.
    """
    from benchmarks.speed import latency_tables

    for name, values in (("sizes", sizes), ("queries_per_plan", [queries_per_plan]), ("rounds", [rounds])):
        if not values or min(values) < 1:
            raise InvalidArgument(f"{name} must be at least 1.")
    extras.check(extras.PROCESSES, *(PACKAGES if peers else ()))
    output, page = checked_output(json_path), checked_output(markdown_path)
    reports = []
    for size in sizes:
        report = measure(size, console, queries_per_plan=queries_per_plan, peers=peers, seed=seed, rounds=rounds)
        latency_tables.show(report, console)
        reports.append(report)
        # After each size: the last one takes longer than all the others.
        write_report(output, {"environment": environment(), "sizes": [asdict(r) for r in reports]}, console)
        if page is not None:
            page.write_text(latency_tables.markdown(reports), encoding="utf-8")
    latency_tables.show_targets(reports, console)
    return reports


def measure(size: int, console: Console, *, queries_per_plan: int, peers: bool, seed: int, rounds: int) -> SizeReport:
    """One size: write, reopen in fresh processes, warm up, ask."""
    from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-bench-"))) / "store"
        memories = list(synthetic_memories(size, seed))
        with console.status(f"{size:,}: remembering"):
            ingest_per_s, remember_ms = _write(folder, memories, seed)
        on_disk = bytes_by_part(folder, size)
        with console.status(f"{size:,}: fresh processes"):
            fresh = fresh_process(folder)
        store = stack.enter_context(MemoryStore.open(folder))
        optimizer = stack.enter_context(closing(QueryOptimizer(store)))
        retriever = OptimizedRecallRetriever(optimizer=optimizer, k=K, scope=SCOPE, now=END)
        seen = Seen()
        systems: dict[str, Search] = {
            OURS: _our_search(optimizer, seen),
            LANGCHAIN: retriever.invoke,
            LLAMAINDEX: retriever.retrieve,
        }
        built: dict[str, float] = {}
        for peer in _peers(store.embedding) if peers and size <= PEERS_MAX else ():
            stack.callback(peer.close)
            with console.status(f"{size:,}: building {peer.name}"):
                built[peer.name] = timed(partial(peer.build, memories)) / 1e3
            systems[peer.name] = _peer_search(peer)
        del memories
        asked = {name: _rounds(name, queries_per_plan, rounds, seed) for name in systems}
        with console.status(f"{size:,}: asking"), frozen():
            samples = list(ask(systems, asked))
        with console.status(f"{size:,}: many threads"), frozen():
            together = crowd(_degraded(optimizer), _crowd_queries(seed))
        plan_at = {s.place: seen.plan[s.query] for s in samples if s.system == OURS}
        measured = {s.query for s in samples if s.system == OURS}
        texts = [q for kind in asked[OURS][0] for q in kind][:RECALL_QUERIES]
        return SizeReport(
            size=size,
            ingest_per_s=ingest_per_s,
            remember_ms=remember_ms,
            bytes_per_memory=on_disk,
            fresh=fresh,
            peer_build_s=built,
            latency=percentiles(samples, plan_at),
            crowd=together,
            stages_ms=_stage_medians(seen, measured),
            stages_by_plan={
                plan: _stage_medians(seen, {q for q in measured if seen.plan[q] == plan})
                for plan in sorted({seen.plan[q] for q in measured})
            },
            floors_ms=floors(store, SCOPE, texts),
            hostile_ms=hostile(_long_recall(store)) if size == HOSTILE_AT else {},
            degraded=dict(sorted(Counter(r for q in sorted(measured) for r in seen.degraded[q]).items())),
            dense_recall=dense_recall(store, SCOPE, texts),
        )


# --- writing ----------------------------------------------------------------------------------------------------


def _write(directory: Path, memories: Sequence[Memory], seed: int) -> tuple[float, Percentiles]:
    """Memories per second of `remember_many`, and single writes in milliseconds. Leaves `memories`."""
    from recall_integrations import MemoryStore

    with MemoryStore.open(directory) as store:
        _ = store.embedding.embed_query("warm up")
        seconds = timed(lambda: store.remember_many(memories, scope=SCOPE)) / 1e3
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
            singles.append(timed(partial(store.remember, extra, scope=SCOPE)))
        for i in range(SINGLE_WRITES):
            store.forget(f"extra-m{i}", scope=SCOPE)
    return len(memories) / seconds, over_rounds([singles])


def bytes_by_part(directory: Path, count: int) -> dict[str, float]:
    """Part of a store's directory → bytes for each of its `count` memories; `all` is the sum of all parts."""
    sizes: Counter[str] = Counter()
    for file in directory.rglob("*"):
        if file.is_file():
            top = file.relative_to(directory).parts[0]
            part = next((name for start, name in PARTS.items() if top.startswith(start)), "other")
            sizes[part] += file.stat().st_size
    return {ALL: sizes.total() / count, **{part: held / count for part, held in sorted(sizes.items())}}


# --- asking -----------------------------------------------------------------------------------------------------


def _rounds(name: str, queries_per_plan: int, rounds: int, seed: int) -> list[Round]:
    """A system's queries by round and kind; peers are asked those of the optimizer."""
    own = (OURS, LANGCHAIN, LLAMAINDEX).index(name) if name in (LANGCHAIN, LLAMAINDEX) else 0
    return [
        [synthetic_queries(p, queries_per_plan, seed=seed * 1_000 + own * 100 + r) for p in PLANS]
        for r in range(rounds + 1)
    ]


def _crowd_queries(seed: int) -> list[str]:
    """Queries of all kinds, mixed."""
    kinds = [synthetic_queries(p, CROWD_QUERIES // len(PLANS), seed=seed * 1_000 + 999) for p in PLANS]
    return [query for group in zip(*kinds, strict=True) for query in group]


def _peers(embedding: Embedding) -> list[Peer]:
    return [LangChainEnsemble(embedding), LlamaIndexFusion(embedding)]


def _our_search(optimizer: QueryOptimizer, seen: Seen) -> Search:
    def search(query: str) -> object:
        result = optimizer.recall(query, k=K, scope=SCOPE, now=END)
        seen.plan[query] = result.plan.name
        seen.timings[query] = dict(result.timings_ms)
        seen.degraded[query] = tuple(f"{d.stage}:{d.reason}" for d in result.degraded)
        return result

    return search


def _degraded(optimizer: QueryOptimizer) -> Callable[[str], bool]:
    return lambda query: bool(optimizer.recall(query, k=K, scope=SCOPE, now=END).degraded)


def _peer_search(peer: Peer) -> Search:
    return lambda query: peer.search(query, K)


def _long_recall(store: MemoryStore) -> Callable[[str, datetime], object]:
    """Asks a query of any length, in any time."""
    from recall_integrations import QueryOptimizer
    from recall_integrations.query.parser import clean
    from recall_integrations.recall import checking

    optimizer = QueryOptimizer(store)

    def ask_long(text: str, now: datetime) -> object:
        with patch.object(checking, "clean", partial(clean, limit=10_000_000)):
            return optimizer.recall(text, k=K, scope=SCOPE, now=now, time_budget_ms=60_000)

    return ask_long


def _stage_medians(seen: Seen, queries: Iterable[str]) -> dict[str, float]:
    """Median of each stage over the queries in which it ran, in the order of the first that had it; `total` last."""
    times: dict[str, list[float]] = {}
    wanted = set(queries)
    for query, timings in seen.timings.items():
        if query in wanted:
            for stage, ms in timings.items():
                times.setdefault(stage, []).append(float(ms))
    ordered = sorted(times, key=lambda stage: stage == "total")  # stable
    return {stage: statistics.median(times[stage]) for stage in ordered}
