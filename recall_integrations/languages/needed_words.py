"""Find the words without which a text holds no phrase of a list, so that no pattern is made or run that cannot match.

"(did|do) you [ever] mention" needs one of "did" and "do", and "you", and "mention". A text of other words holds no such
phrase, whatever its pattern is, and in one with these words the phrase begins where "did" or "do" does. Nothing is
known of scripts without spaces, of letters that may be typed in other ways, and of the signs that stand for any word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from recall_integrations.languages.phrases import LETTER, PIECE, is_loose
from recall_integrations.patterns import regex
from recall_integrations.records import record

Words = frozenset[str]
# What a phrase or a part of one may begin with, and whether that word ends there: "mention" may go on with "ed". `None`
# = with anything; empty = a slot of words that a blank follows, or of none.
Begins = frozenset[tuple[str, bool]] | None

_LETTERS = regex(f"{LETTER}+")
_FOLDED = frozenset("İıſ\u212a")  # letters that match one of ASCII where case is ignored, and do not in small letters
_SPACER = regex(r" \)\{\d+,\d+\}\??$")
_MOST = 4_000  # words that one place may have; with more, anything may stand there
_NOTHING_YET = frozenset({("", False)})


@record(frozen=True, eq=False)
class Heard:
    """A text in small letters, of the same length, and its words; `None` where case is not told by small letters."""

    low: str
    words: Words | None = None

    @cached_property
    def places(self) -> Mapping[str, list[int]]:
        """Where each word begins."""
        found: dict[str, list[int]] = {}
        at = 0
        for word in _LETTERS.findall(self.low):
            at = self.low.index(word, at)
            found.setdefault(word, []).append(at)
            at += len(word)
        return found


@lru_cache(maxsize=64)
def heard(text: str) -> Heard:
    """Return the words of a text."""
    if text.isascii() or _FOLDED.isdisjoint(text):
        low = text.lower()
        return Heard(low, frozenset(_LETTERS.findall(low)))
    return Heard("".join(c if len(c.lower()) > 1 else c.lower() for c in text))


class Needed(NamedTuple):
    """What a text that holds a phrase says."""

    words: tuple[Words, ...]  # of each of these sets a word
    first: Words | None  # a word of these where the phrase begins; `None` = it may begin anywhere


def begins_of(lists: Mapping[str, Iterable[str]], patterns: Mapping[str, str]) -> dict[str, Begins]:
    """Return what slots begin with: lists of phrases, which may name those before them, and `patterns` of others."""
    found: dict[str, Begins] = {n: frozenset() if _SPACER.search(p) else None for n, p in patterns.items()}
    for name, phrases in lists.items():
        if name not in patterns:
            every = [_Reader(phrase, found).alternatives() for phrase in phrases]
            known = [begins for begins in every if begins is not None]
            found[name] = frozenset[tuple[str, bool]]().union(*known) if len(known) == len(every) else None
    return found


def needs(phrase: str, begins: Mapping[str, Begins], slots: Mapping[str, str]) -> Needed:
    """Return what a text that holds the phrase says."""
    if phrase.startswith("~") or is_loose(phrase, slots):
        return Needed((), None)
    phrase = phrase.removeprefix("^")
    found = (None if element.startswith("[") else _Reader(element, begins).words() for element in _elements(phrase))
    whole = _Reader(phrase, begins)
    first = whole.words()
    return Needed(tuple(words for words in found if words), None if whole.skips else first)


def _elements(phrase: str) -> list[str]:
    """Split a phrase at the blanks outside of brackets."""
    parts, depth = [""], 0
    for c in phrase:
        depth += (c in "([") - (c in ")]")
        if c == " " and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts


class _Reader:
    """Reads what a phrase may begin with, piece by piece."""

    def __init__(self, phrase: str, begins: Mapping[str, Begins]) -> None:
        self._begins = begins
        self._pieces = [(m.lastgroup or "", m.group()) for m in PIECE.finditer(phrase)][::-1]
        self.skips = False  # whether other words may stand before the first

    def words(self) -> Words | None:
        """Return the words with one of which the phrase begins; `None` = with anything, or nothing."""
        begins = self.alternatives()
        return frozenset(word.lower() for word, _ in begins) if begins and all(word for word, _ in begins) else None

    def alternatives(self) -> Begins:
        """Read up to the bracket that ends them, or to the end."""
        found: Begins = self._sequence()
        while self._pieces and self._pieces.pop()[1] == "|":
            other = self._sequence()
            found = None if found is None or other is None else found | other
        return found

    def _sequence(self) -> Begins:
        found: Begins = _NOTHING_YET
        while self._pieces and self._pieces[-1][1].strip() not in ("|", ")", "]"):
            kind, value = self._pieces.pop()
            if kind in ("blank", "gap", "comma"):
                found = found and frozenset((word, ended or word != "") for word, ended in found)
                found = found if kind == "blank" else _then(found, None)
            elif value == "(":
                found = _then(found, self.alternatives())
            elif kind == "open":
                inner = self._sequence()
                closed = self._pieces.pop()[1] if self._pieces else "]"
                if inner is not None and closed.endswith(" "):
                    inner = frozenset((word, True) for word, _ in inner)
                then = _then(found, inner)
                found = None if found is None or then is None else found | then
            elif kind == "slot":
                begins = self._begins.get(value[1:-1])
                self.skips |= begins == frozenset()
                found = _then(found, begins)
            else:
                found = _then(found, _begins_of_word(value.removeprefix("=")) if kind in ("word", "exact") else None)
        return found


def _begins_of_word(value: str) -> Begins:
    first = _LETTERS.match(value)
    if first is None or not first.group().isascii():
        return None
    return frozenset({(first.group(), first.end() < len(value))})


def _then(before: Begins, after: Begins) -> Begins:
    """Join what may stand first with what may follow it."""
    if before is None or all(ended for _, ended in before):
        return before
    if after is None:
        return None
    if not after:
        return before if before == _NOTHING_YET else None
    found = frozenset(
        (word if ended else word + more, ended or end)
        for word, ended in before
        for more, end in (after if not ended else [("", True)])
    )
    return found if len(found) <= _MOST else None
