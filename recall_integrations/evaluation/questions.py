"""Labelled questions: from JSON Lines or a caller, put into the scopes of a store."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from recall_integrations.adapters.filters import as_filters
from recall_integrations.adapters.scopes import find_scope, parse_scope, scope_text
from recall_integrations.errors import InvalidArgument
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the ids that answer it."""

    id: str  # unique in the data set
    text: str  # the query
    relevant: tuple[str, ...]  # ids of the memories that hold the answer; empty where the data names none that exist
    category: str = "all"  # its kind, for averages
    asked_at: datetime | None = None  # the moment relative dates are read against; timezone-aware, `None` = the present
    scope: Scope = field(default_factory=Scope)  # where the ids live
    filters: Filters | None = field(default=None, hash=False)  # that it is asked with
    # How relevant an id is, above 0; 1 where it is not here.
    grades: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def graded(self) -> dict[str, float]:
        """Each relevant id with its grade."""
        return {one: self.grades.get(one, 1.0) for one in self.relevant}


def jsonl_questions(path: str | Path) -> Iterator[tuple[str, Question]]:
    """Yield the place and the question of each line of a JSON Lines file about memories that are stored.

    Keys: `query` (or `question`); `relevant`, a list of memory ids, or a mapping from ids to grades, of which those
    above 0 count; optional `id` (default: the line number), `group` (or `category`; default "all"), `now` (or
    `asked_at`; ISO 8601 with an offset), `scope` (as on the command line, or a mapping with `user_id`, `agent_id`,
    `namespace`) and `filters` (a mapping, as recalls take them). Other keys are for whoever labels. Blank lines are
    skipped; texts and ids may be empty where somebody has still to write them.
    """
    file = Path(path)
    rows = ((number, line) for number, line in enumerate(lines(file), start=1) if line.strip())
    yield from _read((number, f"{file}, line {number}", line) for number, line in rows)


def _read(given: Iterable[tuple[int, str, Any]]) -> Iterator[tuple[str, Question]]:
    """Yield the place and the question of each item: a line of JSON, its value, or a question."""
    seen: set[str] = set()
    for number, where, row in given:
        try:
            value = json.loads(row) if isinstance(row, str) else row
        except (json.JSONDecodeError, RecursionError) as e:
            raise InvalidArgument(f"{where} is not JSON: {e}") from e
        question = value if isinstance(value, Question) else question_of(value, str(number), where)
        if question.id in seen:
            raise InvalidArgument(
                f"{where}: the question id {question.id!r} comes twice. Give each its own, or none at all."
            )
        seen.add(question.id)
        yield where, question


def question_of(row: object, default_id: str, where: str) -> Question:
    """Make a question from the value of a line; its text and its ids may be empty."""
    if not isinstance(row, Mapping):
        raise InvalidArgument(f"{where} must be a JSON object, not {type(row).__name__}.")
    text = row.get("query", row.get("question"))
    if not isinstance(text, str):
        raise InvalidArgument(f"{where} has no 'query' text.")
    grades = _grades(row.get("relevant"), where)
    try:
        given = row.get("scope", {})
        scope = parse_scope(given) if isinstance(given, str) else Scope(**given)
        filters = as_filters(row["filters"]) if row.get("filters") else None
        asked_at = _moment(row.get("now", row.get("asked_at")), where)
    except (AttributeError, TypeError, ValueError) as e:  # what is wrong with a scope or filters is a ValueError
        raise e if isinstance(e, InvalidArgument) else InvalidArgument(f"{where}: {e}") from e
    return Question(
        id=str(row.get("id", default_id)),
        text=text if text.strip() else "",
        relevant=tuple(one for one, grade in grades.items() if grade > 0),
        category=str(row.get("group", row.get("category", "all"))),
        asked_at=asked_at,
        scope=scope,
        filters=filters,
        grades={one: grade for one, grade in grades.items() if grade not in (0, 1)},
    )


def _grades(relevant: object, where: str) -> dict[str, float]:
    if relevant is None:
        return {}
    if isinstance(relevant, list) and all(isinstance(one, str) and one for one in relevant):
        return dict.fromkeys(relevant, 1.0)
    if not isinstance(relevant, Mapping) or "" in relevant:
        raise InvalidArgument(f"{where}: 'relevant' must be a non-empty list of memory ids, or a mapping to grades.")
    for one, grade in relevant.items():
        number = isinstance(grade, int | float) and not isinstance(grade, bool) and math.isfinite(grade)
        if not number or grade < 0:
            raise InvalidArgument(f"{where}: the grade of {one!r} must be a number from 0 up, not {grade!r}.")
    return {str(one): float(grade) for one, grade in relevant.items()}


def _moment(given: Any, where: str) -> datetime | None:
    if not given:
        return None
    moment = datetime.fromisoformat(given.replace("Z", "+00:00"))
    if moment.tzinfo is None:
        raise InvalidArgument(f"{where}: 'now' has no offset. Write, for example, 2026-03-01T12:00:00+00:00.")
    return moment


def read_text(file: Path) -> str:
    """Read the text of a file."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidArgument(f"Cannot read {file}: {e}") from e


def lines(file: Path) -> list[str]:
    """Split a text file into lines, but not at U+2028 and its like, which JSON may hold as they are."""
    return read_text(file).removeprefix("\ufeff").split("\n")


Labels = str | Path | Iterable[Question | Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The questions that were read."""

    questions: tuple[Question, ...]  # with a query; without labels only where these are not needed
    unwritten: int = 0  # lines whose query is still empty
    unlabelled: int = 0  # lines that have a query and no relevant id


def read_labels(labels: Labels, *, labelled: bool = True) -> Read:
    """Read questions with their labels; lines without a query or a label are counted and left out."""
    unwritten = unlabelled = 0
    kept: list[Question] = []
    read = (
        jsonl_questions(labels)
        if isinstance(labels, str | Path)
        else _read((number, f"Question {number}", one) for number, one in enumerate(labels, start=1))
    )
    for _, question in read:
        if not question.text:
            unwritten += 1
        elif not question.relevant and labelled:
            unlabelled += 1
        else:
            kept.append(question)
    if not kept:
        what = f"{labels} holds" if isinstance(labels, str | Path) else "There are"
        raise InvalidArgument(
            f"{what} no labelled questions: {unwritten:,} have no query yet, {unlabelled:,} no relevant id. Write "
            '{"query": "…", "relevant": ["id of a memory"]}, one a line; `recall eval STORE --make FILE` begins one.'
        )
    return Read(questions=tuple(kept), unwritten=unwritten, unlabelled=unlabelled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Questions as they are asked."""

    questions: tuple[Question, ...]  # with their scope and those of their labels that exist there, one at least
    # Question id → ids that name no memory of its scope.
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unanswerable: tuple[str, ...] = ()  # ids of questions of which no label was left; they are not asked


def placed(
    store: MemoryStore, questions: Iterable[Question], scope: str | None = None, *, labelled: bool = True
) -> Placed:
    """Put each question into its scope, with those of its labels that exist there."""
    known = store.scopes()
    there = {s for s, _ in known}
    only = known[0][0] if len(known) == 1 else None
    kept: list[Question] = []
    missing: dict[str, tuple[str, ...]] = {}
    unanswerable: list[str] = []
    for question in questions:
        where = question.scope
        if where == Scope():
            where = only if scope is None and only is not None else find_scope(scope, known)
        scope_id = store.scope_id(where)
        if scope_id is None or where not in there:
            raise InvalidArgument(
                f"Query {question.id!r} is asked of the scope {scope_text(where)}, which the store does not have."
            )
        found = store.reader.fetch_ids(scope_id, question.relevant)
        relevant = tuple(r for r in question.relevant if r in found)
        if len(relevant) < len(question.relevant):
            missing[question.id] = tuple(r for r in question.relevant if r not in found)
        if relevant or not labelled:
            kept.append(replace(question, scope=where, relevant=relevant))
        else:
            unanswerable.append(question.id)
    return Placed(questions=tuple(kept), missing=missing, unanswerable=tuple(unanswerable))


# -- the beginning of a file of labels: `recall eval STORE --make FILE` ------------------------------------------------

WORDS_MIN = 5  # of a memory that somebody can ask for


def write_labels(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write the lines to a new file."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as e:
        raise InvalidArgument(f"Cannot write {path}: {e.strerror or e}.") from e


def drawn(store: MemoryStore, scope: str | None, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of a file of labels to finish by hand: memories, to each of which somebody writes a question.

    As many of each scope and type as there can be, so that the many do not hide the few.
    """
    known = store.scopes()
    scopes = [find_scope(scope, known)] if scope is not None or not known else [s for s, _ in known]
    rng = np.random.default_rng(seed)
    kinds: dict[tuple[str, str], list[tuple[Scope, Memory]]] = {}
    seen: dict[tuple[str, str], int] = {}
    for where in scopes:
        for memory in store.iterate(scope=where):
            if len(memory.text.split()) < WORDS_MIN:
                continue
            kind = scope_text(where), memory.type.value
            kept, seen[kind] = kinds.setdefault(kind, []), seen.get(kind, 0) + 1
            if len(kept) < count:
                kept.append((where, memory))
            elif (place := int(rng.integers(seen[kind]))) < count:
                kept[place] = where, memory
    if not kinds:
        raise InvalidArgument(f"No memory has {WORDS_MIN} words or more.")
    shuffled = [[own[i] for i in rng.permutation(len(own)).tolist()] for _, own in sorted(kinds.items())]
    turns = (own[turn] for turn in range(count) for own in shuffled if turn < len(own))
    for _, (where, memory) in zip(range(count), turns, strict=False):
        yield {
            "query": "",
            "relevant": [memory.id],
            "scope": scope_text(where),
            "group": memory.type.value,
            "memory": _shown(memory),
        }


def _shown(memory: Memory) -> dict[str, Any]:
    when = memory.event_at or memory.created_at
    said = {"text": memory.text, "actor": memory.actor, "when": when.isoformat() if when else None}
    return {name: value for name, value in said.items() if value}
