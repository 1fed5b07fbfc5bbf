"""Fold a query as the tables of cues and intents read it."""

from __future__ import annotations

import unicodedata


def folded(text: str) -> str:
    """Level compatibility forms, case and white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return " ".join(text.casefold().split())


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())
