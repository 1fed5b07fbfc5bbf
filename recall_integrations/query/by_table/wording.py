"""A section of a language's tables with its phrases compiled: each reader is made of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, tables
from recall_integrations.languages.phrases import Said, Slots, alternatives, pattern
from recall_integrations.patterns import regex

Match = tuple[int, int]
_NEVER = re.compile(r"(?!)")
_SENTENCE_END = regex(r"[!?]+|。|।|\.(?= |$)(?<!\.\.)")


class Wording:
    """The lists of one section of a table file, each compiled when it is first asked for.

    A name that is not `known` would have no effect, and raises `InvalidArgument`; `where` says where it stands.
    """

    def __init__(self, section: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        self.section = section
        allowed = {*known, "words"}
        if unknown := ", ".join(sorted(set(map(str, section)) - allowed)):
            raise InvalidArgument(f"{where} has unknown entries: {unknown}; known: {', '.join(sorted(allowed))}")
        self.where = where
        self.nested: dict[str, Wording] = {}
        self._patterns: dict[str, re.Pattern[str]] = {}

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

    def pattern(self, name: str, more: Callable[[], Slots] | None = None) -> re.Pattern[str]:
        """Compile all phrases under a name into one pattern; `more` slots are asked for when it is made."""
        if name not in self._patterns:
            slots = self.slots if more is None else {**self.slots, **more()}
            self._patterns[name] = pattern(self.phrases(name), slots) or _NEVER  # without phrases it matches nothing
        return self._patterns[name]

    def pattern_of(self, name: str, value: Any) -> re.Pattern[str]:
        """Compile the phrases of a value inside the section into one pattern, kept under a name of its own."""
        if name not in self._patterns:
            self._patterns[name] = pattern(self.listed(value), self.slots) or _NEVER
        return self._patterns[name]

    def prepare(self, names: Iterable[str], more: Callable[[], Slots] | None = None) -> None:
        """Compile the patterns under these names now, not when a query asks for them."""
        for name in names:
            self.pattern(name, more)

    def listed(self, value: Any) -> list[str]:
        """Return the phrases of a value inside the section."""
        return listed(value, self.where)

    def found(self, name: str, text: str) -> Iterator[Match]:
        """Yield the spans of the phrases under a name, in order."""
        return (m.span() for m in self.pattern(name).finditer(text))

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


@lru_cache(maxsize=256)
def wording(language: str | None, section: str, known: tuple[str, ...]) -> Wording:
    """Return a section of a language; if there are no tables for it, an empty one, which finds nothing."""
    content = getattr(tables(language), section) if language in READ else {}
    return Wording(content, known, f"{language}.yaml: `{section}`")


def sentences(read: Said) -> list[tuple[int, int, bool]]:
    """Return the start, the end and "is a question" of each sentence. White space at its end belongs to it."""
    found, start = [], 0
    for match in _SENTENCE_END.finditer(read.text):
        found.append((start, match.end(), "?" in match.group()))
        start = match.end()
    if read.text[start:].strip():
        found.append((start, len(read.text), False))
    return found
