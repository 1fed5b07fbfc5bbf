"""Find the times that a text tells, read against the time at which it was said.

    text ─ gate ─ phrases ─ their sentence (asks? past or future?) ─▶ ToldTime, in the order of the text

This reads statements, and `query.temporal` questions, which differ: a plain "on Saturday" in a question is the last
one, in a text its verb decides ("we met on Saturday", "we are meeting on Saturday"). A told time is a point of time, as
wide as it is said ("last month"); not a duration ("for two weeks"), a habit ("on Mondays"), nor an open time ("soon",
"the other day").

A phrase is placed in the calendar as seen from the day on which it was said, as wide as its wording: "two weeks ago"
is a week around that day, "two years ago" a year.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import islice

from recall_integrations.patterns import blanked, regex
from recall_integrations.query.temporal import holidays
from recall_integrations.query.temporal.calendar import (
    DAY,
    Cycle,
    Interval,
    add_months,
    day,
    days_in,
    months_from,
    one_day,
    to_instant,
    unit_of,
    unit_shifted,
    weekly,
    yearly,
)
from recall_integrations.query.temporal.holidays import every_year
from recall_integrations.query.temporal.lexicon import MONTH, MONTHS, ONES, SEASON, TEENS, WEEKDAY
from recall_integrations.query.temporal.tense import FUTURE, NEAR, OPEN, PAST, PRESENT
from recall_integrations.query.temporal.tense import tense as tense_at
from recall_integrations.records import record

VERSION = 5  # kept with the times in a store: times of another version are made anew
TIMES_MAX = 8  # times of one text
PHRASES_MAX = 64  # phrases of one text that are read
CHARS_MAX = 20_000  # of a text that are read
SENTENCE_CHARS = 240  # of a sentence that are looked at on each side of a phrase
CACHED = 4_096  # phrases of a day that are kept

_END = regex(r"[.!?](?=[\s\"'”’)]|$)|[?!]|\n")
_QUOTED = regex(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|`[^`\n]{1,300}`|^>[^\n]*", re.MULTILINE)
_QUOTES = ('"', "“", "«", "`", ">")
_RECALLS = regex(r"\s*(?:and |so |hey,? |oh,? )?(?:do you |don['’]t you )?remember\b|.*\bdid i tell you\b")

# -- the phrases that tell a time --------------------------------------------------------------------------------------

WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SHORT_DAYS = "mon|tues?|weds?|thur?s?|fri|sat|sun"
_NUMBERS = {**ONES, **dict(list(TEENS.items())[:3]), "a": 1, "an": 1}
_N = (
    rf"(?:\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}|(?:a )?couple(?: of)?|"
    r"(?:a |quite a )?few|several|half an?)"
)
_UNITS = r"(?:day|night|week|fortnight|weekend|month|year|decade)s?"
_SEASONS = "spring|summer|fall|autumn|winter"
_PART = r"(?: (?:morning|afternoon|evening|night))"
_ORD = r"(?:st|nd|rd|th)"
_YEAR = r"(?:19|20)\d\d(?![\d/:%]|[.,-]\d)"
_EDGE = r"(?:early|earlier|late|later|mid|(?:the )?(?:end|beginning|start|middle) of)[ -]"
_BEFORE_MONTH = r"(?:in|since|until|till|til|by|during|from|around|of|for)"

_TABLE = {
    "yesterday": rf"(?:the )?day before yesterday|yesterday{_PART}?",
    "tomorrow": rf"(?:the )?day after tomorrow|tomorrow{_PART}?",
    "today": r"(?:(?:earlier|later) )?(?:today|tonight)|this (?:morning|afternoon|evening)|last night|last evening",
    "ago": rf"(?P<ago_n>{_N})(?P<ago_half> and a half)? (?P<ago_u>{_UNITS}|hours?|(?:{WEEKDAYS})s|{_SEASONS}|summers"
    rf"|winters)(?P<ago_half2> and a half)? (?:ago|back(?=\s*(?:[.,;!]|$)))",
    "ahead": rf"in (?:about |around |just |only |like |another )?(?P<in_n>{_N}) (?P<in_u>{_UNITS})(?:['’]? time)?"
    rf"|(?P<from_n>{_N}) (?P<from_u>{_UNITS}) from (?:now|today)",
    "of_week": rf"(?P<ow_day>{WEEKDAYS})(?:{_PART})?,?(?: of)? (?P<ow_rel>last|this past|this|next) week",
    "before_last": rf"(?P<bl>week|weekend|month|year|{_SEASONS}|{WEEKDAYS}) before last",
    "after_next": r"(?P<an>week|weekend|month|year) after next",
    "rel": rf"(?P<rel_edge>{_EDGE})?(?P<rel>this past|this coming|last|this|next) "
    rf"(?:(?P<rel_u>week|weekend|month|year|quarter)|(?P<rel_s>{_SEASONS})|(?P<rel_d>{WEEKDAYS}|{_SHORT_DAYS}){_PART}?"
    rf"|(?P<rel_m>{MONTHS}))",
    "iso": r"(?P<iso>(?:19|20)\d\d-\d\d-\d\d)(?:t\d\d[\d:.]*(?:z|[+-]\d\d:?\d\d)?)?",
    "slashed": r"(?P<slashed>\d{1,2}/\d{1,2}/(?:(?:19|20)\d\d|\d\d)|\d{1,2}\.\d{1,2}\.(?:19|20)\d\d)(?![/.]?\d)",
    "day_month": rf"(?P<dm_d>\d{{1,2}}){_ORD}?(?: of)? (?P<dm_m>{MONTHS})(?:\.?,? (?P<dm_y>{_YEAR}))?",
    "month_day": rf"(?P<md_m>{MONTHS})\.? (?:the )?(?P<md_d>\d{{1,2}}){_ORD}?(?![\d:%/]|[.,]\d|\s?(?:am|pm|hours?|"
    rf"days?|weeks?|months?|years?|people|times?|percent)\b)(?:,? (?:of |in )?(?P<md_y>{_YEAR}))?",
    "month_year": rf"(?P<my_edge>{_EDGE})?(?P<my_m>{MONTHS})\.?,?(?: of)? (?P<my_y>{_YEAR})",
    "month": rf"{_BEFORE_MONTH} (?P<m_edge>{_EDGE})?(?P<m>{MONTHS})(?!\.?,?(?: of| the)? \d)",
    "season_year": rf"(?P<sy_s>{_SEASONS}),?(?: of)? (?P<sy_y>{_YEAR})",
    "year": rf"(?:in|since|during|until|till|by|of|from|around|late|early|mid) (?:the year )?(?P<y>{_YEAR})",
    "weekend": r"(?:on|over|at|during|for|all) the weekend",
    "the_day": rf"on the (?P<td>\d{{1,2}}){_ORD}(?=\s*(?:[.,;!)]|$|(?:and|at|i|we|with|for|so|but)\b))",
    "weekday": rf"(?P<wd>{WEEKDAYS}){_PART}?|(?:on|by|until|till) (?P<wd_short>{_SHORT_DAYS}){_PART}?",
}
_BEFORE_HOLIDAY = (
    r"(?:(?P<h_rel>this past|this coming|last|this|next)|on|at|over|during|for|since|until|till|by|around)"
)
# With what a phrase begins: tried before the phrases themselves, of which there are many.
_STARTS = (
    rf"(?=yester|today|toni|tomor|th[ei]|last |next |day |late|earl|mid|end of|beginn|start of|week|month|year"
    rf"|(?:{_SEASONS})\b|{WEEKDAYS}|(?:{MONTHS})\b|\d|(?:{'|'.join(_NUMBERS)}) |few |quite a|couple|several |half an?\b"
    r"|(?:in|on|at|by|of|for|from|over|till?|until|since|during|around|all) )"
)
_MARKS = blanked(".,;:!?()[]{}\"'’“”…—–-/\n\t*_")
_DIGIT = regex(r"\d")
_ORDINARY = frozenset({"epiphany", "ascension"})  # as words, and holidays only with a capital


@functools.cache
def _holiday_names() -> dict[str, holidays.Holiday]:
    """Map the names of holidays, without apostrophes, to their rows."""
    named: dict[str, holidays.Holiday] = {}
    for row in holidays.HOLIDAYS:
        for said in holidays.phrases(row.pattern):
            named.setdefault(" ".join(said), row)
    return {name: row for name, row in named.items() if name not in _ORDINARY}


@functools.cache
def _said() -> frozenset[str]:
    """Return the words of which each text with a told time has one, or a digit."""
    days = holidays.needed_words((row.pattern for row in holidays.HOLIDAYS), frozenset({"day"})) - _ORDINARY
    units = "night day week month year fortnight decade quarter weekend".split()
    other = "yesterday today tonight tomorrow ago morning afternoon evening".split()
    return frozenset({*other, *units, *(unit + "s" for unit in units), *MONTH, *SEASON, *WEEKDAY, *days})


@functools.cache
def _phrase() -> re.Pattern[str]:
    """Compile all phrases into one pattern; of two that begin at one place the first of the table wins."""
    names = "|".join(
        re.escape(name).replace(r"\ ", "(?:['’]s?)? ") for name in sorted(_holiday_names(), key=len, reverse=True)
    )
    own = rf"{_BEFORE_HOLIDAY} (?P<h>{names})(?:['’]s?)?(?: day)?(?:,? (?:of |in )?(?P<h_y>{_YEAR}))?"
    table = {"holiday": own, **_TABLE}
    found = "|".join(f"(?P<k_{name}>{pattern})" for name, pattern in table.items())
    return re.compile(rf"(?<![\w$#.@/-]){_STARTS}(?:{found})(?![\w@])")


_OFTEN = regex(
    r"\b(?:every|each|any|most|some|usually|always|often|per|good|black|holy|ash|palm|easter|cyber|giving|fat|shrove|"
    r"the|other|first|second|third|of|and) ?$"
)
_EVERY = regex(r"\b(?:every|each|any|usually|always|often|most)\b")
_JOINS = regex(r"\s*(?:,|\(|on|the|of|at|in|-|–)?\s*(?:the )?")
_PLACED = frozenset("ahead weekday the_day month weekend".split())
_COUNTS = regex(r"\b(?:times?|once|twice|first|best|most|worst|biggest|longest|all|only) ?$")


def may_tell(text: str) -> bool:
    """Say whether a text may tell a time: a quick look at its words, before its language is detected."""
    low = lowered(text[:CHARS_MAX])
    return not _said().isdisjoint(low.translate(_MARKS).split()) or _DIGIT.search(low) is not None


def _kind_of(match: re.Match[str]) -> str:
    """Return the name of the phrase in the table."""
    return str(match.lastgroup).removeprefix("k_")  # the group that closes last is the outermost


def _needs_tense(match: re.Match[str]) -> bool:
    """Say whether the verb decides the place of the phrase."""
    kind = _kind_of(match)
    if kind in ("day_month", "month_day", "holiday"):
        return match["dm_y"] is None and match["md_y"] is None and match["h_y"] is None
    return kind in _PLACED or (kind == "rel" and match["rel"] == "this" and match["rel_m"] is None)


def _is_other(match: re.Match[str], text: str, low: str) -> bool:
    """Say whether the match means something else: a frequency, a duration, the verb "may", the name of a day."""
    kind, start, end = _kind_of(match), match.start(), match.end()
    before = low[max(0, start - 24) : start]
    if kind == "weekday":
        return _OFTEN.search(before) is not None and not before.endswith(("from the ", "and "))
    if kind == "rel":
        if before.endswith("the ") and match["rel"] in ("last", "next"):
            return True
        return match["rel_m"] == "may" and not text[end - 3].isupper()
    if kind in ("month", "month_year", "day_month", "month_day"):
        name = match["m"] or match["my_m"] or match["dm_m"] or match["md_m"]
        at = low.find(name, start, end)
        ordinary = name in ("may", "march", "mar", "sun", "sep", "dec", "jan", "jun")
        if ordinary and not text[at].isupper() and kind in ("month", "month_day"):
            return True
        return kind != "month_year" and _EVERY.search(before) is not None
    return kind == "ahead" and _COUNTS.search(before) is not None


# -- their places in the calendar --------------------------------------------------------------------------------------

FAR = timedelta(days=270)  # a yearly date that a sentence in the present names lies no farther ahead
SURE, PLAIN, BY_VERB, GUESSED = 0.95, 0.9, 0.8, 0.5
# "A couple of", "a few", "several": at least and at most.
VAGUE = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}
AGO_MAX = {"day": 400, "night": 400, "week": 200, "fortnight": 50, "weekend": 100, "month": 400, "year": 120}
_MONDAY = 0


@record(frozen=True, slots=True)
class Place:
    """A stretch of the calendar on the wall clock, naive; `end` is exclusive."""

    start: datetime
    end: datetime
    confidence: float = PLAIN


def _of(found: Interval | None, confidence: float = PLAIN) -> Place | None:
    return None if found is None or found.start >= found.end else Place(found.start, found.end, confidence)


def _turn(cycle: Cycle, tense: int, today: datetime, *, strict: bool = True) -> Place | None:
    """Return the last or the next turn of a cycle, by the verb; without a verb the nearest."""
    last, coming = cycle.last(today, strict=strict), cycle.next(today, strict=strict)
    if tense in (NEAR, OPEN):
        ahead = last is None or (tense == NEAR and cycle.is_weekly)  # "new hours from Monday": no past one is called so
        if not ahead and last and coming:
            ahead = today - last.start >= coming.start - today
        return _of(coming or last if ahead else last, BY_VERB if tense == NEAR else GUESSED)
    if tense in (PRESENT, FUTURE):
        if tense == FUTURE or coming is None or coming.start - today < FAR:
            return _of(coming, BY_VERB)
        return _of(last, GUESSED)  # "the launch is on 3 May", written up a week later
    return _of(last, BY_VERB)


def _shifted(today: datetime, days: int) -> Place | None:
    return _of(one_day(today + days * DAY), SURE)


def _weekday_before(name: str, count: int, today: datetime) -> Place | None:
    last = weekly(WEEKDAY[name]).last(today, strict=True)
    return None if last is None else _shifted(last.start, -7 * (count - 1))


def _counted(said: str) -> tuple[float, float]:
    """Return the least and the greatest count that a word for a number means."""
    for word, both in VAGUE.items():
        if word in said:
            return both
    if said.startswith("half"):
        return 0.5, 0.5
    count = int(said) if said.isdigit() else _NUMBERS[said]
    return count, count


def _ago(match: re.Match[str], _tense: int, today: datetime) -> Place | None:
    least, most = _counted(match["ago_n"])
    unit = match["ago_u"].removesuffix("s")
    if unit in WEEKDAY or unit in SEASON:
        if least != most or least != int(least) or least > 100:
            return None
        if unit in SEASON:
            return _of(_season(unit, today.year - int(least)), GUESSED)
        return _weekday_before(unit, int(least), today)
    if unit == "hour":
        return _shifted(today, 0) if most < 6 else None
    if match["ago_half"] or match["ago_half2"]:
        least, most = least + 0.5, most + 0.5
    return _away(unit, -most, -least, today)


def _ahead(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    if match["in_n"] is not None and tense == PAST:
        return None  # "I learned it in two weeks"
    said = match["in_n"] or match["from_n"]
    least, most = _counted(said)
    place = _away((match["in_u"] or match["from_u"]).removesuffix("s"), least, most, today)
    if place is None or tense != OPEN or match["from_n"]:
        return place
    return Place(place.start, place.end, GUESSED)


def _away(unit: str, near: float, far: float, today: datetime) -> Place | None:
    """Return the place that many units from today, below 0 = back."""
    if max(abs(near), abs(far)) > AGO_MAX.get(unit, 10):
        return None
    exact = near == far and near == int(near)
    if unit in ("day", "night"):
        first, last = (int(near), int(far)) if exact or near == int(near) else (0, 0)
        return _of(Interval(today + first * DAY, today + (last + 1) * DAY)) if first or last else None
    if unit in ("week", "fortnight", "weekend"):
        if unit == "weekend":
            return _of(unit_shifted(today, "weekend", int(near), _MONDAY)) if exact else None
        width = 14 if unit == "fortnight" else 7
        first, last = round(near * width), round(far * width)
        return _of(Interval(today + (first - 3) * DAY, today + (last + 4) * DAY))
    months = {"month": 1, "year": 12, "decade": 120}[unit]
    first, last = round(near * months), round(far * months)
    if unit == "month" and near != int(near):  # half a month
        return _away("week", 2 if near > 0 else -2, 2 if near > 0 else -2, today) if abs(near) < 1 else None
    if unit == "month" or near != int(near):  # half a year ago: the months around it
        slack = 0 if unit == "month" else 1
        start, end = (unit_of(add_months(today, n), "month", _MONDAY) for n in (first - slack, last + slack))
    else:
        years = (int(near) * 10 - 2, int(far) * 10 + 2) if unit == "decade" else (int(near), int(far))
        start, end = (unit_shifted(today, "year", n, _MONDAY) for n in years)
    return _of(Interval(start.start, end.end))


_REL = {"last": -1, "this past": -1, "this": 0, "next": 1, "this coming": 1}


def _before_last(match: re.Match[str], _tense: int, today: datetime) -> Place | None:
    unit = match["bl"]
    if unit in WEEKDAY:
        return _weekday_before(unit, 2, today)
    if unit in SEASON:
        return _of(_season(unit, _last_season(unit, today) - 1))
    return _of(unit_shifted(today, unit, -2, _MONDAY))


def _season(name: str, year: int) -> Interval:
    """Return the three months of a season; a winter is named by the year in which it begins."""
    return months_from(year, SEASON[name], 3)


def _last_season(name: str, today: datetime) -> int:
    """Return the year of the newest season that is over."""
    year = today.year
    while _season(name, year).end > today:
        year -= 1
    return year


def _rel(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    sign = _REL[match["rel"]]
    if (short := match["rel_d"]) is not None:
        return _rel_day(WEEKDAY[short], match["rel"], tense, today)
    if (name := match["rel_m"]) is not None:
        found = _rel_month(MONTH[name], sign, today)
    elif (season := match["rel_s"]) is not None:
        found = _rel_season(season, sign, tense, today)
    else:
        unit = match["rel_u"]
        # "This weekend was great", said on a Tuesday.
        back = unit == "weekend" and sign == 0 and tense == PAST and today.weekday() < 5
        found = unit_shifted(today, unit, -1 if back else sign, _MONDAY)
    return _of(_edged(found, match["rel_edge"], today if sign == 0 else None))


def _rel_day(weekday: int, said: str, tense: int, today: datetime) -> Place | None:
    cycle = weekly(weekday)
    if said in ("last", "this past") or (said == "this" and tense == PAST):
        return _of(cycle.last(today, strict=said != "this"))
    if said == "next":  # the one of next week
        return _of(one_day(unit_shifted(today, "week", 1, _MONDAY).start + weekday * DAY))
    return _of(cycle.next(today))


def _rel_month(month: int, sign: int, today: datetime) -> Interval | None:
    cycle = yearly(lambda year: months_from(year, month))
    if sign < 0:
        return cycle.last(today.replace(day=1), strict=True)
    if sign == 0:
        return months_from(today.year, month)
    return cycle.next(today, strict=True)


def _rel_season(name: str, sign: int, tense: int, today: datetime) -> Interval | None:
    year = _last_season(name, today)
    if sign < 0:
        return _season(name, year)
    following = _season(name, year + 1)  # the one that is on, or comes next
    if sign == 0:
        last = _season(name, year)
        return last if tense == PAST and today < following.start else following
    return _season(name, year + 2) if following.start <= today else following


def _edged(found: Interval | None, edge: str | None, today: datetime | None) -> Interval | None:
    """Cut "early", "late", "the end of" to a third; "earlier" and "later" at today, if it lies inside."""
    if found is None or edge is None:
        return found
    third = (found.end - found.start) / 3
    third -= timedelta(seconds=third.seconds, microseconds=third.microseconds) if third > DAY else timedelta(0)
    if edge.startswith("earlier") and today is not None and today > found.start:
        return Interval(found.start, today + DAY)
    if edge.startswith("later") and today is not None and today < found.end:
        return Interval(today, found.end)
    if "end of" in edge or edge.startswith("late"):
        return Interval(found.end - third, found.end)
    if edge.startswith("mid") or "middle" in edge:
        return Interval(found.start + third, found.end - third)
    return Interval(found.start, found.start + third)


def _slashed(match: re.Match[str], _tense: int, today: datetime) -> Place | None:
    """Read a date in digits: month first with strokes, day first with dots, or the only order that can be."""
    said = match["slashed"]
    first, second, year = map(int, said.replace(".", "/").split("/"))
    month, number = (second, first) if "." in said else (first, second)
    if month > 12:
        month, number = number, month
    if year < 100:
        year += 2000 if year <= max(29, today.year % 100) else 1900
    return _of(day(year, month, number), SURE)


def _dated(month: int, number: int, year: str | None, tense: int, today: datetime) -> Place | None:
    if year is not None:
        return _of(day(int(year), month, number), SURE)
    return _turn(yearly(lambda y: day(y, month, number)), tense, today, strict=False)


def _month(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    place = _turn(yearly(lambda year: months_from(year, MONTH[match["m"]])), tense, today, strict=False)
    return place and _of(_edged(Interval(place.start, place.end), match["m_edge"], None), place.confidence)


def _weekend(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    now = unit_of(today, "weekend", _MONDAY)
    if tense == PAST and today < now.start:
        return _of(unit_shifted(today, "weekend", -1, _MONDAY), BY_VERB)
    return _of(now, BY_VERB if tense != OPEN else GUESSED)


def _the_day(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    ahead = tense in (PRESENT, FUTURE)
    for step in (0, 1, 2):
        moved = add_months(today.replace(day=1), step if ahead else -step)
        if int(match["td"]) > days_in(moved.year, moved.month):
            continue
        found = moved.replace(day=int(match["td"]))
        if found >= today if ahead else found <= today:
            return _of(one_day(found), BY_VERB if tense != OPEN else GUESSED)
    return None


def _holiday(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    names, said = _holiday_names(), match["h"].replace("’", "'")
    row = names.get(said.replace("'s", "").replace("'", "")) or names[said.replace("'", "")]
    cycle, rel = every_year(row.date, row.days), match["h_rel"]
    if match["h_y"] is not None:
        return _of(cycle.at(int(match["h_y"])), SURE)
    if rel in ("last", "this past"):
        return _of(cycle.last(today, strict=True))
    if rel in ("next", "this coming") or (rel == "this" and tense != PAST):
        return _of(cycle.next(today))
    return _turn(cycle, tense, today, strict=False)


_PLACES: dict[str, Callable[[re.Match[str], int, datetime], Place | None]] = {
    "holiday": _holiday,
    "yesterday": lambda said, _, today: _shifted(today, -2 if "before" in said[0] else -1),
    "tomorrow": lambda said, _, today: _shifted(today, 2 if "after " in said[0] else 1),
    "today": lambda said, _, today: _shifted(today, -1 if said[0].startswith("last") else 0),
    "ago": _ago,
    "ahead": _ahead,
    "of_week": lambda said, _, today: _shifted(
        unit_shifted(today, "week", _REL[said["ow_rel"]], _MONDAY).start, WEEKDAY[said["ow_day"]]
    ),
    "before_last": _before_last,
    "after_next": lambda said, _, today: _of(unit_shifted(today, said["an"], 2, _MONDAY)),
    "rel": _rel,
    "iso": lambda said, _, today: _of(day(*map(int, said["iso"].split("-"))), SURE),
    "slashed": _slashed,
    "day_month": lambda said, tense, today: _dated(MONTH[said["dm_m"]], int(said["dm_d"]), said["dm_y"], tense, today),
    "month_day": lambda said, tense, today: _dated(MONTH[said["md_m"]], int(said["md_d"]), said["md_y"], tense, today),
    "month_year": lambda said, _, today: _of(
        _edged(months_from(int(said["my_y"]), MONTH[said["my_m"]]), said["my_edge"], None), SURE
    ),
    "month": _month,
    "season_year": lambda said, _, today: _of(_season(said["sy_s"], int(said["sy_y"])), SURE),
    "year": lambda said, _, today: (
        _of(months_from(int(said["y"]), 1, 12)) if int(said["y"]) <= today.year + 30 else None
    ),
    "weekend": _weekend,
    "the_day": _the_day,
    "weekday": lambda said, tense, today: _turn(weekly(WEEKDAY[said["wd"] or said["wd_short"]]), tense, today),
}


# -- the times of a text -----------------------------------------------------------------------------------------------


@record(frozen=True, slots=True, kw_only=True)
class ToldTime:
    """A time that a text tells: from `start` to before `end`, and its place in the text."""

    start: datetime
    end: datetime
    span: tuple[int, int] = (0, 0)
    confidence: float = 0.9


def told_times(text: str, at: datetime, language: str | None = "en") -> tuple[ToldTime, ...]:
    """Return the times that a text tells, in the order of the text, at most `TIMES_MAX`.

    Relative dates are of days in the zone of `at`, the time at which it was said. A time in quotation marks, or in a
    sentence that asks, is not told. Only English is read. If speed counts, ask `may_tell` first.
    """
    if language not in (None, "en"):  # of a short text nothing is known, and the phrases are English anyhow
        return ()
    low = lowered(text[:CHARS_MAX])
    found: list[ToldTime] = []
    quoted = [q.span() for q in _QUOTED.finditer(low)] if any(map(low.__contains__, _QUOTES)) else []
    for match in islice(_phrase().finditer(low), PHRASES_MAX):
        start, end = match.span()
        if _is_other(match, text, low) or any(begin < start and end <= stop for begin, stop in quoted):
            continue
        sentence, offset, asks = _sentence(low, start, end)
        if asks and not _RECALLS.match(sentence):
            continue
        tense = tense_at(sentence, start - offset, end - offset) if _needs_tense(match) else 0
        place = _placed(low[start:end], tense, at.year, at.month, at.day)
        told = None if place is None else _told(place, (start, end), at)
        if told is None:
            continue
        if found and _JOINS.fullmatch(low[found[-1].span[1] : start]) and _within(told, found[-1]):
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
def _placed(phrase: str, tense: int, year: int, month: int, number: int) -> Place | None:
    match = _phrase().fullmatch(phrase)
    if match is None:
        return None
    try:
        return _PLACES[_kind_of(match)](match, tense, datetime(year, month, number))
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
