"""The maps behind an `EntityIndex`.

Readers use them without a lock while one writer extends them. That is safe because the writer only ever appends to a
list, sets a key, or replaces a value; nothing is taken out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from recall_integrations.query.entities.inflection import Roots
from recall_integrations.query.entities.trigrams import TrigramIndex
from recall_integrations.query.entities.units import is_cjk
from recall_integrations.query.entities.words import GIVEN_WORDS, KIND_WORDS, NAME_PARTICLES, is_ordinary
from recall_integrations.text import STOP_WORDS

PHRASE_WORDS_MAX = 32  # longer names are found by `lookup` only
SWAP_WORDS_MAX = 4  # names up to this many words are also found with their words in another order


class Entity:
    """A known entity and its names; `order` is its sort key among entities that fit equally well."""

    __slots__ = ("id", "name", "order", "phrases")

    def __init__(self, entity_id: str, name: str, order: str) -> None:
        self.id = entity_id
        self.order = order
        self.name = name
        self.phrases: tuple[Phrase, ...] = ()


class Phrase:
    """One name of an entity: `words` in normal form, `surface` as given, `is_name` unless it is an alias, `declared`
    if somebody said on purpose that this is a name."""

    __slots__ = ("declared", "entity", "is_name", "surface", "words")

    def __init__(
        self, entity: Entity, words: tuple[str, ...], surface: str, is_name: bool, declared: bool = False
    ) -> None:
        self.declared = declared
        self.entity = entity
        self.words = words
        self.surface = surface
        self.is_name = is_name


# Most keys have one phrase. A list for each would double the memory, and the garbage collector's work in a build.
PhraseMap: TypeAlias = "dict[str, Phrase | list[Phrase]]"


def at(phrases: PhraseMap, key: str) -> Sequence[Phrase]:
    """Return the phrases of a key, in the order in which they were added; none for an unknown key."""
    found = phrases.get(key)
    if found is None:
        return ()
    return found if isinstance(found, list) else (found,)


def _put(phrases: PhraseMap, key: str, phrase: Phrase) -> None:
    found = phrases.get(key)
    if found is None:
        phrases[key] = phrase
    elif isinstance(found, list):
        found.append(phrase)
    else:
        phrases[key] = [found, phrase]


class State:
    """All maps of one index.

    Attributes:
        entities: entities by id.
        phrases: names and aliases by their words, joined by spaces.
        lengths: for the first word of a phrase, the numbers of words of such phrases, longest first.
        parts: phrases of two and more words by each of their words.
        bags: phrases of two to four words by their words in sorted order, joined by spaces.
        compact: phrases of two to four words by their words without spaces.
        trigrams: every word that may be misspelt.
        order: every word, as they became known; `roots` reads them when a text in another language asks.
    """

    __slots__ = ("bags", "compact", "entities", "lengths", "order", "parts", "phrases", "roots", "trigrams")

    def __init__(self) -> None:
        self.entities: dict[str, Entity] = {}
        self.phrases: PhraseMap = {}
        self.lengths: dict[str, tuple[int, ...]] = {}
        self.parts: PhraseMap = {}
        self.bags: PhraseMap = {}
        self.compact: PhraseMap = {}
        self.trigrams = TrigramIndex()
        self.order: list[str] = []
        self.roots = Roots()

    def knows(self, word: str) -> bool:
        """Say whether a name or alias has this word."""
        return word in self.parts or word in self.phrases

    def add(self, phrase: Phrase) -> None:
        """Index one phrase."""
        words = phrase.words
        self._add_words(phrase)
        if 1 < len(words) <= SWAP_WORDS_MAX and not is_cjk(words[0]):
            _put(self.bags, " ".join(sorted(words)), phrase)
            _put(self.compact, "".join(words), phrase)
        # The phrase becomes visible to a scan last, when all maps that a match reads hold it.
        _put(self.phrases, " ".join(words), phrase)
        known = self.lengths.get(words[0], ())
        if len(words) not in known and len(words) <= PHRASE_WORDS_MAX:
            self.lengths[words[0]] = tuple(sorted((*known, len(words)), reverse=True))

    def _add_words(self, phrase: Phrase) -> None:
        words = phrase.words
        several = len(words) > 1
        for word in dict.fromkeys(words):
            if word not in self.parts and word not in self.phrases:
                self.trigrams.add(word)
                self.order.append(word)
            if several:
                _put(self.parts, word, phrase)


def is_person_like(phrase: Phrase) -> bool:
    """Say whether a name of two or three words may be a person's.

    Letters only, no word for a kind of thing, not only ordinary words, and each word in upper case, if any is.
    """
    words = phrase.words
    if not 2 <= len(words) <= 3 or all(is_ordinary(w) and w not in GIVEN_WORDS for w in words):
        return False
    if any(w in KIND_WORDS or w in _STOP or not w.replace("'", "").isalpha() for w in words):
        return False
    if phrase.surface.islower():
        return True
    return not any(t[0].islower() for t in phrase.surface.split() if t.casefold() not in NAME_PARTICLES)


_STOP = STOP_WORDS - GIVEN_WORDS
