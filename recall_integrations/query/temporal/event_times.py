"""Find the times that a text tells, read against the time at which it was said.

    text ─ gate ─ sentences that may tell ─ rules of the grammar ─ their sentence (asks? past or future?) ─▶ ToldTime

The rules are those for questions; what differs is here. A plain "on Saturday" in a question is the last one, in a text
its verb decides ("we met on Saturday", "we are meeting on Saturday"). A told time is a point of time, as wide as it is
said ("last month", and "two weeks ago" is a week around that day); not a duration ("for two weeks"), a habit ("on
Mondays"), nor an open time ("soon", "the other day").
"""

from __future__ import annotations

import functools
import re
from datetime import datetime, timedelta, timezone

from recall_integrations.languages.phrases import lowered
from recall_integrations.patterns import blanked, regex
from recall_integrations.query.temporal.calendar import DAY, Cycle, Interval, Period, midnight, one_day, to_instant
from recall_integrations.query.temporal.grammar import Context, Grammar
from recall_integrations.query.temporal.lexicon import MONTH, WEEKDAY
from recall_integrations.query.temporal.parser import HOLIDAYS, all_rules
from recall_integrations.query.temporal.tense import FUTURE, NEAR, PAST, PRESENT
from recall_integrations.query.temporal.tense import tense as tense_at
from recall_integrations.query.temporal.tokens import DateToken
from recall_integrations.records import record

VERSION = 8  # kept with the times in a store: times of another version are made anew
TIMES_MAX = 8  # times of one text
CHARS_MAX = 20_000  # of a text that are read
SENTENCE_CHARS = 240  # of a sentence that are looked at on each side of a phrase
FIRST_YEAR = 1800  # no text tells of a time before: it is a number
FAR = timedelta(days=270)  # a yearly date that a sentence in the present names lies no farther ahead

_END = regex(r"[.!?](?=[\s\"'”’)]|$)|[?!]|\n")
_SENTENCE = regex(rf"(?:{_END.pattern})(?!\s\d)")  # "Jan. 3" is one
_QUOTED = regex(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|`[^`\n]{1,300}`|^>[^\n]*", re.MULTILINE)
_QUOTES = ('"', "“", "«", "`", ">")
_RECALLS = regex(r"\s*(?:and |so |hey,? |oh,? )?(?:do you |don['’]t you )?remember\b|.*\bdid i tell you\b")
_MARKS = blanked(".,;:!?()[]{}\"'’“”…—–-/\n\t*_【】")
_DIGIT = regex(r"\d")
_DATED = regex(r"\d(?:[09]\d\d(?!\d)|(?:st|nd|rd|th)\b|[./]\d\d?[./]\d)")
# Words that tell a time only beside others.
_UNITS = "day night week weekend month year fortnight decade quarter summer winter".split()
_WEAK = frozenset(
    (
        *_UNITS,
        *(u + "s" for u in _UNITS),
        *"morning afternoon evening spring autumn fall sun sat mon mar may march".split(),
    )
)
_WEAKLY = "|".join(_WEAK)
_PLACED = regex(
    r"\b(?:last|this|next|past|coming|upcoming|on|at|by|in|of|since|until|till|from|during|around|for|over|early|late|mid"
    rf"|\d\S*)[ -](?:[\w’']+ ){{0,3}}(?:{_WEAKLY})\b|\b(?:{_WEAKLY})\.?,? (?:\d|ago|back|before|after|from)"
)
_ORDINARY = frozenset({"epiphany", "ascension"})  # as words, and holidays only with a capital

# Rules for what a question asks and no text tells: a run of time, a part of a day or of what is on, a number alone.
_ASKED = frozenset(
    "relative_count small_unit relative_length unit_to_date same_unit weekday_list bare_quarter numbered_week rest_of "
    "unit_of_part unit_of_day numeric_alone numeric_dashed year_at_the_end year_alone year_as_adjective "
    "short_year_date decade_words century".split()
)
_LAST_RULE = "weekday_before_dash"  # what joins times comes behind it: each is told alone
_OFTEN = regex(r"\b(?:every|each|any|usually|always|often|most)\b")
_COUNTS = regex(r"\b(?:times?|once|twice|first|best|most|worst|biggest|longest|all|only) ?$")
# Before a plain month, year or holiday, that would else be a name or a number.
_LED = regex(r"\b(?:in|on|at|over|since|until|till|til|by|during|from|around|of|for|early|late|mid)(?: the year)?[ -]$")
_BEFORE = regex(r"\b(?:in|over|during|at|for) (?:the )?$")  # belongs to a phrase
_NO_WEEKDAY = regex(r"\b(?:good|the|other|first|second|third|of|per|some) $")
# What a story counts from; a decade.
_STORY = regex(
    r"(?:the )?(?:past|previous|following|subsequent|prior|preceding)\b|the (?:last|next)\b|weekend$|.*\d0['’]?s$"
)
_WORDS = frozenset("may march mar sep dec jan jun".split())  # and no months, in small letters
_JOINS = regex(r"\s*(?:,|\(|on|the|of|at|in|-|–)?\s*(?:the )?")


@functools.cache
def _said() -> frozenset[str]:
    """Return the words one of which tells a time."""
    days = _grammar().needed_words((row.pattern for row in HOLIDAYS), frozenset({"day"})) - _ORDINARY
    return frozenset({*"yesterday today tonight tomorrow ago".split(), *MONTH, *WEEKDAY, *days}) - _WEAK


@functools.cache
def _grammar() -> Grammar:
    rules = all_rules()
    last = next(i for i, rule in enumerate(rules) if rule.name == _LAST_RULE)
    weekend = next(rule for rule in rules if rule.name == "weekend")
    return Grammar(rule for rule in (*rules[: last + 1], weekend) if rule.name not in _ASKED)


def may_tell(text: str) -> bool:
    """Say whether a text may tell a time: a quick look at its words, before its language is detected."""
    low = text[:CHARS_MAX].lower()
    words = low.translate(_MARKS).split()
    return not _said().isdisjoint(words) or not _WEAK.isdisjoint(words) or _DIGIT.search(low) is not None


class Statement(Context):
    """A text that tells, without the sentences that do not, and the time at which it was said."""

    __slots__ = ()
    told = True

    @property
    def tense(self) -> int:
        """Tense of the sentence around the phrase that is read, by its nearest verb."""
        start, end = self.span or (0, 0)
        led = _BEFORE.search(self.low, max(0, start - 12), start)
        start = led.start() if led else start
        begin = max(0, start - SENTENCE_CHARS)
        for stop in _END.finditer(self.low, begin, start):
            begin = stop.end()
        close = _END.search(self.low, end, end + SENTENCE_CHARS)
        sentence = self.low[begin : close.start() if close else end + SENTENCE_CHARS]
        return tense_at(sentence, start - begin, end - begin)

    def place(self, period: Period) -> Interval | None:
        """Return a period as an interval; a time of day as its day."""
        found = period.fixed or (self._turn(period.cycle) if period.cycle else None)
        return one_day(midnight(found.start)) if found and period.unit == "time" else found

    def _turn(self, cycle: Cycle) -> Interval | None:
        """Return the last or the next turn of a cycle, by the verb; without a verb the nearest."""
        today, tense = self.today, self.tense
        last, coming = (turn(today, strict=cycle.is_weekly) for turn in (cycle.last, cycle.next))
        if last is None or coming is None:
            return last or coming
        running = last.end > today and not cycle.is_weekly
        if tense == PAST or running or (tense == PRESENT and coming.start - today >= FAR):
            return last  # "the launch is on 3 May", written up a week later
        if tense in (PRESENT, FUTURE) or (tense == NEAR and cycle.is_weekly):
            return coming  # "new hours from Monday": no past one is called so
        return coming if today - last.start >= coming.start - today else last


def _tells(token: DateToken, period: Period, ctx: Context) -> bool:
    """Say whether a token is a time that a text tells: no frequency, no duration, no name of a day, no number."""
    start = token.start
    said, before = ctx.low[start : token.end], ctx.low[max(0, start - 24) : start]
    led = _LED.search(before) is not None or (token.symbol in ("W", "S") and said.count(" ") > 1)
    if said == "the weekend":
        return led or before.endswith("all ")
    if _STORY.match(said):
        return False
    if token.symbol == "F":
        return not said.startswith("in ") or _COUNTS.search(before) is None
    if period.fixed is not None:
        number = period.unit != "day" and said.replace("-", "").isdigit()
        return period.fixed.start.year >= FIRST_YEAR and (not number or (led and not before.endswith("for ")))
    if _OFTEN.search(before) or (said in _WORDS and not ctx.text[start].isupper()):
        return False
    if token.symbol == "D" or period.unit == "span":
        weekly = period.cycle is not None and period.cycle.is_weekly
        return not weekly or _NO_WEEKDAY.search(before) is None or before.endswith("from the ")
    return led and period.unit != "season" and (token.symbol != "H" or not before.endswith(("of ", "from ", "in ")))


@record(frozen=True, slots=True, kw_only=True)
class ToldTime:
    """A time that a text tells: from `start` to before `end`."""

    start: datetime
    end: datetime


def told_times(text: str, at: datetime, language: str | None = "en") -> tuple[ToldTime, ...]:
    """Return the times that a text tells, in the order of the text, at most `TIMES_MAX`.

    Relative dates are of days in the zone of `at`, the time at which it was said. A time in quotation marks, or in a
    sentence that asks, is not told. Only English is read. If speed counts, ask `may_tell` first.
    """
    if language not in (None, "en"):  # of a short text nothing is known, and the phrases are English anyhow
        return ()
    kept, low = _telling(text[:CHARS_MAX])
    if not kept:
        return ()
    local = at.replace(tzinfo=None)
    ctx = Statement(text=kept, low=low, now=at, local=local, today=midnight(local), week_start=0, names=())
    found: list[ToldTime] = []
    reach, sure = 0, False
    for token in _grammar().reduce(ctx)[0]:
        period = token.value
        if not isinstance(period, Period) or not _tells(token, period, ctx):
            continue
        told = _told(ctx, token, at)
        if told is None:
            continue
        fixed = period.fixed is not None
        if found and _JOINS.fullmatch(ctx.low, reach, token.start) and _within(told, found[-1], fixed > sure):
            found.pop()  # "last Saturday (3 May)": one time, said twice
        found.append(told)
        reach, sure = token.end, fixed
        if len(found) == TIMES_MAX:
            break
    return tuple(found)


def _telling(text: str) -> tuple[str, str]:
    """Return the sentences of a text that may tell a time, without their quotations, and the same in lower case."""
    if any(map(text.__contains__, _QUOTES)):
        text = _QUOTED.sub(lambda quoted: quoted[0][0], text)
    low = lowered(text)
    plain = low.translate(_MARKS)
    kept: list[tuple[int, int]] = []
    begin = 0 if _may_tell(low, plain, 0, len(low)) else len(low)
    while begin < len(low):
        stop = _SENTENCE.search(low, begin)
        end = after = stop.end() if stop else len(low)
        if stop and stop[0] == "?" and not _RECALLS.match(low, begin, end):  # it asks, if not from its beginning
            end = max(begin, end - SENTENCE_CHARS)
        if _may_tell(low, plain, begin, end):
            kept.append((begin, end))
        begin = after
    return "".join([text[i:j] for i, j in kept]), "".join([low[i:j] for i, j in kept])


def _may_tell(low: str, plain: str, begin: int, end: int) -> bool:
    """Say whether a stretch of a text may tell a time; `plain` is the text without its marks."""
    words = plain[begin:end].split()
    if not _said().isdisjoint(words) or _DATED.search(low, begin, end) is not None:
        return True
    return not _WEAK.isdisjoint(words) and _PLACED.search(low, begin, end) is not None


def _told(ctx: Context, token: DateToken, at: datetime) -> ToldTime | None:
    assert at.tzinfo is not None
    try:
        place = ctx.at(token.start, token.end).place(token.value)
    except (ValueError, OverflowError):  # outside the calendar
        return None
    if place is None or place.start.year < 2 or place.end.year > 9998 or place.start >= place.end:
        return None  # UTC may not reach it
    if at.tzinfo is timezone.utc:
        return ToldTime(start=place.start.replace(tzinfo=timezone.utc), end=place.end.replace(tzinfo=timezone.utc))
    return ToldTime(start=to_instant(place.start, at.tzinfo), end=to_instant(place.end, at.tzinfo))


def _within(inner: ToldTime, outer: ToldTime, surer: bool) -> bool:
    """Say whether the second of two phrases side by side is the closer, or a surer, reading of the same time."""
    narrow = inner.end - inner.start <= max(outer.end - outer.start, DAY)
    return narrow if surer else outer.start <= inner.start and inner.end <= outer.end
