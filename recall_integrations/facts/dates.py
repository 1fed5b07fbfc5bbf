"""Reads since when, or until when, a clause says that something holds."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from recall_integrations.patterns import regex
from recall_integrations.types.messages import iso

_CHARS = 70  # characters behind a value in which a date may stand
_TAIL = regex(
    r"(?P<key>\b(?:ever\ssince|since|as\sof|effective(?:\sfrom)?|starting(?:\sfrom|\sin|\son)?|beginning(?:\sin|\son)?|"
    r"up\suntil|until|till|from))\s(?P<date>[^,;.!?()]{2,30})",
    2,
)
# Directly behind a value: "from 2010 to 2015", "between March and June", "(2010-2015)"; "in 2012".
_RANGE = regex(
    r",?\s?\(?(?:(?:from|between)\s(?P<first>[^,;.!?()]{3,20}?)\s(?:to|until|till|through|and)\s(?P<last>[^,;.!?()]{3,40})"
    r"|(?P<year>(?:19|20)\d\d)\s?(?:[-–—]|to)\s?(?P<end>(?:19|20)\d\d)\b)",
    2,
)
_YEAR = regex(r"\s(?:back\s)?in\s(?P<year>(?:19|20)\d\d)(?=\s?(?:$|[,;.!?)]))", 2)
_IN_YEAR = regex(r"(?:back\s)?in\s(?P<year>(?:19|20)\d\d),?\s?\Z", 2)
_SAYS_YEAR = regex(r"\b(?:19|20)\d\d\b|\b(?:last|this|next)\b|\bago\b", 2)
_MONTH = regex(
    r"(?:(?:the\s)?(?P<end>end\sof\s)|early\s|mid-?\s?|late\s)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\Z",
    2,
)
_WEEKDAY = regex(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", 2)  # something that happens each week
_LAST_WORDS = 4  # words of a date at most
_EVENT = regex(
    r"\b(?:(?:back\s)?(?P<key>in|on)\s(?:early\s|late\s|mid-?\s?|the\s(?:spring|summer|autumn|fall|winter)\sof\s)?"
    r"(?P<date>(?:[A-Z][a-z]{2,8}\b[^,;.!?()]{0,12}|(?:19|20)\d\d\b|the\s\d[^,;.!?()]{0,16}|\d{1,2}(?:st|nd|rd|th)?\s[A-Z][^,;.!?()]{2,14}"
    r"|\d{4}-\d\d-\d\d))"
    r"|(?P<plain>(?:last|next|this)\s[a-zA-Z]{3,10}|yesterday|today|tomorrow|(?:\d{1,2}|an?|one|two|three|four|five|six|seven|"
    r"eight|nine|ten|twelve)\s(?:days?|weeks?|months?|years?)\sago|in\s(?:\d{1,2}|an?|one|two|three|four|five|six)\s(?:days?|weeks?|months?|years?)))"
)
_STOP = regex(
    r"\s(?:and|but|because|so|which|who|while|when|i|we)\s|[;:!?]|\.(?:\s|$)|,\s(?:and|but|so|i|we|she|he)\s", 2
)
_BARE = regex(r"\d{1,2}\b|[A-Z]")


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
    """Read since when and until when, as said behind a value; `None` = it is not said."""
    end = min(end, start + _CHARS)
    match = _RANGE.match(text, start, end)
    between = between_in(match, at) if match else None
    if between is not None:
        return between
    match = _YEAR.match(text, start, end) if past else None
    if match:
        return _year(match, at)
    stop = _STOP.search(text, start, end)
    if stop:
        end = stop.start()
    if end - start < 5:
        return None, None
    match = _TAIL.search(text, start, end)
    if match:
        key = match["key"].casefold()
        found = _window(match["date"], at, since="since" in key)
        if key in ("until", "till", "up until"):
            month = _MONTH.match(match["date"].strip())
            if found and month:
                if month["end"]:
                    found = (found.replace(day=28) + timedelta(days=4)).replace(day=1)
                if found <= at and not past:
                    found = found.replace(day=1, year=found.year + 1)  # a lasting value holds until the next one
            return None, found
        return (None if found and "since" in key and found > at else found), None
    match = _EVENT.search(text, start, end) if event else None
    if match:
        return _window(match["plain"] or match["date"], at, since=False), None
    return None, None


def between_in(match: re.Match[str], at: datetime) -> tuple[datetime | None, datetime | None] | None:
    """Read from when to when, as "from 2010 to 2015" says it; `None` = it is no such time.

    Of "from May to January", said in June, the end is not known; of years that run backwards, neither is.
    """
    if match["year"]:
        first, last = _january(int(match["year"]), at), _january(int(match["end"]), at)
        return (first, last) if first < last else (None, None)
    if _WEEKDAY.match(match["first"]):
        return None
    said = match["last"].split()
    for count in range(min(len(said), _LAST_WORDS), 0, -1):
        phrase = " ".join(said[:count])
        over = _window(phrase, at, since=False)
        if over is not None:
            break
    else:
        return None
    begun = _window(match["first"], at, since=False)
    year = _SAYS_YEAR.search(phrase)
    if begun is not None and year and not _SAYS_YEAR.search(match["first"]):  # "from June to August 2019"
        begun = begun.replace(year=over.year, day=min(begun.day, 28))
        begun = begun.replace(year=over.year - 1) if begun >= over else begun
    if begun is None:
        return None
    if begun < over:
        return begun, over
    return (None, None) if year else (begun, None)


def before(text: str, first: int, start: int, at: datetime) -> tuple[datetime | None, datetime | None]:
    """Read from when to when, if a sentence says only that before its subject ("From 2010 to 2015 I …")."""
    match = _RANGE.match(text, first, start)
    if match and not text[match.end() : start].strip(" ,"):
        return between_in(match, at) or (None, None)
    match = _IN_YEAR.match(text, first, start)
    return _year(match, at) if match else (None, None)


def _year(match: re.Match[str], at: datetime) -> tuple[datetime, datetime]:
    year = int(match["year"])
    return _january(year, at), _january(year + 1, at)


def _january(year: int, at: datetime) -> datetime:
    return datetime(year, 1, 1, tzinfo=at.tzinfo)


def leading(text: str, start: int, end: int, at: datetime) -> datetime | None:
    """Read the date with which a sentence begins ("In March I moved …")."""
    match = _EVENT.search(text[start].lower() + text[start + 1 : end]) if 4 < end - start < 40 else None
    return _window(match["plain"] or match["date"], at, since=False) if match else None


def _window(phrase: str, at: datetime, *, since: bool) -> datetime | None:
    from recall_integrations.query.temporal import parse_window  # most texts tell no date

    phrase = phrase.strip()
    tried = (f"in {phrase}", f"on {phrase}", phrase) if _BARE.match(phrase) else (phrase,)
    for words in tried:
        window = parse_window(words, at)
        if window and window.start and window.confidence >= 0.5:
            return window.start
    return None
