"""Copy rows of a store from one database into another: as they are, with their numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, func, select

from recall_integrations.database import schema
from recall_integrations.database.inserting import insert_rows
from recall_integrations.database.portable import in_parts, streamed
from recall_integrations.store import rows

AT_ONCE = 2_000  # rows
# Of memories, by their number. Rows of the first three stay as they were written; the others may be written anew.
WRITTEN_ONCE: tuple[Table, ...] = (schema.memories, schema.words, schema.told_times)
OF_MEMORIES: tuple[Table, ...] = (
    *WRITTEN_ONCE,
    schema.vectors,
    schema.facts,
    schema.facts_read,
    schema.mentions,
    schema.edges,
)
OF_SCOPES: tuple[Table, ...] = (
    schema.entities,
    schema.aliases,
    schema.languages,
    schema.judged,
)
TABLES = (*OF_MEMORIES, *OF_SCOPES)

Row = Mapping[str, Any]
Counts = dict[int, tuple[int, ...]]
"""Of each scope: how many rows, and sums that change with what they say."""


def read(connection: Connection, table: Table, *where: ColumnElement[bool]) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Yield rows in the order of their keys, `AT_ONCE` at a time."""
    query = select(table).where(*where).order_by(*table.primary_key.columns)
    for part in connection.execute(streamed(query, AT_ONCE)).mappings().partitions(AT_ONCE):
        yield [dict(row) for row in part]


def copy(source: Connection, target: Connection, table: Table, *where: ColumnElement[bool]) -> int:
    """Replace rows by those of the source, in the caller's transaction; return their number."""
    target.execute(delete(table).where(*where))
    count = 0
    for part in read(source, table, *where):
        if table is schema.memories:
            _make_way(target, part)
        insert_rows(target, table, part)
        count += len(part)
    return count


def bring(
    source: Connection, target: Connection, table: Table, *where: ColumnElement[bool], instead: Row | None = None
) -> int:
    """Make rows those of the source, in the caller's transaction; write only the differences, and count them."""
    keys = [column.name for column in table.primary_key.columns]
    gone, fresh = [], []
    there = ((tuple(row[key] for key in keys), row) for part in read(target, table, *where) for row in part)
    theirs = next(there, None)
    for part in read(source, table, *where):
        for given in part:
            row = {**given, **(instead or {})}
            mine = tuple(row[key] for key in keys)
            while theirs is not None and theirs[0] < mine:
                gone.append(theirs[0])
                theirs = next(there, None)
            if theirs is None or theirs[0] != mine:
                fresh.append(row)
                continue
            if not _same(row, theirs[1]):
                gone.append(mine)
                fresh.append(row)
            theirs = next(there, None)
    while theirs is not None:
        gone.append(theirs[0])
        theirs = next(there, None)
    if gone:
        named = [f"key_{place}" for place in range(len(keys))]
        those = [table.c[key] == bindparam(name) for key, name in zip(keys, named, strict=True)]
        target.execute(delete(table).where(*those), [dict(zip(named, key, strict=True)) for key in gone])
    for start in range(0, len(fresh), AT_ONCE):
        insert_rows(target, table, fresh[start : start + AT_ONCE])
    return max(len(gone), len(fresh))


def _same(row: Row, other: Row) -> bool:
    return all(_plain(value) == _plain(other[name]) for name, value in row.items())


def _make_way(target: Connection, part: Sequence[Mapping[str, Any]]) -> None:
    """Remove older versions of memories that were replaced meanwhile: an id occurs once."""
    m = schema.memories.c
    for scope_id in {row["scope_id"] for row in part}:
        ids = [row["id"] for row in part if row["scope_id"] == scope_id]
        for some in in_parts(ids):
            older = target.execute(select(m.num).where(m.scope_id == scope_id, m.id.in_(some))).scalars().all()
            if older:
                rows.remove(target, scope_id, older)


def between(table: Table, scope_id: int, after: int, upto: int) -> tuple[ColumnElement[bool], ...]:
    """Return conditions for rows of a scope's memories with numbers above `after`, up to `upto`."""
    return table.c.scope_id == scope_id, table.c.num > after, table.c.num <= upto


def remove(target: Connection, scope_id: int, nums: Sequence[int]) -> None:
    """Remove memories from the target."""
    rows.remove(target, scope_id, nums)


def put(source: Connection, target: Connection, scope_id: int, nums: Sequence[int]) -> None:
    """Copy new memories; those that are gone by now are left out."""
    for part in in_parts(nums):
        for table in OF_MEMORIES:
            copy(source, target, table, table.c.scope_id == scope_id, table.c.num.in_(part))


def counts(connection: Connection, table: Table, scopes: Sequence[int] | None = None) -> Counts:
    """Return counts and sums of a table by scope that change with its rows, as far as one query tells."""
    c = table.c
    more = {
        schema.judged: (func.coalesce(func.max(c.get("at")), 0), func.count(c.get("replay"))),
        schema.languages: (func.sum(c.get("told")), func.sum(c.get("votes"))),
        schema.entities: (func.max(c.get("ent")), func.sum(c.get("declared"))),
    }.get(table, ())
    query = select(c.scope_id, func.count(), *more).group_by(c.scope_id)
    if scopes is None:
        found = connection.execute(query).all()
    else:
        found = [row for some in in_parts(scopes) for row in connection.execute(query.where(c.scope_id.in_(some)))]
    return {int(scope_id): tuple(map(int, told)) for scope_id, *told in found}


class Digest(NamedTuple):
    """The number of rows, and a number that another row would change."""

    rows: int
    said: int


def digest(connection: Connection, table: Table, scope_id: int) -> Digest:
    """Digest a scope's rows in a table, the same in any order and on any engine."""
    total = count = 0
    names = sorted(column.name for column in table.columns)
    for part in read(connection, table, table.c.scope_id == scope_id):
        count += len(part)
        for row in part:
            said = repr([_plain(row[name]) for name in names]).encode("utf-8", "surrogatepass")
            total += int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big")
    return Digest(count, total % 2**64)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray | memoryview) else value
