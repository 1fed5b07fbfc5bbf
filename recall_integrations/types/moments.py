"""Times as people put them into metadata."""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from collections.abc import Mapping
from datetime import date, datetime, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Any

# Keys under which other frameworks give the time of a message or document, the surest first.
WHEN = (
    *("event_at", "event_time", "occurred_at", "timestamp", "datetime", "date_time", "sent_at", "date", "time", "ts"),
    *("created_at", "created"),
)
YEAR_MIN = 2  # the first year that exists in every zone
UNREAD = (
    "What stands under {!r} is no time that can be read. It is kept in the metadata, and counts as no time: write ISO "
    "8601 (2026-03-01T12:00:00+00:00) or seconds since 1970, or give event_at."
)
_FORMATS = (
    "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y%m%d", "%d.%m.%Y", "%d.%m.%Y %H:%M",
    "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d %B, %Y", "%I:%M %p on %d %B, %Y",
)  # fmt: skip
# Seconds, milliseconds, microseconds and nanoseconds from 1980 to 2100: a number below counts something else.
_FIRST, _LAST = 315_532_800, 4_102_444_800
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
_DIGITS = re.compile(r"\d{9,19}(?:\.\d+)?")
_FRACTION = re.compile(r"(?<=:\d\d)\.(\d+)")
_LONGEST = 64


def moment(value: Any, zone: tzinfo) -> datetime | None:
    """Read the time that a value gives; `None` where it is no time.

    Args:
        value: a `datetime` or `date`, text ("2026-03-12", "2026-03-12T09:30:00Z", "Thu, 12 Mar 2026 09:30:00 +0000",
            "12 March 2026", …) or a number since 1970.
        zone: zone of times that name none.
    """
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=zone)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since(float(value))
    if not isinstance(value, str) or not 6 <= len(value.strip()) <= _LONGEST:
        return None
    text = value.strip()
    if _DIGITS.fullmatch(text):
        return _since(float(text))
    found = _read(text)
    if found is None:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def iso(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Read a time in ISO 8601; `None` where the text is none.

    Args:
        text: a day or a time, with spaces around it or not.
        zone: zone of a time that names none; `None` = it stays without one.
    """
    try:
        found = datetime.fromisoformat(text.strip().replace("z", "Z"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)


def _since(number: float) -> datetime | None:
    for unit in _UNITS:
        if _FIRST <= number / unit < _LAST:
            return datetime.fromtimestamp(number / unit, tz=timezone.utc)
    return None


def _read(text: str) -> datetime | None:
    with contextlib.suppress(ValueError):  # Python 3.10 knows neither "Z" nor fractions of other lengths
        return datetime.fromisoformat(_FRACTION.sub(lambda m: f".{m[1]:0<6.6}", text.replace("Z", "+00:00")))
    for form in _FORMATS:
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, form)  # its zone is put in by the caller
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None


def told_by(*places: Any) -> tuple[datetime | None, dict[str, Any]]:
    """Return the time that messages, documents and nodes of other frameworks give, and the values that cannot be read:
    a warning tells of each once, and the caller keeps them.

    A time without a zone is in UTC. The first of `WHEN` that can be read counts, of the first place that has it.

    Args:
        places: places to look in: mappings, and objects with attributes; anything else says nothing.
    """
    unread: dict[str, Any] = {}
    for key in WHEN:
        for place in places:
            value = place.get(key) if isinstance(place, Mapping) else getattr(place, key, None)
            if value is None or value == "" or callable(value):
                continue
            found = moment(value, timezone.utc)
            if found is not None and found.year >= YEAR_MIN:
                return found, unread
            said = value if isinstance(value, str) else json.dumps(value, default=lambda one: type(one).__name__)
            unread.setdefault(key, said[:_LONGEST])
    for key in unread:
        warnings.warn(UNREAD.format(key), UserWarning, stacklevel=2)
    return None, unread
