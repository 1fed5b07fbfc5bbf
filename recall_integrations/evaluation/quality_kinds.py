"""`recall bench quality DATA --all`: every data set of a data folder, by kind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from recall_integrations.config import RecallConfig
from recall_integrations.evaluation import combined, extras, kinds, quality, quality_tables
from recall_integrations.evaluation.metrics import OVERALL
from recall_integrations.evaluation.quality_report import OURS, QualityReport
from recall_integrations.evaluation.reports import checked_output, write_report


def run(
    data_path: str | Path,
    console: Console,
    *,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    limit: int | None = None,
    peers: bool = True,
    stages: bool = False,
    json_path: str | Path | None = None,
    pictures: str | Path | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
    embedding: object = None,
    embedding_cache: str | Path | None = None,
) -> kinds.Summary:
    """Measure every data set in the folder, a line for each as it is done, and print the kinds, the worst first.

    Data sets that the folder lacks are named and left out. Tables of each data set are in the report and the pictures.

    Args:
        data_path: the folder with the data sets, each in the folder of its name.
        console: where lines, the table and progress go.
        only: kinds, by the names of `kinds.KINDS`. Default: all.
        skip: kinds that are left out.
        limit: see `quality.run`, as are the others.
        peers: see there.
        stages: see there.
        json_path: see there; the report also holds the kinds.
        pictures: see there; there are also pictures of the kinds.
        config: see there.
        k: see there.
        embedding: see there.
        embedding_cache: see there.

    Raises:
        InvalidArgument: an unknown kind, none of the data sets is there, bad data, a limit under 1, a report that could
            not be written.
        MissingExtra: a package of the `bench` extra, or of the embedding, is missing.
    """
    extras.check(extras.METRICS, peers=peers)
    there, missing = kinds.found(data_path, kinds.wanted(only, skip))
    output, folder = checked_output(json_path), None if pictures is None else quality.picture_folder(pictures)
    for name in missing:
        console.print(f"{name}: not in {data_path}")
    loaded = [quality.load(data_path, name) for name in there]  # a bad file is found before the long run
    reports: list[QualityReport] = []
    about: dict[str, Any] = {}
    with quality.shared_embedding(embedding, embedding_cache) as shared:
        for number, data in enumerate(loaded, start=1):
            start = time.perf_counter()
            console.print(f"[{number}/{len(loaded)}] {data.name}: {data.memories:,} memories", markup=False)
            report, about = quality.measure(
                data,
                console,
                config or RecallConfig(),
                limit=limit,
                peers=peers,
                stages=stages,
                k=k,
                embedding=shared,
            )
            reports.append(report)
            console.print(f"  {_figures(report)}, {time.perf_counter() - start:.0f} s")
    summary = kinds.summarise(reports, there, missing)
    means = combined.means(reports)
    quality_tables.show_kinds(summary, console)
    write_report(output, {**combined.as_dict(reports, means, about), **summary.as_dict()}, console)
    if folder is not None:
        from recall_integrations.evaluation import pictures as drawing

        for file in drawing.draw(reports, means, folder, summary):
            console.print(f"Picture written to {file}")
    return summary


def _figures(report: QualityReport) -> str:
    def figure(system: str) -> str:
        return f"{system} {report.averages[system][OVERALL].values[kinds.METRIC]:.3f}"

    best = kinds.best_peer([report])
    return f"{len(report.questions):,} questions, {', '.join(figure(s) for s in (OURS, best) if s)}"
