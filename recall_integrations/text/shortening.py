"""Shorten a long query to its beginning and its end: what is asked stands before what was pasted, or behind it.

And write texts and numbers for one line of a message.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_SPACE = re.compile(r"\s+")
_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def plain(text: str, limit: int | None = None) -> str:
    """Put text on one line without control and direction characters, cut at `limit` characters."""
    line = _SPACE.sub(" ", text)
    line = "".join("\ufffd" if c in _DIRECTIONS or unicodedata.category(c) in ("Cc", "Cs") else c for c in line).strip()
    return line if limit is None or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def number_of(count: int, what: str) -> str:
    """Write a number of things: `1 scope`, `1,200 memories`."""
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else several}"


READ_CHARS_MAX = 3_000
HEAD_CHARS = 2_000
TAIL_CHARS = 900
WORD_CHARS = 64  # in which a blank is looked for, to cut there
BETWEEN = "\n!\n"  # keeps words, names, dates and quotations of the two parts apart


class Shortened(NamedTuple):
    """The part of a query that is read."""

    text: str
    head: int  # characters of it that are the beginning of the query
    skipped: int  # characters left out behind the head, less the separator; 0 if all is read
    length: int  # of the whole query

    def place(self, span: tuple[int, int]) -> tuple[int, int]:
        """Return the span in the query for a span of `text`."""
        start, end = span
        if start >= self.head:
            return start + self.skipped, end + self.skipped
        return start, min(end, self.head)


def shortened(text: str) -> Shortened:
    """Shorten a query of more than `READ_CHARS_MAX` characters to its head and tail."""
    if len(text) <= READ_CHARS_MAX:
        return Shortened(text, len(text), 0, len(text))
    head = text.rfind(" ", HEAD_CHARS - WORD_CHARS, HEAD_CHARS)
    head = HEAD_CHARS if head < 0 else head
    tail = text.find(" ", len(text) - TAIL_CHARS, len(text) - TAIL_CHARS + WORD_CHARS)
    tail = len(text) - TAIL_CHARS if tail < 0 else tail
    return Shortened(text[:head] + BETWEEN + text[tail:], head, tail - head - len(BETWEEN), len(text))
