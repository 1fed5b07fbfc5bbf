"""Times that questions ask for: how they are worded, and from when to when they go."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

from benchmarks.facts.generator.slots import DEV, MONTHS

Window = tuple[str, datetime, datetime]  # how it is said; from; to, exclusive
Way = Callable[[datetime, datetime], Window | None]

_SEASONS = (("spring", 3), ("summer", 6), ("autumn", 9))


def _month(year: int, month: int, count: int = 1) -> tuple[datetime, datetime]:
    after = month - 1 + count
    return datetime(year, month, 1, tzinfo=timezone.utc), datetime(
        year + after // 12, after % 12 + 1, 1, tzinfo=timezone.utc
    )


def _day(at: datetime) -> tuple[datetime, datetime]:
    begin = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return begin, begin + timedelta(days=1)


def _in_month(at: datetime, _now: datetime) -> Window:
    return (f"in {MONTHS[at.month - 1]} {at.year}", *_month(at.year, at.month))


def _in_that_month(at: datetime, now: datetime) -> Window | None:
    """Without a year: of the last twelve months, and not this one."""
    begin, end = _month(at.year, at.month)
    return (f"in {MONTHS[at.month - 1]}", begin, end) if end <= now < begin + timedelta(days=330) else None


def _on_day(at: datetime, _now: datetime) -> Window:
    return (f"on {at.day} {MONTHS[at.month - 1]} {at.year}", *_day(at))


def _back_in(at: datetime, now: datetime) -> Window | None:
    return (f"back in {at.year}", *_month(at.year, 1, 12)) if at.year < now.year else None


def _last_month(_at: datetime, now: datetime) -> Window:
    before = now.replace(day=1) - timedelta(days=1)
    return ("last month", *_month(before.year, before.month))


def _as_of(at: datetime, _now: datetime) -> Window:
    return (f"as of {at:%Y-%m-%d}", *_day(at))


def _season(at: datetime, _now: datetime) -> Window | None:
    for name, month in _SEASONS:
        if month <= at.month < month + 3:
            return (f"in the {name} of {at.year}", *_month(at.year, month, 3))
    return None


def _during(at: datetime, _now: datetime) -> Window:
    return (f"during {MONTHS[at.month - 1]} of {at.year}", *_month(at.year, at.month))


def _last_year(at: datetime, now: datetime) -> Window | None:
    return ("last year", *_month(at.year, 1, 12)) if at.year == now.year - 1 else None


def _american(at: datetime, _now: datetime) -> Window:
    return (f"on {MONTHS[at.month - 1][:3]} {at.day}, {at.year}", *_day(at))


def _months_ago(at: datetime, now: datetime) -> Window | None:
    """A fortnight around it: "six months ago" is no day."""
    months = round((now - at).days / 30.44)
    middle = now - timedelta(days=months * 30.44)
    if not 3 <= months <= 20:
        return None
    return f"{months} months ago", middle - timedelta(days=20), middle + timedelta(days=20)


WAYS: dict[str, tuple[Way, ...]] = {
    DEV: (_in_month, _in_month, _in_that_month, _on_day, _back_in, _last_month),
    "test": (_as_of, _season, _during, _last_year, _american, _months_ago),
}


def window(style: str, at: datetime, now: datetime, random_: random.Random) -> Window | None:
    """A way to ask for this time; `None` = the way that was drawn has no words for it."""
    return random_.choice(WAYS[style])(at, now)
