"""What became of a memory; and further sources of memories that are said again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import and_, func, select, update

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts
from recall_integrations.errors import InvalidArgument, NotFound
from recall_integrations.facts.rows import REPLACES
from recall_integrations.indexes.times import from_micros
from recall_integrations.store.listing import facts_of
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.store.removing import Removing
from recall_integrations.types import Scope, checked_id, checked_scope
from recall_integrations.types.facts import Change, History

CHANGES_MAX = 1_000  # that are followed from one memory
REFS_MAX = 200  # of a memory: one that is said again and again gets no more


def history_of(parts: StoreParts, reader: Reader, memory_id: str, scope: Scope | None) -> History:
    """Return what became of a memory: see `MemoryStore.history`."""
    where = checked_scope(scope)
    checked_id(memory_id, "memory_id", InvalidArgument)
    scope_id = parts.scopes.get(where)
    found = {} if scope_id is None else reader.fetch_ids(scope_id, [memory_id])
    if scope_id is None or memory_id not in found:
        raise NotFound(f"There is no memory {memory_id!r} in the scope {where}. It may have been forgotten.")
    memory = found[memory_id]
    sources = reader.fetch_ids(scope_id, [ref for ref in memory.refs if ref != memory_id])
    evidence = sorted(sources.values(), key=lambda one: (one.event_at or one.created_at, one.position or 0, one.id))
    every = [*_declared(parts, scope_id), *_read(parts, where)]
    chosen = {
        change
        for near, far in (("older", "newer"), ("newer", "older"))  # forward, then back, and never round a bend
        for change in _followed(every, memory_id, near, far)
    }
    changes = sorted(chosen, key=lambda one: (one.at, one.newer, one.older))
    return History(memory=memory, evidence=tuple(evidence), changes=tuple(changes))


def _followed(every: Sequence[Change], start: str, near: str, far: str) -> list[Change]:
    by_near: dict[str, list[Change]] = {}
    for change in every:
        by_near.setdefault(getattr(change, near), []).append(change)
    seen, found, at = {start}, list[Change](), [start]
    while at and len(found) < CHANGES_MAX:
        for change in by_near.get(at.pop(), ()):
            found.append(change)
            if (other := getattr(change, far)) not in seen:
                seen.add(other)
                at.append(other)
    return found


def _declared(parts: StoreParts, scope_id: int) -> list[Change]:
    f, m = schema.facts.c, schema.memories.c
    of = and_(m.scope_id == f.scope_id, m.num == f.num)
    query = select(f.subject, f.value, m.id, func.coalesce(m.event_at, m.created_at))
    query = query.select_from(schema.facts.join(schema.memories, of))
    with parts.errors(), parts.engine.connect() as connection:
        rows = connection.execute(query.where(f.scope_id == scope_id, f.slot == REPLACES)).all()
    return [Change(older=older, newer=newer, why=why, at=from_micros(at)) for older, why, newer, at in rows]


def _read(parts: StoreParts, scope: Scope) -> list[Change]:
    return [
        Change(older=one, newer=fact.superseded_by, why=fact.ended, at=fact.valid_to)
        for fact in facts_of(parts, scope, history=True)
        if fact.superseded_by is not None and fact.valid_to is not None
        for one in fact.said_by
        if one != fact.superseded_by
    ]


def add_refs(parts: StoreParts, scope: Scope, refs: Mapping[str, Sequence[str]]) -> set[str]:
    """Add pointers to the `refs` of memories, and return the ids of those that are still there.

    Nothing else of them is written: no vector is made anew, and what somebody forgot or changed meanwhile stays so.
    """
    if not refs:
        return set()

    def write() -> set[str]:
        m, removing = schema.memories, Removing(parts)
        with parts.write_lock, parts.errors(), parts.revisions.writing(scope):
            parts.check_open()
            scope_id = parts.scopes.get(scope)
            if scope_id is None:
                return set()
            there: set[str] = set()
            with parts.engine.begin() as connection:
                for part in in_parts(sorted(refs)):
                    chosen = select(m.c.id, m.c.refs).where(m.c.scope_id == scope_id, m.c.id.in_(part))
                    for one, known in connection.execute(chosen).all():
                        there.add(one)
                        more = list(dict.fromkeys([*known, *refs[one]]))[: max(REFS_MAX, len(known))]
                        if more != list(known):
                            own = update(m).where(m.c.scope_id == scope_id, m.c.id == one)
                            connection.execute(own.values(refs=more))
                touched = removing.touch(connection, scope_id) if there else None
            if touched is not None:
                removing.touched(scope_id, touched)
        return there

    return parts.retried(write, twice=True)
