"""Sentences of a text: only there does a capital say that a word is a name.

Line by line. Code and logs are no text at all. In headings, cells of tables, labels ("Set Milestones:") and other text
that Is Written Like This, capitals say nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from recall_integrations.patterns import regex
from recall_integrations.text import STOP_WORDS

TITLE_WORDS_MIN, TITLE_SHARE = 3, 0.85  # content words of a piece, and how many of them are written large

_CODE = regex(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_ADDRESS = regex(r"(?:\b\w{2,10}://|\bwww\.|(?<=\])\()\S+|\S+@\S+\.\w+")
_NO_TEXT = regex(
    r"\s*(?:"
    r"\[?(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d).*"  # logs
    r"|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b.*"
    r"|Traceback \(most recent.*|at [\w.$<>]+\(.*|File \".*\", line \d+.*"
    r"|(?:from [\w.]+ )?import \w.*|(?:async )?(?:def|function) \w+\(.*|class \w+[(:{].*"  # code
    r"|(?:const|let|var|public|private) \w[^.!?]*=.*|(?:SELECT|INSERT INTO|UPDATE|CREATE|ALTER|FROM|WHERE) .*"
    r"|[^.!?]*[{}]|[^.!?]*[=()][^.!?]*;|[\w.]+\(.*\)[:;]?|[\w.\"'\[\]-]+\s*=\s*\S.*|[<{\[].*[>}\]],?"
    r"|[\"'][\w .-]+[\"']\s*:.*"
    r")\s*\Z"
)
_HEADING = regex(r"\s{0,3}#{1,6}\s|\s*\|.*\||[^|]*\|[^|]*\|")
_PIECE = regex(r"(?<=[.!?:;|…])[\"'“”’)\]*_]*\s+|\s[-–—]\s|\*\*|__|\|")
_WORD = regex(r"[^\W\d_](?:[^\W_]|['’-](?=[^\W_]))*")
_START = regex(r"(?:\A|[.!?:;…|>•]|(?<!\w)[-–—+*]|\A\W*\w{1,3}[.)\]])[\"'“”‘’()\[\]*_~\s]*\Z")
_LABEL = regex(r"[\"'”’)\]]*\s*(?:[*_]{1,2}|:|[*_]*\s*\Z)")


class Line:
    """A line of text, without code and addresses."""

    __slots__ = ("_titles", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._titles: list[tuple[int, int]] | None = None

    def opens(self, start: int) -> bool:
        """Say whether a sentence begins at `start`."""
        return _START.search(self.text, max(0, start - 12) if start > 12 else 0, start) is not None

    def bare(self, start: int, end: int) -> bool:
        """Say whether capitals mean nothing there: in a title, or in a label."""
        if self._titles is None:
            self._titles = [(0, len(self.text))] if _HEADING.match(self.text) else list(_titles(self.text))
        at = bisect_right(self._titles, (start, len(self.text))) - 1
        if at >= 0 and start < self._titles[at][1]:
            return True
        return _LABEL.match(self.text, end) is not None and self.opens(start)


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text that hold prose, without code and addresses."""
    if "`" in text or "~~~" in text:
        text = _CODE.sub(" , ", text)
    if "@" in text or "://" in text or "www." in text or "](" in text:
        text = _ADDRESS.sub(" , ", text)
    for line in text.splitlines():
        if line and not _NO_TEXT.match(line):
            yield Line(line)


def _titles(line: str) -> Iterator[tuple[int, int]]:
    """Yield the pieces of a line that are written like a title."""
    ends = [m.span() for m in _PIECE.finditer(line)]
    start = 0
    for end, after in (*ends, (len(line), len(line))):
        words = [w for w in _WORD.findall(line, start, end) if w.lower() not in STOP_WORDS]
        large = sum(w[0].isupper() for w in words)
        if len(words) >= TITLE_WORDS_MIN and large >= TITLE_SHARE * len(words):
            yield start, end
        start = after
