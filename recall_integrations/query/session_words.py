"""The words of `sessions.py`: places, names for a conversation, and words that point to another one."""

from __future__ import annotations

import re

from recall_integrations.languages.tables import english
from recall_integrations.patterns import regex
from recall_integrations.query.temporal.lexicon import ONES, TEENS
from recall_integrations.types.query import BEGINNING, END

PLACES_MAX = 20  # sessions that one reference may name
_EN = english("sessions")
ORDINALS: dict[str, int] = {word: n for n, word in enumerate(_EN["ordinals"].split(), start=1)}
CARDINALS: dict[str, int] = ONES | TEENS | {"twenty": 20}


def alternatives(words: dict[str, int]) -> str:
    """Make a pattern for the words, longest first; a hyphen may be a blank."""
    ordered = sorted(words, key=lambda w: (-len(w), w))
    return "|".join(word.replace("-", "[- ]") for word in ordered)


ORDINAL = rf"(?:{alternatives(ORDINALS)}|\d{{1,4}}(?:st|nd|rd|th))"
CARDINAL = rf"(?:{alternatives(CARDINALS)}|\d{{1,4}})"
NUMBERED = rf"(?:number |no\.? ?|nr\.? ?|\# ?)?(?:{alternatives(CARDINALS)}|\d{{1,4}})"

# What is called a session. "Meeting" and "call" are left out: those are mostly talked *about*.
_ONE = r"session|conversation|chat|talk|discussion|dialog(?:ue)?|convo"
NOUN = rf"(?:(?:chat|conversation|talk|recorded) )?(?:{_ONE})(?![-/_\w])"
NOUNS = rf"(?:(?:chat|conversation|talk|recorded) )?(?:{_ONE})s?(?![-/_\w])"
PLURAL = rf"(?:(?:chat|conversation|talk|recorded) )?(?:{_ONE})s(?![-/_\w])"
NUMBERABLE = r"(?:chat session|session|conversation|chat|convo|dialogue)"  # "talk 3" is one of a conference
SIZE = r"(?:(?:ever|little|long|short|whole|entire|full|big) )?"

LAST = r"(?:last|latest|most recent|newest|final|previous|prior|preceding)"
BACKWARDS = rf"(?:(?:{ORDINAL}|next)[- ](?:to|from)[- ](?:the )?last|last but (?:one|two)|penultimate|second last)"
PLACE = rf"(?:very )?(?:{BACKWARDS}|{ORDINAL}|{LAST}|earliest|initial)"

# What is done in a conversation, by those who have it.
TALKED = f"(?:{_EN['talked']})"
# That the query is about a conversation, whoever had it.
TOPICAL = f"(?:{_EN['topical']})"

# Where these stand, a session is mostly not one of this conversation.
FOREIGN = regex(rf"\b(?:{_EN['foreign']})\b", re.I)

# Words that may follow a session: the sentence goes on, and nothing narrows down which one is meant.
FOLLOWING = frozenset(_EN["following"].split())
# In front of "session 16": nothing else may qualify the number's session.
BEFORE_NUMBER = frozenset(_EN["before_number"].split())


def place_of(words: str) -> int:
    """Read a place: "third" → 3, "last" → -1, "second-to-last" → -2; 0 if the words name none."""
    said = words.casefold().removeprefix("very ").strip()
    if re.fullmatch(rf"{LAST}", said):
        return -1
    if said in ("earliest", "initial"):
        return 1
    if said in ("penultimate", "second last", "last but one") or said.startswith("next"):
        return -2
    if said == "last but two":
        return -3
    backwards = re.match(rf"({ORDINAL})[- ](?:to|from)[- ](?:the )?last", said)
    if backwards:
        return -_ordinal(backwards[1])
    return _ordinal(said)


def _ordinal(word: str) -> int:
    return int(re.sub(r"\D", "", word)) if word[0].isdigit() else ORDINALS.get(word.replace(" ", "-"), 0)


def number_of(word: str) -> int:
    """Read a number: "session 16" → 16, "three" → 3; 0 if the word is none."""
    said = word.casefold()
    digits = re.search(r"\d+", said)
    if digits:
        return int(digits[0])
    return CARDINALS.get(said.split()[-1], 0) if said.split() else 0


def places_counted(first: str, more: str) -> tuple[int, ...]:
    """Read listed places: "2 to 4" → (2, 3, 4); "2, 3 and 7" → (2, 3, 7). 0 stands for a word that is none."""
    places = [number_of(first)]
    for joint, word in re.findall(
        rf"(, ?and |, ?|-|–|and|to|through|or|&) ?(?:{NUMBERABLE} )?({CARDINAL})\b", more, re.I
    ):
        number = number_of(word)
        if joint.strip().casefold() in ("-", "–", "to", "through") and places[-1] < number <= places[-1] + PLACES_MAX:
            places.extend(range(places[-1] + 1, number))
        places.append(number)
    return tuple(dict.fromkeys(places))


def part_of(words: str) -> str:
    """Read a part of a session: "the very end" → `END`; all other words → `BEGINNING`."""
    said = words.casefold().removeprefix("very ")
    return END if said.startswith(("end", "close", "conclu", "finish", "last")) else BEGINNING
