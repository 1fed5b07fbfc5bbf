"""Classify the words of a date that are no evidence of the query's topic: a memory of that day does not say them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from recall_integrations.languages import READ
from recall_integrations.languages.tables import english
from recall_integrations.patterns import regex
from recall_integrations.query.temporal import lexicon
from recall_integrations.query.temporal.atoms import MONTHS, folded, normal
from recall_integrations.query.temporal.translation import ANY_DAY, reader

_EN = english("date_words")
# Where a date lies from now.
_RELATIVE = frozenset(
    {*lexicon.LAST, *lexicon.THIS, *lexicon.NEXT, *lexicon.WEEKDAY, *lexicon.WEEKDAYS, *_EN["relative"].split()}
)
_UNITS = frozenset({*lexicon.UNIT, *lexicon.UNITS, *lexicon.SMALL_UNIT, *_EN["units"].split()} - _RELATIVE)
_COUNTING = frozenset({*lexicon.ONES, *lexicon.TEENS, *lexicon.TENS, *lexicon.ORDINAL, "couple", "several", "half"})
_NUMBER = regex(r"\d{1,2}(?:st|nd|rd|th|am|pm|h)?|am|pm")
_YEAR = re.compile(r"\d{4}")
_CALENDAR = regex(rf"\b(?:{'|'.join(MONTHS)}|\d{{4}})\b")
_DAYS = frozenset(("today", "yesterday", "tomorrow", "the day before yesterday", "the day after tomorrow"))
_SMALL_NUMBER = regex(r"\d{1,2}")


class _DateWords:
    """The words of one language's table, by kind: which of a date only place it relative to now."""

    def __init__(self, language: str) -> None:
        self._reader = table = reader(language)
        self._months, self._units, self._kept = set[str](), set[str](), set[str]()
        for values in table.lexicon.values.values():
            for word, value in values.items():
                if value in MONTHS:
                    self._months.add(word)
                elif value in lexicon.UNIT or value in lexicon.SMALL_UNIT:
                    self._units.add(word)
                elif value in lexicon.SEASON or value in lexicon.PART_OF_DAY:
                    self._kept.add(word)
        self._kept |= self._months
        # "morgen" is a part of the day, and tomorrow: no memory of that day says so.
        self._kept -= {word for phrase in table.phrases if phrase.english in _DAYS for word in phrase.literals}

    def only_time(self, word: str) -> bool:
        """Say whether a word of a date only places it relative to now, or is a number; months and years stay."""
        if _SMALL_NUMBER.fullmatch(word):
            return True
        if not self._reader.spaced:
            parts = self._reader.words(word)
            return bool(parts) and not self._dated(word) and self._kept.isdisjoint(parts)
        form = self._known(word)
        return form is not None and form not in self._kept and form not in self._units

    def only_when(self, date: str) -> bool:
        """Say whether a whole date only places it relative to now; always false in a script with spaces."""
        return not self._reader.spaced and self.only_time(date)

    def is_unit(self, word: str) -> bool:
        """Say whether a word of a date names the unit that is counted."""
        return self._known(word) in self._units

    def in_calendar(self, words: Iterable[str]) -> bool:
        """Say whether a date of these words has a month or a year."""
        if not self._reader.spaced:
            return any(self._dated(word) for word in words)
        return any(self._known(word) in self._months or _YEAR.fullmatch(word) for word in words)

    def _dated(self, word: str) -> bool:
        return any(_CALENDAR.search(f.english) for f in self._reader.fragments(word, ANY_DAY))

    def _known(self, word: str) -> str | None:
        form = normal(word)
        return next((self._reader.form(w) for w in (form, folded(form)) if w in self._reader.symbols), None)


date_words = functools.cache(_DateWords)  # by language, of those with tables


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
    return any(word in lexicon.MONTH or _YEAR.fullmatch(word) is not None for word in words)


def only_when(date: str, language: str | None = "en") -> bool:
    """Say whether all of a date only places it relative to now: "上周二".

    In a script whose words are not parted, the pairs of such a date ("周二", "二我") are no words that a query could
    ask for one by one. In other scripts they are, and the answer is always false.
    """
    return language != "en" and language in READ and date_words(language).only_when(date)
