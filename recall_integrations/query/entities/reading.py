"""A text as the matchers read it: its units, the reserved ones, and the evidence of upper case.

Only its spelling tells whether an ordinary word ("will", "mark", "API") is meant as a name: upper case inside a
sentence is evidence, at its start only with a possessive; lower case is none, unless somebody declared the name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from recall_integrations.patterns import regex
from recall_integrations.query.entities.state import (
    ACRONYMS,
    CALENDAR_WORDS,
    GIVEN_WORDS,
    Phrase,
    follows_han,
    is_cjk,
    is_ordinary,
    splits_a_word,
    units,
    without_possessive,
)
from recall_integrations.text import STOP_WORDS, Token, language_of

_SENTENCE_END = regex(r"[.!?…:;\n\r。！？]|^\W*$")
_BREAK = regex(r"[\n\r!?;:()\[\]{}\"“”|…。！？]")
_DATE_LEAD = frozenset(
    "in since until till by last next this during before after early late mid on every of through".split()
)
_TITLES = frozenset("mr mrs ms miss dr prof sir madam lord lady president captain".split())
GAP_CHARS_MAX = 3


DECLARED = 0.9  # of an ordinary word in lower case that somebody declared as a name
OWNERS = frozenset(("my", "our"))  # with them, one ordinary word is a name that somebody declared on purpose


class Reading:
    """One text, its units, and the words that may be part of a name."""

    def __init__(
        self, text: str, reserved: Sequence[tuple[int, int]] = (), tokens: Sequence[Token] | None = None
    ) -> None:
        self.text = text
        self.tokens: Sequence[Token] = units(text, tokens)
        self.words: list[str] = [token[0] for token in self.tokens]
        if reserved:
            self._reserve(reserved)

    def _reserve(self, reserved: Sequence[tuple[int, int]]) -> None:
        spans = sorted((start, end) for start, end in reserved if end > start)
        at, reach = 0, -1
        for i, token in enumerate(self.tokens):
            while at < len(spans) and spans[at][0] < token.end:
                reach = max(reach, spans[at][1])
                at += 1
            if token.start < reach:
                self.words[i] = ""  # no name has the empty word

    def span(self, i: int, j: int) -> tuple[int, int]:
        """Return the characters from unit `i` to before unit `j`, without a closing possessive."""
        start, last = self.tokens[i].start, self.tokens[j - 1]
        return start, max(without_possessive(self.text, last.start, last.end), start + 1)

    def joined(self, i: int, j: int, comma: bool = False) -> bool:
        """Say whether units `i` to before `j` can be one name: no separator stands between them."""
        for k in range(i + 1, j):
            gap = self.text[self.tokens[k - 1].end : self.tokens[k].start]
            if gap in {" ", "-", ""}:
                continue
            if len(gap) > GAP_CHARS_MAX or _BREAK.search(gap) or ("," in gap and not comma):
                return False
            if ". " in gap and len(self.words[k - 1]) > GAP_CHARS_MAX:
                return False
        return True

    def is_upper(self, i: int) -> bool:
        """Say whether unit `i` starts with an upper-case letter."""
        return self.text[self.tokens[i].start].isupper()

    def opens_sentence(self, i: int) -> bool:
        """Say whether unit `i` is the first of a sentence."""
        if i == 0:
            return True
        before = self.tokens[i - 1]
        gap = self.text[before.end : self.tokens[i].start]
        if gap == " " or not _SENTENCE_END.search(gap):
            return False
        if gap.isspace():
            return "\n" in gap
        return not (gap.startswith(".") and len(before.word) <= 3 and self.is_upper(i - 1))  # "Dr. Mark", "P. Will"

    def stands_out(self, i: int) -> bool:
        """Say whether unit `i` is in upper case for no other reason than that it is a name."""
        return self.is_upper(i) and not self.opens_sentence(i) and self._mixes_case

    @cached_property
    def language(self) -> str | None:
        """Language of the text; `None` = English, or unknown."""
        return language_of(self.text)

    @cached_property
    def _mixes_case(self) -> bool:
        later = self.tokens[1:]
        return len(later) < 3 or any(self.text[token.start].islower() for token in later)

    def has_possessive(self, i: int) -> bool:
        """Say whether unit `i` ends in "'s"."""
        token = self.tokens[i]
        return without_possessive(self.text, token.start, token.end) != token.end

    def word_as_name(self, i: int) -> float:
        """Estimate how likely the lone word `i` is meant as a name, given that it is one; 0 = not at all."""
        word = self.words[i]
        if is_cjk(word):
            return 0.9 if self._stands_alone(i) else 0.5
        if not is_ordinary(word):
            return 0.96
        if not word.replace("'", "").isalpha():
            return 0.8 if len(word) >= 3 else 0.0
        if word in ACRONYMS:
            shown = self.text[slice(*self.span(i, i + 1))].isupper() or self.stands_out(i)
            return (0.8 if len(word) > 3 else 0.6) if shown else 0.0
        if len(word) < 2:
            return 0.0
        if self.stands_out(i):
            return 0.5 if word in CALENDAR_WORDS and self._is_dated(i) else 0.9
        return 0.88 if self.is_upper(i) and self.has_possessive(i) and self._mixes_case else 0.0

    def _is_dated(self, i: int) -> bool:
        before = self.words[i - 1] if i else ""
        after = self.words[i + 1] if i + 1 < len(self.words) else ""
        return before in _DATE_LEAD or before[:1].isdigit() or after[:1].isdigit()

    def _stands_alone(self, i: int) -> bool:
        before = i > 0 and self.tokens[i - 1].end == self.tokens[i].start
        after = i + 1 < len(self.tokens) and self.tokens[i + 1].start == self.tokens[i].end
        return not before and not after

    def phrase_as_name(self, i: int, j: int, phrase: Phrase) -> float:
        """Estimate how likely units `i` to before `j`, which read like `phrase`, are meant as it; 0 = not at all."""
        likely = self._as_written(i, j, phrase)
        return max(likely, DECLARED) if phrase.declared and self._is_plainly(i, j, phrase) else likely

    def _is_plainly(self, i: int, j: int, phrase: Phrase) -> bool:
        """Say whether an ordinary word that was declared as a name counts without upper case."""
        if not all(map(is_ordinary, phrase.words)) or STOP_WORDS.issuperset(phrase.words):
            return False
        if not phrase.surface.islower():  # "The Office" is not the office
            return j - i == 1 and phrase.words[0] not in GIVEN_WORDS | CALENDAR_WORDS
        return self.joined(i, j)

    def _as_written(self, i: int, j: int, phrase: Phrase) -> float:
        if j - i == 1:
            likely = self.word_as_name(i)
            if len(self.words[i]) == 2 and likely >= 0.9 and not is_cjk(self.words[i]):
                start, end = self.span(i, j)
                return 0.9 if self.text[start:end] == phrase.surface else 0.6
            return likely
        if not self.joined(i, j, comma="," in phrase.surface):
            return 0.0
        words = phrase.words
        if is_cjk(words[0]) or is_cjk(words[-1]):
            start, end = self.tokens[i].start, self.tokens[j - 1].end
            if splits_a_word(self.text, start, end):
                return 0.0
            return 0.8 if follows_han(self.text, start) else 0.95
        if not all(map(is_ordinary, words)):
            return 0.97
        return self._ordinary_phrase(i, j, words)

    def _ordinary_phrase(self, i: int, j: int, words: tuple[str, ...]) -> float:
        content = [k for k in range(i, j) if words[k - i] not in STOP_WORDS and len(words[k - i]) > 1]
        shown = any(self.stands_out(k) for k in content or range(i, j) if words[k - i] not in ACRONYMS)
        if len(content) > 1:
            return 0.95 if shown else 0.91
        if content and words[0] in OWNERS:
            return 0.94  # "my manager": declared as that, and said as that
        if shown:
            return 0.9
        if content and words[content[0] - i] in ACRONYMS and self.is_upper(content[0]):
            return 0.88 if self.stands_out(i) and content[0] != i else 0.6  # "why is The API slow"
        return 0.0

    def neighbour_is_name(self, i: int, step: int) -> float:
        """Estimate how likely the unit before (`step` -1) or after (1) unit `i` belongs to its name, in [0, 1]."""
        k = i + step
        if not 0 <= k < len(self.words):
            return 0.0
        word = self.words[k]
        first, last = (i, k + 1) if step > 0 else (k, i + 1)
        if not word or is_ordinary(word) or word in _TITLES or self.has_possessive(min(i, k)):
            return 0.0
        if not self.joined(first, last):
            return 0.0
        return 0.9 if self.is_upper(k) else 0.4
