"""Read memories by number or id, with the database driver itself; and a cache of those that were read lately.

Every recall ends with this; statement compiler, transaction and row objects cost four times what reading does. Ten
memories from the cache take .02 ms instead of .1. Nothing of a scope is given out once a write to it has begun: its
revision changes then.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from cachetools import LRUCache
from sqlalchemy import Engine

from recall_integrations.database.portable import in_parts
from recall_integrations.database.sending import read
from recall_integrations.indexes.damage import UNREADABLE, Damage
from recall_integrations.indexes.times import from_micros
from recall_integrations.store.revisions import Revision, Revisions
from recall_integrations.types import Memory, MemoryType, Relation, Scope, copied_memory, memory_of_values
from recall_integrations.types.memory import own_metadata
from recall_integrations.types.roles import Role, role_of

_TYPES = {t.value: t for t in MemoryType}
_ROLES = {r.value: r for r in Role}
_COLUMNS = (
    *("num", "id", "text", "type", "actor", "role", "channel", "event_at", "created_at", "expires_at"),
    *("importance", "thread", "position", "entities", "relations", "refs", "metadata"),
)


def by_num(engine: Engine, scope_id: int, nums: Sequence[int], damage: Damage) -> dict[int, Memory]:
    """Read memories of a scope by number; absent ones are left out, and so are damaged ones, which are noted."""
    found: dict[int, Memory] = {}
    for row in _rows(engine, "num", scope_id, nums):
        memory = _read(scope_id, row, damage)
        if memory is not None:
            found[row[0]] = memory
    return found


def by_id(engine: Engine, scope_id: int, ids: Sequence[str], damage: Damage) -> dict[str, Memory]:
    """Read memories of a scope by id; absent ones are left out, and so are damaged ones, which are noted."""
    rows = _rows(engine, "id", scope_id, ids)
    return {row[1]: memory for row in rows if (memory := _read(scope_id, row, damage)) is not None}


def _rows(engine: Engine, key: str, scope_id: int, values: Sequence[Any]) -> list[Sequence[Any]]:
    chosen = f"SELECT {', '.join(_COLUMNS)} FROM memories WHERE scope_id ="
    if engine.dialect.name == "postgresql":  # one statement for any number of them, which is prepared
        kind = "bigint" if key == "num" else "text"
        each = f"{chosen} %s AND {key} = ANY(%s::{kind}[])"
        return read(engine, each, (scope_id, list(values))) if len(values) else []
    found: list[Sequence[Any]] = []
    for part in in_parts(values):
        found += read(engine, f"{chosen} ? AND {key} IN ({', '.join('?' * len(part))})", (scope_id, *part))
    return found


def _read(scope_id: int, row: Sequence[Any], damage: Damage) -> Memory | None:
    try:
        return _memory(row)
    except UNREADABLE as e:
        damage.note(scope_id, row[0], row[1], f"{type(e).__name__} while reading it")
        return None


def _memory(row: Sequence[Any]) -> Memory:
    """Convert a row to a memory. It was checked when it was written; damage raises here."""
    _, id_, text, type_, actor, role, channel, event_at, created_at, expires_at = row[:10]
    importance, thread, position, entities, relations, refs, metadata = row[10:]
    if not isinstance(text, str) or not isinstance(id_, str):
        raise TypeError("its text or id is none")
    return memory_of_values(
        (
            text,
            id_,
            _TYPES[type_],
            actor,
            role_of(actor) if role is None else _ROLES[role],
            channel,
            None if event_at is None else from_micros(event_at),
            from_micros(created_at),
            None if expires_at is None else _end(expires_at),
            importance,
            () if entities == "[]" else tuple(json.loads(entities)),
            () if relations == "[]" else tuple([_relation(*r) for r in json.loads(relations)]),
            thread,
            position,
            () if refs == "[]" else tuple(json.loads(refs)),
            {} if metadata == "{}" else dict(json.loads(metadata).items()),
        )
    )


def _end(value: Any) -> datetime:
    if type(value) is not int:
        raise TypeError("its end is no time")
    return from_micros(value)


@lru_cache(maxsize=1_024)  # they are checked when they are made, and the same come again
def _relation(*values: Any) -> Relation:
    return Relation(*values)


KEPT_BYTES = 4_000_000  # some 4,000 memories of a chat
EACH_BYTES = 700  # of a memory besides its texts
TEXT_BYTES_MAX = 40_000  # longer ones are a document each, and would push out everything else


class _Kept(NamedTuple):
    """A memory as it was read. Callers can change only its metadata, so these are copied."""

    memory: Memory
    metadata: dict[str, Any]
    revision: Revision
    size: int


_kept: Callable[[tuple[Memory, dict[str, Any], Revision, int]], _Kept] = functools.partial(tuple.__new__, _Kept)


class Recent:
    """The cache of memories. Threads share it."""

    def __init__(self, revisions: Revisions, scopes: Mapping[Scope, int], kept_bytes: int = KEPT_BYTES) -> None:
        self._revisions, self._scopes = revisions, scopes
        self._by_id: dict[int, Scope] = {}
        self._lock = threading.Lock()
        self._kept: LRUCache[tuple[int, int], _Kept] = LRUCache(kept_bytes, lambda kept: kept.size)
        self.hits = self.misses = 0

    def revision(self, scope_id: int) -> Revision | None:
        """Return the revision for memories that are read from here on; `None` = they may not be cached."""
        scope = self._by_id.get(scope_id)
        if scope is None:
            self._by_id = {number: scope for scope, number in dict(self._scopes).items()}
            scope = self._by_id.get(scope_id)
        return None if scope is None else self._revisions.of(scope)

    def get(self, scope_id: int, nums: Sequence[int], revision: Revision | None) -> dict[int, Memory]:
        """Return the cached memories, by number, each with metadata of its own."""
        found: dict[int, _Kept] = {}
        with self._lock:
            for num in () if revision is None else nums:
                kept = self._kept.get((scope_id, num))
                if kept is not None and kept.revision == revision:
                    found[num] = kept
            self.hits += len(found)
            self.misses += len(nums) - len(found)
        return {num: copied_memory(kept.memory, kept.metadata) for num, kept in found.items()}

    def put(self, scope_id: int, read: Iterable[tuple[int, Memory]], revision: Revision | None) -> None:
        """Cache memories read after `revision` was asked for, unless the scope was written to meanwhile."""
        if revision is None:
            return
        own = [(num, _kept((memory, own_metadata(memory.metadata), revision, _size(memory)))) for num, memory in read]
        with self._lock:
            if self.revision(scope_id) != revision:
                return
            for num, kept in own:
                if kept.size <= min(TEXT_BYTES_MAX, self._kept.maxsize):
                    self._kept[scope_id, num] = kept


def _size(memory: Memory) -> int:
    size = EACH_BYTES + 2 * len(memory.text) + 60 * len(memory.entities)
    if memory.refs or memory.relations or memory.metadata:
        size += 60 * len(memory.refs) + 180 * len(memory.relations) + 2 * len(repr(memory.metadata))
    return size
