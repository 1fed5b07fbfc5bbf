"""Ordinary English words, from which a name has to stand out, listed by topic and compared by Snowball stem."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from recall_integrations import languages
from recall_integrations.languages.tables import english
from recall_integrations.patterns import regex
from recall_integrations.text import STOP_WORDS, stem
from recall_integrations.text.analyser import stemmed

_ORDINARY = (Path(languages.__file__).parent / "en_ordinary.txt").read_text(encoding="utf-8")

_EN = english("names")
# Words that say what kind of thing a name is about. They carry no identity of their own, and their presence in a
# name says that it is not a person's.
KIND_WORDS = frozenset(_EN["kind_words"].split())

NAME_PARTICLES = frozenset(_EN["name_particles"].split())

# Upper case is how these are always written: it says nothing about whether a name is meant.
ACRONYMS = frozenset(_EN["acronyms"].split())

CALENDAR_WORDS = frozenset(_EN["calendar_words"].split())

# Ordinary words that people are also called.
GIVEN_WORDS = frozenset(_EN["given_words"].split())

ORDINARY_WORDS = (
    frozenset(_ORDINARY.split()) | STOP_WORDS | KIND_WORDS | GIVEN_WORDS
)  # as listed, without their inflections
_STEMS = frozenset(stemmed(ORDINARY_WORDS))
_STEM_CHARS_MIN = 3
_INFLECTED_CHARS_MIN = 5  # shorter words that merely share a stem are names: "Anna" is no inflection of "an"


@lru_cache(maxsize=8_192)
def is_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, an inflection of one, a lone letter or a number."""
    if word in ORDINARY_WORDS or len(word) < 2 or not any(c.isalpha() for c in word):
        return True
    if not word.isascii():
        return False
    if len(word) < _INFLECTED_CHARS_MIN:
        return len(word) > _STEM_CHARS_MIN and word.endswith("s") and word[:-1] in ORDINARY_WORDS
    root = stem(word)
    return len(root) >= _STEM_CHARS_MIN and root in _STEMS


# How English makes words out of words. Hardly a name of this length ends so.
_MADE = regex(
    r"[a-z]{3,}(?:[ts]ion|ment|ness|ship|able|ible|ability|ibility|i[sz]e|i[sz]ing|i[sz]ation|ative|itive|ological"
    r"|ously|ally|edly|ingly|less|fully|ically|ivity|ency|ology|ician|ification|istic|itional|ational)s?"
    r"|[a-z]{3,}(?:ized|ised|ments|ities)"
)
_MADE_CHARS_MIN = 7


def looks_ordinary(word: str) -> bool:
    """Say whether a normal form is an ordinary English word, or has the ending of a derived word."""
    if is_ordinary(word):
        return True
    return len(word) >= _MADE_CHARS_MIN and word.isascii() and _MADE.fullmatch(word) is not None
