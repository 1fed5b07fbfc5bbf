"""Which questions got better and which worse between two runs of `recall bench quality --json`.

Reports hold the ranked ids and the gold ids of every question, so nothing is asked again. A question is *better* if the
metric is higher in B than in A. The change is B minus A, with the interval of a paired bootstrap over the questions
that both runs asked (`evaluation/metrics.py`). Texts are not in the reports; questions are named by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.quality import metrics
from benchmarks.quality.paired import METRICS, paired_difference
from benchmarks.quality.report import FORMAT, OURS
from benchmarks.quality.tables import interval
from benchmarks.shared.reports import write_report
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.reports import checked_output, compact_table

METRIC = "ndcg@10"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A question as one system of one run answered it; `plan` is empty where the system is not ours."""

    dataset: str
    category: str
    plan: str
    relevant: tuple[str, ...]
    ids: tuple[str, ...]

    @property
    def place(self) -> int | None:
        """Of the first gold id, from 1."""
        return next((i for i, found in enumerate(self.ids, start=1) if found in self.relevant), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions of one data set, category or plan: counts, and the mean change with its interval."""

    better: int
    worse: int
    same: int
    change: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A question whose metric changed; `places` are those of its first gold id in A and B."""

    question: str
    category: str
    plan: str
    before: float
    after: float
    places: tuple[int | None, int | None]

    @property
    def change(self) -> float:
        """B minus A."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """B against A.

    Args:
        metric: that is compared.
        systems: of A and of B.
        total: all questions that both asked.
        datasets, categories, plans: parts of them. A plan that changed is `before > after`.
        moves: questions that changed, the biggest changes first, ties by id.
        only: how many questions only A and only B asked.
    """

    metric: str
    systems: tuple[str, str]
    total: Group
    datasets: Mapping[str, Group]
    categories: Mapping[str, Group]
    plans: Mapping[str, Group]
    moves: tuple[Move, ...]
    only: tuple[int, int] = (0, 0)


def run(
    a: str | Path,
    b: str | Path,
    console: Console,
    *,
    questions: int = 10,
    metric: str = METRIC,
    system: str = OURS,
    other: str | None = None,
    json_path: str | Path | None = None,
) -> Difference:
    """Compare two reports, print the tables, and write the difference if asked.

    Args:
        a: the report before.
        b: the report after; may be the same file, to compare two systems of one run.
        console: where the tables go.
        questions: how many of those that got better and worse are listed.
        metric: one of `METRICS`.
        system: whose answers, in A.
        other: whose answers, in B. Default: `system`.
        json_path: file for the difference, with every question that changed.

    Raises:
        InvalidArgument: a file that is no such report, an unknown metric or system, or no question in common.
        MissingExtra: a package of the `bench` extra is missing.
    """
    output = checked_output(json_path)
    second = system if other is None else other
    found = compare(read(a, system), read(b, second), metric=metric, systems=(system, second))
    show(found, console, questions=questions)
    write_report(output, {"format": 1, **asdict(found)}, console)
    return found


def read(path: str | Path, system: str = OURS) -> dict[str, Ranked]:
    """The answers of one system in a report, by question.

    Raises:
        InvalidArgument: it cannot be read, is not a report of `recall bench quality`, or has no such system.
    """
    file = Path(path)
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        if report.get("format") != FORMAT:
            raise ValueError(f"its format is {report.get('format')!r}, not {FORMAT}")
        rankings = report["rankings"]
        systems = list(next(iter(rankings.values()))["ids"])
        if system not in systems:
            raise InvalidArgument(f"{file} has no system {system!r}. It has: {', '.join(systems)}.")
        return {question: _ranked(row, system) for question, row in rankings.items()}
    except (OSError, AttributeError, KeyError, StopIteration, TypeError, ValueError, RecursionError) as e:
        if isinstance(e, InvalidArgument):
            raise
        raise InvalidArgument(
            f"{file} is not a report of `recall bench quality --json` ({e!r}). Make it again with this version."
        ) from e


def _ranked(row: Mapping[str, Any], system: str) -> Ranked:
    return Ranked(
        dataset=str(row["dataset"]),
        category=str(row["category"]),
        plan=str(row["plan"]) if system == OURS else "",
        relevant=tuple(row["relevant"]),
        ids=tuple(row["ids"][system]),
    )


def compare(
    a: Mapping[str, Ranked], b: Mapping[str, Ranked], *, metric: str = METRIC, systems: tuple[str, str] = (OURS, OURS)
) -> Difference:
    """B against A, over the questions that both hold.

    Raises:
        InvalidArgument: there are none, their gold ids differ, or the metric is unknown.
    """
    if metric not in METRICS:
        raise InvalidArgument(f"Unknown metric {metric!r}. Use one of: {', '.join(METRICS)}.")
    both = [q for q in a if q in b]
    if not both:
        raise InvalidArgument("The two reports have no question in common; give two runs over the same data.")
    changed = [q for q in both if set(a[q].relevant) != set(b[q].relevant)]
    if changed:
        raise InvalidArgument(
            f"The reports disagree about the gold ids of {len(changed):,} questions, such as {changed[0]!r}. Give two "
            "runs over the same data."
        )
    before, after = (_scores({q: side[q] for q in both}) for side in (a, b))

    def group(questions: Sequence[str]) -> Group:
        changes = [after[q][metric] - before[q][metric] for q in questions]
        own, others = ({q: side[q] for q in questions} for side in (after, before))
        return Group(
            better=sum(c > 0 for c in changes),
            worse=sum(c < 0 for c in changes),
            same=sum(c == 0 for c in changes),
            change=paired_difference(own, others, metric),
        )

    def groups(key: Callable[[str], str]) -> dict[str, Group]:
        names: dict[str, list[str]] = {}
        for q in both:
            names.setdefault(key(q), []).append(q)
        return {name: group(names[name]) for name in sorted(names) if name}

    moves = [
        Move(
            question=q,
            category=b[q].category,
            plan=_plan(a[q], b[q]),
            before=before[q][metric],
            after=after[q][metric],
            places=(a[q].place, b[q].place),
        )
        for q in both
        if before[q][metric] != after[q][metric]
    ]
    return Difference(
        metric=metric,
        systems=systems,
        total=group(both),
        datasets=groups(lambda q: b[q].dataset),
        categories=groups(lambda q: f"{b[q].dataset}: {b[q].category}"),
        plans=groups(lambda q: _plan(a[q], b[q])),
        moves=tuple(sorted(moves, key=lambda m: (-abs(m.change), m.question))),
        only=(len(a) - len(both), len(b) - len(both)),
    )


def _scores(side: Mapping[str, Ranked]) -> dict[str, dict[str, float]]:
    return metrics.score({q: r.ids for q, r in side.items()}, {q: r.relevant for q, r in side.items()})


def _plan(a: Ranked, b: Ranked) -> str:
    if a.plan and b.plan and a.plan != b.plan:
        return f"{a.plan} > {b.plan}"
    return b.plan or a.plan


# --- tables -----------------------------------------------------------------------------------------------------


def show(found: Difference, console: Console, *, questions: int = 10) -> None:
    """Print the tables, and of the questions that got better and worse the first few each."""
    first, second = found.systems
    named = "" if first == second == OURS else f", {second} in B against {first} in A"
    table = _table(
        f"{found.metric}, B minus A{named} (95 % bootstrap interval)", "", "better", "worse", "same", "change"
    )
    parts = {"all": found.total}
    for groups in (found.datasets, found.categories, found.plans):
        if len(groups) > 1:
            parts.update(groups)
    for name, g in parts.items():
        table.add_row(name, f"{g.better:,}", f"{g.worse:,}", f"{g.same:,}", interval(g.change))
    console.print(table)
    if any(found.only):
        console.print(f"Asked in one run only, and left out: {found.only[0]:,} in A, {found.only[1]:,} in B")
    for title, chosen in (
        ("Better", [m for m in found.moves if m.change > 0]),
        ("Worse", [m for m in found.moves if m.change < 0]),
    ):
        if chosen and questions:
            table = _table(
                f"{title}: {min(questions, len(chosen))} of {len(chosen):,}", "question", "A", "B", "first gold"
            )
            for name in ("category", "plan"):
                table.add_column(name)
            for m in chosen[:questions]:
                places = " > ".join("-" if p is None else str(p) for p in m.places)
                table.add_row(m.question, f"{m.before:.3f}", f"{m.after:.3f}", places, m.category, m.plan)
            console.print(table)


def _table(title: str, first: str, *columns: str) -> Table:
    table = compact_table(title)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
