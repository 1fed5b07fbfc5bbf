"""`recall bench rewriting`: what a rewriter is worth at best, what a bad one costs, and when to ask.

Every question of every kind of memory is asked without a language model and with scripted ones (`writers.py`), over the
same store: recall@5, nDCG@10 and relevant first hits, differences with 95 % of a paired bootstrap over questions, a
kind as the mean of its data sets. No real model is needed, and none is measured: the good one answers from the labels
and is an upper bound; what a bad one can spoil is measured by hostile and random ones.

The model is asked wherever plan and query allow it, however sure the first answer is, unless `as_configured` is given.
Then what asking only below a confidence would have given is computed from the same answers (`thresholds.py`). Breakers,
the guard of the service level and the cache of rewrites are off: each answer is judged by itself. With them a model
whose answers are all thrown away is not asked for long, so these are the worst that it can do.

The scripted model answers at once, so what a recall took more is what we add: the guard, the embedding of phrasings and
the searches for them. Recalls ask for ten hits, and confidence is that of ten.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.quality import kinds
from benchmarks.rewriting import tables, thresholds
from benchmarks.rewriting.measuring import METRICS, K, Measured, measure, relaxed
from benchmarks.rewriting.thresholds import LeftOut, Step
from benchmarks.rewriting.writers import GOOD
from benchmarks.shared import extras
from benchmarks.shared.reports import environment, write_report
from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output

FORMAT = 1  # of the JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritingReport:
    """The outcome of a run.

    Args:
        groups: kind → its data sets.
        steps: every threshold over the kinds that may be fitted on; empty where none of them was measured.
        left_out: each kind with the threshold that the others choose.
    """

    groups: dict[str, list[Measured]]
    steps: list[Step]
    left_out: list[LeftOut]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: kinds, thresholds, and every question without its text."""
        return {
            "format": FORMAT,
            "k": K,
            "kinds": {kind: _kind(kind, own) for kind, own in self.groups.items()},
            "thresholds": [one.as_dict() for one in self.steps],
            "left_out": [one.as_dict() for one in self.left_out],
            "questions": {key: row for own in self.groups.values() for m in own for key, row in m.rows().items()},
        }


def _kind(kind: str, own: Sequence[Measured]) -> dict[str, Any]:
    groups = {kind: own}
    return {
        "datasets": [m.dataset for m in own],
        "questions": sum(len(m.plain) for m in own),
        **{metric: thresholds.plain(groups, metric) for metric in METRICS},
        **thresholds.step(groups, 1.0).as_dict(),
        "differences": {name: asdict(thresholds.difference(groups, name, METRICS[0])) for name in own[0].writers},
    }


def run(
    data_path: str | Path,
    console: Console,
    *,
    only: Sequence[str] = (),
    everything: bool = False,
    limit: int | None = None,
    time_budget_ms: float | None = None,
    as_configured: bool = False,
    config: RecallConfig | None = None,
    json_path: str | Path | None = None,
) -> RewritingReport:
    """Measure the kinds, print the tables, and write the report if asked.

    Args:
        data_path: the folder with the data sets, each in the folder of its name.
        console: where tables and progress go.
        only: kinds, by the names of `kinds.KINDS`.
        everything: all kinds that the folder has.
        limit: ask at most this many questions of each data set, spread evenly. Default: all.
        time_budget_ms: of a recall. Default: so far off that a busy machine changes nothing.
        as_configured: ask where the configuration says so, instead of wherever plan and query allow it. Then no
            threshold is looked for.
        config: of all systems. Default: `RecallConfig()`.
        json_path: file for the report.

    Raises:
        InvalidArgument: no kind or an unknown one, none of the data sets is there, bad data, a limit under 1, a report
            that could not be written.
        MissingExtra: a package of the `bench` extra is missing.
    """
    extras.check(extras.METRICS)
    if everything == bool(only):
        raise InvalidArgument("Say which kinds are measured: --all, or --kind NAME once or several times.")
    output = checked_output(json_path)
    there, missing = kinds.found(data_path, kinds.wanted(only))
    for name in missing:
        console.print(f"{name}: not in {data_path}")
    loaded = [kinds.read(data_path, name) for name in there]  # a bad file is found before the long run
    groups: dict[str, list[Measured]] = {}
    for number, data in enumerate(loaded, start=1):
        start = time.perf_counter()
        console.print(f"[{number}/{len(loaded)}] {data.name}: {data.memories:,} memories", markup=False)
        measured = measure(
            data, console, config=config, everywhere=not as_configured, limit=limit, time_budget_ms=time_budget_ms
        )
        groups.setdefault(there[data.name].name, []).append(measured)
        console.print(f"  {len(measured.plain):,} questions, {time.perf_counter() - start:.0f} s")
    report = found(groups, searching=not as_configured)
    show(report, console)
    settings = relaxed(config or RecallConfig(), everywhere=not as_configured)
    write_report(
        output, {**report.as_dict(), "environment": {"config": settings.fingerprint, **environment()}}, console
    )
    return report


def found(groups: dict[str, list[Measured]], *, searching: bool = True) -> RewritingReport:
    """What measurements come to, and the thresholds if they are looked for."""
    fitting = thresholds.fitting(groups)
    searching = searching and all(GOOD in m.writers for own in groups.values() for m in own)
    return RewritingReport(
        groups=groups,
        steps=thresholds.steps(fitting) if searching and fitting else [],
        left_out=thresholds.left_out(groups) if searching else [],
    )


def show(report: RewritingReport, console: Console) -> None:
    """Print the tables."""
    titles = {kind.name: kind.title for kind in kinds.KINDS}
    tables.show_kinds(report.groups, titles, console)
    if report.steps:
        tables.show_thresholds(report.steps, list(thresholds.fitting(report.groups)), console)
    tables.show_left_out(report.left_out, console)
