"""A text and its redacted form: where its parts went, and which words are not to be said again.

A query is taken apart: its words, names and dates are told with their places in it. A hidden part must stay
hidden in all of these, also where a part alone does not look like anything ("555" and "2671").
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text import stem

WORD = re.compile(r"[^\W_]+")
SAID_MIN = 3  # characters from which a hidden word is not said again; "am" and "42" stand for too much else
_PLACEHOLDER = regex(r"\[[a-z][a-z0-9_-]{0,63}\]")


@record(frozen=True, slots=True)
class Seen:
    """A text with its redacted form.

    Args:
        original: the text.
        text: its redacted form.
        kept: `(start, end, place)` of the parts of the original that stay as they are, in order, and where they
            begin in `text`.
        hidden: words, in lower case, that occur nowhere in `text`.
    """

    original: str
    text: str
    kept: tuple[tuple[int, int, int], ...]
    hidden: frozenset[str]

    def hides(self, span: tuple[int, int]) -> bool:
        """Say whether any character of a span of the original is hidden."""
        if span[0] >= span[1]:
            return False
        i = bisect_right(self.kept, span[0], key=_start) - 1
        return i < 0 or self.kept[i][1] < span[1]

    def span(self, span: tuple[int, int]) -> tuple[int, int]:
        """Return the span in `text` of a span of the original, or of its placeholder; of an empty one, `(0, 0)`."""
        if span[0] >= span[1]:
            return (0, 0)
        return self._begin(span[0]), self._end(span[1])

    def _begin(self, at: int) -> int:
        """Return the place of a character of the original in `text`, or the start of the placeholder that hides it."""
        i = bisect_right(self.kept, at, key=_start) - 1
        if i < 0:
            return 0
        start, end, place = self.kept[i]
        return place + min(at, end) - start

    def _end(self, at: int) -> int:
        """Return the end in `text` of the character before `at`, or the end of the placeholder that hides it."""
        i = bisect_left(self.kept, at, key=_start) - 1
        if i >= 0 and at <= self.kept[i][1]:
            return self.kept[i][2] + at - self.kept[i][0]
        return self.kept[i + 1][2] if i + 1 < len(self.kept) else len(self.text)


def _start(part: tuple[int, int, int]) -> int:
    return part[0]


def seen(original: str, text: str) -> Seen:
    """Compare `original` with `text`, in which placeholders such as `[phone-1]` replace parts of it.

    The parts between the placeholders are looked for in the original, each after the one before. Where they are not
    found, or words of them in several places, nothing counts as seen. Where a part is found too early, more counts as
    hidden than is.
    """
    if original == text:
        return Seen(original, text, ((0, len(text), 0),), frozenset())
    kept = tuple(_kept(original, text))
    shown = {m[0].casefold() for m in WORD.finditer(text)}
    hidden: set[str] = set()
    ends = [0, *(edge for start, end, _ in kept for edge in (start, end)), len(original)]
    for start, end in list(pairwise(ends))[::2]:
        words = [m[0].casefold() for m in WORD.finditer(original, start, end)]
        hidden.update(words, map(stem, words), ["".join(words)])
        hidden.add("".join(filter(str.isdigit, original[start:end])))
    return Seen(original, text, kept, frozenset(w for w in hidden - shown if len(w) >= SAID_MIN))


def _kept(original: str, text: str) -> Iterator[tuple[int, int, int]]:
    """Yield the parts that stay as they are; none where they are not all found."""
    found: list[tuple[int, int, int]] = []
    at = place = 0
    marks = list(_PLACEHOLDER.finditer(text))
    for i, mark in enumerate([*marks, None]):
        literal = text[place : len(text) if mark is None else mark.start()]
        if literal:
            if i == 0:
                start = 0 if original.startswith(literal) else -1
            elif mark is None:
                start = len(original) - len(literal) if original.endswith(literal, at) else -1
            else:
                start = original.find(literal, at + 1)  # what a placeholder stands for is not empty
                if WORD.search(literal) and original.find(literal, start + 1) >= 0:
                    return  # it may stand in what is hidden: nobody knows
            if start < 0:
                return
            found.append((start, start + len(literal), place))
            at = start + len(literal)
        place = len(text) if mark is None else mark.end()
    yield from found
