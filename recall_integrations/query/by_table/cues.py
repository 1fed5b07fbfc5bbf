"""Read question words, types, relations and intents in a language with tables: `questions` and `types`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from recall_integrations.languages.phrases import said
from recall_integrations.query.by_table.wording import Match, wording
from recall_integrations.types import MemoryType

_RELATIONS = ("manager", "report", "team", "owner", "depends", "blocks", "works", "lives", "married", "recommend")
_INTENTS = ("ownership", "dependency", "alignment", "what_happened", "recency", "documents")


class Kind(NamedTuple):
    """What a cue says of the memory asked for."""

    strength: float  # value of the feature, in [0, 1]
    types: tuple[MemoryType, ...] = ()  # empty if it makes the query more specific without naming a type
    filters: bool = False  # whether memories of other types may be left out, if there are memories of these types
    keywords: bool = False  # whether the words of its list are looked for: "favourite" is, "how do I" is not


# By the lists under `types`: as strong as their counterparts in English.
_KINDS: dict[str, Kind] = {
    "preferences": Kind(0.6, (MemoryType.PREFERENCE,), filters=True),
    "prefers": Kind(0.6, (MemoryType.PREFERENCE,), keywords=True),
    "choose": Kind(0.5, (MemoryType.PREFERENCE,), keywords=True),
    "likes": Kind(0.4, (MemoryType.PREFERENCE,), keywords=True),
    "when": Kind(0.6, (MemoryType.EVENT,)),
    "happened": Kind(0.3, (MemoryType.EVENT,)),
    "how": Kind(0.4, (MemoryType.SKILL,)),
    "summary": Kind(0.6, (MemoryType.SUMMARY,)),
    "who": Kind(0.6),
    "number": Kind(0.4, keywords=True),
    "something": Kind(0.2),
}
OCCURRENCES = ("first", "last", "past")
_ASKED = ("asking", "what", "doing", "courtesies", "thanks")
types_of = partial(wording, section="types", known=(*_KINDS, *OCCURRENCES), values=("relations", "intents"))
questions_of = partial(wording, section="questions", known=_ASKED)
relations_of = partial(wording, section="types", part="relations", known=_RELATIONS)
intents_of = partial(wording, section="types", part="intents", known=_INTENTS)


def type_cues(text: str, language: str | None) -> tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]:
    """Read the type cues as `features.type_cues` does; nothing if the language has no tables."""
    words, heard = types_of(language), said(text).text
    return summed(kind for name, kind in _KINDS.items() if words.says(name, heard))


def summed(kinds: Iterable[Kind]) -> tuple[float, tuple[MemoryType, ...], tuple[MemoryType, ...]]:
    """Return the strength of the strongest, the types in order of strength, and the types that may pre-filter."""
    found = sorted(kinds, key=lambda kind: -kind.strength)
    types = tuple(dict.fromkeys(t for kind in found for t in kind.types))
    filters = tuple(dict.fromkeys(t for kind in found if kind.filters for t in kind.types))
    return (found[0].strength if found else 0.0), types, filters


def occurrences(text: str, which: str, language: str | None) -> list[Match]:
    """Return spans of the words that ask for the first or the last time, or the past: one of `OCCURRENCES`."""
    words, read = types_of(language), said(text)
    return [read.span(*match) for match in words.found(which, read.text)]


def relations(text: str, language: str | None) -> tuple[str, ...]:
    """Return the English words of `features.PREDICATES` that the query's words stand for, in order of appearance."""
    words, heard = relations_of(language), said(text).text
    found = sorted((start, name) for name in _RELATIONS for start, _ in words.found(name, heard))
    return tuple(dict.fromkeys(name for _, name in found))


def intents(text: str, language: str | None) -> frozenset[str]:
    """Return the names of `routing.INTENTS` that the query matches."""
    words, heard = intents_of(language), said(text).text
    return frozenset(name.replace("_", " ") for name in _INTENTS if words.says(name, heard))


def courtesies(text: str, language: str | None) -> list[Match]:
    """Return spans of words that only make a question polite: at its beginning, and at its end."""
    words, read = questions_of(language), said(text)
    spans: list[Match] = []
    at = 0
    for _ in range(4):
        start = next((i for i in range(at, len(read.text)) if read.text[i].isalnum()), len(read.text))
        match = words.match("courtesies", read.text, start)
        if match is None or match.end() == start:
            break
        at = match.end()
    if at:
        spans.append(read.span(0, at))
    end = next((i for i in range(len(read.text), 0, -1) if read.text[i - 1].isalnum()), 0)
    last = next((match for match in words.found("thanks", read.text) if match[1] == end), None)
    if last is not None and last[0] >= at:
        spans.append((read.span(*last)[0], len(text)))
    return spans


def no_keywords(text: str, language: str | None) -> list[Match]:
    """Return spans of question words and of words that only ask for a type: no memory is found by them.

    The verb of "was .. gemacht", "做了什么" is among them, as "what did I do" is in English.
    """
    read = said(text)
    spans: list[Match] = []
    asking, types = questions_of(language), types_of(language)
    spans += asking.found("asking", read.text)
    if asking.says("what", read.text):
        spans += asking.found("doing", read.text)
    spans += (m for name, kind in _KINDS.items() if not kind.keywords for m in types.found(name, read.text))
    return sorted(read.span(*m) for m in spans)
