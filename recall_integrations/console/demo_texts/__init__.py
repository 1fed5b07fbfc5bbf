"""The demonstration in other languages than English: a file of texts for each, `de.yaml`.

A file has the texts only. Dates, types, people and relations are those of `console/demo_data.py`, so a memory is the
same memory in every language, under the same id.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

import yaml

from recall_integrations.console import demo_data
from recall_integrations.console.demo_data import DemoQuery
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Memory, Relation

ENGLISH = "en"
_FOLDER = resources.files("recall_integrations.console.demo_texts")
LANGUAGES: tuple[str, ...] = tuple(
    sorted({ENGLISH, *(e.name.removesuffix(".yaml") for e in _FOLDER.iterdir() if e.name.endswith(".yaml"))})
)
"""Codes of the languages that the demonstration is told in, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTexts:
    """The demonstration in one language."""

    code: str  # ISO 639-1, "de"
    name: str  # in English, "German"
    # Names that are declared before anything is remembered, with other ways to say them.
    aliases: Mapping[str, tuple[str, ...]]
    memories: tuple[Memory, ...]  # all memories, in order of arrival
    # The six questions; `first` holds the same ids in every language, `plan` what English gets.
    queries: tuple[DemoQuery, ...]


@functools.cache
def demo_texts(language: str = ENGLISH) -> DemoTexts:
    """Return the demonstration in a language."""
    if language == ENGLISH:
        return DemoTexts(
            code=ENGLISH,
            name="English",
            aliases=demo_data.ALIASES,
            memories=demo_data.memories(),
            queries=demo_data.QUERIES,
        )
    if language not in LANGUAGES:
        raise InvalidArgument(f"the demonstration is not told in {language!r}. Choose one of: {', '.join(LANGUAGES)}.")
    content = yaml.safe_load((_FOLDER / f"{language}.yaml").read_text(encoding="utf-8"))
    return _told(language, content)


def _told(code: str, content: Mapping[str, Any]) -> DemoTexts:
    names: dict[str, list[str]] = content["names"]
    aliases = {_named(name, names): more for name, more in demo_data.ALIASES.items()}
    aliases |= {own: tuple(more) for own, *more in names.values() if more}
    pairs = zip(demo_data.QUERIES, content["queries"], strict=True)
    return DemoTexts(
        code=code,
        name=content["language"],
        aliases=aliases,
        memories=tuple(_in_words(m, content["memories"][m.id], names) for m in demo_data.memories()),
        queries=tuple(replace(query, text=text) for query, text in pairs),
    )


def _in_words(memory: Memory, text: str, names: Mapping[str, list[str]]) -> Memory:
    """Return the memory with a text and names of another language."""
    relations = (Relation(_named(r.subject, names), r.predicate, _named(r.object, names)) for r in memory.relations)
    entities = tuple(_named(name, names) for name in memory.entities)
    return replace(memory, text=text, entities=entities, relations=tuple(relations))


def _named(name: str, names: Mapping[str, list[str]]) -> str:
    return names[name][0] if name in names else name
