"""Conversion of memories to rows and of times to microseconds; ends of memories as conditions of SQL.

A row whose end is damaged has none: no row is left out, or removed for good, by a value that nobody wrote.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, and_, cast, or_

from recall_integrations.database import schema
from recall_integrations.types import Memory
from recall_integrations.types.roles import role_of

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TICK = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=timezone.utc) - EPOCH) // _TICK
LAST = (datetime.max.replace(tzinfo=timezone.utc) - EPOCH) // _TICK


def to_micros(moment: datetime) -> int:
    """Convert an aware datetime to microseconds since 1970-01-01T00:00Z, exactly, also far from today.

    A time that has no year in UTC (year 1 east of Greenwich, year 9999 west of it) becomes the nearest that has.
    """
    return min(max((moment - EPOCH) // _TICK, _FIRST), LAST)


def from_micros(value: int) -> datetime:
    """Convert microseconds back to a datetime in UTC, the inverse of `to_micros`."""
    return EPOCH + value * _TICK


def day_of(value: int, zone: tzinfo | None) -> str:
    """Write the day of microseconds in a zone, default UTC: "5 June 2026"."""
    day = from_micros(value)
    with suppress(OverflowError):  # where the calendar ends
        day = day.astimezone(zone or timezone.utc)
    return f"{day.day} {day:%B %Y}"


def to_row(
    memory: Memory, *, scope_id: int, num: int, memory_id: str, created_at: datetime, position: int | None
) -> dict[str, Any]:
    """Return the values for one insert into `memories`."""
    return {
        "scope_id": scope_id,
        "num": num,
        "id": memory_id,
        "text": memory.text,
        "type": memory.type.value,
        "actor": memory.actor,
        "role": None if memory.role is None or memory.role is role_of(memory.actor) else memory.role.value,
        "channel": memory.channel,
        "event_at": None if memory.event_at is None else to_micros(memory.event_at),
        "created_at": to_micros(created_at),
        "expires_at": None if memory.expires_at is None else to_micros(memory.expires_at),
        "importance": memory.importance,
        "thread": memory.thread,
        "position": position,
        "entities": list(memory.entities),
        "relations": [[r.subject, r.predicate, r.object, r.confidence] for r in memory.relations],
        "refs": list(memory.refs),
        "metadata": dict(memory.metadata),
    }


_at = schema.memories.c.expires_at
_whole = cast(_at, BigInteger) == _at


def ends(*, after: int | None = None, upto: int | None = None) -> ColumnElement[bool]:
    """Return the condition for rows that end after one time and up to another, both in microseconds."""
    bounds: list[ColumnElement[bool]] = [_at.is_not(None)] if after is None and upto is None else []
    if after is not None:
        bounds.append(_at > after)
    if upto is not None:
        bounds.append(_at <= upto)
    return and_(*bounds, _whole)


def stays(upto: int) -> ColumnElement[bool]:
    """Return the condition for rows that have not ended up to a time."""
    return or_(_at.is_(None), _at > upto, ~_whole)


def has_ended(value: object, upto: int) -> bool:
    """Say whether a value read from a row is an end that has come."""
    return type(value) is int and value <= upto
