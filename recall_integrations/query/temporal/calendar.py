"""Calendar arithmetic on wall-clock times: intervals, recurring intervals, units, and the way back to instants.

Everything here is naive local time ("wall clock") until `to_instant` puts it into a time zone, so that a day is a
day also where daylight saving makes it 23 or 25 hours long. Functions raise `OverflowError` or `ValueError` where
a result would leave the years 1 to 9999; the engine takes that as "the rule does not apply".
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, timezone, tzinfo

from recall_integrations.records import record

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
WEEKLY_REACH, MONTHLY_REACH, YEARLY_REACH = 4, 8, 12  # turns of a cycle to try; the number tells its kind

UNIT_DAYS = {"day": 1, "week": 7, "fortnight": 14}
UNIT_MONTHS = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120, "century": 1200}
UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600}


@record(frozen=True, slots=True)
class Interval:
    """A span of wall-clock time, naive; `end` is the first moment after it."""

    start: datetime
    end: datetime
    point: datetime | None = None  # the moment meant at one end of a range ("until the *end of* June" = 1 July)
    parts: tuple[Interval, ...] = ()  # of "March or June" both, where a gap lies between them


@record(frozen=True, slots=True)
class HalfOpen:
    """All time from a moment on, or until one: one of both is `None`."""

    start: datetime | None = None
    end: datetime | None = None


@record(frozen=True, slots=True)
class Cycle:
    """An interval that comes back: every May, every Tuesday, every 25 December."""

    at: Callable[[int], Interval | None]  # the interval with a given number; `None` if there is none (29 February)
    number: Callable[[datetime], int]  # the number of the interval around a moment
    reach: int  # numbers to try in a row before giving up; it also tells the kind of the cycle

    @property
    def is_weekly(self) -> bool:
        """True for a weekday."""
        return self.reach == WEEKLY_REACH

    @property
    def is_monthly(self) -> bool:
        """True for a day of every month."""
        return self.reach == MONTHLY_REACH

    def last(self, moment: datetime, *, strict: bool = False) -> Interval | None:
        """Return the newest interval that starts at or before `moment` (`strict`: before)."""
        return self._nearest(moment, -1, lambda start: start < moment or (start == moment and not strict))

    def next(self, moment: datetime, *, strict: bool = False) -> Interval | None:
        """Return the oldest interval that starts at or after `moment` (`strict`: after)."""
        return self._nearest(moment, 1, lambda start: start > moment or (start == moment and not strict))

    def _nearest(self, moment: datetime, step: int, fits: Callable[[datetime], bool]) -> Interval | None:
        first = self.number(moment) - step
        turns = (self.at(i) for i in range(first, first + step * self.reach, step))
        return next((found for found in turns if found and fits(found.start)), None)


@record(frozen=True, slots=True)
class Period:
    """The meaning of a phrase: one interval (`fixed`), or a recurring one that still has to be placed (`cycle`)."""

    unit: str  # day, week, month, quarter, half, year, decade, weekend, span, time
    fixed: Interval | None = None
    cycle: Cycle | None = None

    def past(self, moment: datetime) -> Interval | None:
        """Return the interval itself, or the newest one that has begun."""
        return self.fixed or (self.cycle.last(moment) if self.cycle else None)

    def future(self, moment: datetime) -> Interval | None:
        """Return the interval itself, or the first one yet to begin."""
        return self.fixed or (self.cycle.next(moment) if self.cycle else None)


@record(frozen=True, slots=True)
class Duration:
    """A length of time in its own units, so that "one month" keeps its meaning: months, days and seconds."""

    months: int = 0
    days: int = 0
    seconds: int = 0
    unit: str = "day"
    count: int = 1

    def __add__(self, other: Duration) -> Duration:
        return Duration(
            self.months + other.months, self.days + other.days, self.seconds + other.seconds, other.unit, other.count
        )


def duration(count: int, unit: str) -> Duration:
    """Make a `Duration` of `count` units."""
    months, days, seconds = (count * units.get(unit, 0) for units in (UNIT_MONTHS, UNIT_DAYS, UNIT_SECONDS))
    return Duration(months, days, seconds, unit, count)


def shift(moment: datetime, length: Duration, sign: int = 1) -> datetime:
    """Move `moment` by a duration; 31 March − 1 month is the last day of February."""
    moved = add_months(moment, sign * length.months)
    return moved + timedelta(days=sign * length.days, seconds=sign * length.seconds)


def add_months(moment: datetime, months: int) -> datetime:
    """Move `moment` by calendar months, clipped to the month's length."""
    if not months:
        return moment
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError("outside the years 1 to 9999")
    return moment.replace(year=year, month=month + 1, day=min(moment.day, days_in(year, month + 1)))


def days_in(year: int, month: int) -> int:
    """Return the number of days of a month."""
    return calendar.monthrange(year, month)[1]


def midnight(moment: datetime) -> datetime:
    """Return the first moment of the wall-clock day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def day(year: int, month: int, number: int) -> Interval:
    """Return the interval of one day."""
    return one_day(datetime(year, month, number))


def one_day(start: datetime) -> Interval:
    """Return the day that begins at `start`."""
    return Interval(start, start + DAY)


def run_of_days(first: datetime, last: datetime) -> Interval:
    """Return the days from the first to the last, both whole."""
    return Interval(first, last + DAY)


def listed(found: Iterable[Interval]) -> Interval:
    """Return the stretch from the first to the last of some intervals; where there are gaps, with its parts."""
    parts: list[Interval] = []
    for each in sorted(found, key=lambda each: each.start):
        if parts and each.start <= parts[-1].end:
            parts[-1] = Interval(parts[-1].start, max(parts[-1].end, each.end))
        else:
            parts.append(Interval(each.start, each.end))
    return Interval(parts[0].start, parts[-1].end, parts=tuple(parts) if len(parts) > 1 else ())


def months_from(year: int, month: int, count: int = 1) -> Interval:
    """Return whole months from that month on: 3 from June are the summer, 12 from January the year."""
    start = datetime(year, month, 1)
    return Interval(start, add_months(start, count))


def week_of(moment: datetime, week_start: int) -> Interval:
    """Return the calendar week around a moment; `week_start` 0 = Monday … 6 = Sunday."""
    start = midnight(moment)
    start -= timedelta(days=(start.weekday() - week_start) % 7)
    return Interval(start, start + WEEK)


def unit_of(moment: datetime, unit: str, week_start: int) -> Interval:
    """Return the calendar unit around a moment: its day, week, month, quarter, half, year, …, or weekend."""
    today = midnight(moment)
    if unit == "day":
        return one_day(today)
    if unit in ("week", "fortnight"):
        start = week_of(today, week_start).start
        return Interval(start, start + timedelta(days=UNIT_DAYS[unit]))
    if unit in ("weekend", "workweek"):
        monday = today - today.weekday() * DAY
        first, after = (5, 7) if unit == "weekend" else (0, 5)
        return Interval(monday + first * DAY, monday + after * DAY)
    months = UNIT_MONTHS[unit]
    years = max(1, months // 12)
    start = today.replace(day=1, month=(today.month - 1) // months * months + 1 if months < 12 else 1)
    start = start.replace(year=max(1, start.year // years * years))
    return Interval(start, add_months(start, months))


def unit_shifted(moment: datetime, unit: str, count: int, week_start: int) -> Interval:
    """Return the calendar unit that lies `count` units after (or before) the one around `moment`."""
    if unit in UNIT_MONTHS:
        moved = add_months(unit_of(moment, unit, week_start).start, count * UNIT_MONTHS[unit])
    else:
        moved = midnight(moment) + timedelta(days=count * UNIT_DAYS.get(unit, 7))
    return unit_of(moved, unit, week_start)


def yearly(build: Callable[[int], Interval | None]) -> Cycle:
    """Make a cycle with one interval per year; an impossible one (29 February) is left out."""
    return Cycle(_tolerant(build), lambda moment: moment.year, YEARLY_REACH)


def monthly(build: Callable[[int, int], Interval | None], reach: int = MONTHLY_REACH) -> Cycle:
    """Make a cycle with at most one interval per month."""
    at = _tolerant(lambda i: build(i // 12, i % 12 + 1))
    return Cycle(at, lambda moment: moment.year * 12 + moment.month - 1, reach)


def weekly(weekday: int) -> Cycle:
    """Make the cycle of a weekday (0 = Monday)."""
    at = _tolerant(lambda i: one_day(datetime.fromordinal(i * 7 + weekday + 1)))
    return Cycle(at, lambda moment: (moment.toordinal() - 1) // 7, WEEKLY_REACH)


def _tolerant(build: Callable[[int], Interval | None]) -> Callable[[int], Interval | None]:
    def at(i: int) -> Interval | None:
        try:
            return build(i)
        except (ValueError, OverflowError):
            return None

    return at


def first_week(start: datetime, week_start: int) -> datetime:
    """Return the start of a month's or year's first week, by ISO 8601: the week that holds its fourth day."""
    return week_of(start + 3 * DAY, week_start).start


def nth_weekday(year: int, month: int, weekday: int, n: int) -> datetime:
    """Return the n-th such weekday of a month; n = -1: the last one."""
    if n < 0:
        last = datetime(year, month, days_in(year, month))
        return last - (last.weekday() - weekday) % 7 * DAY
    first = datetime(year, month, 1)
    found = first + ((weekday - first.weekday()) % 7 + 7 * (n - 1)) * DAY
    if found.month != month:
        raise ValueError("the month has no such weekday")
    return found


def to_instant(wall: datetime, zone: tzinfo) -> datetime:
    """Put a wall-clock time into a zone. A time that daylight saving skips becomes the first one that exists."""
    aware = wall.replace(tzinfo=zone)
    there_and_back = aware.astimezone(timezone.utc).astimezone(zone)
    return aware if there_and_back.replace(tzinfo=None, fold=0) == wall.replace(fold=0) else there_and_back
