"""LangGraph's items as memories, and back.

value     the memory's metadata, key by key, so that filters reach it
text      the value in lines (`described`), or the text of the fields that are indexed
channel   the namespace
metadata["langgraph"]    namespace, key and other data for which a memory has no field
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from recall_integrations.errors import InvalidMemory
from recall_integrations.types import Memory

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
        _check_keys(item.value)
        return Memory(
            text or NO_TEXT,
            id=memory_id(item.namespace, item.key),
            channel=NOT_INDEXED if text is None else channel_of(item.namespace),
            created_at=item.created_at,
            metadata={**item.value, OWN: own},
            expires_at=item.expires_at,
        )
    except InvalidMemory as e:
        raise InvalidMemory(f"The item {item.key!r} of {item.namespace!r}: {e}") from e


def _check_keys(value: Any) -> None:
    """Refuse keys that are not text: JSON would silently turn a key 1 into "1"."""
    inner: list[Any] = [value]
    seen = 0
    while inner and seen < 1_000_000:  # a loop: `Memory` says so
        seen += 1
        part = inner.pop()
        if isinstance(part, Mapping):
            wrong = [key for key in part if not isinstance(key, str)]
            if wrong:
                raise InvalidMemory(f"A key of its value is {wrong[0]!r}, which is not text. Use text as keys.")
            inner.extend(part.values())
        elif isinstance(part, list | tuple):
            inner.extend(part)


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
