"""Finds the time other than now of which a query asks.

"Which club was I in in March?" asks how things were then. "Who is on call this week?" and "who teaches the Thursday
group?" name a time as well, and ask how things are: the first time is going on, the second comes back every week.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from recall_integrations.patterns import regex
from recall_integrations.recall.state import RecallState
from recall_integrations.types import TemporalWindow

SHORT = timedelta(days=20)  # for a shorter time that is over, a query asks what happened in it
# What is known to ask for a past state: "I've got" and "when was she born" are no past.
PAST = regex(
    r"\b(?:did|(?:was|were)\b(?!.*\bborn)|had|went|been)\b|(?<!'ve\s)(?<!\bhave\s)(?<!\bhas\s)(?<!'s\s)\bgot\b", 2
)
_WEEKLY = regex(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweekend", 2)
_DATED = regex(r"\d|\b(?:last|past|previous)\b", 2)


def other_time(state: RecallState) -> TemporalWindow | None:
    """Return the time that a query asks for, if that is not now; `None` = it asks for now, or for no time."""
    window, request = state.query.temporal_window, state.request
    if window is None or request.window is not None:
        return window  # a window that the caller gives is meant
    text, (start, end) = state.query.original, window.span
    if PAST.search(text):
        return window
    return None if _goes_on(window, text[start:end], request.as_of or request.now) else window


def is_short(window: TemporalWindow) -> bool:
    """Say whether the window is so short that the query asks what happened in it."""
    return window.start is not None and window.end is not None and window.end - window.start < SHORT


def _goes_on(window: TemporalWindow, words: str, now: datetime) -> bool:
    """Say whether the window has begun and is not over, is short and still to come, or is a day that each week has."""
    begun, ended = window.start is None or window.start <= now, window.end is not None and window.end <= now
    if not ended:
        return begun or is_short(window)
    return is_short(window) and _WEEKLY.search(words) is not None and _DATED.search(words) is None
