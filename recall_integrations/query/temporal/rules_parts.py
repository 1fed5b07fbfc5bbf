"""Rules for parts of a period ("early June", "the first week of July", "March of last year", "the rest")."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from recall_integrations.query.temporal.calendar import (
    DAY,
    WEEK,
    Duration,
    Interval,
    Period,
    add_months,
    day,
    duration,
    first_week,
    monthly,
    one_day,
    run_of_days,
    shift,
    unit_of,
    week_of,
)
from recall_integrations.query.temporal.grammar import UNIT_SYMBOL, Built, Rule, RuleMatch, mapped, one
from recall_integrations.query.temporal.rules_dates import month_cycle, named_cycle, quarter_cycle, year_period
from recall_integrations.query.temporal.rules_relative import lies_back, unit_from_today

_EARLY, _MID, _LATE = "early", "mid", "late"
_PART = {
    "early": _EARLY, "earlier": _EARLY, "beginning": _EARLY, "start": _EARLY,
    "mid": _MID, "middle": _MID,
    "late": _LATE, "later": _LATE, "end": _LATE, "close": _LATE,
}  # fmt: skip


def part_of(whole: Interval, unit: str, which: str) -> Interval:
    """Return the early, middle or late part of an interval.

    A year has thirds (January–April, May–August, September–December), one that is only named beside another ("late
    last year", "later this year") has halves, and its middle from April to September; a month turns at the 16th and has
    its middle from the 10th to the 20th; a week is early until Wednesday. All other units have thirds, of whole months
    if possible. `point` is the moment of "the beginning / middle / end of" as one end of a range.
    """
    start, end = whole.start, whole.end
    days = (end - start).days
    months = 12 * (end.year - start.year) + end.month - start.month if start.day == end.day == 1 else 0
    middle: tuple[datetime, datetime] | None = None  # where it is not what lies between the other parts
    if unit == "relative year":
        early = late = add_months(start, 6)
        middle = add_months(start, 3), add_months(start, 9)
    elif unit == "month":
        early = late = start + 15 * DAY
        middle = start + 9 * DAY, start + 20 * DAY
    elif unit == "week":
        early = late = start + 3 * DAY
        middle = start + DAY, start + 4 * DAY
    elif unit == "decade":  # 0–3, 4–6, 7–9
        early, late = add_months(start, 48), add_months(start, 84)
    elif months and months % 3 == 0:
        early, late = add_months(start, months // 3), add_months(start, months // 3 * 2)
    elif days < 3:
        early, late, middle = end, start, (start, end)
    else:
        early, late = start + timedelta(days=days // 3), end - timedelta(days=days // 3)
    if which == _MID:
        return Interval(*(middle or (early, late)), start + timedelta(days=days // 2))
    return Interval(start, early, start) if which == _EARLY else Interval(late, end, end)


def _part(hit: RuleMatch) -> Built:
    word = hit.word("k")
    which, token, ctx = _PART[word], hit.part("p"), hit.ctx
    period: Period = token.value
    if period.unit in ("day", "time") and which != _LATE:
        return None
    by_word = ctx.text[token.start : token.end].lower().endswith("year")
    halves = period.unit == "year" and by_word and not (hit.says("of") and word != "middle")
    unit = "span" if ctx.told else "relative year" if halves else period.unit  # what is told has thirds

    def change(whole: Interval) -> Interval:
        found = part_of(whole, unit, which)
        if word in ("early", "late"):  # a range "from late July" holds all of it, one from "the end of July" none
            return Interval(found.start, found.end)
        running = whole.start <= hit.today < whole.end
        if ctx.told and running and word in ("earlier", "later"):
            today = hit.today
            return Interval(whole.start, today + DAY) if word == "earlier" else Interval(today, whole.end)
        if word == "earlier" and running:
            end = ctx.local if period.unit == "year" else min(found.end, ctx.local)
            return Interval(found.start, end if end > found.start else found.start + DAY)
        if word == "later" and running:
            return Interval(max(found.start, hit.today), found.end)
        return found

    return mapped("S", period, change, "span")


def _is_last(hit: RuleMatch) -> bool:
    return hit.says("last", "final")


def _whole(hit: RuleMatch) -> Period:
    """Return the period of which a phrase names a part."""
    return hit.value("p") or year_period(hit.value("y"))


def _half(hit: RuleMatch) -> Built:
    """Read "the first half of June", "the latter half of 2022"."""
    second = hit.says("latter", "last") or hit.value("o") == 2
    if hit.token("o") and hit.value("o") > 2:
        return None
    period: Period = hit.value("p")

    def change(whole: Interval) -> Interval:
        halved = whole.start + timedelta(days=(whole.end - whole.start).days // 2)
        middle = add_months(whole.start, 6) if period.unit == "year" else halved
        return Interval(middle, whole.end) if second else Interval(whole.start, middle)

    return mapped("Q", period, change, "half")


_SIZES = ("day", "week", "month", "quarter", "half", "year", "decade", "century")


def _nth(hit: RuleMatch) -> Built:
    """Read "the first week of July", "the last weekend of May", "the second Friday of March", "the last day of it"."""
    unit, period, weekday = hit.unit or "day", _whole(hit), hit.lex("WD", "w")
    number = -1 if _is_last(hit) else hit.value("o")
    if weekday is None and unit in _SIZES and period.unit in _SIZES and _SIZES.index(unit) >= _SIZES.index(period.unit):
        return None  # no year of a month
    week_start = hit.ctx.week_start

    def change(whole: Interval) -> Interval | None:
        return _nth_inside(whole, unit, number, week_start, weekday)

    return mapped(UNIT_SYMBOL.get(unit, "S"), period, change, unit)


_RUNS = {"weekend": (5, 2), "workweek": (0, 5)}  # the first weekday, and how many days


def _nth_inside(
    whole: Interval, unit: str, number: int, week_start: int, weekday: int | None = None
) -> Interval | None:
    start, end = whole.start, whole.end
    if unit == "week":
        first = first_week(start, week_start) if (end - start).days > 20 else start
        after = first_week(end, week_start) if (end - start).days > 20 else end
        found = after - WEEK if number < 0 else first + (number - 1) * WEEK
        return Interval(found, found + WEEK) if first <= found < after else None
    if unit in _RUNS or weekday is not None:
        weekday, days = (weekday, 1) if weekday is not None else _RUNS[unit]
        first = start + (weekday - start.weekday()) % 7 * DAY
        found = first + ((end - first - DAY) // WEEK if number < 0 else number - 1) * WEEK
        return Interval(found, found + days * DAY) if start <= found < end else None
    length = duration(1, unit)
    found = shift(end, length, -1) if number < 0 else shift(start, duration(number - 1, unit))
    stop = shift(found, length)
    return Interval(found, stop) if start <= found and stop <= end else None


def _edge_length(hit: RuleMatch) -> Built:
    """Read "the first twelve days of last month", "the last five months of 2022"."""
    length: Duration = hit.value("u")
    period, last = _whole(hit), _is_last(hit)

    def change(whole: Interval) -> Interval:
        if length.unit == "week" and period.unit == "year":  # weeks of a year are counted, those of a month are not
            first, after = (first_week(edge, hit.ctx.week_start) for edge in (whole.start, whole.end))
            return Interval(after - length.count * WEEK, after) if last else Interval(first, shift(first, length))
        if last:
            return Interval(max(whole.start, shift(whole.end, length, -1)), whole.end)
        return Interval(whole.start, min(whole.end, shift(whole.start, length)))

    return mapped("S", period, change, "span")


def _days_in_month(hit: RuleMatch) -> Built:
    """Read "last month from 4 to 23": days of a month that another phrase gives."""
    first, last = hit.pair("r") or (hit.value("a"), hit.value("b"))
    period: Period = hit.value("p") or month_cycle(hit.lex("MONTH", "m"))

    def change(month: Interval) -> Interval | None:
        return run_of_days(*(month.start.replace(day=n) for n in (first, last))) if first < last else None

    return mapped("S", period, change, "span")


def _numbered_week(hit: RuleMatch) -> Built:
    """Read "week 30 of last year": weeks of a year are counted as in ISO 8601."""
    token, written = hit.part("n"), hit.value("y")
    whole = hit.here.place(hit.value("p") or year_period(written or hit.today.year))
    if whole is None or (token.spelled and not (written or hit.token("p"))):
        return None  # "week one is the hardest"
    return one("W", "week", _nth_inside(whole, "week", hit.value("n"), hit.ctx.week_start))


_AROUND: dict[str, Callable[[Interval, int], Interval]] = {
    "weekend": lambda whole, _: weekend_at(whole),
    "week": lambda whole, week_start: week_of(whole.start, week_start),
    "month": lambda whole, _: unit_of(whole.start, "month", 0),
}


def _around(hit: RuleMatch) -> Built:
    """Read "the week of March 9th", "the weekend of the 3rd", "Labor Day weekend 2019": the unit around a day."""
    unit, number = hit.word("k") if hit.word("k") in _AROUND else "week", hit.token("d")
    if number is None:
        built = _in_year(hit) if hit.token("c") else ("D", hit.value("p"))
        period = built[1] if built else None
    elif number.spelled or hit.content() or hit.beside(0).word in ("of", "in"):
        return None
    else:
        period = Period("day", cycle=monthly(lambda year, month: day(year, month, number.value)))
    if period is None or (unit != "weekend" and hit.token("p") and period.unit not in ("day", "time")):
        return None
    change, week_start = _AROUND[unit], hit.ctx.week_start
    return mapped(UNIT_SYMBOL.get(unit, "S"), period, lambda whole: change(whole, week_start), unit)


def weekend_at(whole: Interval) -> Interval:
    """Return the weekend beside a day, together with it: before a Monday or Tuesday, after any other day."""
    weekday = whole.start.weekday()
    if weekday < 2:
        return Interval(whole.start - (weekday + 2) * DAY, whole.start + DAY)
    monday = whole.start + (7 - weekday) * DAY
    return Interval(min(whole.start, monday - 2 * DAY), monday)


def _in_year(hit: RuleMatch) -> Built:
    """Read "March of last year", "Christmas 2023": the recurring one that begins in that year."""
    symbol, period = named_cycle(hit)
    year = hit.token("p") or hit.token("y")
    if year is None or period.cycle is None or period.cycle.is_weekly or period.cycle.is_monthly:
        return None
    whole = hit.here.place(year.value) if year.symbol == "Y" else year_period(year.value).fixed
    found = period.cycle.next(whole.start) if whole else None
    return one(symbol, period.unit, found if found and whole and found.start < whole.end else None)


def _rest(hit: RuleMatch) -> Built:
    """Read "the rest of the week": from today on."""
    whole = hit.placed() if hit.token("p") else unit_of(hit.today, hit.unit, hit.ctx.week_start)
    if whole is None or whole.end <= hit.today:
        return None
    return one("S", "span", Interval(max(whole.start, hit.today), whole.end))


def _weekday_in(hit: RuleMatch) -> Built:
    """Read "Thursday of last week", "next week Thursday", "the first week of October on Friday"."""
    weekday, period = hit.lex("WD", "w"), hit.value("p")

    def pick(week: Interval) -> Interval | None:
        found = week.start + ((weekday - week.start.weekday()) % 7) * DAY
        return one_day(found) if found < week.end else None

    return mapped("D", period, pick, "day") if period.unit in ("week", "weekend", "workweek") else None


def bare_unit(hit: RuleMatch) -> Built:
    """Read "the week", "for the month": the present one; early in the week "the weekend" is the one just past."""
    unit = hit.unit
    past = unit == "weekend" and hit.today.weekday() < 3 and not hit.here.plans
    if hit.ctx.told:
        past = lies_back(hit, unit)
    return unit_from_today(hit.ctx, unit, -1 if past else 0)


PARTS = (
    Rule("unit_of_part", ""
         "(?<=(early|earlier|late|later|end|start|beginning|middle|mid|quarter|half|week|weekend|month|day|WD|WDS|U) "
         "(in|of) the) u:UNIT1", bare_unit, 0.8, "the second quarter of the year"),
    Rule("unit_of_day", "((?<=ORD of the) u:(month|year)|(?<=(end|start|beginning|middle) of) u:UNIT1)", bare_unit, 0.8,
         "on the first of the month"),
    Rule("cycle_in_year", "((c:(N|D|H|S|Q)|m:MONTH|s:SEASON|q:QX) (of|in|COMMA)? p:Y|c:H (of|in|COMMA)? y:YR|p:Y "
         "(COMMA|DASH)? q:QX)", _in_year, 0.95, "in March of last year"),
    Rule("year_cycle", "(p:Y COMMA? on c:D|(p:Y|y:YEAR) COMMA? (in|during|at)? the? (c:(N|H|S|Q)|m:MONTH(?!DAY)|"
         "s:SEASON))", _in_year, 0.93, "last year in May"),
    Rule("nth_quarter_in_year", "the? o:ORD u:(quarter|half) p:Y", _nth, 0.93, "the third quarter this year"),
    Rule("nth_weekday_of", "the? (o:ORD|last|final) w:WD ((of|in) the? p:P|p:(N|Y|Q))", _nth, 0.93,
         "the second Friday of March"),
    Rule("nth_day_of", "the? (o:ORD (day)?|o:BIGORD day|last day|final day) (of|in) the? p:(N|Q|Y|W)", _nth, 0.93,
         "the 12th day of last month"),
    Rule("rest_of", "the? (rest|remainder|remaining) (of|in)? (the|my|our|his|her)? (p:P|u:UNIT1)", _rest, 0.9,
         "the rest of this week"),
    Rule("half_of", "the? (o:ORD|latter|last) half (of|in) the? p:P", _half, 0.93, "the first half of June"),
    Rule("nth_unit_of", "the? (o:BIGORD|last|final) u:UNIT1 ((of|in) the? p:P|COMMA? (p:Y|y:YR))", _nth, 0.95,
         "the first week of July"),
    Rule("edge_length_of", "the? (first|o:ORD|last|final) u:U ((of|in) the? p:P|COMMA? (p:Y|y:YR))", _edge_length,
         0.93, "the last five months of 2022"),
    Rule("bare_quarter", "the o:ORD u:(quarter|half)(?!of)",
         lambda h: quarter_cycle(3 if h.word("u") == "quarter" else 6, h.value("o")), 0.7, "in the second quarter"),
    Rule("numbered_week", "(p:Y (COMMA|DASH)? week number? n:SMALL|the? week number? n:SMALL ((of|in|COMMA)? p:Y|"
         "COMMA? y:YEAR)?)", _numbered_week, 0.85, "week 30 of last year"),
    Rule("week_of_number",
         "the? k:(week|weekend) (of|commencing|starting|beginning|ending|around)? on? the d:ORD", _around, 0.8,
         "the week of the 18th"),
    Rule("unit_around",
         "(the? k:month (of|DOT) the? p:D|the? (k:week (of|commencing|starting|beginning|ending|containing|including)|"
         "w SLASH c|wc) on? the? p:D|the? k:weekend (of|around) the? p:D|the? c:H k:(week|weekend) (of|in|COMMA)? "
         "(p:Y|y:YR)|the? p:H k:(week|weekend)|the? p:D k:weekend)", _around, 0.93, "the week of March 9th"),
    Rule("weekday_of_week", "on? w:WD (of|in|from|COMMA|DASH)? the? p:(W|S)", _weekday_in, 0.95,
         "Thursday of last week"),
    Rule("week_weekday", "p:(W|S) (COMMA|DASH|DOT)? on? w:WD", _weekday_in, 0.95, "next week Thursday"),
    Rule("part", "the? (very)? (k:(early|earlier|late|later) DASH? (in|on)?|k:(mid|middle|end) DASH? "
         "of?|k:(beginning|start|close) (of|DASH)) the? p:P", _part, 0.92, "in early June"),
)  # fmt: skip
