"""The text of a document or a node: `document_format` of the retriever.

- `text`: the memory's text.
- `dated`: date and actor, if known, before the text ("[2026-03-12, Priya] We chose PostgreSQL").
- a template with `{text}` in it, for `str.format`: "{actor} on {when:%d %B}: {text} (from {metadata[source]})". Values
  that a memory lacks are empty.
"""

from __future__ import annotations

import functools
import string
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone, tzinfo
from typing import Any

from recall_integrations.adapters.shapes import date_of, moment_of, own
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Hit, Memory

Format = Callable[[Hit, tzinfo], str]
TEXT, DATED = "text", "dated"
FIELDS = (
    *("text", "date", "when", "event_at", "created_at", "actor", "role", "channel", "thread", "position"),
    *("type", "id", "score", "reason", "metadata"),
)


class _Nothing:
    """A value that a memory does not have: empty in every format."""

    def __format__(self, _spec: str) -> str:
        return ""

    def __str__(self) -> str:
        return ""

    __repr__ = __str__


class _Metadata(Mapping[str, Any]):
    """The user's metadata; a key that is not there is empty."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self._held = held

    def __getitem__(self, key: str) -> Any:
        found = self._held.get(key)
        return NOTHING if found is None else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


NOTHING = _Nothing()


@functools.lru_cache(maxsize=64)
def format_of(given: str) -> Format:
    """Return the function from a hit to its text."""
    if not isinstance(given, str):
        raise InvalidArgument(f"document_format must be text, not {type(given).__name__}. {_KNOWN}")
    if given == TEXT:
        return lambda hit, _zone: hit.memory.text
    if given == DATED:
        return _dated
    _check(given)

    def filled(hit: Hit, zone: tzinfo) -> str:
        try:
            return given.format(**_values(hit, zone))
        except (ValueError, TypeError):  # of a key whose value is of another kind here than there
            return hit.memory.text

    return filled


def _dated(hit: Hit, zone: tzinfo) -> str:
    memory = hit.memory
    known = ", ".join(part for part in (date_of(memory, zone), memory.actor) if part)
    return f"[{known}] {memory.text}" if known else memory.text


def _values(hit: Hit, zone: tzinfo) -> dict[str, Any]:
    memory = hit.memory
    values = {
        "text": memory.text,
        "date": date_of(memory, zone),
        "when": moment_of(memory, zone),
        "type": memory.type.value,
        "role": None if memory.role is None else memory.role.value,
        "score": hit.score,
        "reason": hit.reason,
        **{
            name: getattr(memory, name)
            for name in ("event_at", "created_at", "actor", "channel", "thread", "position", "id")
        },
    }
    filled = {name: NOTHING if value is None else value for name, value in values.items()}
    return {**filled, "metadata": _Metadata(own(memory.metadata))}


_KNOWN = f"Use {TEXT!r}, {DATED!r} or a template with {{text}} in it; its fields are: {', '.join(FIELDS)}."
_MOMENT = datetime(2026, 3, 12, 9, 30, tzinfo=timezone.utc)
_SAMPLE = Hit(
    memory=Memory(
        "text",
        id="id",
        type="fact",
        actor="Priya",
        role="user",
        channel="mail",
        event_at=_MOMENT,
        created_at=_MOMENT,
        thread="thread",
        position=1,
    ),
    score=0.5,
    reason="reason",
)


def _check(template: str) -> None:
    """Raise what is wrong with a template now rather than at the first document."""
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as e:
        raise InvalidArgument(f"document_format cannot be read ({e}): {template[:80]!r}. {_KNOWN}") from e
    for name, spec in fields:
        root = name.split("[", 1)[0]
        if root not in FIELDS or (name != root and (root != "metadata" or "." in name.rsplit("]", 1)[-1])):
            raise InvalidArgument(f"document_format has no field {name!r}. {_KNOWN}")
        if name == "metadata" or "{" in (spec or ""):
            raise InvalidArgument(f"document_format: write {{metadata[key]}}, and no field within another. {_KNOWN}")
    if "text" not in (name for name, _ in fields):
        raise InvalidArgument(f"document_format must hold {{text}}: {template[:80]!r}. {_KNOWN}")
    try:
        template.format(**_values(_SAMPLE, timezone.utc))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as e:
        raise InvalidArgument(f"document_format cannot be filled ({e}): {template[:80]!r}. {_KNOWN}") from e
