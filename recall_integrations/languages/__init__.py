"""Tables for the languages that queries are read in besides English: one file for each.

`de.yaml` holds the words of German that the readers of dates, negation, persons, questions, types and sessions look
for. A language is such a file and a test file; adding one needs no code (docs/languages.md). English has `en.json`.
A file is found by its name, read when it is first asked for, and kept.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from recall_integrations.errors import InvalidArgument
from recall_integrations.records import record

SECTIONS = ("dates", "negation", "person", "questions", "types", "sessions")
ENGLISH = "en"  # its words are in `en.json`; dates are read by rules of its own


@record(frozen=True, slots=True, kw_only=True)
class Tables:
    """The words of one language, a section per reader. A section that is empty is not read in that language."""

    name: str
    sections: Mapping[str, Mapping[str, Any]]  # all of `SECTIONS`


def _folder() -> Any:
    return resources.files("recall_integrations.languages")


READ: tuple[str, ...] = tuple(
    sorted(entry.name.removesuffix(".yaml") for entry in _folder().iterdir() if entry.name.endswith(".yaml"))
)
"""Codes of the languages with a table file, in order. The words of English are in `en.json`."""


def name_of(code: str) -> str:
    """Return the English name of a language; its code in quotation marks if there is no file for it."""
    return "English" if code == "en" else tables(code).name if code in READ else f"“{code}”"


@functools.cache
def tables(code: str) -> Tables:
    """Return the tables of a language."""
    if code not in READ:
        raise InvalidArgument(f"no tables for the language {code!r}: there are {', '.join(READ)}")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load((_folder() / f"{code}.yaml").read_text(encoding="utf-8"), Loader=loader)
    return checked(code, content)


def checked(code: str, content: Any) -> Tables:
    """Make tables from the content of a file."""
    if not isinstance(content, Mapping) or not isinstance(content.get("name"), str):
        raise InvalidArgument(f"{code}.yaml must be a mapping with the language's `name`")
    unknown = sorted(set(content) - {"name", *SECTIONS})
    if unknown:
        raise InvalidArgument(f"{code}.yaml has unknown sections: {', '.join(unknown)}; known: {', '.join(SECTIONS)}")
    sections = {section: content.get(section) or {} for section in SECTIONS}
    wrong = [section for section, values in sections.items() if not isinstance(values, Mapping)]
    if wrong:
        raise InvalidArgument(f"{code}.yaml: `{wrong[0]}` must be a mapping")
    return Tables(name=content["name"], sections=sections)


def english(reader: str) -> Mapping[str, Any]:
    """Return the lists of words of one of the readers of English, mostly parted by blanks."""
    found: Mapping[str, Any] = _english()[reader]
    return found


@functools.cache
def _english() -> Any:
    return json.loads((_folder() / "en.json").read_text(encoding="utf-8"))


def unread(language: str | None) -> tuple[str, ...]:
    """Return the sections that a language has no tables for, in the order of `SECTIONS`; all if it is unknown."""
    if language == ENGLISH:
        return ()
    if language is None or language not in READ:
        return SECTIONS
    return tuple(section for section, values in tables(language).sections.items() if not values)
