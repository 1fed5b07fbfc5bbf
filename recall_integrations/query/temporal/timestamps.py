"""Full timestamps that name a time zone, or are written as programs write them, read by dateparser.

dateparser is good at exactly this, one isolated span, and slow (0.3 ms) and credulous at finding spans. So a strict
pattern finds the span, dateparser (imported on first use, English only) reads it, and our grammar does the rest.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from recall_integrations.patterns import regex

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_TIME = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,6})?(?:\ ?[AP]M)?"
_ZONE = r"(?:Z|UTC|GMT|[ECMP][SD]T|CES?T|BST|[+-]\d\d:?\d\d)"
_STAMP = regex(
    rf"""(?<![\w./-])(?:
        \d{{4}}-\d\d-\d\d[T ]{_TIME}\ ?{_ZONE}
      | (?:[A-Z][a-z]{{2}},?\ )?\d{{1,2}}\ {_MONTH},?\ \d{{4}},?\ (?:at\ )?{_TIME}\ {_ZONE}
      | {_MONTH}\ \d{{1,2}},?\ \d{{4}},?\ (?:at\ )?{_TIME}\ {_ZONE}
      | [A-Z][a-z]{{2}}\ {_MONTH}\ {{1,2}}\d{{1,2}}\ \d\d:\d\d:\d\d\ \d{{4}}
    )(?![\w:])""",
    re.VERBOSE | re.IGNORECASE,
)


def find_timestamp(text: str, now: datetime) -> tuple[datetime, datetime, tuple[int, int]] | None:
    """Return the first timestamp: start, end (a minute later; without seconds half an hour) and its span."""
    match = _STAMP.search(text)
    if match is None:
        return None
    try:
        found = _dateparser()(match.group(), now)
    except (OverflowError, ValueError):  # the year 0, or an hour that the zone moves out of the calendar
        return None
    if found is None:
        return None
    length = timedelta(minutes=1 if re.search(r":\d\d:\d\d", match.group()) else 30)
    try:
        start = (found if found.tzinfo else found.replace(tzinfo=now.tzinfo)).astimezone(now.tzinfo)
        return start, start + length, match.span()
    except (OverflowError, ValueError):
        return None


@functools.cache
def _dateparser() -> Callable[[str, datetime], datetime | None]:
    from dateparser.date import DateDataParser

    def read(span: str, now: datetime) -> datetime | None:
        settings: dict[str, Any] = {
            "PREFER_DATES_FROM": "past",
            "RELATIVE_BASE": now.replace(tzinfo=None),
            "DATE_ORDER": "MDY",
            "PARSERS": ["absolute-time"],  # the span is a full date: the other parsers would cost a third of the time
        }
        parser = DateDataParser(languages=["en"], settings=settings)
        found: datetime | None = parser.get_date_data(span).date_obj
        return found

    return read
