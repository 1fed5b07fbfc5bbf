"""Phrasings: how statements and questions are worded (`dev.txt`, `test.txt`), and how one is put for somebody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.facts.generator.slots import DEV, FREE, TEST, FactSlot

STATEMENTS = ("is", "new", "fix", "no", "was", "again", "non")
NOW, THEN, PREVIOUS, HISTORY, CHANGE, WHEN = "now", "then", "previous", "history", "change", "when"
QUESTIONS = {"now?": NOW, "then?": THEN, "prev?": PREVIOUS, "hist?": HISTORY, "chg?": CHANGE, "when?": WHEN}
KINDS = tuple(QUESTIONS.values())
ME, ACTOR, NAMED, KIN, ITEM = "me", "actor", "named", "kin", "thing"
SUBJECTS = (ME, ACTOR, NAMED, KIN, ITEM)

Sections = Mapping[str, Mapping[str, tuple[str, ...]]]

_TOKEN = re.compile(r"\{(\w+)\}|\[([^|\]]*)\|([^|\]]*)\]")
_BEGINS = re.compile(r"(^|[.!?]\s+)([a-z])")
_ENDED = re.compile(r"(^|[.!?]\s+)$")
_VOWELS = frozenset("aeiou")


@cache
def sections(style: str) -> Sections:
    """The phrasings of `dev`, `test` or `free`, or of a file that teaches (`taught/first`), by section and key."""
    here = Path(__file__).parent
    return sections_of((here.parent if "/" in style else here) / f"{style}.txt")


def sections_of(file: Path) -> Sections:
    """The phrasings of a file, by section and key."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    part: dict[str, tuple[str, ...]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            part = found.setdefault(line.strip("[] "), {})
            continue
        key, _, text = line.partition(": ")
        if key not in QUESTIONS and key not in STATEMENTS:
            raise ValueError(f"{file.name}: unknown key in {line!r}")
        part[key] = (*part.get(key, ()), text)
    return found


def phrasings(slot: FactSlot, style: str, key: str) -> tuple[str, ...]:
    """The ways to word this of the slot: its own, and those of its family. What others lack is worded as in `dev`."""
    own = sections(style).get(slot.name, {}).get(key, ())
    family = sections(style).get("*noun" if slot.one else "*many", {}).get(key, ()) if slot.noun else ()
    found = (*own, *family)
    return found if found or style in (DEV, TEST) else phrasings(slot, DEV, key)


def asides(style: str) -> str:
    """Whose ways to begin, to end and to tell a time are used with a style."""
    return TEST if style in (TEST, FREE) else DEV


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom a text speaks of.

    Args:
        kind: `me` (who speaks), `you`, or one that is told by what follows.
        name: as it is first said ("Priya", "my sister", "Project Kestrel").
        pronouns: said after that: he, his, him.
    """

    kind: str
    name: str = ""
    pronouns: tuple[str, str, str] = ("they", "their", "them")


MYSELF = Subject(kind=ME)
YOURSELF = Subject(kind="you")


def worded(template: str, subject: Subject, words: Mapping[str, str]) -> str:
    """A phrasing, put for somebody and with values; sentences begin with a capital, unless it begins with `~`."""
    named, proper = False, not template.startswith("~")
    template = template.removeprefix("~")
    if proper:  # before values are put in: "river1stone" is no sentence
        template = _BEGINS.sub(lambda m: m[1] + m[2].upper(), template)

    def put(match: re.Match[str]) -> str:
        nonlocal named
        token, first, third = match.groups()
        if token is None:
            return first if subject.kind in ("me", "you") else third
        if token in ("I", "my", "me", "Im", "Ive"):
            said, named = _said(subject, token, named), True
            return said[0].upper() + said[1:] if proper and _ENDED.search(template[: match.start()]) else said
        if token.startswith("a_"):
            word = words[token[2:]]
            return f"{'an' if word[0].lower() in _VOWELS else 'a'} {word}"
        return words[token]

    return _TOKEN.sub(put, template)


def _said(subject: Subject, token: str, named: bool) -> str:
    if subject.kind == "me":
        return {"I": "I", "my": "my", "me": "me", "Im": "I'm", "Ive": "I've"}[token]
    if subject.kind == "you":
        return {"I": "you", "my": "your", "me": "you", "Im": "you're", "Ive": "you've"}[token]
    he, his, him = subject.pronouns if named else (subject.name, f"{subject.name}'s", subject.name)
    return {"I": he, "my": his, "me": him, "Im": f"{he} is", "Ive": f"{he} has"}[token]
