"""LoCoMo (Maharana et al., 2024): long chats of two people, with questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.locomo_chats import Conversation, conversations
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question

__all__ = ["LOCOMO_CATEGORIES", "load_locomo"]

LOCOMO_CATEGORIES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}

_TURN_ID = re.compile(r"D\d+:\d+")


def load_locomo(path: str | Path) -> EvaluationData:
    """Read LoCoMo (Maharana et al., 2024, `locomo10.json`): one collection per conversation.

    Memories are made by `locomo_chats.py`. Gold ids are read with a pattern,
    because some rows of the published file hold several ids in one string, and kept only if such a turn exists.
    `asked_at` lies one hour after the last turn.

    Args:
        path: the file, or a folder that holds `locomo10.json` or a single JSON file (itself or in `locomo/`).

    Raises:
        InvalidArgument: there is no such file, or it is not LoCoMo; the message names the path and the place.
    """
    collections = [
        Collection(
            name=told.scope.namespace,
            scope=told.scope,
            memories=told.memories,
            questions=tuple(_questions(told)),
        )
        for told in conversations(path)
    ]
    return EvaluationData(name="locomo", collections=tuple(collections))


def _questions(told: Conversation) -> Iterator[Question]:
    rows, scope, where = told.sample.get("qa"), told.scope, told.where
    if not isinstance(rows, list):
        raise InvalidArgument(f"{where} has no 'qa' list.")
    known = {m.id for m in told.memories}
    asked_at = max(m.event_at for m in told.memories if m.event_at is not None) + timedelta(hours=1)
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("question"), str) or not row["question"].strip():
            raise InvalidArgument(f"{where}, question {number} has no 'question' text.")
        category = LOCOMO_CATEGORIES.get(row.get("category"))  # type: ignore[arg-type]
        if category is None:
            raise InvalidArgument(f"{where}, question {number} has the unknown category {row.get('category')!r}.")
        found = _TURN_ID.findall(" ".join(str(e) for e in row.get("evidence") or ()))
        yield Question(
            id=f"{scope.namespace}/{number}",
            text=row["question"],
            relevant=tuple(dict.fromkeys(e for e in found if e in known)),
            category=category,
            asked_at=asked_at,
            scope=scope,
        )
