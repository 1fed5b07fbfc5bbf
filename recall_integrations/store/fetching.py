"""Memories by number or id, on the database driver itself.

It is what every recall ends with; statement compiler, transaction and row objects cost four times what reading does.
The placeholders are SQLite's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Engine

from recall_integrations.database import schema
from recall_integrations.indexes.damage import UNREADABLE, Damage
from recall_integrations.indexes.times import from_micros
from recall_integrations.types import Memory, MemoryType, Relation, unchecked_memory
from recall_integrations.types.roles import Role, role_of

_TYPES = {t.value: t for t in MemoryType}
_COLUMNS = (
    *("num", "id", "text", "type", "actor", "role", "channel", "event_at", "created_at", "importance"),
    *("thread", "position", "entities", "relations", "refs", "metadata"),
)


def by_num(engine: Engine, scope_id: int, nums: Sequence[int], damage: Damage) -> dict[int, Memory]:
    """Memories of a scope by number; those that are gone are left out, and so are damaged ones, which are noted."""
    rows = _rows(engine, "num", scope_id, nums)
    return {row[0]: memory for row in rows if (memory := _read(scope_id, row, damage)) is not None}


def texts_by_num(engine: Engine, scope_id: int, nums: Sequence[int]) -> dict[int, str]:
    """Texts of memories of a scope by number; those that are gone are left out."""
    return dict(_rows(engine, "num", scope_id, nums, "num, text"))  # type: ignore[arg-type]


def by_id(engine: Engine, scope_id: int, ids: Sequence[str], damage: Damage) -> dict[str, Memory]:
    """Memories of a scope by id; those that are gone are left out, and so are damaged ones, which are noted."""
    rows = _rows(engine, "id", scope_id, ids)
    return {row[1]: memory for row in rows if (memory := _read(scope_id, row, damage)) is not None}


def _rows(
    engine: Engine, key: str, scope_id: int, values: Sequence[Any], columns: str = ", ".join(_COLUMNS)
) -> Iterator[Sequence[Any]]:
    if not len(values):
        return
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        for start in range(0, len(values), schema.SQL_VARIABLES):
            part = values[start : start + schema.SQL_VARIABLES]
            cursor.execute(_statement(key, len(part), columns), (scope_id, *part))
            yield from cursor.fetchall()
    finally:
        connection.close()  # back to the pool


@cache
def _statement(key: str, count: int, columns: str) -> str:
    holes = ", ".join("?" * count)
    return f"SELECT {columns} FROM memories WHERE scope_id = ? AND {key} IN ({holes})"


def _read(scope_id: int, row: Sequence[Any], damage: Damage) -> Memory | None:
    try:
        return _memory(row)
    except UNREADABLE as e:
        damage.note(scope_id, row[0], row[1], f"{type(e).__name__} while reading it")
        return None


def _memory(row: Sequence[Any]) -> Memory:
    _, id_, text, type_, actor, role, channel, event_at, created_at, importance, *parts = row
    thread, position, entities, relations, refs, metadata = parts
    if not isinstance(text, str) or not isinstance(id_, str):
        raise TypeError("its text or id is none")
    return unchecked_memory(
        text=text,
        id=id_,
        type=_TYPES[type_],
        actor=actor,
        role=role_of(actor) if role is None else Role(role),
        channel=channel,
        event_at=None if event_at is None else from_micros(event_at),
        created_at=from_micros(created_at),
        importance=importance,
        entities=() if entities == "[]" else tuple(json.loads(entities)),
        relations=() if relations == "[]" else tuple(Relation(*r) for r in json.loads(relations)),
        thread=thread,
        position=position,
        refs=() if refs == "[]" else tuple(json.loads(refs)),
        metadata={} if metadata == "{}" else dict(json.loads(metadata).items()),
    )
