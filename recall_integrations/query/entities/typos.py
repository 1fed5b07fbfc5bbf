"""Estimate how likely one word is a misspelling of another, rather than another word.

Some differences are slips of the fingers, and names seldom differ by them: two letters swapped, a letter doubled or
not, an accent left out, a possessive without its apostrophe. A replaced, added or lost letter makes other names too
("Marina", "Marisa", "Maria"), all the more the shorter they are, and most of all at the front.
The figures were set with `scripts/measure_entities.py`.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby
from typing import NamedTuple

FEW_WORDS = 2_000  # words in all names of a scope up to which chance resemblance is rare
_SLIP_LETTERS_SURE = 6  # letters from which on a slip alone identifies a word
_SLIP = {4: 0.72, 5: 0.80}
_EDIT = {4: 0.55, 5: 0.66, 6: 0.74, 7: 0.80, 8: 0.83}


class Slip(NamedTuple):
    """A known word that a query word may be meant as.

    Args:
        word: the known word.
        edits: optimal string alignment distance.
        mechanical: a swap or a doubled letter.
        front: whether the first letter differs.
        same: only an accent, or the apostrophe of a possessive, is left out.
    """

    word: str
    edits: int
    mechanical: bool
    front: bool
    same: bool = False


def slip(typed: str, known: str, edits: int) -> Slip:
    """Describe the difference between a typed and a known word that are `edits` apart."""
    same = plain(typed) == plain(known)
    swapped = len(typed) == len(known) and sorted(typed) == sorted(known) and edits == 1
    mechanical = same or swapped or _undoubled(typed) == _undoubled(known)
    return Slip(known, edits, mechanical, typed[0] != known[0] and not mechanical, same)


def plain(word: str) -> str:
    """Return `word` without accents."""
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def _undoubled(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def word_confidence(found: Slip, known_words: int) -> float:
    """Return the confidence that a lone word is meant as `found.word`, if no other known word is like it.

    The more words are known, the likelier one of them resembles by chance a word that means something else.
    """
    letters = len(found.word)
    if found.same:
        return 0.92
    if found.edits > 1:
        return 0.6 if letters < 10 or found.front else 0.72
    few = known_words <= FEW_WORDS
    if found.mechanical:
        return 0.88 if letters >= _SLIP_LETTERS_SURE else _SLIP.get(letters, 0.5) + (0.07 if few else 0.0)
    return _EDIT.get(letters, 0.84) + (0.03 if few else 0.0) - (0.15 if found.front else 0.0)


def pair_confidence(slips: list[Slip]) -> float:
    """Return the confidence that neighbouring words name one entity, with the misspelt ones in `slips`."""
    slips = [s for s in slips if not s.same]
    edits = sum(s.edits for s in slips)
    if not slips:
        return 0.93
    if len(slips) == 1 and slips[0].mechanical:
        return 0.92
    if edits == 1:
        only = slips[0]
        return (0.92 if len(only.word) >= 7 else 0.89 if len(only.word) >= 5 else 0.78) - (0.06 if only.front else 0.0)
    if edits == 2:
        return (0.86 if min(len(s.word) for s in slips) >= 6 else 0.78) - (0.1 if any(s.front for s in slips) else 0.0)
    return 0.7
