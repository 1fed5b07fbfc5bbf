"""What a served store answers, beside the same recalls without a server, in one run.

Protocol. One scope of `n` synthetic memories, the bundled embedding, `k = 5`, queries of all plans in turn. First in
this process: one caller, then `clients` threads, each asking again at once. Then `recall serve` over the same store in
a process of its own: one client; requests at random moments, half as many as the server can answer; `clients` clients
that ask again at once. Clients run beside the server on the same processors, in one process, without a library. Times
are from when a request was due to when its reply was read. The server's resident memory is read every second.

With more clients than processors, what one of them waits is the number of clients divided by what is answered a second:
no server can be quicker than that. So `clients` clients are compared with as many threads, and the one at random
moments with one caller.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.serving.load import Load, bodies, closed, open_loop, threads
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations.errors import RecallError
from recall_integrations.evaluation.reports import checked_output

K = 5
WARM_S = 3.0
SHARE = 0.5  # of what the server can answer, for requests at random moments
ALONE, CROWD = "local, one caller", "local, {} threads"
SERVED, RANDOM, CLIENTS = "served, one client", "served, random moments", "served, {} clients"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One load: answers per second, percentiles in milliseconds, overhead beyond the recall (median), and the rest."""

    per_s: float
    p50: float
    p95: float
    p99: float
    overhead_p50: float | None
    answered: int
    degraded: int
    errors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingReport:
    """What was measured.

    Args:
        memories: in the scope.
        clients: at once.
        seconds: of the load with all of them.
        rows: load → what came of it.
        memory_mb: resident memory of the server, from the first third of that load to its end, a value a second.
    """

    memories: int
    clients: int
    seconds: float
    rows: dict[str, Row]
    memory_mb: list[float]

    @property
    def growth_mb(self) -> float:
        """How much the server grew between the first third of the load and its end."""
        found = self.memory_mb[len(self.memory_mb) // 3 :]
        return found[-1] - found[0] if found else 0.0


def run(
    console: Console,
    *,
    memories: int = 10_000,
    clients: int = 100,
    seconds: float = 30.0,
    json_path: str | Path | None = None,
    seed: int = 0,
) -> ServingReport:
    """Measure, print the table, and write the report if asked.

    Args:
        console: where the table goes.
        memories: in the scope.
        clients: at once.
        seconds: of the load with all of them; the others take a third of it.
        json_path: of the report.
        seed: of memories and queries.
    """
    target = checked_output(json_path)
    queries = [q for group in zip(*(synthetic_queries(p, 200, seed) for p in PLANS), strict=True) for q in group]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        rows = _local(store, memories, queries, clients, seconds / 3, seed)
        with _serving(store) as (port, process):
            served, memory = asyncio.run(_served(port, process.pid, queries, clients, seconds))
    report = ServingReport(memories=memories, clients=clients, seconds=seconds, rows=rows | served, memory_mb=memory)
    _show(console, report)
    write_report(target, {"environment": environment(), "serving": asdict(report)}, console)
    return report


def _local(path: Path, memories: int, queries: list[str], clients: int, seconds: float, seed: int) -> dict[str, Row]:
    from recall_integrations import MemoryStore, QueryOptimizer

    with MemoryStore.open(path) as store:
        store.remember_many(synthetic_memories(memories, seed), scope=SCOPE)
        optimizer = QueryOptimizer(store)

        def search(query: str) -> bool:
            return bool(optimizer.recall(query, k=K, scope=SCOPE, now=END).degraded)

        threads(search, queries, callers=1, seconds=WARM_S)
        alone = threads(search, queries, callers=1, seconds=seconds)
        crowd = threads(search, queries, callers=clients, seconds=seconds)
    return {ALONE: _row(alone), CROWD.format(clients): _row(crowd)}


@contextmanager
def _serving(store: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """`recall serve` in a process of its own."""
    command = [sys.executable, "-m", "recall_integrations.cli", "serve", str(store), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)$", line.strip()):
                break
        else:
            raise RecallError("The server did not start; run `recall serve` to see why.")
        threading.Thread(target=process.stderr.read, daemon=True).start()  # so that it never waits for a reader
        yield int(found[1]), process
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        process.kill()


async def _served(
    port: int, pid: int, queries: list[str], clients: int, seconds: float
) -> tuple[dict[str, Row], list[float]]:
    asked = bodies(queries, SCOPE.user_id, END.isoformat(), K)
    host, memory = "127.0.0.1", list[float]()
    await closed(host, port, asked, clients=1, seconds=WARM_S)
    one = await closed(host, port, asked, clients=1, seconds=seconds / 3)
    limit = await closed(host, port, asked, clients=8, seconds=WARM_S)
    moments = await open_loop(host, port, asked, per_s=SHARE * limit.per_s, seconds=seconds / 3, clients=clients)
    watching = asyncio.ensure_future(_watched(pid, memory))
    crowd = await closed(host, port, asked, clients=clients, seconds=seconds)
    watching.cancel()
    return {SERVED: _row(one), RANDOM: _row(moments), CLIENTS.format(clients): _row(crowd)}, memory


async def _watched(pid: int, memory: list[float]) -> None:
    while True:
        memory.append(resident_mb(pid))
        await asyncio.sleep(1.0)


def resident_mb(pid: int) -> float:
    """Resident memory of a process; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _row(load: Load) -> Row:
    return Row(
        per_s=load.per_s,
        p50=load.at(50),
        p95=load.at(95),
        p99=load.at(99),
        overhead_p50=sorted(load.overhead_ms)[len(load.overhead_ms) // 2] if load.overhead_ms else None,
        answered=len(load.ms),
        degraded=load.degraded,
        errors=dict(load.errors),
    )


def _show(console: Console, report: ServingReport) -> None:
    table = Table(title=f"{report.memories:,} memories, k={K}, milliseconds")
    for name in ("", "answers/s", "p50", "p95", "p99", "beyond the recall, p50", "degraded", "errors"):
        table.add_column(name, justify="left" if not name else "right")
    for name, row in report.rows.items():
        beyond = "" if row.overhead_p50 is None else f"{row.overhead_p50:.2f}"
        times = (f"{value:.1f}" for value in (row.p50, row.p95, row.p99))
        less, failed = f"{row.degraded / max(1, row.answered):.1%}", sum(row.errors.values())
        table.add_row(name, f"{row.per_s:.0f}", *times, beyond, less, str(failed))
    console.print(table)
    if report.memory_mb:
        console.print(f"Resident: {report.memory_mb[-1]:.0f} MB, {report.growth_mb:+.1f} MB in the last two thirds.")


if __name__ == "__main__":
    began = time.perf_counter()
    run(Console(), seconds=float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
    print(f"{time.perf_counter() - began:.0f} s")
