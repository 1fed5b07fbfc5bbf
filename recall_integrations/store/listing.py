"""What a scope holds: its memories in the order of writing, page by page or as JSON Lines, and its facts."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from io import TextIOBase
from pathlib import Path
from typing import IO, Any

from sqlalchemy import and_, select

from recall_integrations.adapters.rows import SCOPE_KEYS, row_of
from recall_integrations.database import schema
from recall_integrations.errors import InvalidArgument
from recall_integrations.facts.rows import REPLACES
from recall_integrations.facts.said import USER, name_key, subject_key
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.timeline import PAST, Stretch, Told, timeline
from recall_integrations.indexes.times import from_micros, stays, to_micros
from recall_integrations.query.entities import EntityIndex
from recall_integrations.store.fact_tables import COLUMNS, Key, readable, subject_names, told_of
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.types import Filters, Scope, checked_scope, checked_time
from recall_integrations.types.facts import Fact


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
