"""What a text says of slots, by rule."""

from __future__ import annotations

from datetime import datetime

from recall_integrations.facts.said import Said
from recall_integrations.facts.slots import DEFAULT, Slots
from recall_integrations.patterns import regex

VERSION = 1  # stands with the facts in a store: those of another one are made anew
_MY = regex(
    r"\b(?P<whose>my|(?P<name>[A-Z]\w+)['’]s) (?P<noun>[a-z][\w -]{1,40}?) (?P<verb>is|was|are) (?:now )?"
    r"(?P<value>[^.,;!?\n]{1,80})"
)


def said_in(text: str, at: datetime, slots: Slots = DEFAULT) -> tuple[Said, ...]:
    """What a text says of slots, in the order of the text.

    Args:
        text: of a memory.
        at: when it was said, for "since spring".
        slots: the schema.
    """
    found = []
    for match in _MY.finditer(text):
        noun = match["noun"].casefold()
        slot = slots.of_noun.get(noun, f"open:{noun}")
        value = match["value"].strip()
        if not value or value.split()[0] in ("that", "not"):
            continue
        op = "was" if match["verb"] == "was" else "is"
        found.append(Said(slot=slot, value=value, subject=match["name"] or "", op=op, span=match.span("value")))
    return tuple(found)
