"""The memories and questions of `recall demo` in other languages, under the same ids: a file for each language."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from recall_integrations.console.demo import DemoTexts, demo_texts
from recall_integrations.types import Memory, Relation

FOLDER = Path(__file__).parent / "demo_texts"
LANGUAGES = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


@functools.cache
def content(language: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((FOLDER / f"{language}.yaml").read_text(encoding="utf-8"))
    return found


@functools.cache
def told_in(language: str) -> DemoTexts:
    """The demonstration in a language."""
    english, own = demo_texts(), content(language)
    names = own["names"]
    aliases = {_named(name, names): more for name, more in english.aliases.items()}
    return DemoTexts(
        aliases=aliases | {name: tuple(more) for name, *more in names.values() if more},
        memories=tuple(_in_words(m, own["memories"][m.id], names) for m in english.memories),
        queries=tuple(replace(query, text=text) for query, text in zip(english.queries, own["queries"], strict=True)),
    )


def _in_words(memory: Memory, text: str, names: Mapping[str, list[str]]) -> Memory:
    """The memory with a text and names of another language."""
    relations = (Relation(_named(r.subject, names), r.predicate, _named(r.object, names)) for r in memory.relations)
    entities = tuple(_named(name, names) for name in memory.entities)
    return replace(memory, text=text, entities=entities, relations=tuple(relations))


def _named(name: str, names: Mapping[str, list[str]]) -> str:
    return names[name][0] if name in names else name
