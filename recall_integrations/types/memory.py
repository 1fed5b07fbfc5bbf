"""Memories, and the scopes that they are in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timezone
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from recall_integrations.errors import InvalidInput, InvalidMemory, InvalidScope
from recall_integrations.records import record
from recall_integrations.types.messages import fields_of
from recall_integrations.types.numbers import is_number, is_whole, real, shown, whole
from recall_integrations.types.roles import Role, role_of

Clock = Callable[[], datetime]  # the source of a store's times
ID_CHARS_MAX = 1_024
SCOPES_MAX = 32  # scopes in one recall
NAME_CHARS_MAX = 1_024
TEXT_CHARS_MAX = 10_000_000
DEPTH_MAX = 100  # depth of metadata; readers of JSON end between 500 and 2,000
_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class MemoryType(str, Enum):
    """Kind of a memory. `CHUNK` is knowledge, the others are neural memories (router modes)."""

    FACT = "fact"
    PREFERENCE = "preference"
    EVENT = "event"
    SKILL = "skill"
    CHUNK = "chunk"
    OBSERVATION = "observation"
    SUMMARY = "summary"

    def __str__(self) -> str:
        return self.value


def checked_text(value: object, what: str, error: type[InvalidInput], *, limit: int, blank_ok: bool = False) -> str:
    """Return `value` if it is text that can be stored: a `str`, not blank, within `limit`, encodable as UTF-8."""
    if not isinstance(value, str):
        raise error(f"{what} must be text, not {type(value).__name__}.")
    if not blank_ok and not value.strip():
        raise error(f"{what} is empty or blank. Give at least one visible character.")
    if len(value) > limit:
        raise error(f"{what} has {len(value):,} characters; the limit is {limit:,}. Split or shorten it.")
    if not value.isascii() and _SURROGATE.search(value):
        raise error(
            f"{what} holds a lone surrogate (half of a UTF-16 pair) and is not valid text. "
            'Re-decode it, for example with `text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")`.'
        )
    return value


def checked_id(value: object, what: str, error: type[InvalidInput]) -> str:
    """Return an id or name: like `checked_text`, short, and without control characters."""
    text = checked_text(value, what, error, limit=ID_CHARS_MAX)
    if _CONTROL.search(text):
        raise error(f"{what} holds a control character ({text[:40]!r}). Remove it.")
    return text


def checked_time(value: object, what: str, error: type[InvalidInput]) -> datetime:
    """Return a timezone-aware `datetime`."""
    if not isinstance(value, datetime):
        raise error(f"{what} must be a datetime, not {type(value).__name__}.")
    if value.tzinfo is None or value.utcoffset() is None:
        raise error(
            f"{what} is naive ({value.isoformat()}). Add a time zone, for example `.replace(tzinfo=timezone.utc)`."
        )
    return value


def utc_now() -> datetime:
    """Read the wall clock, timezone-aware."""
    return datetime.now(timezone.utc)


def checked_type(value: object, error: type[InvalidInput]) -> MemoryType:
    """Return a `MemoryType`, given it or its name."""
    try:
        return MemoryType(value)
    except ValueError:
        known = ", ".join(t.value for t in MemoryType)
        raise error(f"Unknown memory type {value!r}. Use one of: {known}.") from None


def checked_role(value: object, what: str, error: type[InvalidInput]) -> Role:
    """Return a `Role`, given it or a spelling of one ("human", "AI")."""
    if isinstance(value, Role):
        return value
    role = role_of(value) if isinstance(value, str) else None
    if role is None:
        known = ", ".join(r.value for r in Role)
        raise error(f"{what} is {value!r}, which is no role. Use one of: {known}; or the name a framework gives it.")
    return role


def names_of(value: object, what: str, error: type[InvalidInput]) -> tuple[str, ...]:
    """Return a list of names, each checked; `None` is an empty one. Raises `error`."""
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Sequence | set | frozenset):
        raise error(f"{what} must be a list of names, not {type(value).__name__}. Write [{value!r}] for a single one.")
    seen: dict[str, None] = {}
    for item in value if isinstance(value, Sequence) else sorted(value):
        seen.setdefault(checked_id(item, f"An item of {what}", error))
    return tuple(seen)


def listed(given: str | Iterable[Any]) -> tuple[Any, ...]:
    """Return the items of a list; a single name is a list of one."""
    return (given,) if isinstance(given, str) else tuple(given)


@record(frozen=True, slots=True)
class Scope:
    """The tenant `(user_id, agent_id, namespace)`. Nothing ever crosses it.

    The empty string is a value like any other: `Scope()` is the default scope, not "all scopes".

    Raises:
        InvalidScope: a part is not text, longer than 1,024 characters, or holds control characters.
    """

    user_id: str = ""
    agent_id: str = ""
    namespace: str = ""

    def __post_init__(self) -> None:
        for name in ("user_id", "agent_id", "namespace"):
            value = getattr(self, name)
            if value != "":
                checked_id(value, f"Scope.{name}", InvalidScope)

    def __str__(self) -> str:
        """Join the parts, `-` for an empty one; a part that could be taken for something else stands in quotes."""
        return "/".join(_part(part) for part in (self.user_id, self.agent_id, self.namespace))


def _part(name: str) -> str:
    if not name:
        return "-"
    return json.dumps(name, ensure_ascii=False) if name == "-" or "/" in name or '"' in name else name


ScopeLike = Scope | Mapping[str, str]


def checked_scope(scope: object) -> Scope:
    """Return the scope; from a mapping of its parts; or the default one for `None`."""
    if isinstance(scope, Scope):
        return scope
    if scope is None:
        return Scope()
    if not isinstance(scope, Mapping):
        raise InvalidScope(f"scope must be a Scope, not {type(scope).__name__}. Write Scope(user_id=...).")
    unknown = [key for key in scope if key not in Scope.__dataclass_fields__]
    if unknown:
        known = ", ".join(Scope.__dataclass_fields__)
        raise InvalidScope(f"A scope has no part {shown(unknown[0])}. It has: {known}.")
    return Scope(**scope)


def checked_scopes(scopes: object) -> tuple[Scope, ...]:
    """Return several scopes, each once, in their order."""
    if isinstance(scopes, str | Mapping | Scope) or not isinstance(scopes, Iterable):
        raise InvalidScope(f"scopes must be a list of scopes, not {type(scopes).__name__}. For one there is scope=.")
    found = tuple(dict.fromkeys(map(checked_scope, scopes)))
    if not found:
        raise InvalidScope("scopes is empty: there is nothing to look in. Leave it out for the default scope.")
    if len(found) > SCOPES_MAX:
        raise InvalidScope(
            f"scopes has {len(found):,} scopes; the limit is {SCOPES_MAX}, for each is a recall of its own. Keep what "
            "is asked together in one scope, and tell it apart by metadata."
        )
    return found


@record(frozen=True, slots=True)
class Relation:
    """A typed edge between two entities, declared with a memory: `Relation("Priya", "manager_of", "Sam")`.

    Args:
        subject: entity the edge starts at.
        predicate: meaning of the edge, in snake case by convention.
        object: entity the edge ends at.
        confidence: how sure the source is, in (0, 1].
    """

    subject: str
    predicate: str
    object: str
    confidence: float = 1.0

    def __post_init__(self) -> None:
        for name in ("subject", "predicate", "object"):
            checked_id(getattr(self, name), f"Relation.{name}", InvalidMemory)
        confidence = real(self.confidence)
        if not (isinstance(confidence, int | float) and 0 < confidence <= 1):
            raise InvalidMemory(f"Relation.confidence must be in (0, 1], not {shown(self.confidence)}.")
        object.__setattr__(self, "confidence", confidence)


@record(frozen=True, slots=True)
class Memory:
    """One stored text. Only `text` is required.

    Args:
        text: the text to remember. Kept byte for byte.
        id: caller's id, unique in its scope; remembering it again replaces the memory. Default: a new UUID.
        type: a `MemoryType` or its name. Default `observation`.
        actor: who said or did it. Always an entity of the memory; embedded and indexed with the text.
        role: role of the actor in a conversation with an assistant: a `Role` or a spelling of one. Default: that of
            the actor's name, where it is such a spelling ("User", "AI", "assistant: Claude"); else none.
        channel: where it was said ("slack").
        event_at: when what it tells happened; timezone-aware. Default: unknown.
        created_at: when it was recorded; timezone-aware. Default: the time of `remember`.
        expires_at: time from which it is gone, by the store's clock; timezone-aware, and still to come when
            it is written. Default: it stays.
        importance: in [0, 1]; 0.5 is neutral.
        entities: names of people, projects and things it is about.
        relations: typed edges it states.
        thread: the conversation or document it comes from.
        position: its place in the thread. Default: order of arrival.
        refs: pointers to sources, returned as they are.
        metadata: JSON-serialisable mapping, returned as it is and usable in `Filters`.

    Raises:
        InvalidMemory: a field cannot be stored; the message names it.
    """

    text: str
    id: str | None = field(default=None, kw_only=True)
    type: MemoryType = field(default=MemoryType.OBSERVATION, kw_only=True)
    actor: str | None = field(default=None, kw_only=True)
    role: Role | None = field(default=None, kw_only=True)
    channel: str | None = field(default=None, kw_only=True)
    event_at: datetime | None = field(default=None, kw_only=True)
    created_at: datetime | None = field(default=None, kw_only=True)
    expires_at: datetime | None = field(default=None, kw_only=True)
    importance: float = field(default=0.5, kw_only=True)
    entities: tuple[str, ...] = field(default=(), kw_only=True)
    relations: tuple[Relation, ...] = field(default=(), kw_only=True)
    thread: str | None = field(default=None, kw_only=True)
    position: int | None = field(default=None, kw_only=True)
    refs: tuple[str, ...] = field(default=(), kw_only=True)
    metadata: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)

    if TYPE_CHECKING:  # callers may give more types than are kept

        def __init__(
            self,
            text: str,
            *,
            id: str | None = None,
            type: MemoryType | str = MemoryType.OBSERVATION,
            actor: str | None = None,
            role: Role | str | None = None,
            channel: str | None = None,
            event_at: datetime | None = None,
            created_at: datetime | None = None,
            expires_at: datetime | None = None,
            importance: float = 0.5,
            entities: Sequence[str] = (),
            relations: Sequence[Relation] = (),
            thread: str | None = None,
            position: int | None = None,
            refs: Sequence[str] = (),
            metadata: Mapping[str, Any] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        put = object.__setattr__
        checked_text(self.text, "Memory.text", InvalidMemory, limit=TEXT_CHARS_MAX)
        if self.id is not None:
            checked_id(self.id, "Memory.id", InvalidMemory)
        put(self, "type", checked_type(self.type, InvalidMemory))
        for name in ("actor", "channel", "thread"):
            if getattr(self, name) is not None:
                checked_id(getattr(self, name), f"Memory.{name}", InvalidMemory)
        named = role_of(self.actor) if self.role is None else checked_role(self.role, "Memory.role", InvalidMemory)
        put(self, "role", named)
        for name in ("event_at", "created_at", "expires_at"):
            if getattr(self, name) is not None:
                checked_time(getattr(self, name), f"Memory.{name}", InvalidMemory)
        importance, position = real(self.importance), whole(self.position)
        if not is_number(importance) or not 0 <= importance <= 1:  # also false for NaN
            raise InvalidMemory(f"Memory.importance must be a number in [0, 1], not {shown(self.importance)}.")
        put(self, "importance", float(importance))
        if position is not None and (not is_whole(position) or abs(position) >= 2**62):
            raise InvalidMemory(f"Memory.position must be a whole number below 2**62, not {shown(self.position)}.")
        put(self, "position", position)
        put(self, "entities", names_of(self.entities, "Memory.entities", InvalidMemory))
        put(self, "refs", names_of(self.refs, "Memory.refs", InvalidMemory))
        relations: object = self.relations or ()  # callers give lists, and mistakes
        if not isinstance(relations, Sequence) or not all(isinstance(r, Relation) for r in relations):
            raise InvalidMemory("Memory.relations must be a list of Relation(subject, predicate, object).")
        put(self, "relations", tuple(relations))
        if not isinstance(self.metadata, Mapping):
            raise InvalidMemory(f"Memory.metadata must be a mapping, not {type(self.metadata).__name__}.")
        put(self, "metadata", _json_copy(self.metadata))

    @classmethod
    def from_message(
        cls, message: object, *, thread: str | None = None, position: int | None = None, **fields: Any
    ) -> Memory:
        """Return the memory that a chat message makes: its text, who said it and in which role.

        Args:
            message: a LangChain `BaseMessage`, a LlamaIndex `ChatMessage`, or one of OpenAI or Anthropic: a mapping
                (or an object) with `role` and `content`, text or a list of blocks.
            thread, position: the conversation, and the place in it.
            fields: other fields of the memory, each over what the message says.

        Tool calls become text: `called search(query="tea")`. For images and the like only the kind is kept, in the
        metadata under `left_out`.

        Raises:
            InvalidMemory: it is no chat message, or has no text.
        """
        return cls(**fields_of(message, thread=thread, position=position, **fields))


def says_the_same(stored: Memory, memory: Memory) -> bool:
    """Say whether storing `memory` would change nothing; fields that the store fills in by itself are not compared."""
    values = {name: getattr(memory, name) for name in Memory.__dataclass_fields__}
    filled_in = {name for name in ("created_at", "position") if values[name] is None}
    return all(getattr(stored, name) == value for name, value in values.items() if name not in filled_in)


def indexed_text(text: str, actor: str | None) -> str:
    """Return the text to embed, index and compare: the actor in front of the text ("Lena: I renewed it")."""
    return f"{actor}: {text}" if actor else text


def unchecked_memory(**fields: Any) -> Memory:
    """Make a `Memory` from fields that were checked before: for rows of the store and for withheld text."""
    return memory_of_values([fields[name] for name in Memory.__dataclass_fields__])


_PUTS = tuple(getattr(Memory, name).__set__ for name in Memory.__dataclass_fields__)
_values = attrgetter(*Memory.__dataclass_fields__)


def memory_of_values(values: Iterable[Any]) -> Memory:
    """Make a `Memory` from checked values of all fields, in their order: every recall makes some."""
    memory = object.__new__(Memory)
    for put, value in zip(_PUTS, values, strict=True):
        put(memory, value)
    return memory


def copied_memory(memory: Memory, metadata: Mapping[str, Any] | None = None) -> Memory:
    """Copy a memory with metadata of its own: the one part of a memory that can be changed."""
    *values, held = _values(memory)
    return memory_of_values((*values, own_metadata(held if metadata is None else metadata)))


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Copy metadata, down to the last list."""
    return _own(metadata) if metadata else {}


def _own(value: Any) -> Any:
    """Copy lists and mappings, as JSON has them; `DEPTH_MAX` bounds how deep they are."""
    if isinstance(value, Mapping):
        return {key: _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list | tuple) else value


def _json_copy(value: Mapping[str, Any]) -> dict[str, Any]:
    if not value:
        return {}
    if _nested(value):
        raise InvalidMemory(
            f"Memory.metadata is nested deeper than {DEPTH_MAX} levels. Flatten it, or store it as text."
        )
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        text.encode("utf-8")
    except (TypeError, ValueError) as e:  # UnicodeEncodeError is a ValueError
        culprit = next((f"[{shown(key)}]" for key, part in value.items() if not _is_json({key: part})), "")
        raise InvalidMemory(
            f"Memory.metadata{culprit} cannot be stored as JSON: {e}. Use text, numbers, lists and mappings; a "
            "time as text (`.isoformat()`)."
        ) from e
    copy: dict[str, Any] = json.loads(text)
    return copy


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except (TypeError, ValueError):
        return False
    return True


def _nested(value: object) -> bool:
    """Say whether lists and mappings lie in each other deeper than `DEPTH_MAX`. Loops, as a stack could overflow."""
    level: list[Any] = [value]
    for _ in range(DEPTH_MAX):
        parts = (part.values() if isinstance(part, Mapping) else part for part in level)
        inner = {id(item): item for part in parts for item in part if isinstance(item, Mapping | list | tuple)}
        level = list(inner.values())  # each once: one that holds itself twice would double with every level
        if not level:
            return False
    return True
