"""Classify the words of a date that are no evidence of the query's topic: a memory of that day does not say them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recall_integrations.languages import READ
from recall_integrations.patterns import regex
from recall_integrations.query.temporal.lexicon import MONTH, ONES, ORDINAL, TEENS, TENS
from recall_integrations.query.temporal.translation import date_words

# Where a date lies from now.
_RELATIVE = frozenset(
    """
    last next past previous ago recent recently current coming this yesterday today tonight tomorrow
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    mondays tuesdays wednesdays thursdays fridays saturdays sundays weekend
    """.split()
)
_UNITS = frozenset(
    """
    seconds minute minutes hour hours day days night nights week weeks fortnight fortnights month months quarter
    quarters year years decade decades century centuries date time back beginning middle end since
    """.split()
)
_COUNTING = frozenset({*ONES, *TEENS, *TENS, *ORDINAL, "couple", "several", "half"})
_NUMBER = regex(r"\d{1,2}(?:st|nd|rd|th|am|pm|h)?|am|pm")
_YEAR = re.compile(r"\d{4}")


def only_time(word: str, language: str | None = "en") -> bool:
    """Say whether a word of a date only places it relative to now, or is a number: "ago", "2", "3rd".

    In a language without tables no word does: only dates in digits are found there.
    """
    if language != "en":
        return language in READ and date_words(language).only_time(word)
    return word in _RELATIVE or word in _COUNTING or _NUMBER.fullmatch(word) is not None


def is_unit(word: str, language: str | None = "en") -> bool:
    """Say whether a word of a date names the unit that is counted: "weeks"."""
    if language != "en":
        return language in READ and date_words(language).is_unit(word)
    return word in _UNITS


def in_calendar(words: Iterable[str], language: str | None = "en") -> bool:
    """Say whether a date of these words lies in the calendar, not relative to now: it has a month or a year."""
    if language != "en":
        return language not in READ or date_words(language).in_calendar(words)
    return any(word in MONTH or _YEAR.fullmatch(word) is not None for word in words)


def only_when(date: str, language: str | None = "en") -> bool:
    """Say whether all of a date only places it relative to now: "上周二".

    In a script whose words are not parted, the pairs of such a date ("周二", "二我") are no words that a query could
    ask for one by one. In other scripts they are, and the answer is always false.
    """
    return language != "en" and language in READ and date_words(language).only_when(date)
