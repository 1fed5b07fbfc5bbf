"""Rules for times of day, and rules that are tried late: bare weekdays and the bare "the week"."""

from __future__ import annotations

from datetime import timedelta

from recall_integrations.query.temporal.calendar import DAY, Interval, Period
from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch, mapped
from recall_integrations.query.temporal.lexicon import PART_OF_DAY
from recall_integrations.query.temporal.rules_calendar import clear_weekday, cued_weekday
from recall_integrations.query.temporal.rules_parts import bare_unit

SLACK = timedelta(minutes=30)


def _hours(start: int, length: int, slack: timedelta = timedelta(0)) -> tuple[timedelta, timedelta]:
    return timedelta(minutes=start) - slack, timedelta(minutes=start + length) + slack


def _on_day(hit: RuleMatch, first: timedelta, last: timedelta, point: timedelta | None = None) -> Built:
    """Return these hours of the day (or of every such day) of `d`; `point`: the moment that a time of day names."""
    period: Period = hit.value("d")
    if period.unit != "day":
        return None

    def hours(whole: Interval) -> Interval | None:
        start = whole.start
        return Interval(start + first, start + last, None if point is None else start + point)

    return mapped("D", period, hours, "time")


def _part_of_day(hit: RuleMatch) -> Built:
    first, last = PART_OF_DAY[hit.word("k")]
    if hit.token("early"):
        last = (first + last) // 2
    if hit.token("late"):
        first = (first + last) // 2
    return _on_day(hit, *_hours(60 * first, 60 * (last - first)))


def _clock(hit: RuleMatch) -> Built:
    """Read 3pm as the hour from 3, 3:30 as the half hour; "around" adds half an hour on both sides."""
    start, length = hit.value("t")
    slack = SLACK if hit.says("around", "about") else timedelta(0)
    return _on_day(hit, *_hours(start, length, slack), timedelta(minutes=start))


def _clock_range(hit: RuleMatch) -> Built:
    (first, _), (last, _) = _start(hit), hit.value("t2")
    if last <= first:
        last += 24 * 60
    return _on_day(hit, timedelta(minutes=first), timedelta(minutes=last))


def _start(hit: RuleMatch) -> tuple[int, int]:
    """Return the first time of a range; in "from 3 to 5pm" it is a number that borrows the half of the day."""
    if hit.token("t"):
        start: tuple[int, int] = hit.value("t")
        return start
    end = hit.value("t2")[0]
    hour = hit.value("n") % 12 * 60
    return (hour + 720 if end >= 720 and hour + 720 < end else hour), 60


def _clock_bound(hit: RuleMatch) -> Built:
    moment = timedelta(minutes=hit.value("t")[0])
    if hit.says("after", "since", "from"):
        return _on_day(hit, moment, DAY)
    return _on_day(hit, timedelta(0), moment) if moment else None


def _today_part(hit: RuleMatch) -> Built:
    if hit.word("k") in ("lunch", "breakfast"):
        return None  # "this lunch" is a meal
    first, last = PART_OF_DAY[hit.word("k")]
    today = hit.ctx.today
    return "D", Period("time", Interval(today + timedelta(hours=first), today + timedelta(hours=last)))


def _bare_clock(hit: RuleMatch) -> Built:
    """Read "at 3pm" without a day: the last time it was that late."""
    start, length = hit.value("t")
    first, last = _hours(start, length, SLACK if hit.says("around", "about") else timedelta(0))
    day = hit.ctx.today if hit.ctx.today + first <= hit.ctx.local else hit.ctx.today - DAY
    return "D", Period("time", Interval(day + first, day + last))


def _noon(hit: RuleMatch) -> Built:
    return "t", ((720, 60) if hit.says("noon", "midday") else (0, 60))


TIMES = (
    Rule("noon", "(?<=(at|by|before|after|until|till|around|since)) (noon|midday|midnight)", _noon, 0.9,
         "before noon yesterday"),
    Rule("today_part", "this k:POD", _today_part, 0.92, "what did I do this morning"),
    Rule("weekday", "w:WD", clear_weekday, 0.85, "what did I do on Friday", weak=True),
    Rule("weekday_behind_preposition",
         "(?<=(on|until|till|since|by|before|after|from|between|to|DASH|and|through)) w:WD", cued_weekday, 0.75,
         "what did I do on Fri", weak=True),
    Rule("weekday_before_dash", "w:WD(?=(TO D|POD))", cued_weekday, 0.75, "Mon to Friday", weak=True),
    Rule("day_part", "d:D COMMA? (in the|at)? early:early? late:late? k:POD", _part_of_day, 0.93, "yesterday morning"),
    Rule("part_of_day_of", "(in|on|during)? the? early:early? late:late? k:POD (of|on) the? d:D", _part_of_day, 0.93,
         "on the morning of 3 May"),
    Rule("day_clock_range", "d:D COMMA? (from|between) (t:T|n:DAYNUM) (and|TO) t2:T", _clock_range,
         0.93, "on Monday between 3 and 5pm"),
    Rule("clock_range_day", "(from|between) (t:T|n:DAYNUM) (and|TO) t2:T on? d:D", _clock_range, 0.93,
         "from 9am to 11am yesterday"),
    Rule("clock_bound_day", "(before|after|since|until|till|by|from) t:T (on|COMMA)? d:D", _clock_bound, 0.92,
         "after 5pm yesterday"),
    Rule("day_clock_bound", "d:D COMMA? (before|after|since|until|till|by) t:T", _clock_bound, 0.92,
         "yesterday after 5pm"),
    Rule("day_clock", "d:D COMMA? (at|around|about|T)? (about|around)? t:T", _clock, 0.93, "on Monday at 3pm"),
    Rule("clock_day", "(at|around|about)? (about|around)? t:T (on|COMMA|of)? d:D", _clock, 0.93,
         "around 3pm on Monday"),
    Rule("bare_clock", "(at|around|about) t:T", _bare_clock, 0.45, "what did she say at 3pm"),
)  # fmt: skip

LATE = (
    Rule("bare_unit",
         "the (u:(week|month|year|quarter)|u2:day(?!X))(?!(UNIT|of|when|that|we|i|you|she|he|they|which))",
         bare_unit, 0.45, "the partner of the week"),
    Rule("weekend", "the? u:weekend(?!of)", bare_unit, 0.7, "what did I do over the weekend"),
)  # fmt: skip
