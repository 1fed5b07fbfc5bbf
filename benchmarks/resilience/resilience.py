"""`recall bench resilience`: faults, crowds, a soak and kills, on made-up memories in temporary stores."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.resilience import callers, kills, matrix, soak, tables
from benchmarks.resilience.faults import chosen
from benchmarks.resilience.matrix import Told, silent
from benchmarks.resilience.parts import Gate
from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from benchmarks.speed.asking import frozen
from benchmarks.speed.probe import resident_mb
from benchmarks.speed.synthetic import PLANS
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output

BUDGETS = (1.0, 5.0, 20.0, 150.0, 2_000.0)
RECALLS, SIZE = 1_000, 10_000
CROWD_FROM_MS = 100.0  # a budget that is to be met by a hundred callers on a few processors is not below this
SETTLE_S = 75.0  # threads without work end after a minute
FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """Threads and resident memory: `start`: stores are open and have answered; `end`: all is closed but the stores."""

    threads_start: int
    threads_end: int
    rss_start_mb: float
    rss_end_mb: float


def run(
    console: Console,
    *,
    recalls: int = RECALLS,
    size: int = SIZE,
    budgets: Sequence[float] = BUDGETS,
    plans: Sequence[str] = (),
    faults: Sequence[str] = (),
    breakers: bool = True,
    crowd: int = callers.CALLERS,
    soak_minutes: float | None = None,
    kill_count: int | None = None,
    json_path: str | Path | None = None,
    settle_s: float = SETTLE_S,
    told: Told = silent,
) -> dict[str, Any]:
    """Measure, print the tables, and write the report if asked. Gives the report.

    Args:
        console: where tables go.
        recalls: of each fault with each plan.
        size: memories in the scope.
        budgets: milliseconds; they take turns.
        plans: kinds of queries; default all.
        faults: names of faults, or of parts; default all.
        breakers: whether they may open; see `matrix.measure`.
        crowd: callers at once; 0 = none.
        soak_minutes, kill_count: run these instead.
        json_path: file for the report.
        settle_s: how long threads are waited for at the end.
        told: about progress.

    Raises:
        InvalidArgument: a number out of its range, an unknown plan or fault, or a report that could not be written.
        MissingExtra: `psutil`, of the `bench` extra, is missing.
    """
    _checked(recalls, size, budgets, plans, crowd)
    extras.check(extras.PROCESSES)
    output, wanted = checked_output(json_path), chosen(faults)
    report: dict[str, Any] = {"format": FORMAT, "size": size}
    with tempfile.TemporaryDirectory(prefix="recall-bench-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if soak_minutes is not None:
            soaked = soak.measure(folder, soak_minutes, size, lambda n: settled(n, settle_s), told)
            tables.show_soak(soaked, console)
            report["soak"] = {**asdict(soaked), "growth_mb": round(soaked.growth_mb, 1)}
        if kill_count is not None:
            killed = kills.measure(folder, kill_count, told=told)
            tables.show_kills(killed, console)
            report["kills"] = kills.as_json(killed)
        if soak_minutes is None and kill_count is None:
            report |= {"recalls": recalls, "budgets": list(budgets), "breakers": breakers}
            report |= _faults(
                folder,
                console,
                size=size,
                crowd=crowd,
                settle_s=settle_s,
                told=told,
                given={
                    "faults": wanted,
                    "plans": tuple(plans) or PLANS,
                    "budgets": tuple(budgets),
                    "recalls": recalls,
                    "breakers": breakers,
                },
            )
    write_report(output, {**report, "environment": environment()}, console)
    return report


def _checked(recalls: int, size: int, budgets: Sequence[float], plans: Sequence[str], crowd: int) -> None:
    for name, value, low in (("recalls", recalls, 1), ("size", size, 1), ("crowd", crowd, 0)):
        if value < low:
            raise InvalidArgument(f"{name} must be at least {low}, not {value}.")
    if not budgets or any(budget <= 0 for budget in budgets):
        raise InvalidArgument(f"Budgets must be milliseconds above 0, not {list(budgets)}.")
    unknown = [plan for plan in plans if plan not in PLANS]
    if unknown:
        raise InvalidArgument(f"There is no plan {unknown[0]!r}. Known: {', '.join(PLANS)}.")


def _faults(
    folder: Path,
    console: Console,
    *,
    size: int,
    crowd: int,
    settle_s: float,
    told: Told,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Faults and crowds."""
    gate = Gate()
    stores = matrix.Stores(folder, size, gate, told)
    try:
        for remote in sorted({fault.remote for fault in given["faults"]} | {False}):
            stores.of(remote=remote)
        idle = settled(0, 0)
        matrix.measure(stores, gate, **{**given, "recalls": 1})  # all is loaded that any of them needs
        before = settled(idle, settle_s), resident_mb()
        with frozen():
            by_plan, by_budget = matrix.measure(stores, gate, told=told, **given)
            crowds = _crowds(stores, crowd, given["budgets"], told)
        process = Process(
            threads_start=before[0],
            threads_end=settled(before[0], settle_s),
            rss_start_mb=round(before[1], 1),
            rss_end_mb=round(resident_mb(), 1),
        )
    finally:
        gate.let_go()
        stores.close()
    tables.show_faults(by_plan, by_budget, console)
    tables.show_crowds(crowds, console)
    tables.show_process(process, console)
    return {
        "faults": [asdict(row) for row in by_plan],
        "by_budget": [asdict(row) for row in by_budget],
        "callers": [asdict(each) for each in crowds],
        "process": asdict(process),
    }


def _crowds(stores: matrix.Stores, crowd: int, budgets: Sequence[float], told: Told) -> list[callers.Crowd]:
    from recall_integrations import QueryOptimizer

    met = [budget for budget in budgets if budget >= CROWD_FROM_MS]
    if not crowd or not met:
        return []
    told(f"{crowd} callers", 0, len(met))
    optimizer = QueryOptimizer(stores.of(remote=False))
    found = callers.measure(optimizer, met, crowd)
    optimizer.close()
    told(f"{crowd} callers", len(met), len(met))
    return found


def settled(wanted: int, seconds: float, sleep: Callable[[float], None] = time.sleep) -> int:
    """Threads, once there are no more than wanted, or so many seconds later."""
    end = time.monotonic() + seconds
    while threading.active_count() > wanted and time.monotonic() < end:
        sleep(0.2)
    return threading.active_count()
