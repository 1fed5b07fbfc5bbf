"""The memories of a scope along time, and one memory with its surroundings."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import select

from recall_integrations.database import schema
from recall_integrations.delivery.as_data import memory_data
from recall_integrations.errors import NotFound
from recall_integrations.indexes.scope_view import Rows, ScopeView, of_types
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.privacy.door import Door
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, MemoryType, Scope

BUCKETS = 72
LISTED = 50
TEXT_CHARS = 400  # of a memory in a list
NEIGHBOURS = 3  # before it, and after it
ACTORS = 40


def timeline(
    store: MemoryStore,
    scope: Scope,
    door: Door,
    now: datetime,
    *,
    filters: Filters | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    limit: int = LISTED,
    skip: int = 0,
) -> dict[str, Any]:
    """Count the memories of each type over time, and list the newest."""
    scope_id = store.scope_id(scope)
    if scope_id is None:
        return {"total": 0, "start": None, "end": None, "buckets": [], "memories": [], "types": [], "actors": []}
    with store.reading():
        view = store.view(scope_id)
        mask = store.filter_mask(view, filters, now) if filters else None
        rows = np.flatnonzero(view.alive if mask is None else view.alive & mask)
        at = view.at[rows]
        inside = np.ones(len(rows), dtype=np.bool_)
        if start is not None:
            inside &= at >= to_micros(start)
        if end is not None:
            inside &= at < to_micros(end)
        rows, at = rows[inside], at[inside]
        low = to_micros(start) if start is not None else int(at.min(initial=to_micros(now)))
        high = to_micros(end) if end is not None else int(at.max(initial=low)) + 1
        order = np.lexsort((-rows, -at))[skip : skip + limit]
        listed = _read(store, view, rows[order], door)
        return {
            "total": len(rows),
            "start": from_micros(low).isoformat(),
            "end": from_micros(high).isoformat(),
            "buckets": _buckets(view, rows, low, max(high, low + 1)),
            "memories": [_short(memory) for memory in listed],
            "types": [kind.value for kind in MemoryType if len(rows) and bool(of_types(view, (kind,), rows).any())],
            "actors": [] if door.blocked else [door.text(name) for name in _actors(view)],
        }


def _buckets(view: ScopeView, rows: Rows, low: int, high: int) -> list[dict[str, Any]]:
    """Count memories by type in equal parts of the time."""
    edges = np.linspace(low, high, BUCKETS + 1)
    place = np.clip(((view.at[rows] - low) * BUCKETS) // (high - low), 0, BUCKETS - 1)
    counts = {
        kind.value: np.bincount(place[of_types(view, (kind,), rows)], minlength=BUCKETS).tolist() for kind in MemoryType
    }
    return [
        {
            "start": from_micros(int(edges[i])).isoformat(),
            "end": from_micros(int(edges[i + 1])).isoformat(),
            "types": {kind: column[i] for kind, column in counts.items() if column[i]},
        }
        for i in range(BUCKETS)
    ]


def _actors(view: ScopeView) -> list[str]:
    """Return the actors of most memories, most first."""
    text = view.text
    if text is None:
        return []
    codes = text.actors[view.alive & (text.actors >= 0)]
    counts = np.bincount(codes, minlength=1)
    best = np.argsort(-counts, kind="stable")[:ACTORS]
    return [text.actor_names[code] for code in best.tolist() if counts[code]]


def one(store: MemoryStore, scope: Scope, memory_id: str, door: Door) -> dict[str, Any]:
    """Return a memory with its neighbours in its thread, and the names found in it."""
    memory = store.get(memory_id, scope=scope)
    scope_id = store.scope_id(scope)
    if memory is None or scope_id is None:
        raise NotFound("There is no such memory in this scope. It may have been forgotten, or have ended.")
    m = schema.memories.c
    with store.reading(), store.engine.connect() as connection:
        num = connection.execute(select(m.num).where(m.scope_id == scope_id, m.id == memory_id)).scalar()
        found = [] if num is None or door.blocked else _names(connection, scope_id, int(num))
    with store.reading():
        view = store.view(scope_id)
        row = view.rows_of([] if num is None else [int(num)])
        before, after = _around(view, row) if len(row) and view.text is not None else (_NONE, _NONE)
        return {
            "memory": memory_data(door.memory(memory)),
            "names": [{**name, "name": door.text(name["name"])} for name in found],
            "before": [_short(m) for m in _read(store, view, before, door)],
            "after": [_short(m) for m in _read(store, view, after, door)],
        }


_NONE = np.empty(0, dtype=np.int64)


def _around(view: ScopeView, row: Rows) -> tuple[Rows, Rows]:
    """Return the rows before a row in its thread, and the rows after it, in order."""
    text = view.text
    assert text is not None
    sides: list[list[int]] = [[], []]
    for side, step in zip(sides, (text.previous, text.following), strict=True):
        at = row
        for _ in range(NEIGHBOURS):
            at = step(at)
            if at[0] < 0:
                break
            side.append(int(at[0]))
    return np.asarray(sides[0][::-1], dtype=np.int64), np.asarray(sides[1], dtype=np.int64)


def _names(connection: Any, scope_id: int, num: int) -> list[dict[str, Any]]:
    e, m = schema.entities.c, schema.mentions.c
    query = (
        select(e.entity_id, e.name, m.role)
        .where(m.scope_id == scope_id, m.num == num, e.scope_id == scope_id, e.ent == m.ent)
        .order_by(e.name, e.ent)
    )
    return [{"id": row.entity_id, "name": row.name, "role": row.role} for row in connection.execute(query)]


def _read(store: MemoryStore, view: ScopeView, rows: Rows, door: Door) -> list[Memory]:
    nums = view.nums[rows].tolist()
    found = store.fetch(view.scope_id, nums) if nums else {}
    return [door.memory(found[num]) for num in nums if num in found]


def _short(memory: Memory) -> dict[str, Any]:
    data = memory_data(memory)
    text = data["text"]
    kept = ("id", "type", "actor", "role", "channel", "event_at", "created_at", "thread", "position", "importance")
    return {
        **{key: data[key] for key in kept},
        "text": text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS].rstrip()}…",
        "cut": len(text) > TEXT_CHARS,
    }
