"""The figures as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from recall_integrations.evaluation.reports import compact_table

if TYPE_CHECKING:
    from benchmarks.resilience.callers import Crowd
    from benchmarks.resilience.kills import Kills
    from benchmarks.resilience.matrix import Row
    from benchmarks.resilience.resilience import Process
    from benchmarks.resilience.samples import Figures
    from benchmarks.resilience.soak import Soak

REASONS = 5  # as many as a row has room for; the report has all
NUMBERS = ("ok %", "hits %", "p50", "p99", "over p50", "over p99")


def show_faults(by_plan: Sequence[Row], by_budget: Sequence[Row], console: Console) -> None:
    """One table by plan, one by budget, and what `degraded` said, by fault."""
    console.print(
        "Milliseconds. ok: has hits, or none and says why; over: beyond the budget; hang: calls that had not returned."
    )
    table = compact_table("Faults by plan, all budgets")
    table.add_column("fault")
    table.add_column("plan")
    for name in (*NUMBERS, "hang"):
        table.add_column(name, justify="right")
    last = ""
    for row in by_plan:
        name = row.fault if row.fault != last else ""
        table.add_row(name, row.group, *_numbers(row.figures), str(sum(row.hanging.values())))
        last = row.fault
    console.print(table)
    table = compact_table("Faults by budget, all plans")
    table.add_column("fault")
    for name in ("budget", *NUMBERS):
        table.add_column(name, justify="right")
    last = ""
    for row in by_budget:
        table.add_row(row.fault if row.fault != last else "", row.group, *_numbers(row.figures))
        last = row.fault
    console.print(table)
    table = compact_table("What degraded said, most often first")
    table.add_column("fault", no_wrap=True)
    table.add_column("stage:reason", overflow="fold")
    for fault, reasons in _said(by_plan).items():
        table.add_row(fault, _reasons(reasons))
    console.print(table)


def _said(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Fault → reason → in how many recalls, most often first."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row.fault, Counter()).update(row.figures.reasons)
    return {fault: dict(count.most_common()) for fault, count in counts.items()}


def _numbers(found: Figures) -> tuple[str, ...]:
    return (
        _percent(found.success),
        _percent(found.answered),
        f"{found.p50_ms:.1f}",
        f"{found.p99_ms:,.1f}",
        f"{found.over_p50_ms:.1f}",
        f"{found.over_p99_ms:.1f}",
    )


def _percent(share: float) -> str:
    """Rounded down: 100 means all."""
    return f"{int(share * 1000) / 10:.1f}"


def _reasons(found: dict[str, int]) -> str:
    shown = [f"{reason} {count:,}" for reason, count in list(found.items())[:REASONS]]
    left = len(found) - REASONS
    return ", ".join(shown) + (f", {left} more" if left > 0 else "") or "-"


def show_crowds(crowds: Sequence[Crowd], console: Console) -> None:
    """Many callers at once."""
    if not crowds:
        return
    table = compact_table("Callers at once")
    table.add_column("how")
    for name in ("callers", "budget", "total s", "ok %", "hits %", "p50", "p99", "p99 / budget"):
        table.add_column(name, justify="right")
    for crowd in crowds:
        found = crowd.figures
        table.add_row(
            crowd.how,
            str(crowd.callers),
            f"{crowd.budget_ms:g}",
            f"{crowd.total_s:.2f}",
            _percent(found.success),
            _percent(found.answered),
            f"{found.p50_ms:.0f}",
            f"{found.p99_ms:.0f}",
            f"{crowd.p99_of_budget:.2f}",
        )
    console.print(table)


def show_process(process: Process, console: Console) -> None:
    """Threads and memory."""
    console.print(
        f"Threads {process.threads_start} → {process.threads_end}, resident {process.rss_start_mb:.0f} → "
        f"{process.rss_end_mb:.0f} MB from start to end."
    )


def show_soak(found: Soak, console: Console) -> None:
    """What a soak came to."""
    console.rule(f"Soak of {found.minutes:g} minutes")
    if found.reads is not None:
        r = found.reads
        console.print(
            f"{r.recalls:,} recalls, {_percent(r.success)} % successful, p50 {r.p50_ms:.1f} ms, p99 {r.p99_ms:.1f}; "
            f"beyond the budget p99 {r.over_p99_ms:.1f} ms."
        )
    console.print(f"{found.writes:,} writes, {found.forgets:,} forgets, {found.faults:,} faults began or ended.")
    console.print(f"Refused with a named error: {_counts(found.refused)}.")
    console.print(f"Unexpected exceptions: {_counts(found.unexpected)}.")
    console.print(
        f"Resident {found.rss_start_mb:.0f} MB, after the first minute {found.rss_minute_mb:.0f}, at the end "
        f"{found.rss_end_mb:.0f} ({found.growth_mb:+.0f}). Threads {found.threads_start} → {found.threads_end}. "
        f"Hanging: {_counts(found.hanging)}."
    )
    if found.doctor is not None:
        verdict = "missing" if not found.doctor.there else "clean" if found.doctor.clean else "not clean"
        console.print(f"recall doctor: {verdict}. {found.doctor.said}", markup=False)


def show_kills(found: Kills, console: Console) -> None:
    """What kills came to."""
    console.rule(f"{found.kills} kills")
    console.print(
        f"{found.acknowledged:,} operations acknowledged; {found.memories:,} memories looked for, in the store and "
        f"through every arm. Lost: {_counts(found.lost)}. Doubled: {found.doubled}. Came back: {found.returned}. "
        f"Half a batch: {found.halves}."
    )
    for notice in sorted(set(found.notices)):
        console.print(f"Notice: {notice}", markup=False)


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items())) or "none"
