"""One line of a JSON Lines file as a memory, or the error in it."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recall_integrations.errors import InvalidMemory
from recall_integrations.types import Memory, Relation, Scope
from recall_integrations.types.messages import iso

SCOPE_KEYS = ("user_id", "agent_id", "namespace")
MEMORY_KEYS = tuple(Memory.__dataclass_fields__)
TIME_KEYS = ("event_at", "created_at", "expires_at")
MEANT = {  # what others call our keys
    **dict.fromkeys(("content", "page_content", "message", "body", "memory", "value", "document", "data"), "text"),
    **dict.fromkeys(("speaker", "author", "sender", "from", "who", "name", "by"), "actor"),
    **dict.fromkeys(("timestamp", "date", "time", "datetime", "when", "occurred_at", "sent_at", "ts"), "event_at"),
    **dict.fromkeys(("nachricht", "inhalt", "texto", "mensaje", "contenido", "texte", "contenu"), "text"),
    **dict.fromkeys(("datum", "zeitpunkt", "fecha", "horodatage"), "event_at"),
    **dict.fromkeys(("autor", "absender", "remitente", "auteur", "expéditeur"), "actor"),
    **dict.fromkeys(("created", "inserted_at", "recorded_at"), "created_at"),
    **dict.fromkeys(("expires", "expiry", "ttl", "expire_at", "valid_until"), "expires_at"),
    **dict.fromkeys(("session", "session_id", "thread_id", "conversation", "conversation_id", "chat_id"), "thread"),
    **dict.fromkeys(("kind", "category", "memory_type"), "type"),
    **dict.fromkeys(("user", "userId", "owner"), "user_id"),
    **dict.fromkeys(("agent", "agentId"), "agent_id"),
    **dict.fromkeys(("uuid", "key", "memory_id", "doc_id", "_id"), "id"),
    **dict.fromkeys(("meta", "extra", "properties", "attributes", "tags"), "metadata"),
    **dict.fromkeys(("index", "order", "turn"), "position"),
    **dict.fromkeys(("source", "sources", "references"), "refs"),
}
RELATION_KEYS = ("subject", "predicate", "object", "confidence")


def parse_line(raw: bytes) -> dict[str, Any]:
    """Return the JSON object on a line."""
    try:
        row = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique)
    except UnicodeDecodeError as e:
        raise InvalidMemory(f"not UTF-8 text ({e.reason} at byte {e.start})") from e
    except InvalidMemory:
        raise
    except (ValueError, RecursionError) as e:
        raise InvalidMemory(f"not JSON ({e})") from e
    if not isinstance(row, dict):
        raise InvalidMemory(f"must be a JSON object, not {_kind(row)}")
    return row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise InvalidMemory(f"the key {twice!r} comes twice")
    return row


def memory_of(row: Mapping[str, Any], default: Scope) -> tuple[Scope, Memory]:
    """Return the scope and the memory of a row. Keys are fields of `Memory` and parts of a scope; `null` = left out."""
    given = {key: value for key, value in row.items() if value is not None}
    for key in given:
        if key not in MEMORY_KEYS and key not in SCOPE_KEYS:
            known = MEANT.get(key) or MEANT.get(key.lower())
            near = [known] if known else difflib.get_close_matches(key, (*MEMORY_KEYS, *SCOPE_KEYS), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidMemory(f"unknown key {key!r}.{hint} Put other data into 'metadata'")
    scope = Scope(**{key: given.pop(key, getattr(default, key)) for key in SCOPE_KEYS})
    if "text" not in given:
        raise InvalidMemory("the key 'text' is missing")
    for key in TIME_KEYS:
        if key in given:
            given[key] = _read_time(given[key], key)
    if "relations" in given:
        if not isinstance(given["relations"], list):
            raise InvalidMemory(f"'relations' must be a list, not {_kind(given['relations'])}")
        given["relations"] = tuple(map(_relation, given["relations"]))
    return scope, Memory(given.pop("text"), **given)


def memory_data(memory: Memory) -> dict[str, Any]:
    """Return a memory with the keys that `memory_of` reads."""
    return {
        "id": memory.id,
        "text": memory.text,
        "type": memory.type.value,
        "actor": memory.actor,
        "role": None if memory.role is None else memory.role.value,
        "channel": memory.channel,
        "event_at": _time(memory.event_at),
        "created_at": _time(memory.created_at),
        "expires_at": _time(memory.expires_at),
        "importance": memory.importance,
        "entities": list(memory.entities),
        "relations": [[r.subject, r.predicate, r.object, r.confidence] for r in memory.relations],
        "thread": memory.thread,
        "position": memory.position,
        "refs": list(memory.refs),
        "metadata": dict(memory.metadata),
    }


def row_of(memory: Memory) -> dict[str, Any]:
    """Return a memory with the keys that `memory_of` reads, without empty ones."""
    return {key: value for key, value in memory_data(memory).items() if value is not None and value not in ([], {})}


def stable_id(row: Mapping[str, Any], scope: Scope, occurrence: int) -> str:
    """Return an id for a row without one: a digest of scope and content, with its number (from 1) among equal rows."""
    content = json.dumps([scope.user_id, scope.agent_id, scope.namespace, row], sort_keys=True)
    digest = hashlib.blake2b(content.encode(), digest_size=12).hexdigest()
    return f"row-{digest}" if occurrence == 1 else f"row-{digest}-{occurrence}"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _read_time(value: object, key: str) -> datetime:
    moment = iso(value) if isinstance(value, str) else None
    if moment is not None and moment.tzinfo is not None:
        return moment
    if moment is not None:
        raise InvalidMemory(
            f"{key!r} has no offset ({value!r}). Write, for example, {str(value).strip()[:10]}T12:00:00+00:00"
        )
    raise InvalidMemory(f"{key!r} must be an ISO 8601 time such as 2026-03-01T12:00:00+00:00, not {str(value)[:60]!r}")


def _relation(item: object) -> Relation:
    if isinstance(item, Mapping) and set(RELATION_KEYS[:3]) <= set(item) <= set(RELATION_KEYS):
        return Relation(**item)
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) in (3, 4):
        return Relation(*item)
    raise InvalidMemory(
        "an item of 'relations' must be [subject, predicate, object], with a confidence as fourth item if you like, "
        f"or an object with these keys; not {json.dumps(item)[:80]}"
    )


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
