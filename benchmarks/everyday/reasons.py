"""Whether a reason that says which of two memories is newer agrees with their times.

Reasons are read part by part ("newer than m1 of 13 March 2026; says: door, code"). A part that names another memory of
the store and says which way is right or wrong by the times of the two. A part that says "the latest" and names none is
wrong where another memory that answers, or another that is called the latest in the same answer, is newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from benchmarks.everyday.answers import Answered
from benchmarks.everyday.figures import Times

_QUOTED = re.compile(r"“[^”]*”")
_SHOWN = ("says: ", "entities overlap: ", "about: ")  # what follows is of the memory, or of the query
_OLDER = re.compile(
    r"\bolder than\b|\bearlier than\b|\b(?:superseded|replaced|corrected|ended|changed|taken back)[^;]*\bby\b"
    r"|\bno longer so\b|\bbefore\b"
)
_NEWER = re.compile(
    r"\b(?:newer|later|more recent) than\b|\b(?:told|said) after\b|\bcorrects\b|\breplaces\b|\bsupersedes\b"
    r"|\bno longer holds\b|\bin place of\b"
)
_LATEST = re.compile(r"\b(?:the )?(?:latest|newest|most recent)\b")
_OF_DAY = re.compile(r"\bof (\d{1,2} [A-Z][a-z]+ \d{4})\b")
_NOT_OF_IT = "newest memories"  # "linked to names in the newest memories" says nothing of the memory's own time


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """A reason that calls an older memory newer, or a newer one older."""

    dataset: str
    question: str
    memory: str
    part: str
    why: str


def wrong_reasons(answers: Iterable[Answered]) -> Iterator[Wrong]:
    """Every part of every reason that is wrong by the times of the memories."""
    for one in answers:
        times = Times(one.store.memories)
        latest: list[tuple[str, str]] = []
        for hit in one.found:
            for part in _parts(hit.reason):
                named = _named(part, times, hit.id)
                why = _wrong(part, named, hit.id, times)
                if not named and _LATEST.search(part) and _NOT_OF_IT not in part:
                    latest.append((hit.id, part))
                if why:
                    yield _made(one, hit.id, part, why)
        claimed = [memory for memory, _ in latest]
        for memory, part in latest:
            newer = [other for other in (*one.question.relevant, *claimed) if times.older(memory, other)]
            if newer:
                yield _made(one, memory, part, f"{newer[0]} is newer")


def _parts(reason: str) -> list[str]:
    return [part for part in _QUOTED.sub("", reason).split("; ") if not part.startswith(_SHOWN)]


def _named(part: str, times: Times, own: str) -> list[str]:
    """Ids of other memories of the store that a part names."""
    words = {word.strip(".,:()") for word in part.split()}
    return [one for one in times.memories if one in words and one != own]


def _wrong(part: str, named: list[str], own: str, times: Times) -> str:
    for other in named:
        if _OLDER.search(part) and times.older(other, own):
            return f"{other} is older"
        if _NEWER.search(part) and times.older(own, other):
            return f"{other} is newer"
        day, at = _OF_DAY.search(part), times.memories[other].event_at
        if day is not None and at is not None:
            near = {f"{d.day} {d:%B %Y}" for d in (at + timedelta(days=n) for n in (-1, 0, 1))}  # of any time zone
            if day[1] not in near:
                return f"{other} is of {at:%Y-%m-%d}"
    return ""


def _made(one: Answered, memory: str, part: str, why: str) -> Wrong:
    return Wrong(dataset=one.dataset, question=one.question.id, memory=memory, part=part, why=why)
