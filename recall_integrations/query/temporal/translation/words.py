"""Classify the words of a date in another language that only place it relative to now, by the language's table."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.lexicon import PART_OF_DAY, SEASON, SMALL_UNIT, UNIT
from recall_integrations.query.temporal.translation.patterns import MONTHS
from recall_integrations.query.temporal.translation.reader import ANY_DAY, Reader, reader
from recall_integrations.query.temporal.translation.scan import folded, normal

_CALENDAR = regex(rf"\b(?:{'|'.join(MONTHS)}|\d{{4}})\b")
_DAYS = frozenset(("today", "yesterday", "tomorrow", "the day before yesterday", "the day after tomorrow"))
_SMALL_NUMBER = regex(r"\d{1,2}")
_YEAR = regex(r"\d{4}")


class DateWords:
    """The words of one language's table, by kind.

    Args:
        table: the language's reader.
    """

    def __init__(self, table: Reader) -> None:
        self._reader = table
        self._months, self._units, self._kept = set[str](), set[str](), set[str]()
        for values in table.lexicon.values.values():
            for word, value in values.items():
                if value in MONTHS:
                    self._months.add(word)
                elif value in UNIT or value in SMALL_UNIT:
                    self._units.add(word)
                elif value in SEASON or value in PART_OF_DAY:
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
        if form in self._reader.symbols:
            return self._reader.form(form)
        bare = folded(form)
        return self._reader.form(bare) if bare in self._reader.symbols else None


@functools.cache
def date_words(code: str) -> DateWords:
    """Return the words of a language with a table file.

    Raises:
        InvalidArgument: there is no such file, or its section `dates` cannot be read.
    """
    return DateWords(reader(code))
