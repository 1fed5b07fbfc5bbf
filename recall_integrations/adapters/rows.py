"""One line of a JSON Lines file as a memory, or what is wrong with it."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from recall_integrations.errors import InvalidMemory
from recall_integrations.types import Memory, Relation, Scope

SCOPE_KEYS = ("user_id", "agent_id", "namespace")
MEMORY_KEYS = tuple(Memory.__dataclass_fields__)
TIME_KEYS = ("event_at", "created_at")
RELATION_KEYS = ("subject", "predicate", "object", "confidence")


def parse_line(raw: bytes) -> dict[str, Any]:
    """The JSON object on a line.

    Raises:
        InvalidMemory: not UTF-8, not JSON, not an object, or a key that comes twice.
    """
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
    """The memory and its scope. Keys are the fields of `Memory`, and the parts of a scope; `null` = left out.

    Args:
        row: the JSON object.
        default: parts of the scope that the row does not give.

    Raises:
        InvalidMemory: an unknown key, or a value that cannot be used; the message names the field.
        InvalidScope: a part of the scope that cannot be used.
    """
    given = {key: value for key, value in row.items() if value is not None}
    for key in given:
        if key not in MEMORY_KEYS and key not in SCOPE_KEYS:
            near = difflib.get_close_matches(key, (*MEMORY_KEYS, *SCOPE_KEYS), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InvalidMemory(f"unknown key {key!r}.{hint} Put other data into 'metadata'")
    scope = Scope(**{key: given.pop(key, getattr(default, key)) for key in SCOPE_KEYS})
    if "text" not in given:
        raise InvalidMemory("the key 'text' is missing")
    for key in TIME_KEYS:
        if key in given:
            given[key] = _time(given[key], key)
    if "relations" in given:
        given["relations"] = _relations(given["relations"])
    return scope, Memory(given.pop("text"), **given)


def stable_id(row: Mapping[str, Any], scope: Scope, occurrence: int) -> str:
    """An id for a row without one: a digest of scope and content, and its number (from 1) among equal rows."""
    content = json.dumps([scope.user_id, scope.agent_id, scope.namespace, row], sort_keys=True)
    digest = hashlib.blake2b(content.encode(), digest_size=12).hexdigest()
    return f"row-{digest}" if occurrence == 1 else f"row-{digest}-{occurrence}"


def _time(value: object, key: str) -> datetime:
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip().replace("Z", "+00:00").replace("z", "+00:00"))
        except ValueError:
            pass
        else:
            if moment.tzinfo is not None:
                return moment
            raise InvalidMemory(
                f"{key!r} has no offset ({value!r}). Write, for example, {value.strip()[:10]}T12:00:00+00:00"
            )
    raise InvalidMemory(f"{key!r} must be an ISO 8601 time such as 2026-03-01T12:00:00+00:00, not {str(value)[:60]!r}")


def _relations(value: object) -> tuple[Relation, ...]:
    if not isinstance(value, list):
        raise InvalidMemory(f"'relations' must be a list, not {_kind(value)}")
    return tuple(_relation(item) for item in value)


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
