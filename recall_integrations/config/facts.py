"""Settings of the facts that are read from memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any

from pydantic import BeforeValidator

from recall_integrations.config.checking import section
from recall_integrations.errors import ConfigError
from recall_integrations.patterns import regex

_NAME = regex(r"[a-z][a-z0-9_]{0,63}")
_KEYS = frozenset({"nouns", "one"})
NOUN_CHARS_MAX = 60


def _own_slots(given: object) -> dict[str, dict[str, Any]]:
    """Slots by name, each with what it is called and whether it has one value."""
    setting = "facts.slots"
    if not isinstance(given, Mapping):
        raise ConfigError(f"{setting} must be a mapping from names to slots, not {given!r}.")
    found = {}
    for name, slot in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigError(f"The name {name!r} in {setting} must be lower-case letters, digits and _, such as desk.")
        if not isinstance(slot, Mapping) or set(slot) - _KEYS:
            raise ConfigError(f"{setting}.{name} must be a mapping with `nouns` and, if you like, `one`, not {slot!r}.")
        nouns, one = slot.get("nouns"), slot.get("one", True)
        if isinstance(nouns, str):
            nouns = [nouns]
        if not isinstance(nouns, list | tuple) or not nouns or not all(map(_is_noun, nouns)):
            raise ConfigError(f"{setting}.{name}.nouns must list what people call it, such as [desk, desk number].")
        if not isinstance(one, bool):
            raise ConfigError(f"{setting}.{name}.one must be true or false, not {one!r}.")
        found[name] = {"nouns": tuple(noun.strip().casefold() for noun in nouns), "one": one}
    return found


def _is_noun(noun: object) -> bool:
    return isinstance(noun, str) and 0 < len(noun.strip()) <= NOUN_CHARS_MAX


@section("facts")
class FactsConfig:
    """What memories say of slots, such as a phone number, and which of it holds when (docs/facts.md).

    Args:
        keep: read facts, and the times that texts tell, when memories are written; they are kept beside them.
        read: let them put the value that holds first, where a query asks how things are, were, or how they changed.
        slots: of your own, by name: `{desk: {nouns: [desk, desk number], one: true}}`. `one` says whether one value
            holds at a time (the default), so that a newer one takes the place of an older one. A name that the package
            has takes the place of its slot. Stores read their memories anew when they are opened with other slots.
    """

    keep: bool = True
    read: bool = True
    slots: Annotated[dict[str, dict[str, Any]], BeforeValidator(_own_slots)] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.keep, self.read, repr(sorted(self.slots.items()))))
