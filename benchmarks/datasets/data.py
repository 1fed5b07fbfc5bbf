"""Memories and the questions that are asked of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question, read_text
from recall_integrations.types import Memory, Scope


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


def read_json(file: Path) -> object:
    """Read the value that a JSON file holds."""
    try:
        loaded: object = json.loads(read_text(file))
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{file} is not JSON: {e}") from e
    return loaded
