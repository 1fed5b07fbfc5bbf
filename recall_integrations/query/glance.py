"""Look once at the words of a text, so that a step can skip its patterns if none of them can match.

A step of the parse looks for phrases, and most queries have none of them. Each table of patterns therefore lists the
words that its matches need, and one look at the words of the text spares it most searches. A step that is skipped
would have found nothing: the tests hold every table against its gate.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_RUN = re.compile(r"\w+")


class Glance(NamedTuple):
    """The folded form, the words and the script of a text."""

    folded: str  # the text as the tables of cues and intents read it, see `folded`
    runs: frozenset[str]  # of letters, digits and "_" in it; a pattern that asks for a whole word asks for one of these
    # Whether the text is in ASCII. Then a pattern that is matched against the whole text, ignoring case, finds a word
    # only if `runs` has it. In another text "ſ" matches "s" without case, but not in lower case.
    plain: bool

    def has(self, words: frozenset[str]) -> bool:
        """Say whether the text itself may hold one of some words, whole and in lower case."""
        return not self.plain or not self.runs.isdisjoint(words)


def folded(text: str) -> str:
    """Fold a query as the tables of cues and intents read it: compatibility forms, case, white space are levelled."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return " ".join(text.casefold().split())


def glance(text: str) -> Glance:
    """Look at a text once."""
    said = folded(text)
    return Glance(said, frozenset(_RUN.findall(said)), text.isascii())


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that lists them."""
    return frozenset(text.split())
