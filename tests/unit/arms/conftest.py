"""A request for one arm, over a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems
from recall_integrations.types import (
    EntityRef,
    Filters,
    MemoryType,
    ParsedQuery,
    RetrievalPlan,
    Scope,
    TemporalWindow,
)

Ask = Callable[..., ArmRequest]


@pytest.fixture
def ask(clock: Callable[[], datetime]) -> Ask:
    def make(
        store: MemoryStore,
        query: str = "",
        *,
        scope: Scope = Scope(),
        filters: Filters | None = None,
        limit: int = 10,
        entities: dict[str, float] | None = None,
        hints: Sequence[str] = (),
        window: TemporalWindow | None = None,
        types: Sequence[MemoryType] = (),
        plan: str = "balanced",
        vectors: bool = True,
        scanned: bool = True,
        deadline: Deadline | None = None,
    ) -> ArmRequest:
        scope_id = store.scope_id(scope)
        assert scope_id is not None
        view = store.view(scope_id)
        known = store.entities(scope_id)
        refs = []
        for name, confidence in (entities or {}).items():
            (entity_id,) = known.index.lookup(name)
            refs.append(
                EntityRef(
                    entity_id=entity_id, name=name, mention=name, span=(0, 0), confidence=confidence, stage="exact"
                )
            )
        parsed = ParsedQuery(
            original=query, entity_refs=tuple(refs), predicate_hints=tuple(hints), temporal_window=window
        )
        embedded = np.stack([store.embedding.embed_query(query)]) if vectors else None
        return ArmRequest(
            parsed=parsed,
            plan=replace(RetrievalPlan(name=plan, arms=()), type_hints=tuple(types)),
            view=view,
            vectors=embedded,
            similarities=view.scan(embedded) if scanned else None,
            terms=tuple(stems(query)),
            allowed=store.reader.filter_mask(view, filters or Filters(), clock()),
            limit=limit,
            deadline=deadline or Deadline.after(None),
        )

    return make


@pytest.fixture
def ids() -> Callable[[ArmRequest, ArmResult], list[str]]:
    """Ids of an arm's candidates, after checking what holds for the results of every arm."""

    def of(request: ArmRequest, result: ArmResult) -> list[str]:
        view, rows = request.view, result.rows.tolist()
        assert len(rows) == len(set(rows)) <= request.limit
        assert view.alive[rows].all()
        assert request.allowed is None or request.allowed[rows].all()
        found = [view.ids[row] for row in rows]
        pairs = [(-score, memory_id) for score, memory_id in zip(result.scores.tolist(), found, strict=True)]
        assert pairs == sorted(pairs), "not in order of score, ties by id"
        return found

    return of
