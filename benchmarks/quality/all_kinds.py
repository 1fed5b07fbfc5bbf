"""`recall bench quality DATA --all`: every data set of a data folder, by kind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from benchmarks.quality import kinds, means
from benchmarks.quality.comparison import Others, measure
from benchmarks.quality.pictures import drawn, picture_folder
from benchmarks.quality.report import OURS, QualityReport
from benchmarks.quality.tables import interval
from benchmarks.shared import extras
from benchmarks.shared.embedding_cache import shared_embedding
from benchmarks.shared.reports import write_report
from recall_integrations.config import RecallConfig
from recall_integrations.evaluation.metrics import OVERALL
from recall_integrations.evaluation.reports import checked_output, compact_table


def run(
    data_path: str | Path,
    console: Console,
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    json_path: str | Path | None = None,
    pictures: str | Path | None = None,
    embedding: object = None,
    embedding_cache: str | Path | None = None,
    **options: Any,
) -> kinds.Summary:
    """Measure every data set in the folder, a line for each as it is done, and print the kinds, the worst first.

    Data sets that the folder lacks are named and left out. Tables of each data set are in the report and the pictures.

    Args:
        data_path: the folder with the data sets, each in the folder of its name.
        console: where lines, the table and progress go.
        only: kinds, by the names of `kinds.KINDS`. Default: all.
        skip: kinds that are left out.
        json_path: file for the report, which also holds the kinds.
        pictures: folder for an SVG picture of each table, those of the kinds too; made if absent.
        embedding: see `comparison.run`.
        embedding_cache: see there.
        options: see `measured`.

    Raises:
        InvalidArgument: an unknown kind, none of the data sets is there, bad data, a limit under 1, a report that could
            not be written.
        MissingExtra: a package of the `bench` extra, or of the embedding, is missing.
    """
    extras.check(extras.METRICS)
    there, missing = kinds.found(data_path, kinds.wanted(only, skip))
    output, folder = checked_output(json_path), None if pictures is None else picture_folder(pictures)
    for name in missing:
        console.print(f"{name}: not in {data_path}")
    with shared_embedding(embedding, embedding_cache) as shared:
        reports, about = measured(data_path, tuple(there), console, embedding=shared, **options)
    summary = kinds.summarise(reports, there, missing)
    together = means.of_families(reports)
    show(summary, console)
    write_report(output, {**means.as_dict(reports, together, about), **summary.as_dict()}, console)
    for file in () if folder is None else drawn(reports, together, folder, summary):
        console.print(f"Picture written to {file}")
    return summary


def measured(
    data_path: str | Path,
    names: Sequence[str],
    console: Console,
    *,
    limit: int | None = None,
    others: Sequence[Others] = (),
    config: RecallConfig | None = None,
    k: int = 10,
    embedding: Any = None,
) -> tuple[list[QualityReport], dict[str, Any]]:
    """The data sets one after the other, with a line for each; and where they were measured.

    Args:
        data_path: the folder with the data sets.
        names: of the data sets.
        console: where lines and progress go.
        limit: see `comparison.run`, as are the others.
        others: see there.
        config: see there.
        k: see there.
        embedding: shared by all systems.
    """
    loaded = [kinds.read(data_path, name) for name in names]  # a bad file is found before the long run
    reports: list[QualityReport] = []
    about: dict[str, Any] = {}
    for number, data in enumerate(loaded, start=1):
        start = time.perf_counter()
        console.print(f"[{number}/{len(loaded)}] {data.name}: {data.memories:,} memories", markup=False)
        settings = config or RecallConfig()
        report, about = measure(data, console, settings, limit=limit, others=others, k=k, embedding=embedding)
        reports.append(report)
        console.print(f"  {_figures(report)}, {time.perf_counter() - start:.0f} s")
    return reports, about


def _figures(report: QualityReport) -> str:
    def figure(system: str) -> str:
        return f"{system} {report.averages[system][OVERALL].values[kinds.METRIC]:.3f}"

    best = kinds.best_peer([report])
    return f"{len(report.questions):,} questions, {', '.join(figure(s) for s in (OURS, best) if s)}"


def show(summary: kinds.Summary, console: Console) -> None:
    """Print a line for each kind, the worst first, and the means: ours, the best peer, and ours against it."""
    table = compact_table("Kinds, the worst first: nDCG@10, ours and the best peer's (95 % interval)")
    table.padding = (0, 0)  # or it would not fit
    table.add_column("kind, best peer", no_wrap=True)
    for column in ("asked", "ours", "peer", "ratio"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column("R@5", justify="right", no_wrap=True)
    for number, line in enumerate(summary.lines):
        if number == len(summary.kinds):
            table.add_section()
        table.add_row(
            Text(line.title, style="bold"),
            f"{line.questions:,}",
            f"{line.ours.mean:.3f}",
            "" if line.theirs is None else f"{line.theirs.mean:.3f}",
            "" if line.ratio is None else f"{line.ratio:.2f}",
            "" if line.difference is None else interval(line.difference),
            f"{line.recall:.3f}",
        )
        if line.theirs is not None:
            table.add_row(line.peer or "the best of each")
    console.print(table)
    if summary.missing:
        console.print(f"Not measured, for want of data: {', '.join(summary.missing)}")
