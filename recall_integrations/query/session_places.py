"""Read the places among the sessions that words name: "third" is 3, "last" is -1, "2 to 4" are 2, 3 and 4."""

from __future__ import annotations

import re

from recall_integrations.query.session_words import CARDINAL, CARDINALS, LAST, NUMBERABLE, ORDINAL, ORDINALS
from recall_integrations.types.readings import BEGINNING, END

PLACES_MAX = 20  # sessions that one reference may name


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
