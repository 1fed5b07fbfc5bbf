"""Finds the dates that a text says: their places in it, and the times that they mean."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from recall_integrations.delivery.sentences import sentence_ends
from recall_integrations.patterns import regex
from recall_integrations.query.temporal.lexicon import MONTH
from recall_integrations.query.temporal.parser import may_have_window, parse_window
from recall_integrations.types import TemporalWindow

READ_MAX = 16  # times that the grammar reads one text
OF_SENTENCE_MAX = 3
SENTENCE_CHARS_MAX = 400
SURE = 0.5  # below this confidence a time is only implied
_WORD = regex(r"\w+")
_INSTANT = timedelta(microseconds=1)
# English is read with the query; these are "when" in other languages. The last ones are written amid other letters.
_WHEN = regex(
    r"(?<!\w)(?:wann|cu[aá]ndo|quand|quando|wanneer|kiedy|kdy|hvornår|milloin|ne zaman|когда|коли|متى|कब)(?!\w)"
    r"|什么时候|什麼時候|何时|何時|几时|哪一?[天年]|いつ|언제|เมื่อไ[รห]|เมื่อใด"
)


def asks_when(query: str) -> bool:
    """Say whether a query in another language than English asks when something was."""
    return _WHEN.search(query.casefold()) is not None


def dates_said(
    text: str, moment: datetime, language: str | None, names: Collection[str] = ()
) -> Iterator[TemporalWindow]:
    """Yield the dates of a text in order, each with its `span` in the text; of a long text, the first ones."""
    if not may_have_window(text, language):
        return
    left, at = READ_MAX, 0
    for end in (*sentence_ends(text), len(text)):
        sentence = text[at : min(end, at + SENTENCE_CHARS_MAX)]
        for _ in range(OF_SENTENCE_MAX if may_have_window(sentence, language) else 0):
            if not left:
                return
            left -= 1
            window = parse_window(sentence, moment, names=names, language=language)
            if window is None or window.span == (0, 0):
                break
            start, stop = window.span
            if window.confidence >= SURE:
                yield TemporalWindow(
                    start=window.start, end=window.end, span=(at + start, at + stop), confidence=window.confidence
                )
            sentence = sentence[:start] + " " * (stop - start) + sentence[stop:]
        at = end


def falls_in(said: TemporalWindow, asked: TemporalWindow, phrase: str = "") -> bool:
    """Say whether a date lies in a time: by its beginning, or where that is open by its end."""
    if said.start is None:
        return said.end is not None and asked.holds(said.end - _INSTANT)
    if asked.holds(said.start):
        return True
    words = {word.casefold() for word in _WORD.findall(phrase)}
    if words.isdisjoint(MONTH) or any(len(word) == 4 and word.isdigit() for word in words):
        return False
    try:
        return asked.holds(said.start.replace(year=said.start.year + 1))
    except ValueError:  # the 29th of February; the end of the calendar
        return False
