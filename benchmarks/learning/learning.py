"""Days of use on data sets: what is learned against rules, and against an oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.datasets.loading import load
from benchmarks.learning import cost
from benchmarks.learning.clicking import Clicks
from benchmarks.learning.curves import PLAIN, STRONG, Line, curves
from benchmarks.learning.domain import NAME, workshop
from benchmarks.learning.oracle import measured, oracle
from benchmarks.learning.recorded import Halves, halved, opened
from benchmarks.learning.trials import Poisoned, Trial, bad_versions, poisoned, tried
from benchmarks.learning.using import TENANT, Days, Person, Use
from benchmarks.shared.reports import environment, write_report
from recall_integrations import RecallConfig
from recall_integrations.evaluation.reports import checked_output, compact_table
from recall_integrations.learning.measuring import bootstrap

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations import MemoryStore

OTHERS = ("locomo", "assistant", "talk", "phone")
NOISE = (0.1, 0.3)  # of the first and the last seed; the others lie between
WRONG_ETA = 0.5  # of people, where the learner takes 1 for granted
LEARNED, OTHER_ETA = "learned", f"people look further (η {WRONG_ETA:g})"
Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One way to learn, in all seeds. Figures are nDCG@5 on the measured half.

    Args:
        name: of the way.
        mean: of each day, over the seeds.
        least, most: of each day.
        ends: of each seed, on the last day.
        worst: against rules, the lowest of all days and seeds.
        worse: days, in all seeds, on which it was below rules by more than chance (95 %, paired).
        steps: how many versions were started, promoted and rolled back.
        judged: recalls, on average.
    """

    name: str
    mean: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    ends: tuple[float, ...]
    worst: float
    worse: int
    steps: dict[str, int]
    judged: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of one data set.

    Args:
        name: of it.
        questions: learned from, and measured.
        rules: nDCG@5 by rules.
        oracle: by what the labels of the learning half teach.
        curves: ways to learn.
        whole_rules, whole_learned: whole recalls of the measured half by the real optimizer: rules, and what the first
            seed ended with.
    """

    name: str
    questions: tuple[int, int]
    rules: float
    oracle: float
    curves: tuple[Curve, ...]
    whole_rules: float | None = None
    whole_learned: float | None = None

    def gain(self, curve: Curve) -> float:
        """Of the last day, on average, over rules: .1 = a tenth better."""
        return float(np.mean(curve.ends)) / self.rules - 1


@dataclass(slots=True, kw_only=True)
class Report:
    """All that was measured."""

    sets: list[Figures] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)
    poisoned: list[Poisoned] = field(default_factory=list)
    cost: cost.Cost | None = None


def noise_of(seed: int, seeds: int) -> float:
    """How often people are wrong in a seed: spread from .1 to .3."""
    return NOISE[0] + (NOISE[1] - NOISE[0]) * (seed / (seeds - 1) if seeds > 1 else 0.5)


def curve(
    name: str, halves: Halves, *, seeds: int, days: int, recalls: int, eta: float, told: Told | None
) -> tuple[Curve, list[Days]]:
    """Let days pass in each seed."""
    rules, runs = measured(halves, None), []
    for seed in range(seeds):
        clicks = Clicks(eta=eta, noise=noise_of(seed, seeds))
        use = Use(people=[Person(halves=halves, clicks=clicks, recalls=recalls)], seed=seed)
        runs.append(use.days(days))
        if told is not None:
            told(f"{halves.name}, {name}", seed + 1, seeds)
    every = np.stack([run.ndcg[TENANT] for run in runs])  # (seeds, days, questions)
    means = every.mean(axis=2)
    worse = 0
    for run in every:
        for served in {day.tobytes(): day for day in run}.values():
            same = sum(1 for day in run if day.tobytes() == served.tobytes())
            worse += same * (bootstrap(served - rules).high < 0)
    kinds = [step.step for run in runs for _, step in run.steps]
    made = Curve(
        name=name,
        mean=tuple(means.mean(axis=0).tolist()),
        least=tuple(means.min(axis=0).tolist()),
        most=tuple(means.max(axis=0).tolist()),
        ends=tuple(means[:, -1].tolist()),
        worst=float((means - rules.mean()).min()),
        worse=worse,
        steps={kind: kinds.count(kind) for kind in ("started", "promoted", "rolled_back")},
        judged=float(np.mean([run.judged for run in runs])),
    )
    return made, runs


def figures_of(
    halves: Halves, store: MemoryStore | None, *, seeds: int, days: int, recalls: int, all_ways: bool, told: Told | None
) -> Figures:
    """Of one data set."""
    ways = [(LEARNED, 1.0)]
    if all_ways:
        ways.append((OTHER_ETA, WRONG_ETA))
    found, last = [], None
    for name, eta in ways:
        own, runs = curve(name, halves, seeds=seeds, days=days, recalls=recalls, eta=eta, told=told)
        found.append(own)
        last = runs[0].last[TENANT] if last is None else last
    whole: tuple[float | None, float | None] = (None, None)
    if store is not None:
        whole = cost.wholes(halves, store, last)
    return Figures(
        name=halves.name,
        questions=(len(halves.learning), len(halves.measured)),
        rules=float(measured(halves, None).mean()),
        oracle=float(measured(halves, oracle(halves)).mean()),
        curves=tuple(found),
        whole_rules=whole[0],
        whole_learned=whole[1],
    )


def run(
    path: str | Path | None,
    console: Console,
    *,
    datasets: Sequence[str] = (),
    seeds: int = 3,
    days: int = 28,
    recalls: int = 200,
    questions: int = 300,
    full: bool = False,
    json_path: str | Path | None = None,
    picture_path: str | Path | None = None,
    told: Told | None = None,
) -> Report:
    """Simulate, print the tables, and write the report and the picture if asked.

    Args:
        path: folder with the data sets; `None` = the made-up domain only.
        console: where tables go.
        datasets: besides the made-up domain.
        seeds: runs of each.
        days: of each.
        recalls: a day.
        questions: of each data set at most, half of them measured; the domain has 600 at most.
        full: also the other ways to learn, the trials, poison and cost.
        json_path: file for the report.
        picture_path: file for the picture of the domain.
        told: called with what is done, how much of it, and how much there is.
    """
    output, picture = checked_output(json_path), checked_output(picture_path)
    report = Report()
    for name in (NAME, *(datasets if path is not None else ())):
        data = workshop(questions=min(questions, 600)) if name == NAME else load(path or "", name)
        with opened(data, RecallConfig()) as store:
            halves = halved(data, store, questions=questions, told=told)
            own = figures_of(
                halves, store, seeds=seeds, days=days, recalls=recalls, all_ways=full and name == NAME, told=told
            )
            report.sets.append(own)
            if full and name == NAME:
                report.trials = _trials(halves, seeds, recalls, told)
                report.poisoned = list(poisoned(halves, days, recalls // 2, 0.2, seed=0))
                ratio = cost.read_path(halves, store, oracle(halves))
                report.cost = cost.Cost(ratio=ratio, judged=10_000, job_s=cost.job(halves, store))
    show(report, console)
    if picture is not None:
        picture.write_text(drawn(report.sets[0]), encoding="utf-8")
    write_report(output, {"format": 1, **asdict(report), "environment": environment()}, console)
    return report


def _trials(halves: Halves, seeds: int, recalls: int, told: Told | None) -> list[Trial]:
    found, good = [], oracle(halves)
    for seed in range(seeds):
        clicks = Clicks(noise=noise_of(seed, seeds))
        for kind, version in {**bad_versions(halves, seed), "good": good}.items():
            found.append(tried(halves, version, kind, clicks, seed, recalls))
        if told is not None:
            told("trials", seed + 1, seeds)
    return found


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    table = compact_table("Days of use: nDCG@5 on questions that nobody judged, on the last day")
    table.add_column("", no_wrap=True)
    for column in ("rules", "learned", "gain", "worst seed", "worst day", "days below", "oracle", "share", "judged"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in report.sets:
        for own in one.curves:
            end, reach = float(np.mean(own.ends)), one.oracle - one.rules
            share = f"{(end - one.rules) / reach:.0%}" if reach > 0.005 else ""
            table.add_row(
                one.name if own.name == LEARNED else f"… {own.name}",
                f"{one.rules:.3f}",
                f"{end:.3f}",
                f"{one.gain(own):+.1%}",
                f"{min(own.ends) - one.rules:+.3f}",
                f"{own.worst:+.3f}",
                str(own.worse),
                f"{one.oracle:.3f}",
                share,
                f"{own.judged:,.0f}",
            )
    console.print(table)
    for one in report.sets:
        if one.whole_rules is not None and one.whole_learned is not None:
            console.print(f"{one.name}, whole recalls: rules {one.whole_rules:.3f}, learned {one.whole_learned:.3f}")
    for kind in dict.fromkeys(each.kind for each in report.trials):
        own_trials = [each for each in report.trials if each.kind == kind]
        steps = [each.step for each in own_trials]
        gap = float(np.mean([each.gap for each in own_trials]))
        console.print(
            f"on trial, {kind} ({gap:+.3f}): {steps.count('promoted')} promoted, "
            f"{steps.count('rolled_back')} rolled back of {len(steps)}"
        )
    for each in report.poisoned:
        console.print(f"poison, {each.kind}: the scope's worst day {each.worst:+.3f}")
    if report.cost is not None:
        console.print(
            f"a recall by a version takes {report.cost.ratio:.3f} of one by rules; "
            f"the job {report.cost.job_s:.1f} s for {report.cost.judged:,} judged recalls"
        )


def drawn(figures: Figures) -> str:
    """The picture of a data set."""
    first = figures.curves[0]
    days = len(first.mean)
    lines = [
        Line(label="oracle", values=[figures.oracle] * days, colour=PLAIN),
        Line(label="learned", values=first.mean, low=first.least, high=first.most, colour=STRONG),
        Line(label="rules", values=[figures.rules] * days, colour=PLAIN),
    ]
    return curves(f"nDCG@5 while a {figures.name} is in use: mean of the seeds, and from the worst to the best", lines)
