"""Reads facts from a memory's own fields: its relations, and facts in its metadata.

Relation("Priya", "manager_of", "Sam")                                   -> boss of Sam: Priya
metadata={"fact": {"slot": "phone_number", "value": "555-0101", "subject": "Priya"}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recall_integrations.facts.dates import given_time
from recall_integrations.facts.said import IS, ME, NOT, OPS, Said
from recall_integrations.facts.slots import OPEN, Slots
from recall_integrations.types.memory import Relation

FACT = "fact"  # key in the metadata
RELATION, GIVEN = "relation", "given"
VALUE_CHARS_MAX, NAME_CHARS_MAX = 500, 100
# Predicate -> (slot, whether the subject of the relation is the value).
_PREDICATES: Mapping[str, tuple[str, bool]] = {
    "manager_of": ("boss", True),
    "manages": ("boss", True),
    "boss_of": ("boss", True),
    "reports_to": ("boss", False),
    "managed_by": ("boss", False),
    "works_at": ("employer", False),
    "works_for": ("employer", False),
    "employed_by": ("employer", False),
    "employer_of": ("employer", True),
    "lives_in": ("home", False),
    "moved_to": ("home", False),
    "based_in": ("home", False),
    "married_to": ("partner", False),
    "spouse_of": ("partner", False),
    "partner_of": ("partner", False),
    "member_of": ("team", False),
    "owns": ("owner", True),
    "owner_of": ("owner", True),
    "owned_by": ("owner", False),
    "leads": ("owner", True),
    "led_by": ("owner", False),
    "located_in": ("location", False),
    "friend_of": ("friend", False),
    "speaks": ("language", False),
    "allergic_to": ("allergy", False),
}


def said_by_fields(relations: Sequence[Relation], metadata: Mapping[str, Any], slots: Slots) -> list[tuple[Said, str]]:
    """Return the statements of the fields, each with its kind (`relation`, `given`); leave out what cannot be read."""
    found = []
    for relation in relations:
        slot, inverse = _PREDICATES.get(relation.predicate.casefold().replace(" ", "_"), ("", False))
        name = slot or relation.predicate.casefold().replace(" ", "_")
        if name not in slots:
            continue
        subject, value = (relation.object, relation.subject) if inverse else (relation.subject, relation.object)
        found.append((Said(slot=name, value=value, subject=subject, confidence=relation.confidence), RELATION))
    given = metadata.get(FACT)
    listed = given if isinstance(given, list) else [given]
    found += [(said, GIVEN) for one in listed if isinstance(one, Mapping) and (said := _given(one, slots)) is not None]
    return found


def _given(one: Mapping[str, Any], slots: Slots) -> Said | None:
    slot, value, subject = one.get("slot"), one.get("value"), one.get("subject", ME)
    op = one.get("op", IS)
    texts = (slot, value, subject)
    if not all(isinstance(text, str) for text in texts) or not slot or op not in OPS:
        return None
    if len(str(slot)) > NAME_CHARS_MAX or len(str(subject)) > NAME_CHARS_MAX:
        return None
    name = slots.of_noun.get(slot.casefold(), slot.casefold().replace(" ", "_"))
    if name not in slots:
        name = f"{OPEN}{slot.casefold().removeprefix(OPEN)}"
    text = str(value).strip()[:VALUE_CHARS_MAX]
    if not text and op != NOT:
        return None
    return Said(
        slot=name,
        value=text,
        subject=str(subject).strip(),
        op=op,
        instead_of=str(one.get("instead_of") or ""),
        corrects=one.get("corrects") is True,
        since=given_time(one.get("since")),
        until=given_time(one.get("until")),
        confidence=1.0,
    )
