"""Place a phrase of time in the calendar, seen from the day on which it was said.

The wording tells how wide a time is: "two weeks ago" is a week around that day, "two years ago" a year.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from recall_integrations.query.temporal.calendar import (
    DAY,
    Cycle,
    Interval,
    add_months,
    day,
    months_from,
    one_day,
    unit_of,
    unit_shifted,
    weekly,
    yearly,
)
from recall_integrations.query.temporal.event_words import NUMBERS, holiday_names, kind_of
from recall_integrations.query.temporal.holidays import every_year
from recall_integrations.query.temporal.lexicon import MONTH, SEASON, WEEKDAY
from recall_integrations.query.temporal.tense import FUTURE, NEAR, OPEN, PAST, PRESENT
from recall_integrations.records import record

FAR = timedelta(days=270)  # a yearly date that a sentence in the present names lies no farther ahead
SURE, PLAIN, BY_VERB, GUESSED = 0.95, 0.9, 0.8, 0.5
# "A couple of", "a few", "several": at least and at most.
VAGUE = {"couple": (2, 2), "few": (2, 5), "several": (3, 7)}
AGO_MAX = {"day": 400, "night": 400, "week": 200, "fortnight": 50, "weekend": 100, "month": 400, "year": 120}
_MONDAY = 0


@record(frozen=True, slots=True)
class Place:
    """A stretch of the calendar.

    Args:
        start: wall clock, naive.
        end: exclusive.
        confidence: confidence of the reading.
    """

    start: datetime
    end: datetime
    confidence: float = PLAIN


def place_of(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    """Place a phrase in the calendar; `None` = nowhere.

    Args:
        match: match of a phrase, from `event_words`.
        tense: tense of the verb, `PAST` … `FUTURE`.
        today: midnight before it was said, naive.

    Raises:
        ValueError, OverflowError: there is no such day.
    """
    return _PLACES[kind_of(match)](match, tense, today)


def _of(found: Interval | None, confidence: float = PLAIN) -> Place | None:
    return None if found is None or found.start >= found.end else Place(found.start, found.end, confidence)


def _turn(cycle: Cycle, tense: int, today: datetime, *, strict: bool = True) -> Place | None:
    """Return the last or the next turn of a cycle, by the verb; without a verb the nearest."""
    if tense in (NEAR, OPEN):
        sure = BY_VERB if tense == NEAR else GUESSED
        last, coming = cycle.last(today, strict=strict), cycle.next(today, strict=strict)
        if last is None or coming is None:
            return _of(coming or last, sure)
        if tense == NEAR and cycle.is_weekly:  # "new hours from Monday": a past one is not called so
            return _of(coming, sure)
        return _of(last if today - last.start < coming.start - today else coming, sure)
    if tense in (PRESENT, FUTURE):
        found = cycle.next(today, strict=strict)
        if tense == FUTURE or found is None or found.start - today < FAR:
            return _of(found, BY_VERB)
        return _of(cycle.last(today, strict=strict), GUESSED)  # "the launch is on 3 May", written up a week later
    return _of(cycle.last(today, strict=strict), BY_VERB)


def _shifted(today: datetime, days: int) -> Place | None:
    return _of(one_day(today + days * DAY), SURE)


def _counted(said: str) -> tuple[float, float]:
    """Return the least and the greatest count that a word for a number means."""
    for word, both in VAGUE.items():
        if word in said:
            return both
    if said.startswith("half"):
        return 0.5, 0.5
    count = int(said) if said.isdigit() else NUMBERS[said]
    return count, count


def _ago(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    least, most = _counted(match["ago_n"])
    unit = match["ago_u"].removesuffix("s")
    if unit in WEEKDAY or unit in SEASON:
        if least != most or least != int(least) or least > 100:
            return None
        number = int(least)
        if unit in SEASON:
            return _of(_season(unit, today.year - number), GUESSED)
        last = weekly(WEEKDAY[unit]).last(today, strict=True)
        return None if last is None else _shifted(last.start, -7 * (number - 1))
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
        start = unit_of(add_months(today, first - slack), "month", _MONDAY)
        end = unit_of(add_months(today, last + slack), "month", _MONDAY)
    elif unit == "year":
        start = unit_shifted(today, "year", int(near), _MONDAY)
        end = unit_shifted(today, "year", int(far), _MONDAY)
    else:
        start = unit_shifted(today, "year", int(near) * 10 - 2, _MONDAY)
        end = unit_shifted(today, "year", int(far) * 10 + 2, _MONDAY)
    return _of(Interval(start.start, end.end))


_REL = {"last": -1, "this past": -1, "this": 0, "next": 1, "this coming": 1}


def _of_week(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    week = unit_shifted(today, "week", _REL[match["ow_rel"]], _MONDAY)
    return _of(one_day(week.start + WEEKDAY[match["ow_day"]] * DAY), SURE)


def _before_last(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    unit = match["bl"]
    if unit in WEEKDAY:
        last = weekly(WEEKDAY[unit]).last(today, strict=True)
        return None if last is None else _shifted(last.start, -7)
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
        found = _rel_month(MONTH[name], sign, tense, today)
    elif (season := match["rel_s"]) is not None:
        found = _rel_season(season, sign, tense, today)
    else:
        unit = match["rel_u"]
        found = unit_shifted(today, unit, sign, _MONDAY)
        if unit == "weekend" and sign == 0 and tense == PAST and found.start > today:
            found = unit_shifted(today, unit, -1, _MONDAY)  # "this weekend was great", said on a Tuesday
        if unit == "weekend" and sign == -1 and match["rel"] == "last" and today.weekday() == 6:
            found = unit_shifted(today, unit, -1, _MONDAY)
    return _of(_edged(found, match["rel_edge"], today if sign == 0 else None))


def _rel_day(weekday: int, said: str, tense: int, today: datetime) -> Place | None:
    cycle = weekly(weekday)
    if said in ("last", "this past") or (said == "this" and tense == PAST):
        return _of(cycle.last(today, strict=said != "this"))
    if said == "next":  # the one of next week
        return _of(one_day(unit_shifted(today, "week", 1, _MONDAY).start + weekday * DAY))
    return _of(cycle.next(today))


def _rel_month(month: int, sign: int, tense: int, today: datetime) -> Interval | None:
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


def _iso(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    year, month, number = map(int, match["iso"].split("-"))
    return _of(day(year, month, number), SURE)


def _slashed(match: re.Match[str], tense: int, today: datetime) -> Place | None:
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


def _month_year(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    return _of(_edged(months_from(int(match["my_y"]), MONTH[match["my_m"]]), match["my_edge"], None), SURE)


def _month(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    place = _turn(yearly(lambda year: months_from(year, MONTH[match["m"]])), tense, today, strict=False)
    if place is None:
        return None
    found = _edged(Interval(place.start, place.end), match["m_edge"], None)
    return _of(found, place.confidence)


def _year(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    year = int(match["y"])
    if year > today.year + 30:
        return None
    return _of(months_from(year, 1, 12))


def _weekend(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    now = unit_of(today, "weekend", _MONDAY)
    if tense == PAST and today < now.start:
        return _of(unit_shifted(today, "weekend", -1, _MONDAY), BY_VERB)
    return _of(now, BY_VERB if tense != OPEN else GUESSED)


def _the_day(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    number = int(match["td"])
    for step in (0, 1, 2):
        moved = add_months(today.replace(day=1), step if tense in (PRESENT, FUTURE) else -step)
        try:
            found = moved.replace(day=number)
        except ValueError:
            continue
        if (found >= today) if tense in (PRESENT, FUTURE) else (found <= today):
            return _of(one_day(found), BY_VERB if tense != OPEN else GUESSED)
    return None


_APOSTROPHES = str.maketrans("", "", "'’")


def _holiday(match: re.Match[str], tense: int, today: datetime) -> Place | None:
    names, said = holiday_names(), match["h"].replace("’", "'")
    row = names.get(said.replace("'s", "").replace("'", "")) or names[said.translate(_APOSTROPHES)]
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
    "of_week": _of_week,
    "before_last": _before_last,
    "after_next": lambda said, _, today: _of(unit_shifted(today, said["an"], 2, _MONDAY)),
    "rel": _rel,
    "iso": _iso,
    "slashed": _slashed,
    "day_month": lambda said, tense, today: _dated(MONTH[said["dm_m"]], int(said["dm_d"]), said["dm_y"], tense, today),
    "month_day": lambda said, tense, today: _dated(MONTH[said["md_m"]], int(said["md_d"]), said["md_y"], tense, today),
    "month_year": _month_year,
    "month": _month,
    "season_year": lambda said, _, today: _of(_season(said["sy_s"], int(said["sy_y"])), SURE),
    "year": _year,
    "weekend": _weekend,
    "the_day": _the_day,
    "weekday": lambda said, tense, today: _turn(weekly(WEEKDAY[said["wd"] or said["wd_short"]]), tense, today),
}
