"""Memories that have come to their end (`Memory.expires_at`), as conditions of SQL.

A row whose end is damaged has none: no row is left out, or removed for good, by a value that nobody wrote.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, ColumnElement, and_, cast, or_

from recall_integrations.database import schema

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
