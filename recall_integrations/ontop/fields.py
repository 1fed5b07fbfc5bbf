"""The keys of a user's metadata that hold actor, role, time, thread, and position in the thread.

They are guessed by name and checked against their values, or given. Names are compared without case, `_` and `-`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from recall_integrations.adapters.sources import Row
from recall_integrations.errors import InvalidArgument
from recall_integrations.types.messages import moment
from recall_integrations.types.roles import role_of

ACTOR, ROLE, WHEN, THREAD, POSITION = FIELDS = ("actor", "role", "event_at", "thread", "position")
DOCUMENT = "ref_doc_id"  # the document of a LlamaIndex node, which is no key of its metadata
Fields = Mapping[str, str | None]

NAMES: Mapping[str, tuple[str, ...]] = {
    ACTOR: ("actor", "speaker", "author", "sender", "said_by", "user_name", "username", "from", "user", "role"),
    ROLE: ("role", "message_role", "sender_type"),
    WHEN: (
        *"event_at event_time event_date timestamp datetime date_time date sent_at time ts".split(),
        *("created_at", "created", "creation_date", "published_at", "published", "publication_date", "date_published"),
        *("updated_at", "last_modified", "last_modified_date", "modified"),
    ),
    THREAD: (
        *("thread", "thread_id", "session_id", "session", "conversation_id", "conversation", "chat_id", "dialog_id"),
        *("ref_doc_id", "document_id", "doc_id", "parent_id", "file_path", "file_name", "filename", "source", "url"),
    ),
    POSITION: (
        *("position", "turn", "turn_index", "turn_id", "message_index", "seq", "sequence", "order", "index", "idx"),
        *("chunk_index", "chunk", "chunk_id", "start_index", "page", "page_number"),
    ),
}
_PLACES = frozenset({"filepath", "filename", "source", "url"})  # of documents, and of kinds of documents, too
_PLACE = re.compile(r"[/\\]|\.\w{1,8}$")
_MOST = 0.9  # of the values that are there have to fit
_OFTEN = 0.5  # of the documents have to have one
_ACTOR_CHARS = 64
_ID = re.compile(r"[0-9a-fA-F-]{16,}|\d+")
_SHORT = 1_024


def zone_of(name: str) -> tzinfo:
    """Return the time zone of times without one."""
    return timezone.utc if name == "UTC" else ZoneInfo(name)


def guessed(rows: Sequence[Row], zone: tzinfo) -> dict[str, str | None]:
    """Guess the key of each field; `None` where no key fits."""
    found: dict[str, str | None] = dict.fromkeys(FIELDS)
    keys = list(dict.fromkeys(key for row in rows for key in row.metadata))
    for name in FIELDS:
        for key in _named(name, keys):
            if name == ROLE and key == found[ACTOR]:
                continue  # a name that is a role says it by itself
            if name == THREAD and _flat(key) in _PLACES and _documented(rows):
                continue
            if _fits(name, key, rows, found, zone):
                found[name] = key
                break
    if found[THREAD] is None and _documented(rows):
        found[THREAD] = DOCUMENT
    if found[POSITION] is not None and found[THREAD] is None:
        found[POSITION] = None
    return found


def said(given: object, rows: Sequence[Row], zone: tzinfo) -> dict[str, str | None]:
    """Return the keys that were given for fields, and guess the rest."""
    told = checked(given)
    found = {**guessed(rows, zone), **told}
    for name, key in told.items():
        if key is None or not rows:
            continue
        if key == DOCUMENT and name == THREAD and _documented(rows):
            continue
        values = [row.metadata[key] for row in rows if row.metadata.get(key) is not None]
        if not values:
            keys = sorted({key for row in rows for key in row.metadata})
            raise InvalidArgument(f"fields says that {name} is {key!r}, which no document has.{_hint(key, keys)}")
        if not any(READS[name](value, zone) is not None for value in values):
            wanted = {WHEN: "a time", POSITION: "a whole number", ROLE: "a role"}.get(name, "a short text")
            raise InvalidArgument(
                f"fields says that {name} is {key!r}, but what stands there is not {wanted}: {str(values[0])[:60]!r}. "
                f"Name another key, or leave it out with {name!r}: None."
            )
    return found


def checked(given: object) -> dict[str, str | None]:
    """Check the keys that were given for fields, as far as possible without documents."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"fields must be a mapping such as {{'actor': 'speaker'}}, not {type(given).__name__}.")
    for name, key in given.items():
        if name not in FIELDS:
            raise InvalidArgument(f"fields has no {name!r}.{_hint(str(name), FIELDS)}")
        if key is not None and not isinstance(key, str):
            raise InvalidArgument(f"fields[{name!r}] must be a key of the metadata or None, not {type(key).__name__}.")
    return dict(given)


def _hint(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    there = f" There are: {', '.join(known[:20])}." if known else " Their metadata is empty."
    return f" Did you mean {near[0]!r}?{there}" if near else there


def _flat(key: str) -> str:
    return re.sub(r"[\W_]+", "", str(key)).lower()


def _named(name: str, keys: Sequence[str]) -> list[str]:
    known = [_flat(key) for key in NAMES[name]]
    return sorted((key for key in keys if _flat(key) in known), key=lambda key: known.index(_flat(key)))


def _documented(rows: Sequence[Row]) -> bool:
    return any(row.document is not None for row in rows)


def _fits(name: str, key: str, rows: Sequence[Row], found: Fields, zone: tzinfo) -> bool:
    having = [row for row in rows if row.metadata.get(key) not in (None, "")]
    read = [READS[name](row.metadata[key], zone) for row in having]
    values = [value for value in read if value is not None]
    if len(having) < _OFTEN * len(rows) or not values or len(values) < _MOST * len(having):
        return False
    different = len(set(values))
    if name == ACTOR:
        wide = len(values) >= 4 and different > 0.5 * len(values)
        return not wide and (different > 1 or _flat(key) in ("actor", "speaker", "author", "sender"))
    if name == THREAD:
        if _flat(key) in _PLACES and sum(bool(_PLACE.search(str(v))) for v in values) < _MOST * len(values):
            return False
        return different < len(values) or len(values) == 1
    if name == POSITION:
        thread = found[THREAD]
        places = {(_thread_of(row, thread), READS[name](row.metadata[key], zone)) for row in having}
        return len(places) >= _MOST * len(having)
    return True


def _thread_of(row: Row, key: str | None) -> Any:
    return None if key is None else str(row.document if key == DOCUMENT else row.metadata.get(key))


def _name(value: Any, _zone: tzinfo) -> str | None:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > _ACTOR_CHARS or not text.isprintable() or _ID.fullmatch(text):
        return None
    return text


def _role(value: Any, _zone: tzinfo) -> str | None:
    role = role_of(value) if isinstance(value, str) else None
    return None if role is None else role.value


def _conversation(value: Any, _zone: tzinfo) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return text if text and len(text) <= _SHORT and text.isprintable() else None


def _place(value: Any, _zone: tzinfo) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\d{1,12}", value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


READS: Mapping[str, Callable[[Any, tzinfo], Any]] = {
    ACTOR: _name, ROLE: _role, WHEN: moment, THREAD: _conversation, POSITION: _place
}  # fmt: skip


def read(row: Row, fields: Fields, zone: tzinfo) -> dict[str, Any]:
    """Read the fields of a memory from a document; values that cannot be read are left out."""
    found: dict[str, Any] = {}
    for name, key in fields.items():
        if key is None:
            continue
        value = row.document if key == DOCUMENT and key not in row.metadata else row.metadata.get(key)
        if value is not None and (known := READS[name](value, zone)) is not None:
            found[name] = known
    return found
