"""One's own memories and questions as JSON Lines: `memories.jsonl` and `questions.jsonl` in one folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.datasets.data import Collection, EvaluationData
from recall_integrations.adapters.rows import memory_of, parse_line, stable_id
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.evaluation.questions import Question, jsonl_questions, lines
from recall_integrations.types import Memory, Scope

__all__ = ["MEMORIES", "NAME", "QUESTIONS", "load_jsonl"]

NAME = "jsonl"
MEMORIES, QUESTIONS = "memories.jsonl", "questions.jsonl"


def load_jsonl(path: str | Path) -> EvaluationData:
    """Read a folder with `memories.jsonl` (as `recall import` takes it) and `questions.jsonl`.

    Each scope is a collection, named as `recall` writes scopes. Memories need an `id` if a question is to name them; a
    question without a scope is asked of the only one.

    Args:
        path: the folder (or its parent, if it is called `jsonl`).

    Raises:
        InvalidArgument: a file is missing or wrong, or a question names a scope or a memory that is not there; the
            message names the path and the place.
    """
    folder = Path(path)
    folder = folder / NAME if (folder / NAME).is_dir() else folder
    for name in (MEMORIES, QUESTIONS):
        if not (folder / name).is_file():
            raise InvalidArgument(
                f"There is no {folder / name}. Pass the folder that holds {MEMORIES} and {QUESTIONS}."
            )
    memories: dict[Scope, dict[str, Memory]] = {}
    for scope, memory in _memories(folder / MEMORIES):
        assert memory.id is not None
        memories.setdefault(scope, {})[memory.id] = memory
    asked = _placed(_questions(folder / QUESTIONS), memories, folder / QUESTIONS)
    return EvaluationData(
        name=NAME,
        collections=tuple(
            Collection(
                name=scope_text(scope),
                scope=scope,
                memories=tuple(own.values()),
                questions=tuple(q for q in asked if q.scope == scope),
            )
            for scope, own in memories.items()
        ),
    )


def _memories(file: Path) -> Iterator[tuple[Scope, Memory]]:
    first: dict[tuple[Scope, str], int] = {}
    equal: Counter[str] = Counter()
    for number, line in enumerate(lines(file), start=1):
        if not line.strip():
            continue
        try:
            row = parse_line(line.strip().encode())
            scope, memory = memory_of(row, Scope())
        except InvalidInput as e:
            raise InvalidArgument(f"{file}, line {number}: {str(e).rstrip('.')}.") from e
        if memory.id is None:
            same = stable_id(row, scope, 1)
            equal[same] += 1
            memory = replace(memory, id=stable_id(row, scope, equal[same]))
        earlier = first.setdefault((scope, memory.id or ""), number)
        if earlier != number:
            raise InvalidArgument(f"{file}, line {number}: the id {memory.id!r} was given to line {earlier} already.")
        yield scope, memory
    if not first:
        raise InvalidArgument(f"{file} holds no memories.")


def _questions(path: Path) -> list[Question]:
    """Read questions that have a text and ids."""
    questions = []
    for where, question in jsonl_questions(path):
        if not question.text:
            raise InvalidArgument(f"{where} has no 'query' text.")
        if not question.relevant:
            raise InvalidArgument(f"{where}: 'relevant' must be a non-empty list of memory ids.")
        questions.append(question)
    if not questions:
        raise InvalidArgument(f"{path} holds no questions.")
    return questions


def _placed(questions: Sequence[Question], memories: dict[Scope, dict[str, Memory]], file: Path) -> list[Question]:
    only = next(iter(memories)) if len(memories) == 1 else None
    placed = []
    for question in questions:
        scope = only if only is not None and question.scope == Scope() else question.scope
        if scope not in memories:
            raise InvalidArgument(
                f"{file}: question {question.id!r} is asked of the scope {scope_text(scope)}, which has no memories."
            )
        unknown = [r for r in question.relevant if r not in memories[scope]]
        if unknown:
            raise InvalidArgument(
                f"{file}: question {question.id!r} names the memory {unknown[0]!r}, which is not in its scope."
            )
        placed.append(replace(question, scope=scope))
    return placed
