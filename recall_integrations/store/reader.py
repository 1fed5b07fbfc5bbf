"""The reading side of a store: memories by id and number, counts, languages, sizes, and the state of large scopes.

Every recall ends with reading memories. That goes by the database driver itself: statement compiler, transaction and
row objects cost four times what reading does. Memories that were read lately are cached: ten of them take .02 ms
instead of .1. Nothing of a scope is given out once a write to it has begun: its revision changes then.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakMethod

import numpy as np
from cachetools import LRUCache
from sqlalchemy import Engine, func, select

from recall_integrations.database import schema
from recall_integrations.database.sending import begun, in_parts, read
from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.damage import UNREADABLE, Damage
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.times import from_micros, stays
from recall_integrations.store import journal, languages
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.revisions import Revision, Revisions
from recall_integrations.text.detection import Spoken
from recall_integrations.types import Filters, Memory, MemoryType, Relation, Scope, copied_memory, memory_of_values
from recall_integrations.types.memory import own_metadata
from recall_integrations.types.roles import Role, role_of

if TYPE_CHECKING:
    from recall_integrations.store.filtering import Filtering


PAGE = 500  # memories that are in memory at a time
FILTERS_SHARE = 8  # of the memory for columns, so much more may go into what filters look at: an eighth
FEW = 200  # memories at once, as a recall reads them; who reads more goes through a scope, and comes but once
SCOPES_KEPT = 4_096  # whose languages are in memory


_COUNTED = (schema.entities, schema.aliases, schema.mentions, schema.edges, schema.vectors)


class Listed(list[Memory]):
    """Memories that `MemoryStore.list` returns.

    Args:
        memories: in the order in which they were written.
        after: the argument `after` for the next page; `None` = there are no more.
    """

    def __init__(self, memories: Iterable[Memory] = (), after: str | None = None) -> None:
        super().__init__(memories)
        self.after = after


class Reader:
    """Reads the record, and scopes of any size page by page: see `MemoryStore`. Threads may share one."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._recent = Recent(parts.revisions, parts.scopes)
        self._languages: dict[int, tuple[int, Spoken]] = {}  # by scope, the version, and the languages at it
        parts.forgets.append(WeakMethod(self._forget))

    @cached_property
    def filtering(self) -> Filtering:
        """The filters of rows, loaded on first use: most recalls have none."""
        from recall_integrations.store.filtering import Filtering, MetadataIndex

        parts = self._parts
        budget = parts.config.retrieval.cache_mb * 1_000_000 // FILTERS_SHARE
        return Filtering(parts.engine, parts.catalog, MetadataIndex(parts.engine, budget), parts.facts.get)

    def fetch(self, scope_id: int, nums: Sequence[int]) -> dict[int, Memory]:
        recent = self._recent
        revision = recent.revision(scope_id)
        found = recent.get(scope_id, nums, revision)
        missing = [num for num in nums if num not in found]
        if missing:
            with self._parts.errors():
                read = by_num(self._parts.engine, scope_id, missing, self._parts.damage)
            if len(missing) <= FEW:
                recent.put(scope_id, read.items(), revision)
            found.update(read)
        return found

    def fetch_ids(self, scope_id: int, ids: Sequence[str]) -> dict[str, Memory]:
        """Read memories by id; absent and ended ones are left out."""
        with self._parts.errors():
            found = by_id(self._parts.engine, scope_id, ids, self._parts.damage)
            ended = from_micros(self._parts.expiry.ended(scope_id))
            return {i: memory for i, memory in found.items() if memory.expires_at is None or memory.expires_at > ended}

    def let_go(self) -> None:
        """Drop the values read for filters: those of removed memories may be among them."""
        self.__dict__.pop("filtering", None)

    def _forget(self) -> None:
        self._languages.clear()
        self.let_go()

    def filter_mask(
        self, view: ScopeView, filters: Filters, now: datetime, as_of: datetime | None = None
    ) -> Mask | None:
        """Return the mask of rows that meet the filters, or `None` for all; `as_of` is for `current_only`."""
        if not filters:
            return None
        with self._parts.errors():
            return self.filtering.mask(view, filters, now, as_of or now)

    def filters_ready(self, view: ScopeView, filters: Filters) -> bool:
        """Say whether the data for `filter_mask` is in memory, or soon: a large scope may have to be read first."""
        return not filters or self.filtering.ready(view, filters)

    def absent_keys(self, view: ScopeView, filters: Filters) -> list[str]:
        """List the metadata keys of filters that no memory of the scope has."""
        if not filters:
            return []
        with self._parts.errors():
            return self.filtering.absent(view, filters)

    def languages(self, scope_id: int) -> Spoken:
        """Return the languages of the scope; read once after each write to it."""
        version = self._parts.version(scope_id)
        kept = self._languages.get(scope_id)
        if kept is None or kept[0] != version:
            if len(self._languages) >= SCOPES_KEPT:
                self._languages.clear()
            with self._parts.errors():
                with begun(self._parts.engine) as connection:
                    spoken = languages.asked(connection, scope_id)
                kept = self._languages[scope_id] = version, spoken()
        return kept[1]

    def count_of(self, scope_id: int) -> int:
        s = schema.scopes
        with self._parts.errors(), self._parts.engine.connect() as connection:
            held = int(connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar_one())
            return held - self._parts.expiry.left(scope_id)

    def scopes(self) -> list[tuple[Scope, int]]:
        s = schema.scopes
        with self._parts.errors(), self._parts.engine.connect() as connection:
            rows = connection.execute(select(s).order_by(s.c.scope_id)).all()
            left = self._parts.expiry.left
            return [(Scope(r.user_id, r.agent_id, r.namespace), int(r.memories) - left(r.scope_id)) for r in rows]

    def hydration(self) -> dict[str, int]:
        """Count the memories delivered out of memory (`hits`), and those that had to be read (`misses`).

        Counted since the store was opened, in this process.
        """
        return {"hits": self._recent.hits, "misses": self._recent.misses}

    def figures(self) -> dict[str, Any]:
        parts, s = self._parts, schema.scopes
        with parts.errors(), parts.engine.connect() as connection:
            counted = select(func.count(), func.coalesce(func.sum(s.c.memories), 0))
            scopes, memories = connection.execute(counted).one()
            changes = journal.last_seq(connection)
        return {
            "memories": int(memories),
            "scopes": int(scopes),
            "changes": changes,
            "bytes": parts.directory.size(),
            "index_lag": dict(parts.indexes.lag),
            "hydration": self.hydration(),
        }

    def stats(self) -> dict[str, Any]:
        parts, m = self._parts, schema.memories
        with parts.errors(), parts.engine.connect() as connection:
            by_kind = select(m.c.type, func.count()).group_by(m.c.type).order_by(m.c.type)
            if not parts.expiry.none:
                by_kind = by_kind.where(stays(parts.expiry.now()))
            counted = connection.execute(by_kind)
            by_type = {str(kind): int(count) for kind, count in counted}
            span = connection.execute(select(func.min(m.c.event_at), func.max(m.c.event_at))).one()
            sizes = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in _COUNTED
            }
        scopes = self.scopes()
        return {
            "path": parts.directory.name,
            "schema_version": schema.SCHEMA_VERSION,
            "embedding": parts.asking.fingerprint,
            "memories": sum(n for _, n in scopes),
            "scopes": [{"scope": str(s), "memories": n} for s, n in scopes],
            "types": by_type,
            "event_at": [None if t is None else int(t) for t in span],
            **sizes,
            "index_lag": dict(parts.indexes.lag),
            "collections_lack": parts.indexes.collections.lacking(),
            "bytes": parts.directory.size(),
            "hydration": self.hydration(),
            "notices": list(parts.indexes.notices),
        }

    # -- the memories of a scope, in the order of writing -----------------------------------------------------------

    def page(self, scope: Scope, filters: Filters | None, limit: int, after: str | None) -> Listed:
        last = 0
        if after is not None:
            if not (isinstance(after, str) and after.isascii() and after.isdecimal() and len(after) < 20):
                raise InvalidArgument(f"after must be what a call gave as `.after`, not {str(after)[:60]!r}.")
            last = int(after)
        nums = self.nums(scope, filters, last, limit + 1)
        return Listed(self._in_order(scope, nums[:limit]), str(nums[limit - 1]) if len(nums) > limit else None)

    def all_of(self, scope: Scope, filters: Filters | None) -> Iterator[Memory]:
        if filters:
            nums = self.nums(scope, filters, 0, None)
            for start in range(0, len(nums), PAGE):
                yield from self._in_order(scope, nums[start : start + PAGE])
            return
        last = 0
        while nums := self.nums(scope, None, last, PAGE):
            yield from self._in_order(scope, nums)
            last = nums[-1]

    def nums(self, scope: Scope, filters: Filters | None, last: int, limit: int | None) -> list[int]:
        """List the numbers of the memories after `last` that meet the filters, rising."""
        parts = self._parts
        parts.check_open()
        scope_id = parts.scopes.get(scope)
        if scope_id is None:
            return []
        if filters:
            with parts.errors():
                view = parts.views.get(scope_id)
            mask = self.filter_mask(view, filters, from_micros(parts.expiry.now()))
            met = view.nums[view.alive if mask is None else view.alive & mask]
            return [int(num) for num in met[np.searchsorted(met, last, side="right") :][:limit].tolist()]
        ended = parts.expiry.ended(scope_id)
        m = schema.memories.c
        query = select(m.num).where(m.scope_id == scope_id, m.num > last).order_by(m.num)
        if ended:
            query = query.where(stays(ended))
        with parts.errors(), parts.engine.connect() as connection:
            return list(connection.execute(query.limit(limit) if limit is not None else query).scalars())

    def counts(self) -> dict[Scope, dict[MemoryType, int]]:
        parts, m = self._parts, schema.memories.c
        query = select(m.scope_id, m.type, func.count()).group_by(m.scope_id, m.type).order_by(m.scope_id, m.type)
        if not parts.expiry.none:
            query = query.where(stays(parts.expiry.now()))
        with parts.errors(), parts.engine.connect() as connection:
            counted = connection.execute(query).all()
        found: dict[int, dict[MemoryType, int]] = {}
        for scope_id, kind, count in counted:
            found.setdefault(scope_id, {})[MemoryType(kind)] = int(count)
        return {
            scope: {kind: found[scope_id][kind] for kind in MemoryType if kind in found[scope_id]}
            for scope, scope_id in sorted(parts.scopes.items(), key=lambda item: item[1])
            if scope_id in found
        }

    def _in_order(self, scope: Scope, nums: Sequence[int]) -> Iterator[Memory]:
        parts = self._parts
        scope_id = parts.scopes.get(scope)
        if scope_id is None:
            return
        with parts.errors():
            read = by_num(parts.engine, scope_id, nums, parts.damage)
        yield from (read[num] for num in nums if num in read)


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
