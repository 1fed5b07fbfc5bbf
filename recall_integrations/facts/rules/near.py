"""Cheap looks at the words beside a place: where they say no, no rule finds anything there.

A gate may let through what says nothing, and never keeps back what says something: it compares folded words with those
that the patterns of a rule are made of. What a pattern takes for one letter without regard to case is folded to it.
"""

from __future__ import annotations

_ODD = str.maketrans({"ı": "i", "İ": "i", "’": "'", "‘": "'"})  # a pattern takes "ı" and "İ" for an "i"


def folded(text: str) -> str:
    """A text without regard to case, as patterns have none. Places in it are not those of the text."""
    return text.lower() if text.isascii() else text.translate(_ODD).casefold()


def word_before(text: str, place: int) -> str:
    """The word that ends one sign before a place, folded; of a long one its end. Empty = there is none."""
    words = text[max(0, place - 16) : place - 1].rsplit(None, 1) if place > 1 else ()
    return folded(words[-1]) if words else ""
