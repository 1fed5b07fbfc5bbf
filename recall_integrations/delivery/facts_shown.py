"""Facts as a privacy mode shows them, and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from recall_integrations.delivery.showing import Shown
from recall_integrations.facts.slots import OPEN
from recall_integrations.privacy.door import WITHHELD
from recall_integrations.types import Memory, unchecked_memory
from recall_integrations.types.facts import Fact

_SUBJECT = "of whom"


def shown_facts(facts: Iterable[Fact], memories: Mapping[str, Memory], showed: Shown) -> list[Fact]:
    """Return facts as they may be seen, in order; those whose memory is gone are left out.

    A value alone does not always look like what it is: "hunter22" is a password only because of the words before it.
    So it goes through the door with its memory and the name of its slot, and a part hidden there is hidden here.
    """
    bare = [(fact, _with(memories[fact.memory_id], fact)) for fact in facts if fact.memory_id in memories]
    showed.look(memory for _, memory in bare)
    return [_shown(fact, memory, showed.of(memory)) for fact, memory in bare]


def _with(memory: Memory, fact: Fact) -> Memory:
    """Return the memory with a fact's words in its metadata: the door redacts them with its text."""
    said = {"metadata": {fact.slot.removeprefix(OPEN): fact.value, _SUBJECT: fact.subject}, "entities": ()}
    return unchecked_memory(**{name: getattr(memory, name) for name in Memory.__dataclass_fields__} | said)


def _shown(fact: Fact, memory: Memory, seen: Memory) -> Fact:
    if seen is memory:
        return fact
    (slot, value), (_, subject) = [*seen.metadata.items(), ("", ""), ("", "")][:2]
    value = str(value)
    if value == fact.value and _hidden(value, memory.text, seen.text):
        value = WITHHELD
    named = fact.slot if not fact.slot.startswith(OPEN) else f"{OPEN}{slot}"
    return replace(fact, slot=named, value=value, subject=str(subject))


def _hidden(value: str, text: str, seen: str) -> bool:
    """Say whether a value stands in a text and no longer in what may be seen of it."""
    folded = value.casefold()
    return folded in text.casefold() and folded not in seen.casefold()


def facts_data(facts: Iterable[Fact], at: datetime) -> list[dict[str, Any]]:
    """Return facts as data, with all that is known of them."""
    return [
        {
            "subject": fact.subject,
            "slot": fact.slot,
            "value": fact.value,
            "holds": fact.held_at(at),
            "valid_from": None if fact.valid_from is None else fact.valid_from.isoformat(),
            "valid_to": None if fact.valid_to is None else fact.valid_to.isoformat(),
            "told_at": fact.told_at.isoformat(),
            "memory_id": fact.memory_id,
            "said_by": list(fact.said_by),
            "superseded_by": fact.superseded_by,
            "ended": fact.ended,
            "confidence": round(fact.confidence, 6),
            "by": fact.by,
        }
        for fact in facts
    ]
