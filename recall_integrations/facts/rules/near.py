"""Cheap looks at the words beside a place: where they say no, no rule finds anything there.

A gate may let through what says nothing, and never keeps back what says something: it compares folded words with those
that the patterns of a rule are made of. What a pattern takes for one letter without regard to case is folded to it.
"""

from __future__ import annotations

from recall_integrations.patterns import regex

_ODD = str.maketrans({"ı": "i", "İ": "i", "’": "'", "‘": "'"})  # a pattern takes "ı" and "İ" for an "i"
_SIGNS = str.maketrans(dict.fromkeys((sign for sign in map(chr, range(128)) if not sign.isalnum()), " "))
_WORD = regex(r"[^\W_]+")


def folded(text: str) -> str:
    """A text without regard to case, as patterns have none. Places in it are not those of the text."""
    return text.lower() if text.isascii() else text.translate(_ODD).casefold()


def words_behind(text: str, place: int, chars: int) -> list[str]:
    """The words of a stretch that begins at a place, folded: what stands between signs, of which an apostrophe is one.

    Args:
        text: the whole.
        place: where it begins.
        chars: how long it is.
    """
    part = folded(text[place : place + chars])
    return part.translate(_SIGNS).split() if part.isascii() else _WORD.findall(part)


def word_before(text: str, place: int) -> str:
    """The word that ends one sign before a place, folded; of a long one its end. Empty = there is none."""
    words = text[max(0, place - 16) : place - 1].rsplit(None, 1) if place > 1 else ()
    return folded(words[-1]) if words else ""
