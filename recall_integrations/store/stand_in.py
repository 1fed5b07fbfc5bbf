"""Until the store lists facts itself."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from sqlalchemy import select

from recall_integrations.database import schema
from recall_integrations.facts.subjects_of import subject_key
from recall_integrations.facts.timeline import PAST
from recall_integrations.indexes.times import from_micros
from recall_integrations.store.fact_tables import FactTables, in_order
from recall_integrations.types import Scope, checked_scope
from recall_integrations.types.facts import Fact


def facts_of(
    store: Any, scope: Scope | None, subject: str | None, slot: str | None, as_of: datetime | None, history: bool
) -> list[Fact]:
    scope_id = store.scope_id(checked_scope(scope))
    if scope_id is None:
        return []
    found = FactTables(store.engine, store._parts.slots).get(store.view(scope_id))
    if found is None:
        return []
    m = schema.memories.c
    with store.engine.connect() as connection:
        ids = dict(connection.execute(select(m.num, m.id).where(m.scope_id == scope_id)).tuples().all())
    at = as_of or datetime.now(timezone.utc)

    def when(micros: int) -> datetime:
        return datetime.min.replace(tzinfo=timezone.utc) if micros == PAST else from_micros(micros)

    listed = []
    for who, name in in_order(found.keys()):
        if (subject is not None and who != subject_key(subject)) or (slot is not None and name != slot):
            continue
        for s in found.timeline((who, name)):
            fact = Fact(
                subject=who, slot=name, value=s.value, memory_id=ids[s.nums[0]], valid_from=when(s.start),
                valid_to=None if s.stop is None else when(s.stop), told_at=when(s.told_at),
                said_by=tuple(ids[n] for n in s.nums), superseded_by=None if s.ended_by is None else ids[s.ended_by],
                ended=s.ended, confidence=s.confidence, by=s.by,
            )  # fmt: skip
            if history or fact.held_at(at):
                listed.append(fact)
    return listed
