"""Settings of the facts that are read from memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from recall_integrations.config.checking import in_range, section
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
        llm_batch: memories that a language model reads in one call, if there is one for facts.
        llm_calls_per_hour: calls to it at most in an hour, for a store; what is left waits.
        llm_chars_per_hour: characters that it is sent and answers at most in an hour, for a store.
        llm_timeout_ms: longest wait for one answer. No write and no recall waits for it.
        llm_privacy: `redact` hides personal data and secrets in what it is sent, so that it finds no phone numbers;
            `allow` sends texts as they are. The privacy mode of recalls says nothing of this.
    """

    keep: bool = True
    read: bool = True
    slots: Annotated[dict[str, dict[str, Any]], BeforeValidator(_own_slots)] = field(default_factory=dict)
    llm_batch: Annotated[int, in_range(1, 100)] = 20
    llm_calls_per_hour: Annotated[int, in_range(0, 1_000_000)] = 60
    llm_chars_per_hour: Annotated[int, in_range(0, 1_000_000_000)] = 1_000_000
    llm_timeout_ms: Annotated[float, in_range(1, 600_000)] = 60_000.0
    llm_privacy: Literal["redact", "allow"] = "redact"

    def __hash__(self) -> int:
        limits = (self.llm_batch, self.llm_calls_per_hour, self.llm_chars_per_hour, self.llm_timeout_ms)
        return hash((self.keep, self.read, repr(sorted(self.slots.items())), *limits, self.llm_privacy))
