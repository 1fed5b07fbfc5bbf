"""One scope's entities in memory: the name index, and columns of mentions and edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import order_of
from recall_integrations.records import record


def _no_numbers() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@record(frozen=True, slots=True, kw_only=True)
class EdgeColumns:
    """Edges of one entity as columns, oldest first: the memory that states it, the other end, predicate, confidence."""

    nums: NDArray[np.int64] = field(default_factory=_no_numbers)
    others: NDArray[np.int64] = field(default_factory=_no_numbers)
    predicates: NDArray[np.int64] = field(default_factory=_no_numbers)
    confidences: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32))

    def extended(
        self, *, nums: list[int], others: list[int], predicates: list[int], confidences: list[float], keep: int
    ) -> EdgeColumns:
        """Return the columns with newer edges appended, the newest `keep` of them all."""
        return EdgeColumns(
            nums=np.concatenate([self.nums, np.asarray(nums, dtype=np.int64)])[-keep:],
            others=np.concatenate([self.others, np.asarray(others, dtype=np.int64)])[-keep:],
            predicates=np.concatenate([self.predicates, np.asarray(predicates, dtype=np.int64)])[-keep:],
            confidences=np.concatenate([self.confidences, np.asarray(confidences, dtype=np.float32)])[-keep:],
        )


def _by_name(_entity_id: str, name: str) -> str:
    return order_of(name)


@record(slots=True)
class ScopeEntities:
    """One scope's entities in memory."""

    index: EntityIndex = field(default_factory=lambda: EntityIndex(_by_name))
    ent_of: dict[str, int] = field(default_factory=dict)  # entity_id -> ent
    by_norm: dict[str, int] = field(default_factory=dict)  # normal form of a *name* -> ent
    undeclared: set[int] = field(default_factory=set)
    id_of: dict[int, str] = field(default_factory=dict)  # ent -> entity_id
    next_ent: int = 1
    # ent -> (scope version, rising nums of the memories that mention it). Dropped with this object when entities merge.
    mentions: dict[int, tuple[int, NDArray[np.int64]]] = field(default_factory=dict)
    edges: dict[int, tuple[int, EdgeColumns]] = field(default_factory=dict)  # likewise
    predicates: dict[str, int] = field(default_factory=dict)  # predicate -> its code in the edge columns

    def put(self, ent: int, entity_id: str, name: str, norm: str, declared: bool, aliases: Iterable[str] = ()) -> None:
        """Add or extend an entity."""
        self.ent_of[entity_id] = ent  # first: a reader that finds the name in the index looks here next
        self.id_of[ent] = entity_id
        self.index.add(entity_id, name, tuple(aliases), declared=declared)
        self.by_norm[norm] = ent
        (self.undeclared.discard if declared else self.undeclared.add)(ent)
        self.next_ent = max(self.next_ent, ent + 1)
