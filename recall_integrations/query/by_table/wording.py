"""A section of a language's tables with its phrases compiled: each reader is made of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, tables
from recall_integrations.languages.phrases import WORD_BEGINS, WORD_ENDS, Said, Slots, alternatives, pattern, written
from recall_integrations.languages.tables import ENGLISH, english
from recall_integrations.patterns import regex
from recall_integrations.records import record

Match = tuple[int, int]
_NEVER = re.compile(r"(?!)")
_PLAIN = regex(r"[a-z'&-]+")
_WORD = regex(r"\w+")
_SENTENCE_END = regex(r"[!?]+|。|।|\.(?= |$)(?<!\.\.)")


@record(frozen=True, slots=True, eq=False)
class Together:
    """Lists that are read together: of phrases that begin at a place, that of the first list is found."""

    names: tuple[str, ...]
    hiding: frozenset[str]  # lists in whose phrases no other begins
    small: bool = False  # whether the text is read in small letters, which is faster, where no phrase has a capital


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
        self._joined: dict[Together, re.Pattern[str]] = {}
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
        return word.lower() in words if words is not None else self.pattern(name).fullmatch(word) is not None

    def mentions(self, name: str, text: str) -> bool:
        """Say whether the text holds one of the phrases under a name: looked up, where these are words."""
        words = self._words(name)
        return not words.isdisjoint(_WORD.findall(text.lower())) if words is not None else self.says(name, text)

    def _words(self, name: str) -> frozenset[str] | None:
        if name not in self._sets:
            plain = [phrase.lower() for phrase in self.phrases(name)]
            self._sets[name] = frozenset(plain) if all(map(_PLAIN.fullmatch, plain)) else None
        return self._sets[name]

    def prepare(self) -> None:
        """Compile all lists now, not when a query asks for them."""
        for name in self._known:
            self.pattern(name)
        for lists in self._together:
            self._pattern_of(lists)

    def found(self, name: str, text: str) -> Iterator[Match]:
        """Yield the spans of the phrases under a name, in order."""
        return (m.span() for m in self.pattern(name).finditer(text))

    @cached_property
    def _small(self) -> bool:
        return not any(map(str.isupper, str(self.section)))

    def _pattern_of(self, lists: Together) -> re.Pattern[str]:
        if lists not in self._joined:
            each = {name: written(known, self._slots) for name in lists.names if (known := self.phrases(name))}
            begins = WORD_BEGINS if all(one.startswith(WORD_BEGINS) for one in each.values()) else ""
            ends = WORD_ENDS if all(one.endswith(WORD_ENDS) for one in each.values()) else ""
            bodies = {name: one.removeprefix(begins).removesuffix(ends) for name, one in each.items()}
            groups = "|".join(f"(?P<{name}>{body})" for name, body in bodies.items())
            flags = 0 if lists.small and self._small else re.IGNORECASE
            try:
                self._joined[lists] = re.compile(f"{begins}(?:{groups or '(?!)'}){ends}", flags)
            except re.error:
                for name in each:
                    self.pattern(name)  # says which phrase cannot be read
                raise
        return self._joined[lists]

    def each(self, lists: Together, text: str, at: int = 0) -> Iterator[tuple[str, Match]]:
        """Yield the phrases of several lists from `at`, each with its list, in the order in which they begin."""
        if lists.small and self._small:
            text = text.lower() if text.isascii() else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)
        wanted = self._pattern_of(lists)
        while (match := wanted.search(text, at)) is not None:
            name = match.lastgroup or ""
            yield name, match.span()
            at = match.end() if name in lists.hiding else match.start() + 1

    def says(self, name: str, text: str) -> bool:
        """Say whether the text holds one of the phrases under a name."""
        return self.pattern(name).search(text) is not None

    def ends(self, name: str, text: str) -> Match | None:
        """Return the span of the first phrase under a name that ends where the text does."""
        return next((match for match in self.found(name, text) if match[1] == len(text)), None)


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
        english(section) if language == ENGLISH else getattr(tables(language), section) if language in READ else {}
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
