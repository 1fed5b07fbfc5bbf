"""Reads since when, or until when, a clause says that something holds: with the grammar of dates in queries."""

from __future__ import annotations

from datetime import datetime, timezone

from recall_integrations.patterns import regex
from recall_integrations.types.messages import iso

_CHARS = 70  # characters behind a value in which a date may stand
_SURE = 0.5  # confidence of a date, at least
_STOP = regex(
    r"\s(?:and|but|because|so|which|who|while|when|i|we)\s(?!\d{4})|[;:!?]|\.(?:\s|$)"
    r"|,\s(?:and|but|so|i|we|she|he|from)\s",
    2,
)
_RANGE = regex(r"\W*(?:(?:from|between)\s.+\s(?:to|until|till|through|and)\s|\d{4}\s?(?:[-–—]|to)\s?\d)", 2)
_BEGINS = regex(r"\W*(?:from|starting|beginning|effective|as of)\s", 2)
_IN_YEAR = regex(r"\W*(?:back\s)?in\s\d{4}\W*\Z", 2)
_HABIT = regex(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", 2)  # something that happens each week
_YEAR = regex(r"\d{4}")


def given_time(given: object) -> datetime | None:
    """Read the time under `since` or `until` of a fact that is no sentence, in UTC; `None` where it is none."""
    found = iso(given, timezone.utc) if isinstance(given, str) else None
    try:
        return None if found is None else found.astimezone(timezone.utc)
    except OverflowError:  # before the first year, or after the last
        return None


def told(
    text: str, start: int, end: int, at: datetime, *, event: bool, past: bool = False
) -> tuple[datetime | None, datetime | None]:
    """Read since when and until when, as said in a part of a text; `None` = it is not said.

    A single date says when an `event` was, and of what is `past` a year alone is all of its time.
    """
    from recall_integrations.query.temporal import parse_window  # most texts tell no date

    end = min(end, start + _CHARS)
    stop = _STOP.search(text, start, end)
    said = text[start : stop.start() if stop else end]
    window = parse_window(said, at) if len(said) > 4 else None
    if window is None or window.confidence < _SURE:
        return None, None
    since, until = window.start, window.end
    year = _YEAR.search(said)
    if until is not None and (since is None or _RANGE.match(said)):
        if _HABIT.search(said) and since is not None:
            return None, None
        if until <= at and not past and not year:  # a lasting value holds until the next one
            until = until.replace(year=until.year + 1, day=min(until.day, 28))
        return since, until
    if until is not None and past and _IN_YEAR.match(said):
        return since, until
    if until is None:
        return (None if since is not None and since > at and "since" in said.lower() else since), None
    return (since if event or _BEGINS.match(said) else None), None
