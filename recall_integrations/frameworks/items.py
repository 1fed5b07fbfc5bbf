"""LangGraph's items as memories, and back; their comparisons; and the catalogue of their keys.

value     the memory's metadata, key by key, so that filters reach it
text      the value in lines (`described`), or the text of the fields that are indexed
channel   the namespace
metadata["langgraph"]    namespace, key and other data for which a memory has no field

Values are compared with filters, and namespaces with conditions, as `InMemoryStore` does. One thing differs: a value
that is missing or no number does not meet `$gt`, `$gte`, `$lt` and `$lte`, where `InMemoryStore` raises, and the whole
search with it.

The catalogue holds the keys in the order in which LangGraph's stores list them; values stay on disk. It is read from
the database once, some 150 bytes for an item, and then follows the writes that go through it. Other writes to the scope
are noticed by the scope's version, after which it is read anew.
"""

from __future__ import annotations

import hashlib
import json
import operator
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Text, select, type_coerce

from recall_integrations.database import schema
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

OWN = "langgraph"  # key of the metadata
NOT_INDEXED = "langgraph: not indexed"  # channel of what no query may find
NO_TEXT = "-"
_LONG = 1_000  # characters; an id may have a few more

Namespace = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An item as it is kept."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime  # of the key: stays when its value is replaced
    updated_at: datetime  # of this value
    born: int  # microseconds of the first item of the namespace: its place among all namespaces
    ttl: float | None = None  # minutes from when it was last put or read; `None` = for ever
    expires_at: datetime | None = None


def memory_id(namespace: Namespace, key: str) -> str:
    """Return the id of an item's memory, for any labels and keys."""
    return _short(_place(namespace, key))


def _place(namespace: Namespace, key: str) -> str:
    """Write labels and key as text; JSON escapes characters that cannot be stored, such as half of a UTF-16 pair."""
    return json.dumps([*namespace, key], separators=(",", ":"))


def place_of(own: Mapping[str, Any]) -> tuple[Namespace, str]:
    """Return namespace and key of an item, from the metadata under `OWN`."""
    *labels, key = json.loads(own["place"])
    return tuple(labels), key


def channel_of(namespace: Namespace) -> str:
    """Return the channel of a namespace's memories."""
    return _short(json.dumps(list(namespace), separators=(",", ":")))


def _short(text: str) -> str:
    text = text.replace("\x7f", "\\u007f")  # the one control character that JSON leaves as it is
    return text if len(text) <= _LONG else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def memory_of(item: Kept, text: str | None) -> Memory:
    """Return the memory of an item; without a text, no query finds it."""
    own: dict[str, Any] = {
        "place": _place(item.namespace, item.key),
        "updated_at": item.updated_at.isoformat(),
        "born": item.born,
    }
    if item.ttl is not None:
        own["ttl"] = item.ttl
    if OWN in item.value:  # a key of the user's with our name: the whole value goes under ours too
        own["value"] = item.value
    try:
        memory = Memory(
            text or NO_TEXT,
            id=memory_id(item.namespace, item.key),
            channel=NOT_INDEXED if text is None else channel_of(item.namespace),
            created_at=item.created_at,
            metadata={**item.value, OWN: own},
            expires_at=item.expires_at,
        )
        for key in _keys(item.value):
            if not isinstance(key, str):  # JSON would silently turn a key 1 into "1"
                raise InvalidMemory(f"A key of its value is {key!r}, which is not text. Use text as keys.")
    except InvalidMemory as e:
        raise InvalidMemory(f"The item {item.key!r} of {item.namespace!r}: {e}") from e
    return memory


def _keys(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _keys(part)


def kept_of(memory: Memory) -> Kept | None:
    """Return the item of a memory, or `None` for a memory that is no item."""
    metadata = dict(memory.metadata)
    own = metadata.pop(OWN, None)
    if not isinstance(own, Mapping) or memory.created_at is None:
        return None
    try:
        namespace, key = place_of(own)
        return Kept(
            namespace=namespace,
            key=key,
            value=own.get("value", metadata),
            created_at=memory.created_at,
            updated_at=datetime.fromisoformat(own["updated_at"]),
            born=own["born"],
            ttl=own.get("ttl"),
            expires_at=memory.expires_at,
        )
    except (KeyError, TypeError, ValueError):  # another's metadata under our key
        return None


def described(value: Mapping[str, Any]) -> str:
    """Write a value in readable lines: `theme: dark`. The lines of a value with a single key leave the key out."""
    parts = list(_leaves(value, ()))
    if len(value) == 1:
        return "\n".join(text for _, text in parts)
    return "\n".join(f"{'.'.join(path)}: {text}" for path, text in parts)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the texts of a value with the keys that lead there; a list of plain values is one line."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, (*path, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        plain = [text for part in value if not _nested(part) and (text := _plain(part))]
        if plain:
            yield path, ", ".join(plain)
        for part in value:
            if _nested(part):
                yield from _leaves(part, path)
    elif text := _plain(value):
        yield path, text


def _nested(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, Sequence) and not isinstance(value, str))


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value) if isinstance(value, bool | int | float) else str(value)


_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_EXACT_MAX = 2**53  # whole numbers that a float holds exactly


def meets(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Say whether a value meets a filter."""
    return all(_same(value.get(key), wanted) for key, wanted in (conditions or {}).items())


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if _operates(wanted):
            return all(_applies(found, name, operand) for name, operand in wanted.items())
        return isinstance(found, Mapping) and all(_same(found.get(key), part) for key, part in wanted.items())
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(_same(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)


def _applies(found: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return bool(found == operand)
    if name == "$ne":
        return bool(found != operand)
    if name not in _ORDERED:
        raise ValueError(f"Unsupported operator: {name}")
    try:
        return _ORDERED[name](float(found), float(operand))
    except (TypeError, ValueError):
        return False


def narrowing(conditions: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a condition of `Filters.metadata` that every value which meets a filter meets, and few others.

    It is not exact: for LangGraph, 1 is equal to `True`, "3" is above 2, and a missing key is equal to `None`.
    """
    parts = [
        part
        for key, wanted in (conditions or {}).items()
        if isinstance(key, str) and key.isidentifier() and key != OWN  # under that name the item's place is kept
        for name, operand in (wanted.items() if _operates(wanted) else [("$eq", wanted)])
        if (part := _narrowed(key, name, operand)) is not None
    ]
    return {"$and": parts} if parts else {}


def _operates(wanted: Any) -> bool:
    return isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted)


def _narrowed(key: str, name: str, operand: Any) -> dict[str, Any] | None:
    number = isinstance(operand, int | float) and abs(operand) <= _EXACT_MAX
    if name in _ORDERED and number:
        numbers = {"$or": [{key: {"$gte": 0}}, {key: {"$lt": 0}}]}
        others = {"$and": [{key: {"$exists": True}}, {"$not": numbers}]}  # texts of numbers, and booleans
        return {"$or": [{key: {name: float(operand)}}, others]}
    if name == "$eq" and number and operand in (0, 1):
        return {"$or": [{key: int(operand)}, {key: bool(operand)}]}
    if name in ("$eq", "$ne") and (number or isinstance(operand, str)):
        return {key: {name: operand}}
    return None


def check_operators(conditions: Mapping[str, Any] | None) -> None:
    """Check the operators of a filter before the search."""
    if conditions is not None and not isinstance(conditions, Mapping):
        raise InvalidArgument(f"filter must be a mapping such as {{'kind': 'fact'}}, not {type(conditions).__name__}.")
    for wanted in (conditions or {}).values():
        if isinstance(wanted, Mapping):
            if _operates(wanted):
                for name in wanted:
                    _applies(None, name, None)
            else:
                check_operators(wanted)


def matches(kind: str, path: Sequence[str], namespace: Sequence[str]) -> bool:
    """Say whether a namespace begins (`prefix`) or ends (`suffix`) with a path, in which `*` stands for any label."""
    if len(namespace) < len(path):  # before the kind is looked at, as LangGraph's own store does
        return False
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {kind}")
    labels = namespace[: len(path)] if kind == "prefix" else namespace[len(namespace) - len(path) :]
    return all(part in ("*", label) for part, label in zip(path, labels, strict=True))


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
        self.last = 0  # the latest time of creation: that of the next item is later, so that it says the order
        self._version: int | None = None

    def follow(self, store: MemoryStore, scope: Scope) -> None:
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
        return [namespace for namespace in list(self.keys) if namespace[: len(prefix)] == prefix]

    def living(self, prefix: Namespace, now: datetime) -> Iterator[tuple[Namespace, str, Entry]]:
        """Yield the items under a prefix, in order, without expired ones. Other threads may write meanwhile."""
        moment = to_micros(now)
        for namespace in self.under(prefix):
            for key, entry in list(self.keys.get(namespace, {}).items()):
                if entry.expires is None or entry.expires > moment:
                    yield namespace, key, entry

    def put(self, item: Kept, indexed: bool) -> None:
        """Note an item; a known key keeps its place, unless it had expired before it was put again."""
        created = to_micros(item.created_at)
        known = self.keys.get(item.namespace, {}).get(item.key)
        if known is not None and known.created != created:
            del self.keys[item.namespace][item.key]
        expires = None if item.expires_at is None else to_micros(item.expires_at)
        self.keys.setdefault(item.namespace, {})[item.key] = Entry(created, expires, indexed)
        self.born[item.namespace] = item.born
        self.last = max(self.last, created)

    def remove(self, namespace: Namespace, key: str) -> None:
        """Note that an item is gone, and its namespace with the last one."""
        self.keys.get(namespace, {}).pop(key, None)
        if not self.keys.get(namespace, True):
            del self.keys[namespace], self.born[namespace]

    def _read(self, store: MemoryStore, scope: Scope) -> None:
        """Read the catalogue anew, and replace the keys at once: others may be reading them."""
        found = sorted(_items(store, scope), key=lambda row: row[:2])
        keys: dict[Namespace, dict[str, Entry]] = {}
        for _, _, namespace, key, entry in found:
            keys.setdefault(namespace, {})[key] = entry
        self.born = {namespace: born for born, _, namespace, _, _ in found}
        self.last = max((created for _, created, *_ in found), default=0)
        self.keys = keys


Row = tuple[int, int, Namespace, str, Entry]  # born, created, namespace, key


def _items(store: MemoryStore, scope: Scope) -> list[Row]:
    """List all items in the order of their writes; memories that are no items, or damaged, are left out."""
    scope_id = store.scope_id(scope)
    if scope_id is None:
        return []
    m = schema.memories.c
    query = select(m.id, m.created_at, m.expires_at, m.channel, type_coerce(m.metadata, Text))
    query = query.where(m.scope_id == scope_id, m.channel.is_not(None)).order_by(m.num)
    found: list[Row] = []
    with store.reading(), store.engine.connect() as connection:
        for known_as, created, expires, channel, metadata in connection.execute(query):
            if type(created) is not int or type(expires) not in (int, type(None)):
                continue  # damaged, which reading it names
            with suppress(KeyError, TypeError, ValueError):
                own = json.loads(metadata)[OWN]
                namespace, key = place_of(own)
                if known_as == memory_id(namespace, key):
                    entry = Entry(created, expires, channel != NOT_INDEXED)
                    found.append((int(own["born"]), created, namespace, key, entry))
    return found


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
