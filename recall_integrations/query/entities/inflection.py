"""Match names with the endings of a language: "у Приянки", "Annas Bericht", "Ahmet'in", "d'Anna".

A word of a text stands for a known name if it equals the name without the affixes of the text's language. In Russian,
Polish, Finnish and other languages that change the end of a name, two words are of one name if they have one root.
Nothing of this is done for English, nor if the language of the text is unknown: there "Annas" may be a name of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from recall_integrations.patterns import regex
from recall_integrations.text import stem, without_marks

if TYPE_CHECKING:
    from recall_integrations.query.entities.state import State

LETTERS_MIN = 3  # of a name that is looked for without its ending
ROOT_LETTERS_MIN = 2
ENDING_LETTERS_MAX = 3  # of an ending that is simply put on
HOLDERS_MAX = 8  # names with one root: of more, none is meant more than another

_GENITIVE_S = frozenset("de nl sv da no".split())
_ROOTED = frozenset("ru uk be bg sr mk el hy fi hu lt tr eu ro".split())  # Snowball stems are their roots
_CASES = frozenset("pl cs".split())  # no stemmer: the endings of names are taken off here
_CYRILLIC = frozenset("uk be bg mk".split())  # without a stemmer of their own that knows their letters: Russian's
_CASE_ENDING = regex(r"(?:owi|ovi|iem|ami|ach|om|em|ie|ów|ou|ům|[ąęěyýiíaáoóuúůeé])$")
_ARTICLE = regex(r"^(?:[dlmnst]|qu|dell|all|dall|nell|sull)'(?=\w)")
_ELIDING = frozenset("fr it ca".split())


def root_of(word: str, language: str) -> str:
    """Return the part that the forms of a name share in a language; the word itself if its forms do not differ."""
    if language in _CASES:
        bare = _CASE_ENDING.sub("", word)
        return without_marks(bare if len(bare) >= ROOT_LETTERS_MIN else word)
    if language in _ROOTED:
        root = stem(word, "ru" if language in _CYRILLIC else language)
        return root if len(root) >= ROOT_LETTERS_MIN else word
    return word


class Roots:
    """The known words of a scope's names by their roots, per language. A language costs nothing until it is asked for.

    Threads may share one: what is missing is added under a lock.
    """

    __slots__ = ("_lock", "_maps")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._maps: dict[str, tuple[dict[str, list[str]], int]] = {}  # with how many of the words it holds

    def of(self, state: State, word: str, language: str) -> list[str]:
        """Return known words with the root of `word`, in the order in which they became known."""
        known, done = self._maps.get(language, ({}, 0))
        if done < len(state.order):
            with self._lock:
                known, done = self._maps.get(language, ({}, 0))
                end = len(state.order)
                for name in state.order[done:end]:
                    known.setdefault(root_of(name, language), []).append(name)
                self._maps[language] = (known, end)
        return known.get(root_of(word, language), [])[: HOLDERS_MAX + 1]


def names_behind(state: State, word: str, language: str | None) -> list[str]:
    """Return the known words of names that the unknown `word` is a form of; empty for English (`None`)."""
    if language is None or len(word) < LETTERS_MIN:
        return []
    bare = next((form for form in _bare(word, language) if len(form) >= LETTERS_MIN and state.knows(form)), None)
    found = [] if bare is None else [bare]
    if language in _ROOTED or language in _CASES:
        held = [name for name in state.roots.of(state, word, language) if len(name) >= LETTERS_MIN and name != word]
        if len(held) <= HOLDERS_MAX:
            found.extend(name for name in held if name != bare and state.knows(name))
    return found


def is_owner(word: str, name: str, language: str | None) -> bool:
    """Say whether `word` is the genitive of a name: a noun behind it is a possession, and no family name."""
    return language in _GENITIVE_S and word == f"{name}s"


def _bare(word: str, language: str) -> Iterator[str]:
    """Yield the word without the affixes of a name. An ending is letters: "JOS'0" is no form of "Jos"."""
    if "'" in word:
        bare, _, ending = word.partition("'")
        if language in _ELIDING:
            yield _ARTICLE.sub("", word)
        elif ending.isalpha():
            yield bare
    elif word.endswith("s") and language in _GENITIVE_S:
        yield word[:-1]
    elif language in _ROOTED or language in _CASES:  # "Петрове": the stemmer takes "-ов" off Петров as well
        yield from (word[:-letters] for letters in range(1, ENDING_LETTERS_MAX + 1) if word[-letters:].isalpha())
