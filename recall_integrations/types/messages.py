"""Chat messages as memories: LangChain's `BaseMessage`, LlamaIndex's `ChatMessage`, and the messages of OpenAI and
Anthropic, as mappings or objects. Their shape tells them, so that no framework is imported.

The fields of the memory:

- The role is its `role`, or LangChain's `type`; one that only holds results of tools (Anthropic) has the role `tool`.
- The actor is its `name`, or else the role's: "user", whichever word the framework has for it.
- Text blocks are joined by line feeds. A tool call is said in words: `called search(query="tea", limit=3)`.
- For parts without text (images, audio, files, thinking) the kinds are noted in the metadata, under `left_out`. A
  message of nothing else is an error: nobody could find it. `remember_many` leaves such messages of a chat out.
- The time is read from where frameworks put it: `timestamp`, `created_at`, `date` and the like
  (`WHEN`), of the message itself, of its metadata and of its additional arguments.
- Frameworks' bookkeeping (usage, finish reason, additional arguments) is not kept.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from recall_integrations.errors import InvalidMemory
from recall_integrations.types.roles import Role, role_of

# Keys under which other frameworks give the time of a message or document, the surest first.
WHEN = (
    *("event_at", "event_time", "occurred_at", "timestamp", "datetime", "date_time", "sent_at", "date", "time", "ts"),
    *("created_at", "created"),
)
YEAR_MIN = 2  # the first year that exists in every zone
UNREAD = (
    "What stands under {!r} is no time that can be read. It is kept in the metadata, and counts as no time: write ISO "
    "8601 (2026-03-01T12:00:00+00:00) or seconds since 1970, or give event_at."
)
_FORMATS = (
    "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y%m%d", "%d.%m.%Y", "%d.%m.%Y %H:%M",
    "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d %B, %Y", "%I:%M %p on %d %B, %Y",
)  # fmt: skip
# Seconds, milliseconds, microseconds and nanoseconds from 1980 to 2100: a number below counts something else.
_FIRST, _LAST = 315_532_800, 4_102_444_800
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
_DIGITS = re.compile(r"\d{9,19}(?:\.\d+)?")
_LONGEST = 64


def moment(value: Any, zone: tzinfo) -> datetime | None:
    """Read the time that a value gives, in `zone` where it names none; `None` where it is no time.

    It may be a `datetime`, a `date`, text ("2026-03-12T09:30:00Z", "Thu, 12 Mar 2026 09:30:00 +0000", "12 March 2026",
    …) or a number since 1970.
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=zone)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since(float(value))
    if not isinstance(value, str) or not 6 <= len(value.strip()) <= _LONGEST:
        return None
    text = value.strip()
    if _DIGITS.fullmatch(text):
        return _since(float(text))
    found = _written(text)
    return found if found is None or found.tzinfo is not None else found.replace(tzinfo=zone)


def iso(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Read a day or time in ISO 8601, in `zone` where it names none; `None` where the text is none."""
    try:
        found = datetime.fromisoformat(text.strip().replace("z", "Z"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def _since(number: float) -> datetime | None:
    for unit in _UNITS:
        if _FIRST <= number / unit < _LAST:
            return datetime.fromtimestamp(number / unit, tz=timezone.utc)
    return None


def _written(text: str) -> datetime | None:
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(text)
    for form in _FORMATS:
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, form)  # its zone is put in by the caller
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None


def told_by(*places: Any) -> tuple[datetime | None, dict[str, Any]]:
    """Return the time that messages, documents and nodes of other frameworks give, and the values that cannot be read:
    a warning tells of each once, and the caller keeps them.

    A time without a zone is in UTC. The first of `WHEN` that can be read counts, of the first place that has it.
    """
    unread: dict[str, Any] = {}
    for key in WHEN:
        for place in places:
            value = place.get(key) if isinstance(place, Mapping) else getattr(place, key, None)
            if value is None or value == "" or callable(value):
                continue
            found = moment(value, timezone.utc)
            if found is not None and found.year >= YEAR_MIN:
                return found, unread
            said = value if isinstance(value, str) else json.dumps(value, default=lambda one: type(one).__name__)
            unread.setdefault(key, said[:_LONGEST])
    for key in unread:
        warnings.warn(UNREAD.format(key), UserWarning, stacklevel=2)
    return None, unread


class ChatMessage(Protocol):
    """The part that all frameworks' messages have."""

    @property
    def content(self) -> Any: ...


Message = ChatMessage | Mapping[str, Any]

LEFT_OUT = "left_out"
_CONTENT = ("content", "blocks", "parts")
_CALLS = frozenset("tool_call tool_use server_tool_use mcp_tool_use function_call tool_call_chunk".split())
_RESULTS = frozenset("tool_result function_call_output".split())
_HOLDING = _RESULTS | {"citable", "citation", "search_result"}  # blocks that hold blocks
_ASIDE = ("metadata", "additional_kwargs", "response_metadata")  # places beside a message in which frameworks say more
_NESTED = ("content", "cited_content", "output")  # keys of blocks in a block
_DEPTH_MAX = 8


def is_message(item: object) -> bool:
    """Say whether an item has the shape of a chat message."""
    if isinstance(item, str | bytes):
        return False
    if isinstance(item, Mapping):
        return ("role" in item or "type" in item) and any(key in item for key in (*_CONTENT, "data", "tool_calls"))
    return _speaker(item) is not None and any(hasattr(item, key) for key in _CONTENT)


def fields_of(
    message: object, *, thread: str | None = None, position: int | None = None, **fields: Any
) -> dict[str, Any]:
    """Return the fields of the memory that a chat message makes; `fields` take precedence over what it says."""
    if not is_message(message):
        raise InvalidMemory(
            f"What was given is no chat message, but {type(message).__name__}. Give a LangChain or LlamaIndex message, "
            'or a mapping with "role" and "content".'
        )
    made = spoken(message, thread=thread, position=position, **fields)
    if made is None:
        message = _unpacked(message)
        left_out = _read(message)[1]
        held = f"only {', '.join(left_out)}" if left_out else "nothing"
        raise InvalidMemory(
            f"The {_speaker(message) or 'chat'} message has no text; it holds {held}. Leave it out, or remember a "
            "description of it."
        )
    return made


def spoken(
    message: object, *, thread: str | None = None, position: int | None = None, **fields: Any
) -> dict[str, Any] | None:
    """Return the fields as `fields_of`, of an item that `is_message`; `None` for a message without text."""
    message = _unpacked(message)
    text, left_out, results_only = _read(message)
    said = _speaker(message) or ""
    if not text:
        return None
    role = Role.TOOL if results_only else role_of(said)
    name, message_id = _get(message, "name"), _get(message, "id")
    made: dict[str, Any] = {
        "id": message_id if isinstance(message_id, str) and message_id else None,
        "actor": name if isinstance(name, str) and name.strip() else (role.value if role is not None else said),
        "role": role,
        "thread": thread,
        "position": position,
    }
    aside: dict[str, Any] = {}
    if fields.get("event_at") is None:
        made["event_at"], aside = told_by(message, *(_get(message, key) for key in _ASIDE))
        fields.pop("event_at", None)
    if left_out:
        aside[LEFT_OUT] = left_out
    if aside:
        fields = {**fields, "metadata": {**aside, **fields.get("metadata", {})}}
    return {"text": text, **made, **fields}


def _unpacked(message: Any) -> Any:
    """Unpack a message of LangChain's `messages_to_dict`, which has it one level down."""
    if isinstance(message, Mapping) and isinstance(message.get("data"), Mapping) and "content" not in message:
        return {**message["data"], "type": message.get("type")}
    return message


def _get(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def _speaker(message: object) -> str | None:
    """Return the speaker that the message names: its role, or the type that LangChain gives instead."""
    for key in ("role", "type"):
        value = _get(message, key)
        value = getattr(value, "value", value)  # a member of an enumeration
        if isinstance(value, str) and value and value != "message":
            return value
    return None


def _read(message: Any) -> tuple[str, list[str], bool]:
    """Return the text, the kinds of parts without text, and whether all parts are results of tools."""
    content = next((c for key in ("blocks", "content", "parts") if (c := _get(message, key))), None)
    blocks = list(_blocks(content))
    extra = _get(message, "additional_kwargs")
    calls = [
        *(_get(message, "tool_calls") or ()),
        *(_get(message, "invalid_tool_calls") or ()),
        *([call] if (call := _get(message, "function_call")) else ()),
    ]
    if not calls and not any(_kind(b) in _CALLS for b in blocks) and isinstance(extra, Mapping):
        calls = [*(extra.get("tool_calls") or ()), *([call] if (call := extra.get("function_call")) else ())]
    parts: list[str] = []
    left_out: list[str] = []
    for block in blocks:
        kind = _kind(block)
        text = _text(block)
        if text is not None:
            parts.append(text)
        elif kind in _CALLS:
            if not calls:  # else they are listed beside the content too
                parts.append(_called(block))
        elif kind:
            left_out.append(kind)
    refusal = _get(message, "refusal")
    parts.extend([refusal] if isinstance(refusal, str) else [])
    parts.extend(_called(call) for call in calls)
    results = [_kind(b) in _RESULTS for b in _tops(content)]
    whole = content if isinstance(content, str) and not calls and not refusal else None
    text = whole if whole is not None else "\n".join(p for p in parts if p.strip())
    return (text if text.strip() else ""), list(dict.fromkeys(left_out)), bool(results) and all(results)


def _tops(content: Any) -> Sequence[Any]:
    return content if isinstance(content, Sequence) and not isinstance(content, str | bytes) else ()


def _blocks(content: Any, depth: int = 0) -> Iterator[Any]:
    """Yield blocks of a content, those inside other blocks in their place."""
    if isinstance(content, str):
        yield content
        return
    for block in _tops(content) if not isinstance(content, Mapping) else (content,):
        holds = not isinstance(block, str) and _kind(block) in _HOLDING
        inner = next((c for key in _NESTED if (c := _get(block, key))), None) if holds else None
        if inner is not None and depth < _DEPTH_MAX:
            yield from _blocks(inner if isinstance(inner, str | Sequence) else [inner], depth + 1)
        else:
            yield block


def _kind(block: Any) -> str:
    if isinstance(block, str):
        return "text"
    kind = _get(block, "type") or _get(block, "block_type")
    return kind if isinstance(kind, str) else "" if kind is None else type(block).__name__


def _text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    for key in ("text", "refusal"):
        value = _get(block, key)
        if isinstance(value, str):
            return value
    return None


def _called(call: Any) -> str:
    """Write a tool call in words: `called search(query="tea", limit=3)`."""
    inner = _get(call, "function")
    call = call if inner is None or isinstance(inner, str) else inner  # OpenAI's are one level down
    name = _get(call, "name") or _get(call, "tool_name") or "a tool"
    given = next((g for key in ("args", "arguments", "input", "tool_kwargs") if (g := _get(call, key))), None)
    if isinstance(given, str):
        try:
            read = json.loads(given)
        except (ValueError, RecursionError):
            read = None
        given = read if isinstance(read, Mapping) else given
    if isinstance(given, Mapping):
        said = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in given.items())
    else:
        said = "" if given is None else str(given)
    return f"called {name}({said})"
