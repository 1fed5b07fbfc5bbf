"""Questions put into the scopes of a store, with the labels that name something there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from recall_integrations.adapters.scopes import find_scope, scope_text
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope


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
        found = store.fetch_ids(scope_id, question.relevant)
        relevant = tuple(r for r in question.relevant if r in found)
        if len(relevant) < len(question.relevant):
            missing[question.id] = tuple(r for r in question.relevant if r not in found)
        if relevant or not labelled:
            kept.append(replace(question, scope=where, relevant=relevant))
        else:
            unanswerable.append(question.id)
    return Placed(questions=tuple(kept), missing=missing, unanswerable=tuple(unanswerable))
