"""The keys of a store of items, in the order in which LangGraph's stores list them; values stay on disk.

It is read from the database once, some 150 bytes for an item, and then follows the writes that go through it. Other
writes to the scope are noticed by the scope's version, after which it is read anew. The catalogues of a `MemoryStore`
are shared by all who ask for the same scope of it.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Text, select, type_coerce

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts
from recall_integrations.frameworks.items import NOT_INDEXED, OWN, Kept, Namespace, channel_of, place_of
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope


class Entry(NamedTuple):
    """The data of an item in memory: its times, in microseconds, and whether a query may find it."""

    created: int
    expires: int | None
    indexed: bool


class Catalogue:
    """Keys by namespace. Hold `lock` around several calls that belong together."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.keys: dict[Namespace, dict[str, Entry]] = {}
        self.born: dict[Namespace, int] = {}
        self.channels: dict[Namespace, str] = {}
        self.last = 0  # the latest time of creation: that of the next item is later, so that it says the order
        self._version: int | None = None

    def follow(self, store: MemoryStore, scope: Scope) -> None:
        """Bring the catalogue up to date."""
        version = version_of(store, scope)
        if version != self._version:
            self._read(store, scope)
            self._version = version

    def settle(self, store: MemoryStore, scope: Scope, before: int, writes: int) -> None:
        """Take over the version after `writes` own transactions noted here; `before`: the version before them."""
        after = version_of(store, scope)
        self._version = after if self._version == before and after == before + writes else None

    def doubt(self) -> None:
        """Mark the catalogue as stale: it is read anew at the next `follow`."""
        self._version = None

    def under(self, prefix: Namespace) -> list[Namespace]:
        """Return the namespaces that begin with a prefix, in order."""
        return [namespace for namespace in list(self.keys) if namespace[: len(prefix)] == prefix]

    def living(self, prefix: Namespace, now: datetime) -> Iterator[tuple[Namespace, str, Entry]]:
        """Yield the items under a prefix, in order, without expired ones. Other threads may write meanwhile."""
        moment = to_micros(now)
        for namespace in self.under(prefix):
            for key, entry in list(self.keys.get(namespace, {}).items()):
                if entry.expires is None or entry.expires > moment:
                    yield namespace, key, entry

    def namespaces(self, now: datetime) -> list[Namespace]:
        """Return the namespaces that hold an item, in order."""
        moment = to_micros(now)
        return [
            namespace
            for namespace in list(self.keys)
            if any(e.expires is None or e.expires > moment for e in list(self.keys.get(namespace, {}).values()))
        ]

    def put(self, item: Kept, indexed: bool) -> None:
        """Note an item; a known key keeps its place, unless it had expired before it was put again."""
        created = to_micros(item.created_at)
        known = self.keys.get(item.namespace, {}).get(item.key)
        if known is not None and known.created != created:
            self.remove(item.namespace, item.key)
        expires = None if item.expires_at is None else to_micros(item.expires_at)
        self.keys.setdefault(item.namespace, {})[item.key] = Entry(created, expires, indexed)
        self.born[item.namespace] = item.born
        self.channels[item.namespace] = channel_of(item.namespace)
        self.last = max(self.last, created)

    def remove(self, namespace: Namespace, key: str) -> None:
        """Note that an item is gone; a namespace stays until `prune`."""
        self.keys.get(namespace, {}).pop(key, None)

    def prune(self, namespaces: set[Namespace]) -> None:
        """Drop the namespaces that are empty."""
        for namespace in namespaces:
            if not self.keys.get(namespace, True):
                del self.keys[namespace], self.born[namespace], self.channels[namespace]

    def _read(self, store: MemoryStore, scope: Scope) -> None:
        """Read the catalogue anew, and replace the keys at once: others may be reading them."""
        found = sorted(_items(store, scope), key=lambda row: row[:2])
        keys: dict[Namespace, dict[str, Entry]] = {}
        for _, _, namespace, key, entry in found:
            keys.setdefault(namespace, {})[key] = entry
        self.born = {namespace: born for born, _, namespace, _, _ in found}
        self.channels = {namespace: channel_of(namespace) for namespace in keys}
        self.last = max((created for _, created, *_ in found), default=0)
        self.keys = keys


Row = tuple[int, int, Namespace, str, Entry]  # born, created, namespace, key


def _items(store: MemoryStore, scope: Scope) -> list[Row]:
    """List all items. Metadata, which hold the values, are read for one item of each namespace only."""
    scope_id = store.scope_id(scope)
    if scope_id is None:
        return []
    m = schema.memories
    query = select(m.c.id, m.c.created_at, m.c.expires_at, m.c.channel)
    query = query.where(m.c.scope_id == scope_id, m.c.channel.is_not(None)).order_by(m.c.num)
    with store.reading(), store.engine.connect() as connection:
        rows = connection.execute(query).all()
        hashed = [row[0] for row in rows if not row[0].startswith("[")]
        places = {memory_id: place for memory_id, _, place in _told(connection, scope_id, hashed)}
        channels: dict[Namespace, str] = {}
        first: dict[Namespace, str] = {}
        found: list[tuple[int, Namespace, str, Entry]] = []
        for memory_id, created, expires, channel in rows:
            if type(created) is not int or type(expires) not in (int, type(None)):
                continue  # damaged, which reading it names
            place = places.get(memory_id) or _place(memory_id)
            if place is None:
                continue
            namespace, key = place
            known = channels.get(namespace)
            if known is None:
                known = channels[namespace] = channel_of(namespace)
            if channel not in (known, NOT_INDEXED):
                continue  # a memory of somebody else's whose id looks like ours
            first.setdefault(namespace, memory_id)
            found.append((created, namespace, key, Entry(created, expires, channel != NOT_INDEXED)))
        told = {namespace: born for _, born, (namespace, _) in _told(connection, scope_id, list(first.values()))}
    return [(told[ns], created, ns, key, entry) for created, ns, key, entry in found if ns in told]


def _place(memory_id: str) -> tuple[Namespace, str] | None:
    """Return namespace and key from an id; `None` where it is no id of an item."""
    try:
        *labels, key = json.loads(memory_id)
    except (ValueError, TypeError):
        return None
    return (tuple(labels), key) if isinstance(key, str) and all(isinstance(label, str) for label in labels) else None


def _told(
    connection: Connection, scope_id: int, ids: Sequence[str]
) -> Iterator[tuple[str, int, tuple[Namespace, str]]]:
    """Yield id, birth of the namespace, and place from metadata; skip memories that are no items, or damaged."""
    m = schema.memories
    for part in in_parts(ids):
        query = select(m.c.id, type_coerce(m.c.metadata, Text)).where(m.c.scope_id == scope_id, m.c.id.in_(part))
        for memory_id, metadata in connection.execute(query):
            with suppress(KeyError, TypeError, ValueError):
                own = json.loads(metadata)[OWN]
                yield memory_id, int(own["born"]), place_of(own)


_CATALOGUES: weakref.WeakKeyDictionary[MemoryStore, dict[Scope, Catalogue]] = weakref.WeakKeyDictionary()
_LOCK = threading.Lock()


def catalogue_of(store: MemoryStore, scope: Scope) -> Catalogue:
    """Return the catalogue of a scope, the same for all callers."""
    with _LOCK:
        return _CATALOGUES.setdefault(store, {}).setdefault(scope, Catalogue())


def version_of(store: MemoryStore, scope: Scope) -> int:
    """Return the version of a scope: every write raises it; 0 for a scope that was never written to."""
    scope_id = store.scope_id(scope)
    return 0 if scope_id is None else store.version(scope_id)


def later(now: datetime, last: int) -> datetime:
    """Return `now`, or else the first moment after `last`."""
    return max(now, from_micros(last + 1))
