"""What speaks for a candidate: that it tells, of whom is asked, what is asked. A column for each piece of evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.facts.reader import SlotReader
from recall_integrations.facts.subjects_of import USER
from recall_integrations.records import record
from recall_integrations.text import stems

CHARS, SENTENCES = 600, 4  # of a text that are looked at: who tells a slot is brief
FLOOR = 0.05  # below it, differences of scores are noise
LEAST = 1e-4  # a share is at least this, in a logarithm
LACKS_MAX = 4
_SENTENCE = re.compile(r"(?<=[.!?])\s+")

# In this order in the columns; the model has them by name.
FEATURES = (
    "score",  # of the search, as a z-score over the candidates
    "of_best",  # logarithm of its share of the best score
    "place",
    "of_first",  # whether it may speak of the likeliest of whom is asked
    "of_any",  # whether it may speak of any of them
    "speaks",  # whether who is asked about says it
    "read",  # whether a fact was read of it
    "same",  # whether one is of the slot and subject that are asked for
    "other_slot",  # whether facts were read of it, and none of that slot
    "other_subject",  # whether facts were read of it, and none of whom is asked
    "first",  # whether it says what holds, by the facts
    "beneath",  # whether it says what holds no longer, by the facts
    "tells",  # logarithm of the share of the slot that is asked for, of its best sentence; by the slot reader
    "states",
    "ends",
    "was",
    "nothing",
    "surely",  # the largest share of a slot in that sentence
    "told_asked",  # share of asking for a slot that was read of it
    "slot_known",  # of the question, the same for all: whether rules read its slot
    "held_known",  # whether facts decide it
    "named",  # whether it says of whom
    "of_user",  # whether that is who asks
    "asks_one",  # the largest share of a slot in the question
    "asks_none",  # share of asking for no slot
    "asks_state",  # share of asking for a state at all
    "long",  # of the candidate: logarithm of its words
    "found",  # of the question: the best score, as it is
    "lacks",  # words of the question that the best candidate holds and this one lacks, at most 4
)

Matrix = NDArray[np.float32]
Key = tuple[str, str]  # (subject, slot)


@record(frozen=True, slots=True, kw_only=True)
class Question:
    """What is known of a query.

    Args:
        text: the query.
        subjects: keys of whom it may ask, the likeliest first (`facts.subjects_of`).
        slots: names of the slots that rules read in it; of an open one with its prefix.
        asks_state: share of asking for a state, by the model.
        held: whether facts decide it.
    """

    text: str
    subjects: tuple[str, ...]
    slots: tuple[str, ...] = ()
    asks_state: float = 1.0
    held: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is known of a candidate.

    Args:
        text: of the memory.
        score: of the search.
        of: whether it may speak of each of the subjects of the question.
        speaker: key of who says it.
        told: of what facts were read of it.
        first: whether it says what holds, by the facts.
        beneath: whether it says what holds no longer.
    """

    text: str
    score: float
    of: tuple[bool, ...]
    speaker: str
    told: tuple[Key, ...] = ()
    first: bool = False
    beneath: bool = False


def sentences(text: str) -> Iterator[str]:
    """Sentences of a text that ask nothing."""
    yield from (part for part in _SENTENCE.split(text[:CHARS])[:SENTENCES] if part.strip() and not part.endswith("?"))


def evidence(question: Question, candidates: Sequence[Candidate], reader: SlotReader) -> Matrix:
    """What speaks for each candidate: float32 `(candidates, len(FEATURES))`.

    Args:
        question: what is asked.
        candidates: one at least, best first.
        reader: what it sees of questions and of sentences.
    """
    scores = np.asarray([one.score for one in candidates], dtype=np.float32)
    best = max(float(scores.max()), 1e-6)
    asked, none = reader.asked(question.text)
    found = np.empty((len(candidates), len(FEATURES)), dtype=np.float32)
    found[:, 0] = (scores - scores.mean()) / (scores.std() + FLOOR)
    found[:, 1] = np.log(np.clip(scores / best, 0, None) + 1e-3)
    found[:, 2] = np.arange(len(candidates)) / 8
    found[:, 3:12] = [_known(question, one) for one in candidates]
    found[:, 12:18] = _seen(candidates, asked, reader)
    found[:, 18] = [_told(one, asked, reader) for one in candidates]
    found[:, 19:26] = (
        bool(question.slots),
        question.held,
        bool(question.subjects),
        USER in question.subjects,
        asked.max(),
        none,
        question.asks_state,
    )
    found[:, 26] = [math.log1p(len(one.text.split())) for one in candidates]
    found[:, 27] = scores.max()
    found[:, 28] = _lacks(question.text, candidates)
    return found


def _known(question: Question, one: Candidate) -> tuple[bool, ...]:
    subjects, slots = question.subjects, question.slots
    return (
        bool(one.of) and one.of[0],
        any(one.of),
        one.speaker in subjects,
        bool(one.told),
        any(slot in slots and subject in subjects for subject, slot in one.told),
        bool(one.told) and bool(slots) and not any(slot in slots for _, slot in one.told),
        bool(one.told) and bool(subjects) and not any(subject in subjects for subject, _ in one.told),
        one.first,
        one.beneath,
    )


def _seen(candidates: Sequence[Candidate], asked: NDArray[np.float32], reader: SlotReader) -> Matrix:
    """What the slot reader sees in the sentence of each text that tells most of what is asked."""
    parts = [list(sentences(one.text)) or [one.text[:CHARS]] for one in candidates]
    told, says = reader.read([part for own in parts for part in own])
    share = told @ asked
    told_most, stated = told.max(axis=1), says[:, 0] + says[:, 1]
    found = np.empty((len(candidates), 6), dtype=np.float32)
    begin = 0
    for place, own in enumerate(parts):
        end = begin + len(own)
        best = begin + int(np.argmax(share[begin:end] * (stated[begin:end] + 1e-3)))
        found[place] = (np.log(share[best] + LEAST), *says[best], told_most[best])
        begin = end
    return found


def _lacks(text: str, candidates: Sequence[Candidate]) -> list[int]:
    """ "My budget for sneakers" is not any budget."""
    asked = frozenset(stems(text)).intersection(stems(candidates[0].text))
    return [min(LACKS_MAX, len(asked.difference(stems(one.text)))) for one in candidates]


def _told(one: Candidate, asked: NDArray[np.float32], reader: SlotReader) -> float:
    return max((float(asked[reader.slots.index(slot)]) for _, slot in one.told if slot in reader.slots), default=0.0)
