"""Holidays that follow a rule. To add one, add a row to `holidays.json`: its phrase as a token pattern, its rule
(`day_of`), an example, and, where they are not 1 and false, its days and whether it is an ordinary word too.
Nothing else: the rules (`holiday_rules`) and the words that let a text through the parser's gate (`triggers`) are made
from the rows.

Phrases are written as in the rule tables (see `grammar`): lower-case words, `?` for optional ones. A possessive "'s"
and a plural apostrophe are not written: the tokenizer drops them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

from dateutil.easter import easter

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.calendar import DAY, Cycle, Interval, nth_weekday, yearly
from recall_integrations.query.temporal.grammar import Built, Grammar, Rule, RuleMatch, every
from recall_integrations.query.temporal.lexicon import TIME_TRIGGERS, WEEKDAY
from recall_integrations.records import record

_TABLE: Mapping[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
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


@record(frozen=True, slots=True)
class Holiday:
    """One row."""

    pattern: str
    date: Callable[[int], datetime]  # its day in a year; raises `ValueError` or `OverflowError` if there is none
    example: str
    days: int = 1
    capital: bool = False  # whether it is an ordinary word too ("an epiphany"), and a holiday only with a capital


def every_year(date: Callable[[int], datetime], days: int = 1) -> Cycle:
    """Return the cycle of a holiday."""

    def build(year: int) -> Interval:
        start = date(year)
        return Interval(start, start + timedelta(days=days))

    return yearly(build)


# Longer phrases stand before the shorter ones they begin with.
HOLIDAYS: tuple[Holiday, ...] = tuple(Holiday(said, day_of(rule), *more) for said, rule, *more in _TABLE["holidays"])


def _built(date: Callable[[int], datetime], days: int = 1, capital: bool = False) -> Callable[[RuleMatch], Built]:
    made = every("H", "day" if days == 1 else "span", every_year(date, days))
    return lambda hit: None if capital and not hit.ctx.text[hit.tokens[0].start].isupper() else made


JULY_FOURTH = (
    Rule("july_fourth", "(the? o:(ORD|DAYNUM) of july|july o:(ORD|DAYNUM))(?!(SEP|of|in)? YR)",
         lambda h: _built(day_of("07-04"))(h) if h.value("o") == 4 else None, 0.9, "the 4th of July"),
)  # fmt: skip


def holiday_rules(table: Iterable[Holiday]) -> tuple[Rule, ...]:
    """Make one rule for each holiday, named by its example."""
    return tuple(
        Rule("holiday_" + "_".join(row.example.lower().replace("'", "").split()[1:]), row.pattern,
             _built(row.date, row.days, row.capital), 0.85, row.example, weak=True)
        for row in table
    )  # fmt: skip


def triggers(table: Iterable[Holiday]) -> frozenset[str]:
    """Return words of which each text that speaks of time, and has no digit, holds one."""
    return TIME_TRIGGERS | Grammar(()).needed_words((row.pattern for row in table), TIME_TRIGGERS)
