"""Times as people put them into metadata."""

from __future__ import annotations

import contextlib
import re
from datetime import datetime, timezone, tzinfo
from email.utils import parsedate_to_datetime
from typing import Any

_FORMATS = (
    "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y%m%d", "%d.%m.%Y", "%d.%m.%Y %H:%M",
    "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d %B, %Y", "%I:%M %p on %d %B, %Y",
)  # fmt: skip
# Seconds, milliseconds, microseconds and nanoseconds from 1980 to 2100: what a number below is counts something else.
_FIRST, _LAST = 315_532_800, 4_102_444_800
_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)
_DIGITS = re.compile(r"\d{9,19}(?:\.\d+)?")
_LONGEST = 64


def moment(value: Any, zone: tzinfo) -> datetime | None:
    """When a value says that something was; `None` where it says nothing of the kind.

    Args:
        value: a `datetime`, text ("2026-03-12", "2026-03-12T09:30:00Z", "Thu, 12 Mar 2026 09:30:00 +0000", "12 March
            2026", …) or a number since 1970.
        zone: of what names none.
    """
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


def _since(number: float) -> datetime | None:
    for unit in _UNITS:
        if _FIRST <= number / unit < _LAST:
            return datetime.fromtimestamp(number / unit, tz=timezone.utc)
    return None


def _read(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in _FORMATS:
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, form)  # its zone is put in by the caller
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError):
        return None
