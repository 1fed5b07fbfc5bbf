"""The names that a document says, which lead from it to other documents.

A name is a run of words that begin with a capital, joined by "of", "de" and the like. Ordinary English words are none
only because a sentence begins with them, and none in a title, a label or a table (`prose`): of "Visit Norvik" and
"Norvik Travel Plan" the name is Norvik. Written large within a sentence two of them may be one ("Blue Harbour"), if the
text does not also write them small. One alone ("Harbour") is a name only if the store has an entity of that name. What
is no name and looks like one is mostly said by many documents and weighs little then. A script without capitals has no
names. Read from a few texts per recall, so it has to be quick.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.second_hop.holders import keys_of
from recall_integrations.arms.second_hop.ordinary import NAME_OPENERS, PERSON_VERBS, is_plain
from recall_integrations.arms.second_hop.prose import Line, lines
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.indexes.word_rows import cut
from recall_integrations.patterns import regex
from recall_integrations.query.entities.words import CALENDAR_WORDS, GIVEN_WORDS, looks_ordinary
from recall_integrations.text import STOP_WORDS, tokenize
from recall_integrations.text.by_language import SEP, language_of, stop_words

WORDS_MAX = 6  # content words of a name; a longer run is a heading
CHARS_MAX = 8_192  # of a longer text only the beginning is read
NAMES_MAX = 64  # of a text
OPENS, BARE = 1, 2  # a sentence begins with it; it is of a title, a label or a table
LARGE_NOUNS = ("de", "lb")  # languages that write every noun large: one word alone is no name for that
CONNECTORS = frozenset("of the de del der di du da la le van von for".split())

_REST = r"(?:[^\W_]|['’](?=[^\W_]))*"
_LARGE = rf"[^\W\d_a-z]{_REST}"  # a letter beyond ASCII may be a small one: looked at again below
_RUN = regex(
    rf"(?<!\w){_LARGE}(?:(?:[ -]|(?<=\b\w)\. )(?:(?:{'|'.join(sorted(CONNECTORS))}) )*(?:{_LARGE}|\d{_REST}))*"
)
_ROMAN = regex(r"x{0,2}(?:i{1,3}|i?v|vi{1,3}|ix)")
_PARTS = frozenset("non pre re anti co un multi semi ex mid self sub".split())
_PART = regex(r"[^\W_]+(?:['’][^\W_]+)*")
_QUOTES = "\"“'‘(*_"
_ACTS = regex(r" ([a-z]+)")


class DocumentNames(NamedTuple):
    """The names of a text."""

    names: tuple[str, ...]  # names as they are written
    stems: NDArray[np.int32]  # int32 `(len(names), WORDS_MAX)`: numbers of the stems of each, filled up with -1
    keys: NDArray[np.uint64]  # uint64, by which `holders` looks each up
    unsure: NDArray[np.bool_]  # those that are names only if there is an entity of that name


class Name(NamedTuple):
    """A name as it is written first, and whether it is one only if there is an entity of that name."""

    written: str
    unsure: bool


def names_in(text: str) -> dict[tuple[str, ...], Name]:
    """Return the distinct names of a text by their content words, in order, at most `NAMES_MAX`."""
    text = text[:CHARS_MAX]
    language = language_of(text)
    stops = STOP_WORDS if language is None else STOP_WORDS | stop_words(language)
    found: dict[tuple[str, ...], Name] = {}
    for line in lines(text):
        for run in _RUN.finditer(line.text):
            if run.group().lower() in stops:
                continue
            for written, placed in _names_of(line, *run.span(), stops):
                words = tuple(cut(written, language))
                if not words or len(words) > WORDS_MAX:
                    continue
                known = found.get(words)
                said = words if language is None else tuple(word.partition(SEP)[0] for word in words)
                if (known is not None and not known.unsure) or _is_date(said):
                    continue
                unsure = (len(words) == 1 and language in LARGE_NOUNS) or _is_unsure(said, written, placed, text)
                if known is None:
                    name = written[:-2] if written.endswith(("'s", "’s")) else written
                    found[words] = Name(name, unsure)
                    if len(found) == NAMES_MAX:
                        return found
                elif not unsure:
                    found[words] = Name(known.written, False)
    return found


def _is_date(words: tuple[str, ...]) -> bool:
    return CALENDAR_WORDS.issuperset(word for word in words if not word[0].isdigit())


def _is_unsure(words: tuple[str, ...], written: str, placed: int, text: str) -> bool:
    """Say whether too little shows that a run is a name: the whole of a title; words that are all ordinary and begin a
    sentence, or are written small elsewhere; one word that is ordinary, or begins a sentence without a possessive.
    """
    own = [word for word in words if len(word) > 1 and not word[0].isdigit()]
    plain = all(map(ordinary, own))
    if len(own) > 1:
        return placed == BARE or (plain and (placed == OPENS or written.lower() in text))
    return plain or (placed > 0 and not written.endswith(("'s", "’s")))


def _names_of(line: Line, start: int, end: int, stops: AbstractSet[str]) -> Iterator[tuple[str, int]]:
    """Yield the parts of a run of capitals that may be names, each with a reason for its capital: 0, OPENS or BARE."""
    text = line.text[start:end]
    if not text[0].isupper():
        return
    parts = [*_PART.finditer(text)]
    first, last = 0, len(parts) - 1
    while first < last and (word := parts[first].group().lower()) in stops and word != "the":
        first += 1
    if first == last and ordinary(parts[last].group().lower()):
        yield text[parts[first].start() :], OPENS
        return
    bare, opens = line.bare(start, end), line.opens(start)
    if bare:
        strange = [text[begin:stop] for begin, stop in _strange(parts)]
        yield from ((part, OPENS) for part in strange)
        if text not in strange:
            yield text[parts[first].start() :], BARE
        return
    if opens and first < last:
        first = _after_openers([part.group().lower() for part in parts], first)
    acts = _ACTS.match(line.text, end)
    yield text[parts[first].start() :], OPENS if opens and not first and not (acts and acts[1] in PERSON_VERBS) else 0


def _after_openers(words: list[str], first: int) -> int:
    """Move `first` over ordinary words in front of a strange one, which are large only because a sentence begins."""
    strange = [i for i in range(first, len(words)) if not ordinary(words[i])]
    opener = words[first]
    if not strange or opener in NAME_OPENERS or opener in GIVEN_WORDS or (opener == "the" and first + 2 < len(words)):
        return first
    return strange[0]


def _strange(parts: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Return the begin and end of each run of words that are not ordinary."""
    found: list[tuple[int, int]] = []
    joined = False
    for part in parts:
        word = part.group().lower()
        if ordinary(word):
            joined = joined and word in CONNECTORS
            continue
        found[len(found) - joined :] = [(found[-1][0] if joined else part.start(), part.end())]
        joined = True
    return found


@lru_cache(maxsize=16_384)
def ordinary(word: str) -> bool:
    """Say whether a word in lower case gives by itself no hint of a name."""
    word = word.replace("’", "'").removesuffix("'s")
    return is_plain(word) or looks_ordinary(word) or word in _PARTS or _ROMAN.fullmatch(word) is not None


def says(text: str, name: str) -> bool:
    """Say whether a text confirms a name that is unsure in its own document.

    A text does so where it writes the name large within a sentence, or begins with it as with a subject. One word that
    is written large because it is a noun is never confirmed.
    """
    at = text.find(name)
    if at >= 0 and " " not in name and language_of(text) in LARGE_NOUNS:
        return False
    while at >= 0:
        after = text[at + len(name) : at + len(name) + 1]
        if not at and after and after in " .,(" and (len(cut(name)) > 1 or _is_strange(name, text)):
            return True
        if not after.isalnum():
            before = text[max(0, at - 5) : at].rstrip(_QUOTES)
            word = before[:-1].removesuffix(",")[-1:]
            if before.endswith(" ") and word.isalnum() and not word.isupper():
                return True
        at = text.find(name, at + 1)
    return False


def _is_strange(name: str, text: str) -> bool:
    """Say whether a word is no ordinary one. Ordinary words are known of English only."""
    return language_of(text) is None and not ordinary(name.lower())


def beginning(name: str, count: int) -> str:
    """Cut a name after its first `count` content words."""
    own = [token for token in tokenize(name) if token.word not in STOP_WORDS]
    return name[: own[count - 1].end] if len(own) > count else name


def said_in(text: str, lexicon: Lexicon) -> DocumentNames:
    """Return the names of a stored text, whose words the lexicon has therefore."""
    found = names_in(text)
    stems = np.full((len(found), WORDS_MAX), -1, dtype=np.int32)
    places = [WORDS_MAX * i + k for i, words in enumerate(found) for k in range(len(words))]
    ids = lexicon.ids_of([word for words in found for word in words])
    stems.reshape(-1)[places] = lexicon.stems[ids]
    return DocumentNames(
        names=tuple(name.written for name in found.values()),
        stems=stems,
        keys=keys_of(stems),
        unsure=np.fromiter((name.unsure for name in found.values()), dtype=np.bool_, count=len(found)),
    )
