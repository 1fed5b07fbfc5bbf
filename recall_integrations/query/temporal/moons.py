"""Days of the calendars that follow the moon: Islamic, Jewish, Chinese New Year, Diwali. Arithmetic, no tables.

The Islamic days are those of the tabular calendar, at most a day off from the observed ones where the new moon has to
be seen. The Jewish days are exact. The other two hang on the moment of the new moon (Meeus, Astronomical Algorithms,
chapter 49: good to minutes). A day that begins in the evening is given as the day after that evening.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta

from recall_integrations.query.temporal.calendar import DAY

_NEW_MOON = datetime(2000, 1, 6, 14, 20, 38)  # the mean new moon that is counted as number 0, in dynamical time
_MONTH_DAYS = 29.530588861
_SEEN = range(1900, 2201)  # the years for which the series below holds


def islamic(month: int, number: int) -> Callable[[int], datetime]:
    """Make the function from a year of ours to its first such day of the Islamic calendar."""

    def in_year(year: int) -> datetime:
        guess = int((year - 622) * 33 / 32)
        for hijri in range(max(1, guess - 1), guess + 3):
            days = number + math.ceil(29.5 * (month - 1)) + (hijri - 1) * 354 + (3 + 11 * hijri) // 30
            found = datetime(622, 7, 18) + timedelta(days=days - 1)
            if found.year == year:
                return found
        raise ValueError("the year has no such day")

    return in_year


def _jewish_new_year(jewish: int) -> int:
    """Return Rosh Hashanah of a Jewish year as the ordinal of its day, by the molad and the postponements."""
    months = (235 * jewish - 234) // 19
    parts = 12084 + 13753 * months
    day = 29 * months + parts // 25920
    if 3 * (day + 1) % 7 < 3:
        day += 1
    return day


def _rosh_hashanah(jewish: int) -> int:
    before, this, after = (_jewish_new_year(jewish + i) for i in (-1, 0, 1))
    late = 2 if after - this == 356 else 1 if this - before == 382 else 0
    return this + late - 1373427


def rosh_hashanah(plus: int = 0) -> Callable[[int], datetime]:
    """Make the function from a year of ours to the day `plus` days after its Jewish New Year."""
    return lambda year: datetime.fromordinal(_rosh_hashanah(year + 3761) + plus)


def passover(plus: int = 0) -> Callable[[int], datetime]:
    """Make the function from a year to the day `plus` days after the first day of Passover."""
    return lambda year: datetime.fromordinal(_rosh_hashanah(year + 3761) - 163 + plus)


def hanukkah(year: int) -> datetime:
    """Return 25 Kislev; the month before it has 29 or 30 days."""
    start, after = _rosh_hashanah(year + 3761), _rosh_hashanah(year + 3762)
    return datetime.fromordinal(start + 30 + (30 if (after - start) % 10 == 5 else 29) + 24)


def chinese_new_year(year: int) -> datetime:
    """Return the day in China of the new moon between 21 January and 20 February."""
    china = timedelta(hours=8)
    found = _new_moon_after(datetime(year, 1, 21) - china) + china
    return found.replace(hour=0, minute=0, second=0, microsecond=0)


def diwali(year: int) -> datetime:
    """Return the day of the last evening in India before the new moon between 17 October and 15 November."""
    evening = timedelta(hours=12, minutes=50)
    found = _new_moon_after(datetime(year, 10, 17)) - evening
    return found.replace(hour=0, minute=0, second=0, microsecond=0)


def _new_moon_after(moment: datetime) -> datetime:
    if moment.year not in _SEEN:
        raise ValueError("too far from our time")
    k = math.floor((moment - _NEW_MOON) / DAY / _MONTH_DAYS)
    while (found := _new_moon(k)) < moment:
        k += 1
    return found


def _new_moon(k: int) -> datetime:
    """Return the k-th new moon, in universal time."""
    t = k / 1236.85
    sun = math.radians(2.5534 + 29.10535670 * k)
    moon = math.radians(201.5643 + 385.81693528 * k)
    node = math.radians(160.7108 + 390.67050284 * k)
    e = 1 - 0.002516 * t
    shift = (
        -0.40720 * math.sin(moon)
        + 0.17241 * e * math.sin(sun)
        + 0.01608 * math.sin(2 * moon)
        + 0.01039 * math.sin(2 * node)
        + 0.00739 * e * math.sin(moon - sun)
        - 0.00514 * e * math.sin(moon + sun)
        + 0.00208 * e * e * math.sin(2 * sun)
        - 0.00111 * math.sin(moon - 2 * node)
        - 0.00057 * math.sin(moon + 2 * node)
        + 0.00056 * e * math.sin(2 * moon + sun)
        - 0.00042 * math.sin(3 * moon)
        + 0.00042 * e * math.sin(sun + 2 * node)
        + 0.00038 * e * math.sin(sun - 2 * node)
        - 0.00024 * e * math.sin(2 * moon - sun)
    )
    dynamical = _NEW_MOON + timedelta(days=_MONTH_DAYS * k + 0.00015437 * t * t + shift)
    return dynamical - timedelta(seconds=70)
