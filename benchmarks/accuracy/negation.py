"""How often what a question leaves out is read right, and how often something is read that it does not leave out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ
from recall_integrations.query.by_table.negation import find_negations

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A question and what it excludes; `half` names the part of the file it belongs to, empty where there is one."""

    query: str
    excluded: tuple[str, ...]
    half: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegationScore:
    """Figures of a part of a file.

    Args:
        half: which part; empty for the whole.
        excluding: questions that exclude something.
        exact: of these, the share of which exactly the terms that are excluded were found; `None` without any.
        plain: questions that exclude nothing.
        false_alarms: of these, the share of which something was found; `None` without any.
    """

    half: str
    excluding: int
    exact: float | None
    plain: int
    false_alarms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NegationReport:
    """Scores of the whole file and, if it has more than one, of its parts, and every question that was read wrong."""

    language: str
    scores: tuple[NegationScore, ...]
    misses: tuple[tuple[Labelled, tuple[str, ...]], ...]


def language_of(path: Path, language: str | None) -> str:
    """The language of a file: the one given, else that of its name (`de.jsonl`) or its folder (`de/questions.jsonl`).

    Raises:
        InvalidArgument: it cannot be told, or is none that is read.
    """
    known = ("en", *READ)
    if language is not None:
        if language not in known:
            raise InvalidArgument(f"--language {language} is not read; there are {', '.join(known)}.")
        return language
    found = next((name for name in (path.stem, path.resolve().parent.name) if name in known), None)
    if found is None:
        raise InvalidArgument(f"The language of {path} is not in its name. Say it with --language CODE.")
    return found


def evaluate_negation(path: Path, *, language: str | None = None) -> NegationReport:
    """Score the reading of negation on a file.

    Args:
        path: JSON Lines: `query`, `excluded` (list of terms; left out = none), optional `half`.
        language: code; default from the path.

    Raises:
        InvalidArgument: a line that is not such an object, or an unknown language.
    """
    code = language_of(path, language)
    answers = [(row, tuple(n.term for n in find_negations(row.query, code))) for row in _rows(path)]
    halves = sorted({row.half for row, _ in answers if row.half})
    parts = [("", answers), *((h, [a for a in answers if a[0].half == h]) for h in (halves if len(halves) > 1 else ()))]
    misses = tuple((row, found) for row, found in answers if not _right(row, found))
    return NegationReport(language=code, scores=tuple(_score(h, part) for h, part in parts), misses=misses)


def _rows(path: Path) -> Iterator[Labelled]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row: Any = json.loads(line)
                excluded = row.get("excluded", [])
                valid = isinstance(row["query"], str) and all(isinstance(t, str) for t in excluded)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InvalidArgument(
                    f"{path}, line {number}: an object with a `query` is wanted ({error!r})."
                ) from None
            if not valid:
                raise InvalidArgument(f"{path}, line {number}: `query` must be text, `excluded` a list of terms.")
            yield Labelled(query=row["query"], excluded=tuple(excluded), half=str(row.get("half", "")))


def _right(row: Labelled, found: Sequence[str]) -> bool:
    return {t.casefold() for t in row.excluded} == {t.casefold() for t in found}


def _score(half: str, answers: Sequence[tuple[Labelled, tuple[str, ...]]]) -> NegationScore:
    excluding = [_right(row, found) for row, found in answers if row.excluded]
    plain = [not _right(row, found) for row, found in answers if not row.excluded]
    return NegationScore(
        half=half,
        excluding=len(excluding),
        exact=sum(excluding) / len(excluding) if excluding else None,
        plain=len(plain),
        false_alarms=sum(plain) / len(plain) if plain else None,
    )


def run(paths: Sequence[Path], console: Console, *, language: str | None, misses: bool) -> None:
    """What `recall bench negation FILE …` does: print the table and, on request, every question read wrong."""
    from rich.table import Table

    table = Table(title="What questions leave out")
    for column in ("file", "language", "half", "excluding", "exact", "excluding nothing", "false alarms"):
        table.add_column(column, justify="left" if column in ("file", "language", "half") else "right")
    reports = [(path, evaluate_negation(path, language=language)) for path in paths]
    for path, report in reports:
        for s in report.scores:
            exact, alarms = ("" if v is None else f"{v:.3f}" for v in (s.exact, s.false_alarms))
            table.add_row(path.name, report.language, s.half, str(s.excluding), exact, str(s.plain), alarms)
    console.print(table)
    for _, report in reports if misses else ():
        for row, found in report.misses:
            wanted, got = (", ".join(terms) or "nothing" for terms in (row.excluded, found))
            console.print(f"{row.query}\n    wanted {wanted}; found {got}", markup=False, highlight=False)
