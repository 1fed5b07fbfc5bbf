"""The time that a hit tells, in words: "tells of 12 May 2023"."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from recall_integrations.indexes.lexicon import asks_when
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.indexes.windows import asked_mask
from recall_integrations.types import ParsedQuery

_HALF_DAY = timedelta(hours=12)
_DAY = timedelta(hours=25)  # with the hour that comes twice in autumn


def times_told(view: ScopeView, parsed: ParsedQuery, rows: Sequence[int]) -> dict[int, str]:
    """Say what hits tell of the time that is asked for, or if the query asks when, the first time that they tell.

    Hits that are of that time themselves are left out.
    """
    window = parsed.temporal_window
    if not rows or (window is None and not asks_when(parsed.original)):
        return {}
    start = stop = None
    if window is not None:
        own = asked_mask(view, window.start, window.end)
        rows = [row for row in rows if not own[row]]
        start = None if window.start is None else to_micros(window.start)
        stop = None if window.end is None else to_micros(window.end)
    told = view.told.of_rows(rows, start, stop)
    return {row: f"tells of {in_words(*map(from_micros, time))}" for row, time in told.items()}


def in_words(start: datetime, stop: datetime) -> str:
    """Write a stretch of time by its days, months or years, as narrow as it is.

    Its zone is no longer known, so that a day is that of its middle.
    """
    if stop - start <= _DAY:
        return _day(start + (stop - start) / 2)
    first, after = start + _HALF_DAY, stop + _HALF_DAY
    if first.day == after.day == 1:
        last = stop - _HALF_DAY
        if first.month == after.month == 1:
            return f"{first:%Y}" if first.year == last.year else f"{first:%Y} to {last:%Y}"
        if (first.year, first.month) == (last.year, last.month):
            return f"{first:%B %Y}"
        return f"{first:%B %Y} to {last:%B %Y}"
    return f"{_day(first)} to {_day(stop - _HALF_DAY)}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"
