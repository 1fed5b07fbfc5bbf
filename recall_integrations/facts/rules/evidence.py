"""Words without which a rule behind a subject finds nothing, and those of them that a text has: looked up once.

Of a hundred turns of a chat one tells a fact, and ninety have a subject and a verb that might. Most of these hold no
word that any value or phrase of the verb has: "I have no idea" has neither the make of a car nor a noun of the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from recall_integrations.facts.rules import roles, words
from recall_integrations.facts.rules.near import folded, words_behind
from recall_integrations.facts.rules.predicates import BE
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.slots import Slots

DIGIT = "0"  # stands for any digit of a text
LIKED = frozenset(("likes", "dislikes", "preference"))  # their values are any words
_WORD = re.compile(r"[^\W_]+")
_LISTS = {
    "diet": words.DIETS,
    "instrument": words.INSTRUMENTS,
    "language": words.LANGUAGES,
    "marital": words.MARITAL,
    "nationality": words.NATIONALITIES,
    "religion": words.RELIGIONS,
    "sport": words.SPORTS,
}


def _first(phrases: Iterable[str]) -> frozenset[str]:
    return frozenset(_WORD.findall(folded(phrase))[0] for phrase in phrases)


def _heaviest(phrase: str) -> str:
    return max(_WORD.findall(folded(phrase)), key=len)


# What the rules of `changes` seek: of their verb, or of their value.
CHANGED = frozenset(
    "changed switched updated moved swapped replaced upgraded changing dyed painted set went converted".split()
)
HAD = frozenset(
    "kid kids children child son sons daughter daughters dog dogs cat cats puppy puppies kitten kittens parrot rabbit"
    " rabbits hamster hamsters horse goldfish turtle tortoise brother brothers sister sisters sibling siblings".split()
)
ILL = frozenset(("allergy", *_first(words.CONDITIONS)))
STOPPED = _first(words.FOODS_LEFT)
TURNED = frozenset("married divorced engaged separated turned went gone became become".split())
USED = frozenset(("use", "uses"))
LEFT = frozenset(("left", "quit", "lost"))

# What a complement of "is" has, but for a name: an age, a height, a diet, what somebody is called, does, or is.
_COMPLEMENTS = frozenset(
    (
        DIGIT,
        "called",
        "named",
        *(word for kind in ("diet", "marital", "nationality", "religion") for word in _first(_LISTS[kind])),
        *(_WORD.findall(folded(head))[-1] for head in words.WORK_HEADS),
    )
)
_DRIVES = frozenset(("drive", "drives"))


class Needed(NamedTuple):
    """What verbs need.

    Args:
        led: by the form of a verb, words of which a text has one if the verb leads to a value; `None` = any.
        named: by the form of a verb, the same where a noun behind it names the slot.
        all: of these, and those of `changes`.
    """

    led: dict[str, frozenset[str] | None]
    named: dict[str, frozenset[str]]
    all: frozenset[str]


@lru_cache(maxsize=16)
def needed(slots: Slots) -> Needed:
    """What the verbs of a schema need.

    Args:
        slots: the schema.
    """
    verbs = slots.verbs
    nouns = frozenset(map(_heaviest, slots.of_noun))
    named = {verb: roles.needed(verb, nouns, _favourites(slots)) for verb in verbs.by_noun}
    led: dict[str, frozenset[str] | None] = {BE: _COMPLEMENTS}
    for verb, by_word in ((BE, verbs.being), *verbs.after.items()):
        each = [_led(slots, verb, slot, rest, nouns) for entries in by_word.values() for rest, slot, _ in entries]
        whole = [one for one in each if one is not None]
        led[verb] = None if len(whole) < len(each) else frozenset().union(led.get(verb) or (), *whole)
    found = (one for one in (*led.values(), *named.values()) if one is not None)
    changes = (CHANGED, HAD, ILL, STOPPED, TURNED, USED, LEFT)
    return Needed(led, named, frozenset().union(*found, *changes))


def _led(slots: Slots, verb: str, slot: str, rest: tuple[str, ...], nouns: frozenset[str]) -> frozenset[str] | None:
    """What a phrase of a verb needs: a word of its own, or of the values of its slot."""
    if rest:
        return frozenset((_heaviest(max(rest, key=len)),))
    known = slots.get(slot)
    if known is None:
        return frozenset()
    if slot == "car" and not verb.startswith(("driv", "drov")):
        return _first(words.CAR_MAKES) | _DRIVES | nouns  # a noun behind the value may name another slot
    kind = _LISTS.get(known.kind)
    return None if kind is None or slot in LIKED else _first(kind)


def _favourites(slots: Slots) -> frozenset[str]:
    """Words of what may be a favourite, in the singular and the plural."""
    plain = {_heaviest(noun.partition(" ")[2]) for noun in slots.of_noun if noun.startswith("favourite ")}
    return frozenset(f"{word}{end}" for word in plain for end in ("", "s", "es"))


def evidence(reading: Reading) -> frozenset[str]:
    """The words of a text that any verb needs.

    Args:
        reading: of the text.
    """
    if reading.evidence is None:
        text, every = reading.text, needed(reading.slots).all
        found = every.intersection(words_behind(text, 0, len(text)))
        reading.evidence = found | {DIGIT} if _has_digit(text) else found
    return reading.evidence


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None if text.isascii() else any(map(str.isdigit, text))


_DIGIT = re.compile(r"[0-9]")
