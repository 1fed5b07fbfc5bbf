"""A text beside what may be seen of it: where its parts went, and which words are not to be said again.

A query is taken apart: its words, names and dates are told with their places in it. What of it is hidden must stay
hidden in all of these, also where a part alone does not look like anything ("555" and "2671").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from recall_integrations.text import stem

WORD = re.compile(r"[^\W_]+")
SAID_MIN = 3  # characters from which a hidden word is not said again; "am" and "42" stand for too much else
_PLACEHOLDER = re.compile(r"\[[a-z][a-z0-9_-]{0,63}\]")


@dataclass(frozen=True, slots=True)
class Seen:
    """What may be seen of a text.

    Args:
        original: the text.
        text: what may be seen of it.
        kept: `(start, end, place)` of the parts of the original that are seen as they are, in order, and where they
            begin in `text`.
        hidden: words, in lower case, that are seen nowhere in it.
    """

    original: str
    text: str
    kept: tuple[tuple[int, int, int], ...]
    hidden: frozenset[str]

    def hides(self, span: tuple[int, int]) -> bool:
        """Whether any character of a span of the original cannot be seen."""
        return span[0] < span[1] and not any(start <= span[0] and span[1] <= end for start, end, _ in self.kept)

    def span(self, span: tuple[int, int]) -> tuple[int, int]:
        """Where a span of the original is in `text`; of what is hidden, the placeholder. `(0, 0)` stays."""
        if span[0] >= span[1]:
            return (0, 0)
        return self._place(span[0], after=False), self._place(span[1], after=True)

    def _place(self, at: int, *, after: bool) -> int:
        """Where a character begins, or where the one before ends (`after`)."""
        begin = 0  # of what is hidden, in `text`
        for start, end, place in self.kept:
            if (start < at <= end) if after else (start <= at < end):
                return place + at - start
            if at <= start:
                return place if after else begin
            begin = place + end - start
        return len(self.text) if after else begin


def seen(original: str, text: str) -> Seen:
    """What `text` shows of `original`, of which parts were replaced by placeholders such as `[phone-1]`.

    The parts between the placeholders are looked for in the original, each behind the one before. Where they are not
    found, nothing counts as seen. Where a part is found too early, more counts as hidden than is.
    """
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
    if original == text:
        if text:
            yield 0, len(text), 0
        return
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
            if start < 0:
                return
            found.append((start, start + len(literal), place))
            at = start + len(literal)
        place = len(text) if mark is None else mark.end()
    yield from found
