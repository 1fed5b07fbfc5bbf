"""Questions and the memories they are asked of, and one's own questions as JSON Lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Memory, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the ids that answer it.

    Args:
        id: unique in the data set.
        text: the query.
        relevant: ids of the memories that hold the answer; empty where the data names none that exist.
        category: its kind, for averages.
        asked_at: the moment relative dates are read against; timezone-aware, `None` = the present.
        scope: where the ids live.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    category: str = "all"
    asked_at: datetime | None = None
    scope: Scope = field(default_factory=Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Memories of one scope and the questions asked of them. For LoCoMo: one conversation (`name` = `sample_id`)."""

    name: str
    scope: Scope
    memories: tuple[Memory, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationData:
    """A data set.

    Args:
        name: in tables.
        collections: in file order.
        family: data sets of one family are averaged where several are given.
    """

    name: str
    collections: tuple[Collection, ...]
    family: str = ""

    @property
    def memories(self) -> int:
        """Number of memories."""
        return sum(len(c.memories) for c in self.collections)

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions, in file order."""
        return tuple(q for c in self.collections for q in c.questions)


def load_jsonl_questions(path: str | Path) -> list[Question]:
    """Read questions about memories that are already stored: one JSON object per line.

    Keys: `query` (or `question`), `relevant` (list of memory ids); optional `id` (default: the line number),
    `category` (default "all"), `asked_at` (ISO 8601 with an offset), and `scope` (mapping with `user_id`, `agent_id`,
    `namespace`). Blank lines are skipped.

    Raises:
        InvalidArgument: the file cannot be read or a line is wrong; the message names the path and the line.
    """
    file = Path(path)
    questions: list[Question] = []
    seen: set[str] = set()
    for number, line in enumerate(lines(file), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        question = _jsonl_question(line, str(number), where)
        if question.id in seen:
            raise InvalidArgument(f"{where}: the question id {question.id!r} comes twice.")
        seen.add(question.id)
        questions.append(question)
    if not questions:
        raise InvalidArgument(f"{file} holds no questions.")
    return questions


def _jsonl_question(line: str, default_id: str, where: str) -> Question:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as e:
        raise InvalidArgument(f"{where} is not JSON: {e}") from e
    if not isinstance(row, dict):
        raise InvalidArgument(f"{where} must be a JSON object, not {type(row).__name__}.")
    text, relevant = row.get("query", row.get("question")), row.get("relevant")
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(f"{where} has no 'query' text.")
    if not isinstance(relevant, list) or not relevant or not all(isinstance(r, str) and r for r in relevant):
        raise InvalidArgument(f"{where}: 'relevant' must be a non-empty list of memory ids.")
    try:
        scope = Scope(**row.get("scope", {}))
        asked_at = datetime.fromisoformat(row["asked_at"].replace("Z", "+00:00")) if row.get("asked_at") else None
    except (AttributeError, TypeError, ValueError) as e:  # InvalidScope is a ValueError
        raise InvalidArgument(f"{where}: {e}") from e
    if asked_at is not None and asked_at.tzinfo is None:
        raise InvalidArgument(f"{where}: 'asked_at' has no offset. Write, for example, 2026-03-01T12:00:00+00:00.")
    return Question(
        id=str(row.get("id", default_id)),
        text=text,
        relevant=tuple(dict.fromkeys(relevant)),
        category=str(row.get("category", "all")),
        asked_at=asked_at,
        scope=scope,
    )


def read_text(file: Path) -> str:
    """The text of a file.

    Raises:
        InvalidArgument: it cannot be read, or is not UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidArgument(f"Cannot read {file}: {e}") from e


def read_json(file: Path) -> object:
    """The value that a JSON file holds.

    Raises:
        InvalidArgument: it cannot be read, or is not JSON.
    """
    try:
        loaded: object = json.loads(read_text(file))
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{file} is not JSON: {e}") from e
    return loaded


def lines(file: Path) -> list[str]:
    """Only a line feed ends a line: JSON may hold other separators as they are."""
    return read_text(file).removeprefix("\ufeff").split("\n")
