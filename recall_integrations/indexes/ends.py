"""Which rows of memories have come to their end (`Memory.expires_at`), as conditions of SQL.

A row whose end is damaged has none: nothing is left out, or removed for good, by a value that nobody wrote.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, ColumnElement, and_, cast, or_

from recall_integrations.database import schema

_at = schema.memories.c.expires_at
_whole = cast(_at, BigInteger) == _at


def ends(*, after: int | None = None, upto: int | None = None) -> ColumnElement[bool]:
    """Rows that end, after a time and up to one, both in microseconds.

    Args:
        after: not at this time or before; `None` = whenever.
        upto: at this time at the latest; `None` = whenever.
    """
    bounds: list[ColumnElement[bool]] = [_at.is_not(None)] if after is None and upto is None else []
    if after is not None:
        bounds.append(_at > after)
    if upto is not None:
        bounds.append(_at <= upto)
    return and_(*bounds, _whole)


def stays(upto: int) -> ColumnElement[bool]:
    """Rows that have not ended up to a time."""
    return or_(_at.is_(None), _at > upto, ~_whole)


def has_ended(value: object, upto: int) -> bool:
    """The same of a value that was read: whether it is an end that has come."""
    return type(value) is int and value <= upto
