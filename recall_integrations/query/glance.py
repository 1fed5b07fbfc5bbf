"""What a text holds at all, so that a step can ask "could I find anything here?" before its patterns search for it.

A step of the parse looks for phrases, and most queries have none of them. Each table of patterns therefore says which
words a match cannot do without, and a look at the words of the text, taken once, spares it most searches. A step that
is passed over would have found nothing: the tests hold every table against its gate.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_RUN = re.compile(r"\w+")


class Glance(NamedTuple):
    """What a text holds.

    Args:
        folded: the text as the tables of cues and intents read it, see `folded`.
        runs: the runs of letters, digits and "_" of `folded`. A pattern that asks for a word between two `\\b` asks for
            one of these.
        plain: whether the text is in ASCII. Then a pattern that is held against the whole text, in any case, finds a
            word only where `runs` has it. In another text "ſ" is an "s" in any case, and no "s" in lower case.
    """

    folded: str
    runs: frozenset[str]
    plain: bool

    def has(self, words: frozenset[str]) -> bool:
        """Whether the text itself may hold one of some words, whole and in lower case."""
        return not self.plain or not self.runs.isdisjoint(words)


def folded(text: str) -> str:
    """A query as the tables of cues and intents read it: compatibility forms, case and white space do not matter."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("’", "'")
    return " ".join(text.casefold().split())


def glance(text: str) -> Glance:
    """Look at a text once."""
    said = folded(text)
    return Glance(said, frozenset(_RUN.findall(said)), text.isascii())


def word_set(text: str) -> frozenset[str]:
    """The words of a text that lists them."""
    return frozenset(text.split())
