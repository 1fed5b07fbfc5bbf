"""The schema of slots: the attributes of somebody, how people say them, and whether one value holds at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from recall_integrations.config.sections import ANY_KIND, PHRASES
from recall_integrations.facts.grammar import Grammar, table
from recall_integrations.records import record

NAME_CHARS_MAX = 100  # of a slot or a subject that is given
OPEN = "open:"  # before the name of a slot that the schema does not have: "my locker code is 4711"


@record(frozen=True, slots=True, kw_only=True)
class Slot:
    """An attribute of somebody or something: of a table of ours, or of `facts.slots`, which checks what users give."""

    name: str  # the slot's name, in lower case with underscores
    nouns: tuple[str, ...]  # nouns that people use for it, in lower case; the first is ours
    one: bool = True  # whether one value holds at a time, so that a newer one supersedes; else values add up
    # shape of its values, one of `config.sections.KINDS`; a text whose value looks otherwise does not fill it
    kind: str = ANY_KIND
    verbs: tuple[str, ...] = ()  # phrases that lead to a value which holds, in the infinitive: "live in", "be based in"
    starts: tuple[str, ...] = ()  # phrases that tell that it began: "move to". In the past they say what holds now
    stops: tuple[str, ...] = ()  # phrases that tell that it ended: "move out of"


def _shipped(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a slot in the table; a narrower noun that tells of it becomes its noun, too."""
    groups = {group: tuple(row.get(group, ())) for group in PHRASES if group in row}
    nouns = (*row["nouns"], *row.get("narrow", ()))
    return {"one": row.get("one", True), "kind": row.get("kind", ANY_KIND), **groups, "nouns": nouns}


SHIPPED: Mapping[str, Mapping[str, Any]] = {name: _shipped(row) for name, row in table("en")["slots"].items()}
SLOTS: tuple[Slot, ...] = tuple(Slot(name=name, **row) for name, row in SHIPPED.items())


class Slots:
    """A schema: the shipped slots, and those that a user adds or changes by name.

    A noun or a verb belongs to the user's slot where both have it.
    """

    def __init__(self, more: Iterable[Slot] = ()) -> None:
        added = tuple(more)
        self._by_name = {slot.name: slot for slot in (*SLOTS, *added)}
        self.of_noun: dict[str, str] = {}
        first = {slot.name for slot in added}
        self.ordered = sorted(self._by_name.values(), key=lambda slot: slot.name not in first)
        self._own = first
        self.grammars: dict[str, Grammar] = {}  # by language, made by `grammar.grammar_of`
        for slot in self.ordered:
            for noun in slot.nouns:
                self.of_noun.setdefault(noun, slot.name)

    @classmethod
    def of(cls, settings: Mapping[str, Mapping[str, Any]]) -> Slots:
        """Return the schema with the slots of `facts.slots`; fields that they leave out come from the shipped slot."""
        own = (Slot(name=name, **{**SHIPPED.get(name, {}), **slot}) for name, slot in settings.items())
        return cls(own) if settings else DEFAULT

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Slot | None:
        """Return the slot of a name; `None` = the schema has none of it."""
        return self._by_name.get(name)

    def named(self, given: object, *, openly: bool = False) -> str | None:
        """Return the slot that a name means, `None` = none; with `openly`, one that the schema lacks is an open one."""
        if not isinstance(given, str) or len(given) > NAME_CHARS_MAX or not any(map(str.isalnum, given)):
            return None
        name = " ".join(given.casefold().split())
        noun = " ".join(name.removeprefix(OPEN).replace("_", " ").split())
        if name.replace(" ", "_") in self:
            return name.replace(" ", "_")
        is_open = openly or (name.startswith(OPEN) and any(map(str.isalnum, noun)))
        return self.of_noun.get(noun, f"{OPEN}{noun}" if is_open else None)

    def is_own(self, name: str) -> bool:
        """Say whether a slot is the user's."""
        return name in self._own

    def one(self, name: str) -> bool:
        """Say whether one value of a slot holds at a time; true for an open slot."""
        slot = self._by_name.get(name)
        return slot is None or slot.one

    def called(self, name: str) -> str:
        """Return the noun that people use for a slot."""
        slot = self._by_name.get(name)
        return name.removeprefix(OPEN).replace("_", " ") if slot is None else slot.nouns[0]


DEFAULT = Slots()
