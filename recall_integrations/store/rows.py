"""Rows of scopes and memories, read and changed in the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from recall_integrations.database import schema, tenants
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.database.sending import FEW, Sent, in_parts, is_together, send
from recall_integrations.indexes.vectors import NO_HOME
from recall_integrations.store import homes
from recall_integrations.types import Memory, Scope

_S = schema.scopes.c
_COUNTED = (
    update(schema.scopes)
    .where(_S.scope_id == bindparam("which"))
    .values(version=_S.version + bindparam("writes"), memories=_S.memories + bindparam("added"))
)
_ONE_REMOVED = [
    delete(table).where(table.c.scope_id == bindparam("which"), table.c.num == bindparam("one"))
    for table in schema.OF_MEMORIES
]
_M = schema.memories.c
_FOUND = select(_M.id, _M.num, _M.thread, _M.position).where(
    _M.scope_id == bindparam("which"), _M.id == bindparam("one")
)
_VERSION = select(_S.version).where(_S.scope_id == bindparam("which"))
LAST_SCOPE = "last_scope"  # key in `meta`: the highest number of a scope that was removed


class Place(NamedTuple):
    """The number of a memory, its thread, and its place in the thread."""

    num: int
    thread: str | None
    position: int | None


def count_all(connection: Connection) -> int:
    """Count the memories of all scopes."""
    return int(connection.execute(select(func.coalesce(func.sum(_S.memories), 0))).scalar_one())


def add_scope(connection: Connection, scope: Scope) -> int:
    """Return the number of a scope that is not known here; add the scope if the database lacks it."""
    s = schema.scopes
    parts = {part: getattr(scope, part) for part in ("user_id", "agent_id", "namespace")}
    known = connection.execute(select(s.c.scope_id).filter_by(**parts)).scalar()
    if known is not None:  # committed by an interrupted call
        return int(known)
    scope_id = tenants.next_scope(connection)
    if scope_id is None:
        given = connection.execute(select(func.max(s.c.scope_id))).scalar() or 0
        scope_id = max(given, int(get_meta(connection, LAST_SCOPE) or 0)) + 1
    new = insert(s).values(**parts, scope_id=scope_id, version=0, memories=0, vector_home=NO_HOME, vector_until=0)
    connection.execute(new)
    return scope_id


def remove_scope(connection: Connection, scope_id: int) -> None:
    """Remove an empty scope, and all notes about it. Its number is never given to another."""
    given = connection.execute(select(func.max(schema.scopes.c.scope_id))).scalar() or 0
    put_meta(connection, LAST_SCOPE, str(max(given, int(get_meta(connection, LAST_SCOPE) or 0))))
    home = connection.execute(select(schema.scopes.c.vector_home).where(schema.scopes.c.scope_id == scope_id)).scalar()
    homes.leave(connection, [] if home is None else [home])
    for table in (*schema.OF_SCOPES, schema.scopes):
        connection.execute(delete(table).where(table.c.scope_id == scope_id))


def bump(connection: Connection, scope_id: int, added: int, *, writes: int = 1) -> Sent:
    """Count writes to a scope, and the memories they added; the answer is the scope's new version."""
    send(connection, _COUNTED, {"which": scope_id, "added": added, "writes": writes})
    return send(connection, _VERSION, {"which": scope_id})


def find(connection: Connection, scope_id: int, ids: Sequence[str]) -> dict[str, Place]:
    """Find the places of the memories with these ids; absent ones are left out."""
    m = schema.memories
    found: dict[str, Place] = {}
    for part in in_parts(ids):
        query = select(m.c.id, m.c.num, m.c.thread, m.c.position).where(m.c.scope_id == scope_id, m.c.id.in_(part))
        found.update({i: Place(num, thread, position) for i, num, thread, position in connection.execute(query)})
    return found


def find_asked(connection: Connection, scope_id: int, ids: Sequence[str]) -> Callable[[], dict[str, Place]]:
    """Send the query of `find` for a few ids (`database.sending`); return a function that gives the answer."""
    if not is_together(connection) or len(ids) > FEW:
        found = find(connection, scope_id, ids)
        return lambda: found
    asked = [send(connection, _FOUND, {"which": scope_id, "one": one}) for one in ids]
    return lambda: {row[0]: Place(*row[1:]) for one in asked for row in one.rows()}


def remove(connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
    """Remove memories, and their rows in other tables."""
    if is_together(connection) and len(nums) <= FEW:
        for num in nums:
            for statement in _ONE_REMOVED:
                send(connection, statement, {"which": scope_id, "one": num})
        return
    for part in in_parts(nums):
        for table in schema.OF_MEMORIES:
            connection.execute(delete(table).where(table.c.scope_id == scope_id, table.c.num.in_(part)))


def positions(
    connection: Connection, scope_id: int, batch: Sequence[Memory], ids: Sequence[str], replaced: dict[str, Place]
) -> list[int | None]:
    """Return the places in their threads: as given, else that of the replaced memory, else the next one."""
    m = schema.memories
    following: dict[str, int] = {}  # next place by thread, where the last one is known
    given: dict[str, int] = {}  # next place after those that this batch gives itself
    found: list[int | None] = []
    for memory, memory_id in zip(batch, ids, strict=True):
        thread, position = memory.thread, memory.position
        if thread is not None and position is None:
            old = replaced.get(memory_id)
            if old is not None and old.thread == thread:
                position = old.position
            else:
                if thread not in following:
                    query = select(func.max(m.c.position)).where(m.c.scope_id == scope_id, m.c.thread == thread)
                    newest = connection.execute(query).scalar()
                    following[thread] = max(0 if newest is None else newest + 1, given.get(thread, 0))
                position = following[thread]
        if thread is not None and position is not None:
            places = following if thread in following else given
            places[thread] = max(places.get(thread, 0), position + 1)
        found.append(position)
    return found
