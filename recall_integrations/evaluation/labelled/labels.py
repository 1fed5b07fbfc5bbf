"""Labelled questions from a file, or from what a caller has in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question, jsonl_questions, question_of

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
    for question in _given(labels):
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


def _given(labels: Labels) -> Iterable[Question]:
    if isinstance(labels, str | Path):
        return [question for _, question in jsonl_questions(labels)]
    found = []
    seen: set[str] = set()
    for number, one in enumerate(labels, start=1):
        question = one if isinstance(one, Question) else question_of(one, str(number), f"Question {number}")
        if question.id in seen:
            raise InvalidArgument(f"The question id {question.id!r} comes twice. Give each its own, or none at all.")
        seen.add(question.id)
        found.append(question)
    return found
