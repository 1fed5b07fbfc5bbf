"""A section of a language's tables with its phrases compiled: each reader is made of one."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heapreplace
from itertools import chain
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import ENGLISH, READ, english, tables
from recall_integrations.languages.phrases import (
    Begins,
    Heard,
    Needed,
    Said,
    Slots,
    Words,
    alternatives,
    begins_of,
    heard,
    needs,
    ordered,
    pattern,
)
from recall_integrations.patterns import regex
from recall_integrations.records import record

Match = tuple[int, int]
_NEVER = re.compile(r"(?!)")
_PLAIN = regex(r"[a-z'&-]+")
_SENTENCE_END = regex(r"[!?]+|。|।|\.(?= |$)(?<!\.\.)")


@record(frozen=True, slots=True, eq=False)
class Together:
    """Lists that are read together: of phrases that begin at a place, that of the first list is found."""

    names: tuple[str, ...]
    hiding: frozenset[str]  # lists in whose phrases no other begins
    small: bool = False  # whether the text is read in small letters, which is faster, where no phrase has a capital


class _Phrase:
    """A phrase, what a text needs to hold it, and its patterns once one does."""

    __slots__ = ("needs", "said", "text")

    def __init__(self, text: str, needs: Needed) -> None:
        self.text, self.needs = text, needs
        self.said: dict[bool, re.Pattern[str]] = {}  # by whether case counts

    def starts(self, heard: Heard) -> list[int] | None:
        """Return where the phrase may begin, in order; `None` = anywhere."""
        first, words = self.needs.first, heard.words
        if first is None or words is None:
            return None
        return sorted([place for word in first & words for place in heard.places[word]])


_Ranked = tuple[int, str, _Phrase]  # a phrase of several lists: its rank, its list


class _Table:
    """The phrases of several lists in the order in which they are tried, found by a word that they need."""

    def __init__(self, phrases: Iterable[tuple[str, _Phrase]]) -> None:
        self.phrases: list[_Ranked] = [(rank, name, one) for rank, (name, one) in enumerate(phrases)]
        self._anywhere = [one for one in self.phrases if not one[2].needs.words]
        self._by_word: dict[str, list[_Ranked]] = {}
        for one in self.phrases:
            for word in min(one[2].needs.words, key=len, default=()):
                self._by_word.setdefault(word, []).append(one)

    def possible(self, words: Words | None) -> list[_Ranked]:
        """Return the phrases that a text of these words may hold, in their order; all where its words are unknown."""
        if words is None:
            return self.phrases
        if not (said := self._by_word.keys() & words):
            return self._anywhere
        wanted = chain.from_iterable([self._by_word[word] for word in said])
        held = {one for one in wanted if not any(map(words.isdisjoint, one[2].needs.words))}
        return sorted([*held, *self._anywhere])


def _search(
    wanted: re.Pattern[str], starts: list[int] | None, text: str, at: int, end: int = sys.maxsize
) -> re.Match[str] | None:
    if starts is None:
        return wanted.search(text, at, end)
    found = (wanted.match(text, start, end) for start in starts[bisect_left(starts, at) :])
    return next(filter(None, found), None)


class Wording:
    """The lists of one section of a table file, each compiled when it is first asked for.

    A name that is neither a list that is `known`, nor one of the `values` that are no phrases, would have no effect,
    and raises `InvalidArgument`; `where` says where it stands. `more` makes slots besides those of the section;
    `together` are the lists that `each` reads.
    """

    def __init__(
        self,
        section: Mapping[str, Any],
        known: Iterable[str],
        where: str,
        values: Iterable[str] = (),
        more: Callable[[Wording], Slots] = lambda _: {},
        together: Iterable[Together] = (),
    ) -> None:
        self.section, self._known, self._together, self._more = section, tuple(known), tuple(together), more
        allowed = {*self._known, *chain(*(of.names for of in self._together)), *values, "words"}
        if unknown := ", ".join(sorted(set(map(str, section)) - allowed)):
            raise InvalidArgument(f"{where} has unknown entries: {unknown}; known: {', '.join(sorted(allowed))}")
        self.where = where
        self._patterns: dict[str, re.Pattern[str]] = {}
        self._lists: dict[str, list[_Phrase]] = {}
        self._tables: dict[tuple[str, ...], _Table] = {}
        self._sets: dict[str, frozenset[str] | None] = {}

    @cached_property
    def slots(self) -> Slots:
        """Patterns of the lists under `words`, by name; a list may name those before it."""
        slots: dict[str, str] = {}
        for name, phrases in (self.section.get("words") or {}).items():
            slots[name] = alternatives(listed(phrases, f"{self.where}.words.{name}"), slots)
        return slots

    def phrases(self, name: str) -> list[str]:
        """Return the phrases under a name; none if it is left out."""
        return listed(self.section.get(name) or [], f"{self.where}.{name}")

    @cached_property
    def _slots(self) -> Slots:
        return {**self.slots, **self._more(self)}

    def pattern(self, name: str, value: Any = None) -> re.Pattern[str]:
        """Compile the phrases under a name into one pattern; those of a `value` inside the section, if one is given."""
        if name not in self._patterns:
            phrases = self.phrases(name) if value is None else listed(value, self.where)
            self._patterns[name] = pattern(phrases, self._slots) or _NEVER  # without phrases it matches nothing
        return self._patterns[name]

    def has(self, name: str, word: str) -> bool:
        """Say whether a word is one of the phrases under a name: looked up, where these are words without accents."""
        words = self._words(name)
        return word.lower() in words if words is not None else self.is_one(name, word)

    def _words(self, name: str) -> frozenset[str] | None:
        if name not in self._sets:
            plain = [phrase.lower() for phrase in self.phrases(name)]
            self._sets[name] = frozenset(plain) if all(map(_PLAIN.fullmatch, plain)) else None
        return self._sets[name]

    def prepare(self) -> None:
        """Compile all phrases now, not when a query holds their words."""
        for lists in (*map(_alone, self._known), *self._together):
            for _, _, one in self._table(lists.names).phrases:
                self._compiled(one, lists.small and self._small)

    @cached_property
    def _small(self) -> bool:
        return not any(map(str.isupper, str(self.section)))

    @cached_property
    def _begins(self) -> Mapping[str, Begins]:
        lists = {name: listed(phrases, self.where) for name, phrases in (self.section.get("words") or {}).items()}
        return begins_of(lists, self._more(self))

    def _list(self, name: str) -> list[_Phrase]:
        if name not in self._lists:
            own = ordered(self.phrases(name))
            self._lists[name] = [_Phrase(one, needs(one, self._begins, self._slots)) for one in own]
        return self._lists[name]

    def _table(self, names: tuple[str, ...]) -> _Table:
        found = self._tables.get(names)
        if found is None:
            found = self._tables[names] = _Table((name, one) for name in names for one in self._list(name))
        return found

    def _compiled(self, phrase: _Phrase, small: bool = False) -> re.Pattern[str]:
        if small not in phrase.said:
            flags = 0 if small else re.IGNORECASE
            phrase.said[small] = pattern([phrase.text], self._slots, flags) or _NEVER
        return phrase.said[small]

    def _tried(self, name: str, text: str) -> Iterator[tuple[re.Pattern[str], list[int] | None]]:
        """Yield the patterns of the phrases whose words the text holds, each with where it may begin."""
        read = heard(text)
        for _, _, one in self._table((name,)).possible(read.words):
            if (starts := one.starts(read)) != []:
                yield self._compiled(one), starts

    def possible(self, names: tuple[str, ...], text: str) -> list[str]:
        """Return the names of those lists of which the text may hold a phrase, in order."""
        return list(dict.fromkeys(name for _, name, _ in self._table(names).possible(heard(text).words)))

    def each(
        self, lists: Together, text: str, at: int = 0, end: int = sys.maxsize
    ) -> Iterator[tuple[str, re.Match[str]]]:
        """Yield the phrases of several lists from `at`, each with its list, in the order in which they begin."""
        read = heard(text)
        small = lists.small and self._small
        text = read.low if small else text
        ahead = []
        for rank, name, one in self._table(lists.names).possible(read.words):
            if (starts := one.starts(read)) == []:
                continue
            wanted = self._compiled(one, small)
            if (match := _search(wanted, starts, text, at, end)) is not None:
                ahead.append((match.start(), rank, name, match, starts))
        heapify(ahead)
        while ahead:
            start, rank, name, match, starts = ahead[0]
            if start >= at:  # the first phrase in their order of those that begin here
                yield name, match
                at = max(match.end(), start + 1) if name in lists.hiding else start + 1  # one may be empty
            again = _search(match.re, starts, text, at, end) if at <= len(text) else None
            if again is None:
                heappop(ahead)
            else:
                heapreplace(ahead, (again.start(), rank, name, again, starts))

    def matches(self, name: str, text: str, at: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """Yield the phrases under a name, in order; none begins in another."""
        return (match for _, match in self.each(_alone(name), text, at, end))

    def match(self, name: str, text: str, at: int = 0) -> re.Match[str] | None:
        """Return the first phrase under a name that begins at a place."""
        here = (wanted.match(text, at) for wanted, starts in self._tried(name, text) if starts is None or at in starts)
        return next(filter(None, here), None)

    def is_one(self, name: str, text: str) -> bool:
        """Say whether the whole text is one of the phrases under a name."""
        return any(wanted.fullmatch(text) is not None for wanted, _ in self._tried(name, text))

    def found(self, name: str, text: str) -> Iterator[Match]:
        """Yield the spans of the phrases under a name, in order."""
        return (match.span() for match in self.matches(name, text))

    def says(self, name: str, text: str) -> bool:
        """Say whether the text holds one of the phrases under a name."""
        return any(_search(wanted, starts, text, 0) is not None for wanted, starts in self._tried(name, text))

    def ends(self, name: str, text: str) -> Match | None:
        """Return the span of the first phrase under a name that ends where the text does."""
        return next((match for match in self.found(name, text) if match[1] == len(text)), None)


@lru_cache(maxsize=1_024)
def _alone(name: str) -> Together:
    return Together((name,), frozenset([name]))


def listed(value: Any, where: str) -> list[str]:
    """Return the phrases of a table value: a list, or a text: of phrases with a ";" or a sign in it, else of words."""
    if isinstance(value, str):
        value = value.split(";") if set(value) & set(";([<#") or ".." in value else value.split()
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise InvalidArgument(
            f"{where} must be a list of phrases, or a text of words, or of phrases parted by ';', not {value!r}"
        )
    return [" ".join(v.split()) for v in value if v.strip()]


def by_initial(phrases: Iterable[str], slots: Slots) -> str:
    """Return the phrases as the value of a slot, those that begin alike together: fewer are tried at each word."""
    groups: dict[str, list[str]] = {}
    for phrase in phrases:
        initial = phrase[0].lower() if "a" <= phrase[0].lower() <= "z" else ""
        groups.setdefault(initial, []).append(phrase)
    return f"(?:{'|'.join(f'(?={c}){alternatives(of, slots)}' for c, of in groups.items())})"


@lru_cache(maxsize=256)
def wording(language: str | None, section: str, known: tuple[str, ...], part: str = "", **more: Any) -> Wording:
    """Return a section of a language, or a part of one; without tables an empty one. `more` is as for `Wording`."""
    content = (
        english(section) if language == ENGLISH else tables(language).sections[section] if language in READ else {}
    )
    content, name = (content.get(part) or {}, f".{part}") if part else (content, "")
    return Wording(content, known, f"{language}.yaml: `{section}`{name}", **more)


def sentences(read: Said) -> list[tuple[int, int, bool]]:
    """Return the start, the end and "is a question" of each sentence. White space at its end belongs to it."""
    found, start = [], 0
    for match in _SENTENCE_END.finditer(read.text):
        found.append((start, match.end(), "?" in match.group()))
        start = match.end()
    if read.text[start:].strip():
        found.append((start, len(read.text), False))
    return found
