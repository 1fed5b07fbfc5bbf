"""A sentence of a note as words with places, and what each of them weighs."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from recall_integrations.facts.cue_words import Cues
from recall_integrations.facts.rules import loose_words as known
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.reading import Reading
from recall_integrations.facts.said import ME
from recall_integrations.patterns import regex

_TOKEN = regex(
    r"->|-->|=>|→|⇒|➔|➡|[-–—]+(?=\s|$)|[£$€]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\w*|\w+@[^\s,;()]+|\d+:\d+\w*|"
    r"[^\s=():,;\"“”|?]+|[=():,;\"“”|?]"
)
_LEAD, _TRAIL = "*•'‘’`", ".!…*'’`"
_CONTRACTED = frozenset("it's that's he's she's there's here's what's who's where's let's how's".split())


class Token(NamedTuple):
    """A word or a sign, and where it stands in the text."""

    text: str
    low: str
    start: int
    end: int
    own: bool  # whether it ends with a possessive


class Note:
    """One sentence while it is read."""

    def __init__(self, reading: Reading, cues: Cues, first: int, last: int, poisoned: bool) -> None:
        self.reading, self.cues, self.first, self.last, self.poisoned = reading, cues, first, last, poisoned
        self.text = reading.text
        self.tokens = _cut(reading.text, first, last)
        self.low = [token.low for token in self.tokens]
        self.mine = not known.ME.isdisjoint(self.low)
        self.subject = ME
        self.owned: frozenset[int] = frozenset()

    def is_name(self, i: int) -> bool:
        """Whether a word is written as a name."""
        token = self.tokens[i]
        if not token.text[:1].isupper():
            return False
        if token.low in words.NOT_NAMES or (i == 0 and self.is_plain(i)):
            return False
        return token.low not in known.ME

    def is_plain(self, i: int) -> bool:
        low = self.low[i]
        return low in known.TALK or low in self.cues.first or low in self.cues.verbs or low in known.ENDED

    def weightless(self, i: int) -> bool:
        low = self.low[i]
        if low in known.SEPARATORS:
            return True
        if i == 0 and self.tokens[0].text[0].isupper() and self.low[1] in known.ARROWS:
            return False
        if i and self.tokens[i].text[0].isupper() and low not in known.ME and not self._shouted(i):
            return False
        return low in known.TALK

    def _shouted(self, i: int) -> bool:
        """Whether a capital says nothing: at the beginning of a clause behind a colon, or of a word like "FYI"."""
        return self.tokens[i].text.isupper() and len(self.tokens[i].text) > 1 and self.low[i] in known.TALK

    def capital(self, i: int) -> bool:
        return i > 0 and self.tokens[i].text[:1].isupper()

    def noun_word(self, i: int) -> bool:
        return self.low[i].isalpha() and not self.weightless(i) and i not in self.owned and (
            self.tokens[i].text.islower() or i == 0
        )  # fmt: skip


@lru_cache(maxsize=256)  # candidates of a recall are looked at for each slot and each name of whom is asked
def _cut(text: str, first: int, last: int) -> tuple[Token, ...]:
    found = []
    for match in _TOKEN.finditer(text, first, last):
        raw = match[0]
        plain = raw.rstrip(_TRAIL) or raw
        head = plain.lstrip(_LEAD) or plain  # so no "'s" stands alone, and what is left of an owner is never empty
        start = match.start() + len(plain) - len(head)
        low = head.casefold().replace("’", "'")
        own = low.endswith("'s") and low not in _CONTRACTED
        if own:
            head, low = head[:-2], low[:-2]
        found.append(Token(head, low, start, match.end(), own))
    return tuple(found)
