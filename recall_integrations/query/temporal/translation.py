"""Translate dates in other languages: a language's table maps its phrases to English ones that the grammar reads.

    text ─ atoms ─ phrases of the table ─▶ "last week", with its place in the text ─▶ grammar

A table (`recall_integrations/languages/*.yaml`, section `dates`) has words by class and phrases in the order in which
they are tried; docs/languages.md describes the format. Only what a phrase of the table matches is read as a date, and
all calendar arithmetic is the grammar's.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, english, tables
from recall_integrations.patterns import regex
from recall_integrations.query.temporal import lexicon
from recall_integrations.query.temporal.atoms import (
    FIRST_WORD_SYMBOL,
    MONTHS,
    PLAIN,
    Lexicon,
    Phrase,
    compile_phrase,
    digits,
    folded,
    joined_atoms,
    joined_scan,
    normal,
    spaced_atoms,
    spaced_words,
)
from recall_integrations.query.temporal.tokens import DateToken, reduced
from recall_integrations.records import record

KEYS = ("script", "words", "compounds", "not", "phrases")
SCRIPTS = ("spaced", "joined", "particles")
NAME_CHARS_MAX = 40
JOINED_NAME_MAX = 6  # characters of a name in a script that does not part words
_QUOTES = ".,;:!?¿¡\"'()«»„“”"
ANY_DAY = datetime(2000, 1, 1)  # for words alone, none of which has a year in two digits
FOLDED_MIN = 4  # a shorter word without its marks is another one: "à", "a"
# Said alone these are dates only behind a preposition, in English.
_NEEDS_IN = regex(rf"(?:(?:{'|'.join(MONTHS)})(?: and .*| or .*)?|\d{{4}}|Q[1-4]|spring|summer|autumn|winter)")


@record(frozen=True, slots=True)
class Fragment:
    """A date that was found, and its place in the text."""

    english: str  # as the grammar reads it
    start: int
    end: int


class Reader:
    """The compiled table of one language: the section `dates` of its file.

    A table that breaks the format of docs/languages.md raises `InvalidArgument`; the message quotes the line.
    """

    def __init__(self, code: str, table: Mapping[str, Any]) -> None:
        unknown = sorted(set(table) - set(KEYS))
        if unknown:
            raise InvalidArgument(f"{code}.yaml: dates has unknown keys {', '.join(unknown)}; known: {', '.join(KEYS)}")
        script = table.get("script", "spaced")
        if script not in SCRIPTS:
            raise InvalidArgument(f"{code}.yaml: script must be {', '.join(SCRIPTS)}, not {script!r}")
        self.spaced, self._particles = script == "spaced", script == "particles"
        self.lexicon = Lexicon(code, table.get("words", {}), FIRST_WORD_SYMBOL)
        split = spaced_words if self.spaced else lambda literal: [literal]  # in the table a blank parts words
        rejected = (compile_phrase(line, self.lexicon, split, rejects=True) for line in _lines(table.get("not")))
        read = (compile_phrase(line, self.lexicon, split) for line in _lines(table.get("phrases")))
        self.phrases: tuple[Phrase, ...] = (*rejected, *read)
        self.compounds = self._compounds(table.get("compounds") or ())
        self.symbols = self._folded() if self.spaced else dict(self.lexicon.symbols)
        self._scan = None if self.spaced else joined_scan(self.symbols, particles=self._particles)

    def _compounds(self, patterns: Collection[str]) -> dict[str, tuple[str, str]]:
        """Map compounds to their two words: "{weekday}{part_of_day}" makes "dienstagabend" of both classes."""
        out: dict[str, tuple[str, str]] = {}
        for pattern in patterns:
            names = re.findall(r"\{(\w+)\}", pattern)
            if len(names) != 2:
                raise InvalidArgument(f"{self.lexicon.code}.yaml: the compound {pattern!r} must have two classes")
            for first in self.lexicon.values[names[0]]:
                for second in self.lexicon.values[names[1]]:
                    out[first + second] = (first, second)
        return out

    def _folded(self) -> dict[str, str]:
        """Return the symbols, also by words without their marks if that is no other word."""
        out = dict(self.lexicon.symbols)
        for word, symbol in self.lexicon.symbols.items():
            bare = folded(word)
            if len(bare) >= FOLDED_MIN:
                out.setdefault(bare, symbol)
        return out

    def fragments(self, text: str, now: datetime, names: Collection[str] = ()) -> list[Fragment]:
        """Return the dates of a text, in order; lower-cased `names` that the store knows are none."""
        atoms = self._atoms(text, now)
        symbols = "".join([atom.symbol for atom in atoms])
        if not symbols.strip("xXz!"):
            return []
        for phrase in self.phrases:
            if phrase.pattern.search(symbols) is not None:
                symbols, atoms = self._apply(phrase, symbols, atoms, text, names)
        found = ((f"in {a.value}" if _NEEDS_IN.fullmatch(a.value) else a.value, a) for a in atoms if a.symbol == "P")
        return [Fragment(english, atom.start, atom.end) for english, atom in found]

    def known(self, word: str) -> str | None:
        """Return the word of the table that a word stands for, with its marks; `None` if it is no word of it."""
        form = normal(word)
        return next((self._by_symbol[self.symbols[w]] for w in (form, folded(form)) if w in self.symbols), None)

    def words(self, text: str) -> list[str]:
        """Return the words of the table that a text is made of; none if it holds any other word."""
        atoms = self._atoms(text, ANY_DAY)
        return [] if any(atom.symbol in "xXz" for atom in atoms) else [atom.word for atom in atoms]

    def _atoms(self, text: str, now: datetime) -> list[DateToken]:
        if self._scan is not None:
            return joined_atoms(text, self.symbols, self._scan, now, particles=self._particles)
        atoms = [part for atom in spaced_atoms(text, self.symbols, now) for part in self._parts(atom)]
        for atom in atoms:
            if atom.word and atom.symbol not in "xX!":  # a word without its marks becomes the word of the table
                atom.word = self._by_symbol[atom.symbol]
        return atoms

    @functools.cached_property
    def _by_symbol(self) -> dict[str, str]:
        return {symbol: word for word, symbol in self.lexicon.symbols.items()}

    def _parts(self, atom: DateToken) -> list[DateToken]:
        parts = self.compounds.get(atom.word) if atom.symbol in "xX" else None
        if parts is None:
            return [atom]
        middle = atom.start + len(parts[0])
        first, second = (self.lexicon.symbols[part] for part in parts)
        return [
            DateToken(first, None, atom.start, middle, parts[0]),
            DateToken(second, None, middle, atom.end, parts[1]),
        ]

    def _apply(
        self, phrase: Phrase, symbols: str, atoms: list[DateToken], text: str, names: Collection[str]
    ) -> tuple[str, list[DateToken]]:
        def built(match: re.Match[str]) -> DateToken | None:
            parts = atoms[match.start() : match.end()]
            if phrase.weak and names and self._named(text, parts, names):
                return None
            made = phrase.render(match, atoms, self.lexicon.values) if phrase.english else ""
            return None if made is None else DateToken("P" if made else "!", made, parts[0].start, parts[-1].end)

        return reduced(phrase.pattern.search, symbols, atoms, built)

    def _named(self, text: str, atoms: list[DateToken], names: Collection[str]) -> bool:
        """Say whether a word, alone or with its neighbour, is a name that the store knows."""
        start, end = atoms[0].start, atoms[-1].end
        if not self.spaced:
            return _named_in_run(text, start, end, names)
        before = text[max(0, start - NAME_CHARS_MAX) : start].split()[-1:]
        after = text[end : end + NAME_CHARS_MAX].split()[:1]
        words = [normal(w.strip(_QUOTES)) for w in (*before, *text[start:end].split(), *after)]
        pairs = [f"{a} {b}" for a, b in itertools.pairwise(words)]
        return any(word in names for word in (*words[len(before) : len(words) - len(after)], *pairs))


def _named_in_run(text: str, start: int, end: int, names: Collection[str]) -> bool:
    """Say whether a name that the store knows reaches into a place of a text whose words are not parted."""
    return any(
        normal(text[i:j]) in names
        for i in range(max(0, start - JOINED_NAME_MAX), end)
        for j in range(max(i, start) + 1, min(len(text), i + JOINED_NAME_MAX) + 1)
    )


def _lines(block: Any) -> list[str]:
    lines = (line.strip() for line in str(block or "").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@functools.cache
def reader(code: str) -> Reader:
    """Return the reader of a language with a table file."""
    return Reader(code, tables(code).sections["dates"])


def plain_fragments(text: str, now: datetime) -> list[Fragment]:
    """Return the dates that mean the same in every language: ISO 8601 and the like."""
    if not any(c.isdigit() for c in text):
        return []
    atoms = (digits(match, now, day_first=None) for match in PLAIN.finditer(text))
    return [Fragment(atom.value, atom.start, atom.end) for atom in atoms if atom is not None and atom.value]


# -- words of a date that are no evidence of the topic: a memory of that day does not say them ------------------------

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


@functools.cache
def date_kinds(language: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return words of a language's table: its months, its units, and all that a memory of such a date may say."""
    table = reader(language)
    months, units, kept = set[str](), set[str](), set[str]()
    for values in table.lexicon.values.values():
        for word, value in values.items():
            if value in MONTHS:
                months.add(word)
            elif value in lexicon.UNIT or value in lexicon.SMALL_UNIT:
                units.add(word)
            elif value in lexicon.SEASON or value in lexicon.PART_OF_DAY:
                kept.add(word)
    # "morgen" is a part of the day, and tomorrow: no memory of that day says so.
    near = {word for phrase in table.phrases if phrase.english in _DAYS for word in phrase.literals}
    return frozenset(months), frozenset(units), frozenset((kept | months) - near)


def only_time(word: str, language: str | None = "en") -> bool:
    """Say whether a word of a date only places it relative to now, or is a number: "ago", "2", "3rd".

    Months and years stay. In a language without tables no word does: only dates in digits are found there.
    """
    if language == "en":
        return word in _RELATIVE or word in _COUNTING or _NUMBER.fullmatch(word) is not None
    if language not in READ or _SMALL_NUMBER.fullmatch(word):
        return language in READ
    table, (_, units, kept) = reader(language), date_kinds(language)
    if not table.spaced:
        parts = table.words(word)
        return bool(parts) and not _dated(table, word) and kept.isdisjoint(parts)
    form = table.known(word)
    return form is not None and form not in kept and form not in units


def is_unit(word: str, language: str | None = "en") -> bool:
    """Say whether a word of a date names the unit that is counted: "weeks"."""
    if language == "en":
        return word in _UNITS
    return language in READ and reader(language).known(word) in date_kinds(language)[1]


def in_calendar(words: Iterable[str], language: str | None = "en") -> bool:
    """Say whether a date of these words lies in the calendar, not relative to now: it has a month or a year."""
    if language == "en":
        return any(word in lexicon.MONTH or _YEAR.fullmatch(word) is not None for word in words)
    if language not in READ:
        return True
    table, (months, _, _) = reader(language), date_kinds(language)
    if not table.spaced:
        return any(_dated(table, word) for word in words)
    return any(table.known(word) in months or _YEAR.fullmatch(word) for word in words)


def only_when(date: str, language: str | None = "en") -> bool:
    """Say whether all of a date only places it relative to now: "上周二".

    In a script whose words are not parted, the pairs of such a date ("周二", "二我") are no words that a query could
    ask for one by one. In other scripts they are, and the answer is always false.
    """
    return language != "en" and language in READ and not reader(language).spaced and only_time(date, language)


def _dated(table: Reader, word: str) -> bool:
    return any(_CALENDAR.search(fragment.english) for fragment in table.fragments(word, ANY_DAY))
