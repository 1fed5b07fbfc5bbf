"""The tables of `recall bench misses`, and each miss in full for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.datasets.data import EvaluationData
from benchmarks.misses.misses import PLACES, Gold, Miss, MissReport
from benchmarks.misses.signs import SIGNS
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import compact_table
from recall_integrations.text.shortening import plain
from recall_integrations.types import Memory

SOURCES_SHOWN = 4


def show(report: MissReport, console: Console) -> None:
    """Print where the gold memories are, and a line for each listed miss."""
    need = f"{'not all' if report.every else 'none'} of the gold among the first {report.first}"
    asked = sum(report.asked.values())
    console.print(f"{report.dataset}: {need}; {len(report.misses):,} of {asked:,} questions")
    console.print(_counts("Where the best missing gold is", report, PLACES, report.places))
    console.print("limit: hits that an arm returns (planner.arm_limit); below: candidates that are further down")
    console.print(_counts("What can be seen of them (benchmarks/misses/signs.py)", report, SIGNS, report.signs))
    listed = report.listed
    table = _table(f"Misses: {len(listed)} of {len(report.misses):,}", "question", "place", "by ranker", "of")
    for column in ("signs", "arms", "behind by"):
        table.add_column(column, overflow="fold")
    for miss in listed:
        gold = miss.missing
        behind = ", ".join(f"{name} {gap:+.1f}" for name, gap in list(miss.behind.items())[:SOURCES_SHOWN])
        place, ranked = ("-" if n is None else str(n) for n in (gold.place, gold.ranked))
        words = (", ".join(miss.signs), _arms(gold), behind)
        table.add_row(miss.question, place, ranked, str(miss.candidates), *(said or "-" for said in words))
    console.print(table)


def _counts(
    title: str, report: MissReport, columns: Sequence[str], count: Callable[[str | None], Mapping[str, int]]
) -> Table:
    """A row for all misses and one for each category."""
    table = _table(title, "", "asked", "missed", *columns)
    for name in (None, *report.asked):
        missed = sum(name in (None, m.category) for m in report.misses)
        asked = sum(report.asked.values()) if name is None else report.asked[name]
        figures = (asked, missed, *count(name).values())
        table.add_row("all" if name is None else name, *(f"{n:,}" for n in figures))
    return table


def _table(title: str, first: str, *columns: str) -> Table:
    table = compact_table(title)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def read_out(report: MissReport, data: EvaluationData, console: Console) -> None:
    """Print each listed miss in full: the question, the gold memories with the turn before each, and the winners."""
    where = {q.id: (q, c.memories) for c in data.collections for q in c.questions}
    for miss in report.listed:
        question, memories = where[miss.question]
        for line in _lines(miss, question, memories):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _lines(miss: Miss, question: Question, memories: Iterable[Memory]) -> Iterator[str]:
    by_id: dict[str, Memory] = {}
    before: dict[str, Memory] = {}
    last: Memory | None = None
    for memory in memories:
        by_id[memory.id or ""] = memory
        if last is not None and last.thread is not None and last.thread == memory.thread:
            before[memory.id or ""] = last
        last = memory
    yield ""
    signs = f"; {', '.join(miss.signs)}" if miss.signs else ""
    yield f"{miss.question} ({miss.category}, {miss.plan}{signs}): {plain(question.text)}"
    for gold in miss.gold:
        place = f"place {gold.place}" if gold.place else "below" if gold.candidate else "no candidate"
        yield f"  gold {_said(by_id[gold.id])} [{place}, by ranker {gold.ranked or '-'}; {_arms(gold) or 'no arm'}]"
        if gold.id in before:
            yield f"    after {_said(before[gold.id])}"
    for number, one in enumerate(miss.winners, start=1):
        yield f"  {number:4} {_said(by_id[one])}"
    if miss.behind:
        yield "  behind by " + ", ".join(f"{name} {gap:+.2f}" for name, gap in miss.behind.items())


def _said(memory: Memory) -> str:
    day = "" if memory.event_at is None else f" ({memory.event_at:%Y-%m-%d})"
    return plain(f"{memory.id}{day} {memory.actor + ': ' if memory.actor else ''}{memory.text}")


def _arms(gold: Gold) -> str:
    return ", ".join(f"{name} {rank}" for name, rank in sorted(gold.arms.items()))
