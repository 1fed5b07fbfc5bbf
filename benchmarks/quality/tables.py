"""The tables of `recall bench quality`, for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.quality.means import Mean
from benchmarks.quality.metrics import Average
from benchmarks.quality.paired import METRICS
from benchmarks.quality.report import COMPARED, OURS, QualityReport
from recall_integrations.evaluation.metrics import OVERALL, Interval
from recall_integrations.evaluation.reports import compact_table

HEADINGS = ("R@1", "R@5", "R@10", "nDCG", "MRR")  # of METRICS, so that the table fits


def show(report: QualityReport, console: Console) -> None:
    """Print averages, plans, degradations, the differences to the peers, and what each stage is worth."""
    console.print(_averages(report))
    if OURS not in report.answers:
        return
    plans = Table(title="Plans", title_justify="left")
    plans.add_column("plan")
    for column in ("asked", "share", *HEADINGS):
        plans.add_column(column, justify="right")
    for plan, average in report.plans().items():
        share = average.questions / len(report.questions)
        plans.add_row(plan, str(average.questions), f"{share:.0%}", *_figures(average))
    console.print(plans)
    count, reasons = report.degraded()
    listed = f" ({', '.join(f'{reason} {n}' for reason, n in reasons.items())})" if reasons else ""
    console.print(f"Degraded results: {count} of {len(report.questions)}{listed}")
    if OURS in report.notes:
        console.print(f"{OURS}: {report.notes[OURS]}")
    peers = {s: report.differences[s] for s in report.systems("peer") if s in report.differences}
    if peers:
        console.print(_differences(f"{OURS} minus the other system (95 % bootstrap interval)", "system", peers))
    if report.systems("stage"):
        _show_stages(report, console)


def _show_stages(report: QualityReport, console: Console) -> None:
    own = {s: report.differences[s] for s in report.systems("stage")}
    title = f"{report.dataset}, what each stage is worth: {OURS} minus {OURS} changed (95 %)"
    console.print(_differences(title, "changed", own, moved={s: report.moved(s) for s in own}))
    console.print("moved: questions with other results, or in another order")
    for system in own:
        if system in report.notes:
            console.print(f"* {system}: {report.notes[system]}")
    count = sum(report.degraded(system)[0] for system in own)
    console.print(f"Degraded results with stages changed: {count}")


def show_mean(mean: Mean, console: Console) -> None:
    """Print the mean of several data sets."""
    named = ", ".join(report.dataset for report in mean.reports)
    table = Table(title=f"{mean.name} ({named})", title_justify="left")
    table.add_column("system", no_wrap=True)
    for column in HEADINGS:
        table.add_column(column, justify="right")
    for system, values in mean.systems.items():
        if mean.reports[0].kind(system) != "stage":
            table.add_row(system, *(f"{values[name]:.3f}" for name in METRICS))
    console.print(table)
    for kind, title, head in (
        ("peer", f"{OURS} minus the other system (95 %)", "system"),
        ("stage", f"{OURS} minus {OURS} changed (95 %)", "changed"),
    ):
        own = {s: gaps for s, gaps in mean.differences.items() if mean.reports[0].kind(s) == kind}
        if own:
            console.print(_differences(f"{mean.name}, {title}", head, own))


def _figures(average: Average) -> list[str]:
    return [f"{average.values[name]:.3f}" for name in METRICS]


def _averages(report: QualityReport) -> Table:
    table = Table(title=f"{report.dataset}: {len(report.questions):,} questions, k = {report.k}", title_justify="left")
    table.add_column("system", no_wrap=True)
    for column in (*HEADINGS, "ms"):
        table.add_column(column, justify="right")
    systems = report.systems("ours", "peer")
    categories = report.averages[systems[0]] if systems else {}
    if len(categories) == 2:  # one category is all there is
        categories = {OVERALL: categories[OVERALL]}
    for category, average in categories.items():
        table.add_row(Text(f"{category} ({average.questions:,})", style="bold"))
        for system in systems:
            ms = f"{report.median_ms(system):.2f}" if category == OVERALL else ""
            table.add_row(f"  {system}", *_figures(report.averages[system][category]), ms)
        table.add_section()
    return table


def _differences(
    title: str, head: str, differences: Mapping[str, Mapping[str, Interval]], moved: Mapping[str, int] | None = None
) -> Table:
    table = compact_table(title)
    table.add_column(head, no_wrap=True)
    if moved is not None:
        table.add_column("moved", justify="right")
    for column in COMPARED:
        table.add_column(column, justify="right", no_wrap=True)
    for system, gaps in differences.items():
        counts = [] if moved is None else [f"{moved[system]:,}"]
        table.add_row(system, *counts, *(interval(gaps[metric]) for metric in COMPARED))
    return table


def interval(gap: Interval) -> str:
    """Mean and bounds, in 24 columns."""
    return f"{gap.mean:+.3f} ({gap.low:+.3f} {gap.high:+.3f})"
