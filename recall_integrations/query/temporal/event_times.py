"""Find the times that a text tells, read against the time at which it was said.

    text ─ gate ─ phrases ─ their sentence (asks? past or future?) ─▶ ToldTime, in the order of the text

This reads statements, and `query.temporal` questions, which differ: a plain "on Saturday" in a question is the last
one, in a text its verb decides ("we met on Saturday", "we are meeting on Saturday"). A told time is a point of time, as
wide as it is said ("last month"); not a duration ("for two weeks"), a habit ("on Mondays"), nor an open time ("soon",
"the other day").
"""

from __future__ import annotations

import functools
import re
from datetime import datetime, timedelta, timezone
from itertools import islice

from recall_integrations.patterns import regex
from recall_integrations.query.temporal import event_words as words
from recall_integrations.query.temporal.calendar import to_instant
from recall_integrations.query.temporal.event_places import Place, place_of
from recall_integrations.query.temporal.tense import tense as tense_at
from recall_integrations.records import record

VERSION = 4  # kept with the times in a store: times of another version are made anew
TIMES_MAX = 8  # times of one text
PHRASES_MAX = 64  # phrases of one text that are read
CHARS_MAX = 20_000  # of a text that are read
SENTENCE_CHARS = 240  # of a sentence that are looked at on each side of a phrase
CACHED = 4_096  # phrases of a day that are kept

_END = regex(r"[.!?](?=[\s\"'”’)]|$)|[?!]|\n")
_QUOTED = regex(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|`[^`\n]{1,300}`|^>[^\n]*", re.MULTILINE)
_QUOTES = ('"', "“", "«", "`", ">")
_RECALLS = regex(r"\s*(?:and |so |hey,? |oh,? )?(?:do you |don['’]t you )?remember\b|.*\bdid i tell you\b")


@record(frozen=True, slots=True, kw_only=True)
class ToldTime:
    """A time that a text tells.

    Args:
        start: first moment.
        end: exclusive.
        span: its place in the text.
        confidence: confidence of the reading, in [0, 1].
    """

    start: datetime
    end: datetime
    span: tuple[int, int] = (0, 0)
    confidence: float = 0.9


def may_tell(text: str) -> bool:
    """Say whether a text may tell a time: a quick look at its words, before its language is detected."""
    return words.may_tell(lowered(text[:CHARS_MAX]))


def told_times(text: str, at: datetime, language: str | None = "en") -> tuple[ToldTime, ...]:
    """Return the times that a text tells, in the order of the text, at most `TIMES_MAX`.

    Relative dates are of days in the zone of `at`. A time in quotation marks, or in a sentence that asks, is not told.
    If speed counts, ask `may_tell` first.

    Args:
        text: text of a memory.
        at: time at which it was said, timezone-aware.
        language: code of the text's language. Only English is read so far.
    """
    if language not in (None, "en"):  # of a short text nothing is known, and the phrases are English anyhow
        return ()
    low = lowered(text[:CHARS_MAX])
    found: list[ToldTime] = []
    quoted: list[tuple[int, int]] | None = None
    for match in islice(words.phrases(low), PHRASES_MAX):
        start, end = match.span()
        if words.is_other(match, text, low):
            continue
        if quoted is None:
            marked = any(map(low.__contains__, _QUOTES))
            quoted = [q.span() for q in _QUOTED.finditer(low)] if marked else []
        if any(begin < start and end <= stop for begin, stop in quoted):
            continue
        sentence, offset, asks = _sentence(low, start, end)
        if asks and not _RECALLS.match(sentence):
            continue
        tense = tense_at(sentence, start - offset, end - offset) if words.needs_tense(match) else 0
        place = _placed(low[start:end], tense, at.year, at.month, at.day)
        told = None if place is None else _told(place, (start, end), at)
        if told is None:
            continue
        if found and words.goes_on(low[found[-1].span[1] : start]) and _within(told, found[-1]):
            found.pop()  # "on Saturday, 3 May": one time, said twice
        found.append(told)
        if len(found) == TIMES_MAX:
            break
    return tuple(found)


def lowered(text: str) -> str:
    """Return the text in lower case, letter by letter: places in it are places in the text."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join([letter if len(letter.lower()) > 1 else letter.lower() for letter in text])


@functools.lru_cache(maxsize=CACHED)
def _placed(phrase: str, tense: int, year: int, month: int, day: int) -> Place | None:
    match = words.phrase(phrase)
    if match is None:
        return None
    try:
        return place_of(match, tense, datetime(year, month, day))
    except (ValueError, OverflowError):  # the 30th of February; outside the calendar
        return None


def _told(place: Place, span: tuple[int, int], at: datetime) -> ToldTime | None:
    assert at.tzinfo is not None
    if place.start.year < 2 or place.end.year > 9998:
        return None  # UTC may not reach it
    if at.tzinfo is timezone.utc:
        start, end = place.start.replace(tzinfo=timezone.utc), place.end.replace(tzinfo=timezone.utc)
    else:
        start, end = to_instant(place.start, at.tzinfo), to_instant(place.end, at.tzinfo)
    return ToldTime(start=start, end=end, span=span, confidence=place.confidence)


def _within(inner: ToldTime, outer: ToldTime) -> bool:
    """Say whether the second of two phrases side by side is the surer reading of the same time."""
    return inner.end - inner.start <= max(outer.end - outer.start, timedelta(days=1)) and (
        inner.confidence >= outer.confidence
    )


def _sentence(low: str, start: int, end: int) -> tuple[str, int, bool]:
    """Return the sentence around a phrase, its start, and whether it asks."""
    begin = max(0, start - SENTENCE_CHARS)
    for stop in _END.finditer(low, begin, start):
        begin = stop.end()
    close = _END.search(low, end, min(len(low), end + SENTENCE_CHARS))
    if close is None:
        return low[begin : end + SENTENCE_CHARS], begin, False
    return low[begin : close.start()], begin, close[0] == "?"
