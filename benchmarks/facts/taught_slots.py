"""Slots of which the phrasings in `taught/` tell, with values that stand in them (`taught/slots.txt`)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.facts.generator.phrasings import sections
from benchmarks.facts.generator.slots import BY_NAME, PERSON, THING, FactSlot
from benchmarks.facts.taught_values import value
from recall_integrations.facts.slots import SHIPPED

FOLDER = Path(__file__).with_name("taught")
LISTED = FOLDER / "slots.txt"
OTHERS = FOLDER / "others.txt"  # texts about no slot
OF_THINGS = frozenset("deadline room budget owner version price status launch_date location".split())
TRIES = 300


def hands() -> list[Path]:
    """The files of phrasings, one for each who wrote them."""
    return sorted(path for path in FOLDER.glob("*.txt") if path not in (LISTED, OTHERS))


def style_of(hand: Path) -> str:
    """A hand, as `phrasings.sections` takes it."""
    return f"{FOLDER.name}/{hand.stem}"


@cache
def listed() -> Mapping[str, tuple[str, str, str]]:
    """What a slot is of, what it is called, and its values; empty = as the schema or `slots.py` has it."""
    found = {}
    for line in LISTED.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, of, noun, values = (part.strip() for part in line.split(";"))
            found[name] = (of, noun, values)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class TaughtSlot(FactSlot):
    """A slot with values that are of no measured history, where they are listed or its kind has some."""

    def value(self, random_: random.Random) -> str:
        """A value."""
        if self.values:
            return FactSlot.value(self, random_)
        return value(self.name, random_)

    def distinct(self, count: int, random_: random.Random) -> list[str]:
        """So many values, different ones as long as there are some."""
        found: list[str] = []
        for _ in range(TRIES):
            one = self.value(random_)
            if len(found) < count and not any(one.lower() in o.lower() or o.lower() in one.lower() for o in found):
                found.append(one)
        return [*found, *(random_.choice(found) for _ in range(count - len(found)))]


def taught_slots(style: str) -> list[TaughtSlot]:
    """The slots of which a hand tells."""
    return [taught_slot(name, style) for name in sections(style)]


def taught_slot(name: str, style: str) -> TaughtSlot:
    """A slot, for a hand."""
    of, noun, values = listed().get(name, ("", "", ""))
    given = tuple(part.strip() for part in values.split(" | ")) if values else ()
    if name in BY_NAME:
        known = {field.name: getattr(BY_NAME[name], field.name) for field in fields(FactSlot)}
        return TaughtSlot(**{**known, "half": style, "values": given})
    schema: Mapping[str, Any] | None = SHIPPED.get(name)
    nouns = schema["nouns"] if schema else ()
    noun = noun or (nouns[0] if nouns else name.replace("_", " "))
    return TaughtSlot(
        name=name,
        noun=noun,
        nouns=f"{noun}s",
        values=given,
        half=style,
        group=name,
        of=of or (THING if name in OF_THINGS else PERSON),
        one=bool(schema.get("one", True)) if schema else True,
        schema=schema is not None,
    )
