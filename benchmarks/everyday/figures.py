"""What is counted: first hits that are right, answers where there is none, superseded ones, and reliability."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.everyday.answers import NO_FACTS, OURS, SYSTEMS, VECTORS, Answered
from benchmarks.everyday.stores import SIZES, size_of
from benchmarks.quality.abstention import reliability
from recall_integrations.embeddings.base import Embedding
from recall_integrations.text import stems
from recall_integrations.types import Memory

PARTS = (VECTORS, NO_FACTS)  # what ours may never be below
MANY = 20  # questions from which a category counts by itself
SCORE_MIN = 0.3  # what README filters by
KEPT = 0.85  # of the right first hits: what a useful threshold keeps
ALIKE = 0.4  # half the overlap of two memories' words and half their cosine: about the same thing
CHANGED = "changed-now"


def is_small_talk(category: str) -> bool:
    """Whether questions of a category want nothing."""
    return category.replace("-", "").replace("_", "").replace(" ", "").lower() == "smalltalk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Questions of one kind.

    Args:
        name: of the kind.
        questions: how many have an answer.
        right: system → share of them whose first hit is right.
        recalled: share of what answers that is among our hits.
    """

    name: str
    questions: int
    right: Mapping[str, float]
    recalled: float

    @property
    def lead(self) -> float:
        """How far we are ahead of the best of the others; 0 without others."""
        others = [share for name, share in self.right.items() if name != OURS]
        return self.right[OURS] - max(others) if others else 0.0

    @property
    def behind(self) -> bool:
        """Whether vectors alone, or ours without facts, are better at a kind that counts by itself."""
        others = [self.right[name] for name in PARTS if name in self.right]
        return self.questions >= MANY and any(share > self.right[OURS] for share in others)


def rows(answers: Iterable[Answered], kind: Callable[[Answered], str]) -> list[Row]:
    """One row for each kind of the questions with an answer, the worst lead first."""
    groups: dict[str, list[Answered]] = defaultdict(list)
    for one in answers:
        if one.question.relevant:
            groups[kind(one)].append(one)
    found = [_row(name, own) for name, own in groups.items()]
    return sorted(found, key=lambda row: (row.lead, row.name))


def _row(name: str, own: Sequence[Answered]) -> Row:
    shares = []
    for one in own:
        ids = {hit.id for hit in one.found}
        shares.append(sum(gold in ids for gold in one.question.relevant) / len(one.question.relevant))
    asked = {OURS}.union(*(one.first for one in own))
    return Row(
        name=name,
        questions=len(own),
        right={system: sum(one.right(system) for one in own) / len(own) for system in SYSTEMS if system in asked},
        recalled=sum(shares) / len(own),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """What a threshold does.

    Args:
        name: whose questions.
        kept: share of the right first hits that reach it.
        false: share of the questions without an answer that get one; `None` where there are none.
        small_talk: the same of small talk.
        unanswerable, talk: how many of either there are.
    """

    name: str
    kept: float
    false: float | None
    small_talk: float | None
    unanswerable: int
    talk: int


def keeping(answers: Iterable[Answered], share: float = KEPT) -> float:
    """The highest threshold that keeps so many of the right first hits; 0 where none is right."""
    scores = sorted((one.best for one in answers if one.question.relevant and one.right(OURS)), reverse=True)
    return scores[math.ceil(share * len(scores)) - 1] if scores else 0.0


def refused(answers: Sequence[Answered], threshold: float, kind: Callable[[Answered], str]) -> list[Refused]:
    """What a threshold does to each kind of questions, in the order of their names."""
    groups: dict[str, list[Answered]] = defaultdict(list)
    for one in answers:
        groups[kind(one)].append(one)
    found = []
    for name, own in sorted(groups.items()):
        right = [one for one in own if one.right(OURS)]
        empty = [one for one in own if not one.question.relevant]
        talk = [one for one in empty if is_small_talk(one.question.category)]
        asked = [one for one in empty if not is_small_talk(one.question.category)]
        found.append(
            Refused(
                name=name,
                kept=_share(right, threshold) or 0.0,
                false=_share(asked, threshold),
                small_talk=_share(talk, threshold),
                unanswerable=len(asked),
                talk=len(talk),
            )
        )
    return found


def _share(answers: Sequence[Answered], threshold: float) -> float | None:
    """Of the questions whose best hit reaches the threshold."""
    reached = [bool(one.found) and one.best >= threshold for one in answers]
    return sum(reached) / len(reached) if reached else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliable:
    """Of the hits in stores of one size: how many, their mean score, the share that answers, and the expected
    calibration error (`benchmarks.quality.abstention`); `None` where there are none."""

    size: str
    hits: int
    said: float
    true: float
    ece: float | None


def reliable(answers: Iterable[Answered]) -> list[Reliable]:
    """Whether `hit.score` is the share that answers, for each size of store."""
    scored: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for one in answers:
        gold = one.question.relevant
        scored[size_of(len(one.store.memories))] += [(hit.score, hit.id in gold) for hit in one.found]
    found = []
    for size in SIZES:
        if pairs := scored.get(size.name):
            scores, true = [score for score, _ in pairs], [answer for _, answer in pairs]
            error = reliability(scores, true).ece
            said, came = sum(scores) / len(pairs), sum(true) / len(pairs)
            found.append(Reliable(size=size.name, hits=len(pairs), said=said, true=came, ece=error))
    return found


class Times:
    """Which of two memories of a store is newer: by their own times where both have one, else by order of storing."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self.memories = {memory.id or "": memory for memory in memories}
        self._places = {one: place for place, one in enumerate(self.memories)}

    def older(self, one: str, other: str) -> bool:
        """Whether `one` is older than `other`."""
        first, second = self.memories[one].event_at, self.memories[other].event_at
        if first is not None and second is not None:
            return first < second
        return self._places[one] < self._places[other]


def superseded(answers: Iterable[Answered], embedding: Embedding) -> tuple[int, int]:
    """Of the questions for a changed value: how often a superseded memory comes first, and how many there are.

    A memory counts as superseded where it is older than what answers, and either answers another question of the store
    together with it, or is about the same thing by its words and its vector.
    """
    asked = [one for one in answers if one.question.category == CHANGED and one.question.relevant]
    return sum(_is_superseded(one, embedding) for one in asked), len(asked)


def _is_superseded(one: Answered, embedding: Embedding) -> bool:
    first, gold = one.first.get(OURS), one.question.relevant
    if first is None or first in gold:
        return False
    times = Times(one.store.memories)
    if not times.older(first, gold[0]):
        return False
    others = (set(each.relevant) for each in one.store.questions if each.id != one.question.id)
    if any({first, gold[0]} <= each for each in others):
        return True
    texts = [times.memories[each].text for each in (first, gold[0])]
    words = [set(stems(text)) for text in texts]
    overlap = len(words[0] & words[1]) / (min(map(len, words)) or 1)
    vectors = embedding.embed_documents(texts)
    return (overlap + float(vectors[0] @ vectors[1])) / 2 >= ALIKE
