"""Read a text into a `TemporalWindow`: gate, timestamp, grammar, choice, implicit windows.

To add a holiday, add a row to `holidays.json`: its phrase as a token pattern, its rule (`day_of`), an example, and,
where they are not 1 and false, its days and whether it is an ordinary word too. Nothing else: its rule (`holiday`) and
the words that let a text through the gate (`triggers`) are made from the rows. Phrases are written as in the rule
tables (see `grammar`): lower-case words, `?` for optional ones. A possessive "'s" and a plural apostrophe are not
written: the tokenizer drops them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from dateutil.easter import easter

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import ENGLISH, READ
from recall_integrations.patterns import regex
from recall_integrations.query.temporal.calendar import (
    DAY,
    HalfOpen,
    Interval,
    Period,
    nth_weekday,
    to_instant,
    yearly,
)
from recall_integrations.query.temporal.grammar import Built, Context, Grammar, Rule, RuleMatch, every
from recall_integrations.query.temporal.lexicon import TIME_TRIGGERS, WEEKDAY
from recall_integrations.query.temporal.rules_dates import DATES, NUMBERS, TRAPS
from recall_integrations.query.temporal.rules_parts import PARTS
from recall_integrations.query.temporal.rules_ranges import BOUNDS, LATE, NEIGHBOURS, OFFSETS, RANGES, TIMES
from recall_integrations.query.temporal.rules_relative import COUNTS, DAYS, DURATIONS
from recall_integrations.query.temporal.tense import PAST
from recall_integrations.query.temporal.tokens import DateToken, find_timestamp
from recall_integrations.query.temporal.translation import Fragment, plain_fragments, reader
from recall_integrations.types import TemporalWindow, checked_time
from recall_integrations.types.numbers import is_whole

_TABLE: Mapping[str, Any] = json.loads(Path(__file__).with_name("holidays.json").read_text(encoding="utf-8"))
# Days of calendars that follow the moon, by year from 1900 to 2100. A day that begins in the evening is given as the
# day after it; the Islamic days are those of the tabular calendar, at most a day off from those that were kept.
_MOON: Mapping[str, list[str]] = {name: days.split() for name, days in _TABLE["moon"].items()}
_FIRST = 1900
_RULE = regex(r"(?P<day>.+?)(?: (?P<plus>[+-]\d+))?")


def day_of(rule: str) -> Callable[[int], datetime]:
    """Make the function from a year to a day; a "+1" or "-47" at the end of a rule counts days from there.

    Rules are "12-31"; "11 thu 4", the fourth Thursday of November; "5 mon last"; "mon 05-24", the last Monday up
    to that day; "easter"; and the names of days that follow the moon.
    """
    match = _RULE.fullmatch(rule)
    assert match is not None
    name, plus = match["day"], timedelta(days=int(match["plus"] or 0))
    words = name.split()
    if name in _MOON:
        return lambda year: _by_moon(name, year) + plus
    if name == "easter":
        return lambda year: datetime.combine(easter(year), time()) + plus
    if len(words) == 3:
        month, weekday, n = int(words[0]), WEEKDAY[words[1]], -1 if words[2] == "last" else int(words[2])
        return lambda year: nth_weekday(year, month, weekday, n) + plus
    month, number = map(int, words[-1].split("-"))

    def by_then(year: int) -> datetime:
        last = datetime(year, month, number)
        return (last if len(words) == 1 else last - (last.weekday() - WEEKDAY[words[0]]) % 7 * DAY) + plus

    return by_then


def _by_moon(name: str, year: int) -> datetime:
    days = _MOON[name]
    if not 0 <= year - _FIRST < len(days):
        raise ValueError("too far from our time")
    return datetime.fromisoformat(f"{year}-{days[year - _FIRST]}")


def holiday(pattern: str, date: Callable[[int], datetime], example: str, days: int = 1, capital: bool = False) -> Rule:
    """Make the rule of a holiday, named by its example.

    `date` gives its day in a year, and raises `ValueError` or `OverflowError` if there is none. With `capital` it is an
    ordinary word too ("an epiphany"), and a holiday only with a capital.
    """

    def in_year(year: int) -> Interval:
        start = date(year)
        return Interval(start, start + timedelta(days=days))

    made = every("H", "day" if days == 1 else "span", yearly(in_year))
    name = "_".join(example.lower().replace("'", "").split()[1:])

    def built(hit: RuleMatch) -> Built:
        return None if capital and not hit.ctx.text[hit.tokens[0].start].isupper() else made

    return Rule(f"holiday_{name}", pattern, built, 0.85, example, weak=True)


# Longer phrases stand before the shorter ones they begin with.
HOLIDAYS: tuple[Rule, ...] = tuple(holiday(said, day_of(rule), *more) for said, rule, *more in _TABLE["holidays"])
_FOURTH = holiday("", day_of("07-04"), "the 4th of July").build
JULY_FOURTH = (
    Rule("july_fourth", "(the? o:(ORD|DAYNUM) of july|july o:(ORD|DAYNUM))(?!(SEP|of|in)? YR)",
         lambda hit: _FOURTH(hit) if hit.value("o") == 4 else None, 0.9, "the 4th of July"),
)  # fmt: skip

# -- reading -----------------------------------------------------------------------------------------------------------

IMPLICIT_DAYS = 30
IMPLICIT_CONFIDENCE = 0.4
CONFIDENCE_BAND = 0.15  # a later phrase wins over an earlier one only if it is surer by more than this

FRAGMENTS_MAX = 64  # dates of a text in another language that are read: the first counts, unless a later is surer
_BETWEEN = " ! "  # parts the dates of a text in another language, so that none reads on in the next

_WORDS = regex(r"[^\W_]+")
_DIGIT = regex(r"\d")
_FINISHED = regex(
    r"\b(?:did|have|had|haven['’]t|didn['’]t)\s+(?:i|we)\s+(?:(?:not|ever|already|actually|manage|remember|get|to)\s+){0,3}"
    r"(?:finish|complete|send|sen[dt]|submit|ship|merge|close|deploy|deliver|publish|reply|repl|respond|pay|paid|renew|"
    r"cancel|review|resolve|fix|return|email|release|upload|push|sign)[a-z]*\b",
    re.IGNORECASE,
)
_RECENTLY = regex(r"\b(?:recently|lately|the\s+other\s+day|in\s+recent\s+(?:days|weeks|months))\b", re.IGNORECASE)

_NEXT = regex(
    r"^\W*(?:(?:when|what\s+(?:time|day|date)|which\s+day|how\s+(?:soon|long))\b.{1,60}\b(?:next|upcoming)"
    r"|(?:(?:any|all|list|show|what|which|the|my|our|me|are|is|there)\s+){0,4}upcoming)\s+\w",
    re.IGNORECASE,
)


def all_rules() -> tuple[Rule, ...]:
    """Return every rule, in the order in which they are tried."""
    named = (*JULY_FOURTH, *HOLIDAYS, *TRAPS)
    relative = (*DURATIONS, *DAYS, *COUNTS)
    return (*NUMBERS, *named, *DATES, *relative, *PARTS, *NEIGHBOURS, *TIMES, *OFFSETS, *LATE, *RANGES, *BOUNDS)


@functools.cache
def _grammar() -> Grammar:
    return Grammar(all_rules())


@functools.cache
def triggers() -> frozenset[str]:
    """Return words of which each text that speaks of time, and has no digit, holds one."""
    return TIME_TRIGGERS | Grammar(()).needed_words((row.pattern for row in HOLIDAYS), TIME_TRIGGERS)


def prepare_rules() -> None:
    """Compile the rules now, not at the first query with a date."""
    for _, pattern in _grammar().rules:
        pattern.search("")
    triggers()


def parse_window(
    text: str, now: datetime, *, week_start: int = 0, names: Collection[str] = (), language: str | None = ENGLISH
) -> TemporalWindow | None:
    """Return the span of time that `text` speaks of, or `None`.

    If a phrase fits the past and the future ("in March", "on Friday"), the past is meant: this reads questions to
    a memory. In a question about plans ("what will I do on Friday", "what is due in March") the coming one is. A range
    holds both ends whole ("from March to June" ends when June is over), and so do "until" and "by"; "before" and
    "since" leave one side open; "after" a day begins with that day, "after" anything longer when it is over.
    Of several phrases the first one counts, unless a later one is surer.

    Args:
        text: the query.
        now: the moment it is read against, timezone-aware. The window is in its time zone.
        week_start: first day of the week, 0 = Monday … 6 = Sunday.
        names: lower-cased names that the store knows ("april", "sunday"). A set is fastest. They are no dates unless
            other date words stand beside them ("April 5th", "last April").
        language: code of the text's language, ISO 639-1: "en", or one that has a table
            (`recall_integrations.languages.READ`). In any other, or with `None`, only dates that mean the same in every
            language are read ("2023-05-08").

    Returns:
        A window with `start` and exclusive `end` in the zone of `now` (`None` = open), the `span` in characters of
        `text`, and a `confidence`. It is below 0.5 if the time is only implied ("did I finish …": the last 30
        days, span `(0, 0)`) or the phrase is vague ("the week").

    Raises:
        InvalidArgument: `now` is naive, `text` is not text, or `week_start` is not 0 to 6.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text must be a str, not {type(text).__name__}.")
    checked_time(now, "now", InvalidArgument)
    if not is_whole(week_start) or not 0 <= week_start <= 6:
        raise InvalidArgument(f"week_start must be 0 (Monday) to 6 (Sunday), not {week_start!r}.")
    if not may_have_window(text, language):
        return None
    if ":" in text and (stamp := find_timestamp(text, now)):
        return _window(*stamp, 0.98)
    if language == ENGLISH:
        return _in_english(text, now, week_start, names)
    # Its dates are translated to English, and those are read.
    fragments = _fragments(text, now, names, language)
    if not fragments:
        return None
    window = _in_english(_BETWEEN.join(f.english for f in fragments), now, week_start, ())
    if window is None or window.span == (0, 0):
        return window
    reach = 0
    for fragment in fragments:
        reach += len(fragment.english) + len(_BETWEEN)
        if window.span[0] < reach:
            return replace(window, span=(fragment.start, fragment.end))
    raise AssertionError("a window outside the text that was read")


def _in_english(text: str, now: datetime, week_start: int, names: Collection[str]) -> TemporalWindow | None:
    ctx = Context.of(text, now, week_start, names)
    tokens, _ = _grammar().reduce(ctx)
    return _choose(ctx, tokens) or _implicit(ctx)


def may_have_window(text: str, language: str | None = ENGLISH) -> bool:
    """Say whether `text` has a digit or a word of time for `parse_window`; true in other languages."""
    return (
        language != ENGLISH
        or _DIGIT.search(text) is not None
        or not triggers().isdisjoint(_WORDS.findall(text.lower()))
    )


def _fragments(text: str, now: datetime, names: Collection[str], language: str | None) -> list[Fragment]:
    read = reader(language).fragments(text, now, names) if language in READ else plain_fragments(text, now)
    return read[:FRAGMENTS_MAX]


def explain(
    text: str, now: datetime, *, week_start: int = 0, names: Collection[str] = (), language: str | None = ENGLISH
) -> tuple[str, ...]:
    """Return the names of the rules that fire, in order, for tests and for authors of tables.

    For a text in another language, the English that each of its dates becomes comes first.
    """
    checked_time(now, "now", InvalidArgument)
    if language != ENGLISH:
        english = tuple(fragment.english for fragment in _fragments(text, now, names, language))
        return english + explain(_BETWEEN.join(english), now, week_start=week_start)
    return tuple(_grammar().reduce(Context.of(text, now, week_start, names))[1])


def _choose(ctx: Context, tokens: list[DateToken]) -> TemporalWindow | None:
    found = [t for t in tokens if isinstance(t.value, Period | Interval | HalfOpen)]
    enough = max((t.confidence for t in found), default=0.0) - CONFIDENCE_BAND
    return next(filter(None, (_resolve(ctx, token) for token in found if token.confidence >= enough)), None)


def _resolve(ctx: Context, token: DateToken) -> TemporalWindow | None:
    try:
        found = ctx.at(token.start, token.end).place(token.value) if isinstance(token.value, Period) else token.value
        if found is None:
            return None
        start, end = (_instant(ctx, wall) for wall in (found.start, found.end))
        parts = found.parts if isinstance(found, Interval) else ()
        times = tuple((_instant(ctx, part.start), _instant(ctx, part.end)) for part in parts)
    except (OverflowError, ValueError):  # the first and last day of the calendar in a zone that moves them out of it
        return None
    window = _window(start, end, (token.start, token.end), token.confidence)
    moments = [moment for time in times for moment in time if moment is not None]
    if window is None or len(moments) < 2 * len(times) or any(a >= b for a, b in pairwise(moments)):
        return window  # as a whole where the calendar ends, or a clock goes back
    return replace(window, alternatives=times)


def _instant(ctx: Context, wall: datetime | None) -> datetime | None:
    if wall is None or not 2 <= wall.year <= 9998:  # clipped: nobody remembers the year 1, and UTC may not reach it
        return None
    assert ctx.now.tzinfo is not None
    return ctx.now if wall == ctx.local else to_instant(wall, ctx.now.tzinfo)


def _window(
    start: datetime | None, end: datetime | None, span: tuple[int, int], confidence: float
) -> TemporalWindow | None:
    if start is None and end is None:
        return None
    if start is not None and end is not None and start >= end:
        # Either nothing, or the hour that comes twice in autumn, where clocks compare wrongly: widen to its start.
        if end.timestamp() <= start.timestamp():
            return None
        start = end.replace(minute=0, second=0, microsecond=0, fold=0) - timedelta(hours=1)
    return TemporalWindow(start=start, end=end, span=span, confidence=round(confidence, 3))


def _implicit(ctx: Context) -> TemporalWindow | None:
    """Read "did I finish …", "recently" as the last weeks, "when is my next …" as the future; only a hint."""
    if _NEXT.search(ctx.text) and ctx.tense != PAST:
        return _window(_instant(ctx, ctx.today), None, (0, 0), IMPLICIT_CONFIDENCE)
    if not _FINISHED.search(ctx.text) and not _RECENTLY.search(ctx.text):
        return None
    start = _instant(ctx, ctx.today - timedelta(days=IMPLICIT_DAYS)) if ctx.today.year > 2 else None
    return _window(start, ctx.now, (0, 0), IMPLICIT_CONFIDENCE)
