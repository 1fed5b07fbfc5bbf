"""The languages of each scope, in the table `languages`: counted when a memory is written, taken away when it goes.

A recall asks for them once after each write: a few rows, which `text.spoken.Spoken` makes sense of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from recall_integrations.store import schema
from recall_integrations.text.spoken import Count, Spoken, counted

BATCH = 2_000

_t = schema.languages.c
_ADD = (
    update(schema.languages)
    .where(_t.scope_id == bindparam("of_scope"), _t.language == bindparam("of_language"))
    .values(told=_t.told + bindparam("more"), hints=_t.hints + bindparam("hint"), votes=_t.votes + bindparam("vote"))
)


def write(connection: Connection, scope_id: int, texts: Iterable[str]) -> None:
    """Count memories that are written, in the caller's transaction."""
    _add(connection, scope_id, counted(texts), 1)


def remove(connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
    """Take memories away that the caller's transaction is about to remove."""
    m = schema.memories
    for start in range(0, len(nums), schema.SQL_VARIABLES):
        part = nums[start : start + schema.SQL_VARIABLES]
        texts = connection.execute(select(m.c.text).where(m.c.scope_id == scope_id, m.c.num.in_(part)))
        _add(connection, scope_id, counted(texts.scalars()), -1)


def recount(connection: Connection) -> None:
    """Count all memories anew, in the caller's transaction."""
    connection.execute(delete(schema.languages))
    m = schema.memories
    for scope_id in connection.execute(select(schema.scopes.c.scope_id).order_by(schema.scopes.c.scope_id)).scalars():
        last = 0
        query = select(m.c.num, m.c.text).where(m.c.scope_id == scope_id).order_by(m.c.num).limit(BATCH)
        while rows := connection.execute(query.where(m.c.num > last)).all():
            write(connection, scope_id, (row.text for row in rows))
            last = rows[-1].num


def read(connection: Connection, scope_id: int) -> Spoken:
    """The languages of a scope, and how many memories it has."""
    s = schema.scopes
    memories = connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar()
    rows = connection.execute(select(_t.language, _t.told, _t.hints, _t.votes).where(_t.scope_id == scope_id))
    return Spoken(int(memories or 0), {row.language: Count(row.told, row.hints, row.votes) for row in rows})


def _add(connection: Connection, scope_id: int, found: Mapping[str, Count], sign: int) -> None:
    if not found:
        return  # nearly always, of memories in English
    there = set(connection.execute(select(_t.language).where(_t.scope_id == scope_id)).scalars())
    known = [
        {
            "of_scope": scope_id,
            "of_language": code,
            "more": sign * n.told,
            "hint": sign * n.hints,
            "vote": sign * n.votes,
        }
        for code, n in sorted(found.items())
        if code in there
    ]
    if known:
        connection.execute(_ADD, known)
    new = [
        {"scope_id": scope_id, "language": code, **(Count(*(sign * part for part in n))._asdict())}
        for code, n in sorted(found.items())
        if code not in there
    ]
    if new:
        connection.execute(insert(schema.languages), new)
