"""What a scope holds: memories as JSON Lines, facts, what became of a memory; and more sources of memories."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from io import TextIOBase
from pathlib import Path
from typing import IO, Any

from sqlalchemy import and_, func, select, update

from recall_integrations.adapters.rows import SCOPE_KEYS, row_of
from recall_integrations.database import schema
from recall_integrations.database.sending import in_parts, writing
from recall_integrations.errors import InvalidArgument, NotFound
from recall_integrations.facts.rows import REPLACES
from recall_integrations.facts.said import USER, name_key, subject_key
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.timeline import PAST, Stretch, Told, timeline
from recall_integrations.indexes.times import from_micros, stays, to_micros
from recall_integrations.query.entities import EntityIndex
from recall_integrations.store.fact_tables import COLUMNS, Key, readable, subject_names, told_of
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.store.removing import Removing
from recall_integrations.types import Filters, Scope, checked_id, checked_scope, checked_time
from recall_integrations.types.facts import Change, Fact, History


def export(
    reader: Reader,
    target: str | os.PathLike[str] | IO[str] | IO[bytes],
    scopes: Iterable[Scope],
    filters: Filters | None,
    directory: Path,
    advance: Callable[[int], None],
) -> int:
    """Export memories to a place outside of the store's directory: see `MemoryStore.export`."""

    def written(write: Callable[[bytes], object]) -> int:
        count = 0
        for scope in scopes:
            where = {key: getattr(scope, key) for key in SCOPE_KEYS if getattr(scope, key)}
            for memory in reader.all_of(scope, filters):
                write(json.dumps({**where, **row_of(memory)}).encode("ascii") + b"\n")
                count += 1
                advance(1)
        return count

    if not isinstance(target, str | os.PathLike):
        if not callable(getattr(target, "write", None)):
            raise InvalidArgument(f"target must be a path or an open file, not {type(target).__name__}.")
        text: Any = target
        return written((lambda raw: text.write(raw.decode("ascii"))) if isinstance(target, TextIOBase) else text.write)
    path = Path(target)
    try:
        special = path.exists() and not path.is_file()
        place = path if special else path.resolve()  # follow a link, so that the link stays
    except (OSError, ValueError) as e:  # ValueError: a NUL in it
        raise InvalidArgument(f"Cannot write {str(path)!r}: {getattr(e, 'strerror', None) or e}.") from e
    if place.is_relative_to(directory.resolve()):
        raise InvalidArgument(f"{path} lies in the store itself. Give a path outside of {directory}.")
    try:
        if special:  # a pipe or a device is written to, never replaced
            with path.open("wb") as file:
                return written(file.write)
        number, beside = tempfile.mkstemp(prefix=".recall-export.", dir=place.parent)  # readable by its owner only
        try:
            with os.fdopen(number, "wb") as file:
                count = written(file.write)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).replace(place)  # all of it is on disk
        finally:
            with suppress(FileNotFoundError):
                Path(beside).unlink()
        return count
    except OSError as e:
        raise InvalidArgument(f"Cannot write {path}: {e.strerror or e}.") from e


ME = ("me", "i", "user", "the user")


def facts_of(
    parts: StoreParts,
    scope: Scope | None,
    *,
    subject: str | None = None,
    slot: str | None = None,
    as_of: datetime | None = None,
    history: bool = False,
) -> list[Fact]:
    """List facts: see `MemoryStore.facts`."""
    parts.check_open()
    where = checked_scope(scope)
    at = to_micros(parts.clock() if as_of is None else checked_time(as_of, "as_of", InvalidArgument))
    scope_id = parts.scopes.get(where)
    if scope_id is None or parts.slots is None:
        return []
    with parts.errors():
        index = parts.catalog.of(scope_id).index
    names_of = subject_names(index)
    subjects = None if subject is None else _subjects(subject, index)
    if subjects is not None:
        subjects |= {name for one in subjects for name in names_of(one)}
    wanted = None if slot is None else _slot(slot, parts.slots)
    told, ids = _read_facts(parts, scope_id, subjects, wanted)
    told = _merged(told, names_of)
    found: list[Fact] = []
    for key in sorted(told):
        stretches = timeline(told[key], one=parts.slots.one(key[1]))
        chosen = stretches if history else [s for s in stretches if s.holds_at(at)]
        found += [_fact_of(key, stretch, ids) for stretch in chosen]
    return found


def _merged(told: dict[Key, list[Told]], names: Callable[[str], Sequence[str]]) -> dict[Key, list[Told]]:
    """Merge facts under several names of one entity, under the first of these."""
    found: dict[Key, list[Told]] = {}
    for (subject, slot), own in told.items():
        first = next((name for name in names(subject) if (name, slot) in told), subject)
        found.setdefault((first, slot), []).extend(own)
    return found


def _subjects(subject: object, index: EntityIndex) -> set[str]:
    if not isinstance(subject, str):
        raise InvalidArgument(f"subject must be a name, or 'me' for the user, not {type(subject).__name__}.")
    if not subject.strip() or name_key(subject) in ME:
        return {USER, *ME}  # who is told of as "me" by an actor of that name, too
    key = subject_key(subject) or name_key(subject)
    return {key, *(name_key(name) for entity_id in index.lookup(subject) for name in index.names(entity_id))}


def _slot(slot: object, slots: Slots) -> str:
    name = slots.named(slot, openly=True)
    if name is None:
        raise InvalidArgument("slot must be the name of one, such as 'phone_number', or what people call it.")
    return name


def _read_facts(
    parts: StoreParts, scope_id: int, subjects: set[str] | None, slot: str | None
) -> tuple[dict[Key, list[Told]], dict[int, str]]:
    f, m = schema.facts.c, schema.memories.c
    query = select(*COLUMNS, m.id, m.event_at, m.created_at).select_from(
        schema.facts.join(schema.memories, and_(m.scope_id == f.scope_id, m.num == f.num))
    )
    query = query.where(f.scope_id == scope_id, f.slot != REPLACES)
    if subjects is not None:
        query = query.where(f.subject.in_(sorted(subjects)))
    if slot is not None:
        query = query.where(f.slot == slot)
    if not parts.expiry.none:
        query = query.where(stays(parts.expiry.now()))
    told: dict[Key, list[Told]] = {}
    ids: dict[int, str] = {}
    with parts.errors(), parts.engine.connect() as connection:
        for row in connection.execute(query.order_by(f.num, f.place)):
            at = row.created_at if row.event_at is None else row.event_at
            if not readable(row) or not isinstance(at, int):
                continue
            told.setdefault((row.subject, row.slot), []).append(told_of(row, at))
            ids[row.num] = row.id
    return told, ids


def _fact_of(key: Key, stretch: Stretch, ids: dict[int, str]) -> Fact:
    said_by = tuple(ids[num] for num in stretch.nums)
    start = stretch.told_at if stretch.start == PAST and stretch.stop is None else stretch.start
    return Fact(
        subject=key[0],
        slot=key[1],
        value=stretch.value,
        memory_id=said_by[0],
        valid_from=None if start == PAST else from_micros(start),
        valid_to=None if stretch.stop is None else from_micros(stretch.stop),
        told_at=from_micros(stretch.told_at),
        said_by=said_by,
        superseded_by=None if stretch.ended_by is None else ids.get(stretch.ended_by),
        ended=stretch.ended,
        confidence=stretch.confidence,
        by=stretch.by,
    )


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
            with writing(parts.engine) as connection:
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
