"""The reports of `speed.latency` as tables: for the terminal, and in Markdown as they stand in docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from benchmarks.speed.asking import ALL, OURS, Percentiles

if TYPE_CHECKING:
    from benchmarks.speed.latency import SizeReport

FUSION = "LlamaIndex fusion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure to reach, and what was measured."""

    what: str
    found: float
    bound: float
    at_least: bool = False
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.found >= self.bound if self.at_least else self.found <= self.bound

    def __str__(self) -> str:
        return f"{_figure(self.found)}{self.unit}"


def targets(reports: Sequence[SizeReport]) -> list[Target]:
    """All figures to reach of which these reports say something, in the order of issue and size."""
    by_size = {r.size: r for r in reports}
    return [*_ratios(by_size), *_around(by_size)]


def _ratios(by_size: dict[int, SizeReport]) -> Iterator[Target]:
    for size, report in by_size.items():
        ours, peer = report.latency[OURS][ALL], report.latency.get(FUSION, {}).get(ALL)
        if peer is not None and size >= 10_000:
            yield Target(what=f"{size:,}: p50 ÷ {FUSION}'s", found=ours.p50 / peer.p50, bound=0.75)
    large, hundred = by_size.get(1_000_000), by_size.get(100_000)
    if large is not None and hundred is not None:
        for name in ("p50", "p95"):
            of = [getattr(r.latency[OURS][ALL], name) for r in (large, hundred)]
            yield Target(what=f"1,000,000 ÷ 100,000: {name}", found=of[0] / of[1], bound=3.0)
    for size, report in by_size.items():
        ours = report.latency[OURS][ALL]
        yield Target(what=f"{size:,}: p95 ÷ p50", found=ours.p95 / ours.p50, bound=1.5)


def _around(by_size: dict[int, SizeReport]) -> Iterator[Target]:
    for size, report in by_size.items():
        if size == 10_000:
            if report.crowd is not None:
                threads = report.crowd.threads
                yield Target(
                    what=f"{threads} threads ÷ one, throughput", found=report.crowd.gain, bound=1.6, at_least=True
                )
                yield Target(what=f"{threads} threads, p99", found=report.crowd.p99, bound=40.0, unit=" ms")
            if report.hostile_ms:
                worst = max(report.hostile_ms.values())
                yield Target(what="hostile query, worst", found=worst, bound=1.0, unit=" ms/kB")
        if size == 100_000:
            yield Target(
                what=f"{size:,}: remember_many", found=report.ingest_per_s, bound=3_000, at_least=True, unit=" per s"
            )
        yield Target(what=f"{size:,}: one remember, median", found=report.remember_ms.p50, bound=8.0, unit=" ms")
        if size in (10_000, 100_000):
            small = size == 10_000
            first = report.fresh["open_ms"] + report.fresh["first_recall_ms"]
            yield Target(
                what=f"{size:,}: open and first recall of a fresh process",
                found=first, bound=100.0 if small else 400.0, unit=" ms",
            )  # fmt: skip
            yield Target(
                what=f"{size:,}: resident beyond the imports",
                found=report.fresh["beyond_mb"], bound=40.0 if small else 150.0, unit=" MB",
            )  # fmt: skip
        yield Target(
            what=f"{size:,}: import beyond both frameworks", found=report.fresh["import_ms"], bound=100.0, unit=" ms"
        )
        yield Target(what=f"{size:,}: dense recall@10", found=report.dense_recall, bound=0.99, at_least=True)


# --- terminal ---------------------------------------------------------------------------------------------------


def show(report: SizeReport, console: Console) -> None:
    """Print one size."""
    fresh, remember = report.fresh, report.remember_ms
    console.rule(f"{report.size:,} memories")
    disk = ", ".join(f"{part} {held:,.0f}" for part, held in report.bytes_per_memory.items() if part != ALL)
    console.print(
        f"remember_many {report.ingest_per_s:,.0f} per s · remember {remember.p50:.1f} ms (p95 {remember.p95:.1f}) · "
        f"bytes a memory on disk {report.bytes_per_memory[ALL]:,.0f} ({disk})"
    )
    console.print(
        f"fresh process: import {fresh['import_ms']:,.0f} ms beyond the frameworks' {fresh['frameworks_ms']:,.0f}, "
        f"open {fresh['open_ms']:,.0f} ms, first recall {fresh['first_recall_ms']:,.0f} ms, "
        f"resident {fresh['rss_mb']:,.0f} MB, {fresh['beyond_mb']:,.0f} of it beyond the imports"
    )
    console.print(f"semantic arm: recall@10 against an exact search {report.dense_recall:.4f}")
    for peer, seconds in report.peer_build_s.items():
        console.print(f"{peer}: built in {seconds:,.1f} s ({report.size / seconds:,.0f} per s)")
    if report.crowd is not None:
        c = report.crowd
        console.print(
            f"{c.threads} threads: {c.per_s:,.0f} recalls per s, {c.gain:.2f} times one thread; p50 {c.p50:.1f}, p95 "
            f"{c.p95:.1f}, p99 {c.p99:.1f} ms; {c.degraded} left something out"
        )
    if report.hostile_ms:
        worst = sorted(report.hostile_ms.items(), key=lambda one: -one[1])
        console.print(f"hostile queries, ms per kB: {', '.join(f'{name} {ms:.2f}' for name, ms in worst)}")
    console.print(_latencies(report))
    stages = ", ".join(f"{stage} {ms:.2f}" for stage, ms in report.stages_ms.items())
    console.print(f"Stages, median ms: {stages}")
    console.print(f"Floors, median ms: {', '.join(f'{part} {ms:.2f}' for part, ms in report.floors_ms.items())}")
    reasons = ", ".join(f"{reason} {count}" for reason, count in report.degraded.items())
    console.print(f"Degraded results: {reasons or 'none'}")


def _latencies(report: SizeReport) -> Table:
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
    return table


def show_targets(reports: Sequence[SizeReport], console: Console) -> None:
    """Print what was to be reached, and what was."""
    table = Table(title="Targets", title_justify="left")
    for column in ("figure", "measured", "to reach", ""):
        table.add_column(column, justify="left" if column == "figure" else "right")
    for target in targets(reports):
        bound = f"{'≥' if target.at_least else '≤'} {_figure(target.bound)}{target.unit}"
        table.add_row(target.what, str(target), bound, "met" if target.met else "missed")
    console.print(table)


# --- Markdown ---------------------------------------------------------------------------------------------------


def markdown(reports: Sequence[SizeReport]) -> str:
    """All tables, in Markdown."""
    parts = [_latency_page(reports), _around_page(reports), _stages_page(reports), _targets_page(reports)]
    return "\n\n".join(parts) + "\n"


def _latency_page(reports: Sequence[SizeReport]) -> str:
    systems = list(dict.fromkeys(name for r in reports for name in r.latency))
    rows = []
    for report in reports:
        peer = report.latency.get(FUSION, {}).get(ALL)
        for plan, own in report.latency[OURS].items():
            cells = [_three(report.latency.get(name, {}).get(plan)) for name in systems]
            ratio = f"{own.p50 / peer.p50:.2f}" if peer is not None and plan == ALL else ""
            rows.append([f"{report.size:,}", plan, *cells, ratio])
    return "p50 / p95 / p99 in ms:\n\n" + _rows(["memories", "plan", *systems, f"p50 ÷ {FUSION}'s"], rows)


def _around_page(reports: Sequence[SizeReport]) -> str:
    header = [
        "memories", "remember_many, per s", "remember, p50 / p95 ms", "bytes a memory on disk", "open, ms",
        "first recall, ms", "import, ms", "resident beyond the imports, MB", "16 threads ÷ one", "their p99, ms",
        "dense recall@10",
    ]  # fmt: skip
    rows = [
        [
            f"{r.size:,}",
            f"{r.ingest_per_s:,.0f}",
            f"{r.remember_ms.p50:.1f} / {r.remember_ms.p95:.1f}",
            f"{r.bytes_per_memory[ALL]:,.0f}",
            f"{r.fresh['open_ms']:,.0f}",
            f"{r.fresh['first_recall_ms']:,.0f}",
            f"{r.fresh['import_ms']:,.0f}",
            f"{r.fresh['beyond_mb']:,.0f}",
            "" if r.crowd is None else f"{r.crowd.gain:.2f}",
            "" if r.crowd is None else f"{r.crowd.p99:,.0f}",
            f"{r.dense_recall:.4f}",
        ]
        for r in reports
    ]
    return _rows(header, rows)


def _stages_page(reports: Sequence[SizeReport]) -> str:
    stages = list(dict.fromkeys(stage for r in reports for stage in r.stages_ms if stage != "total"))
    header = ["stage, median ms", *(f"{r.size:,}" for r in reports)]
    names = [
        *(s for s in stages if not s.startswith("arm.")),
        *sorted(s for s in stages if s.startswith("arm.")),
        "total",
    ]
    rows = [[name, *(_ms(r.stages_ms.get(name)) for r in reports)] for name in names]
    floors = list(dict.fromkeys(part for r in reports for part in r.floors_ms))
    rows += [[f"floor: {part}", *(_ms(r.floors_ms.get(part)) for r in reports)] for part in floors]
    return _rows(header, rows)


def _targets_page(reports: Sequence[SizeReport]) -> str:
    rows = [
        [t.what, str(t), f"{'≥' if t.at_least else '≤'} {_figure(t.bound)}{t.unit}", "met" if t.met else "**missed**"]
        for t in targets(reports)
    ]
    return _rows(["figure", "measured", "to reach", ""], rows)


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _three(p: Percentiles | None) -> str:
    return "" if p is None else f"{p.p50:.1f} / {p.p95:.1f} / {p.p99:.1f}"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
