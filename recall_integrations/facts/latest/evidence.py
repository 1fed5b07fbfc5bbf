"""What speaks for a candidate: that it tells, of whom is asked, what is asked. A column for each piece of evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from recall_integrations.facts.latest.beside import BESIDE, Drawn, alike, drawn, spoken, taken_up, wanted
from recall_integrations.facts.latest.matching import Matching
from recall_integrations.facts.latest.pairing import Pairing
from recall_integrations.facts.latest.superseding import SUPERSEDED, Superseding, Told, superseded
from recall_integrations.facts.latest.whom import TEXTS, speaks_of
from recall_integrations.facts.reader import SlotReader
from recall_integrations.facts.subjects_of import USER
from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text import stems

CHARS, SENTENCES = 600, 4  # of a text that are looked at: who tells a slot is brief
FLOOR = 0.05  # below it, differences of scores are noise
# A small store has few candidates, and the model was taught on so many: what is missing counts as found by the way.
POOL = 12
BY_THE_WAY = 0.05  # the score of such
LEAST = 1e-4  # a share is at least this, in a logarithm
LACKS_MAX = 4
RARE_LEAST = 0.2  # weight of a word that every candidate holds
_SENTENCE = regex(r"(?<=[.!?])\s+")
_LONG_AGO = regex(
    r"\b(?:used\sto|back\s(?:then|in|when)|years\sago|ages\sago|once(?!\s(?:a|an|per|every|we|i|you)\b)|(?:in\s)?(?:the|those|my)\sold|those\sdays|early\sdays|"
    r"first(?!\s(?:week|day|month)\b)|"
    r"originally|initially|before(?!\s(?:work|breakfast|bed|lunch|dinner|noon)\b)|formerly|previously|at\sschool|straight\sout\sof|growing\sup|in\s(?:19|20)\d\d|"
    r"for\syears|student|as\sa\s(?:kid|child|student|boy|girl|baby|teen\w*)|in\smy\stwenties|"
    r"when\s(?:the\s)?\w+\s(?:was|were|lived|moved\sin|started))\b",
    2,
)

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
    "names_first",  # of whom it speaks (`whom.Speaks`): whether it names the likeliest of whom is asked
    "names_any",
    "silent_first",
    "silent_any",
    "others",
    "owners",
    "other_kin",
    "capitals",
    "third",
    "first_person",
    "covers",  # share of the words of the question that it holds, by how rare they are among the candidates
    "covers_less",  # than the candidate that holds most of it
    "covers_other",  # the largest share of the others
    "whom",  # of the question: of how many it may be
    "long_ago",  # whether it has words for what was: "when we moved in", "my first", "used to"
    *BESIDE,
    "paired",  # how well it answers the question, by what was learned of both (`pairing`)
    "paired_less",  # than the one that does it best
    "paired_other",  # the best of the others, 0 at least
    "match",  # the same, both read together (`matching`): a logit
    "matched",  # as a share
    "matched_less",
    "matched_other",
    *SUPERSEDED,
)

Matrix = NDArray[np.float32]
Key = tuple[str, str]  # (subject, slot)


@record(frozen=True, slots=True, kw_only=True)
class Question:
    """What is known of a query.

    Args:
        text: the query.
        subjects: keys of whom it may ask, the likeliest first (`facts.subjects_of`); the model knows
            of one at least.
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
        at: when it was told, microseconds.
        dated: whether that is known; of one whose time is not, nobody can say that it came later.
        told: of what facts were read of it.
        first: whether it says what holds, by the facts.
        beneath: whether it says what holds no longer.
    """

    text: str
    score: float
    of: tuple[bool, ...]
    speaker: str
    at: int = 0
    dated: bool = True
    told: tuple[Key, ...] = ()
    first: bool = False
    beneath: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Comparing:
    """What compares questions and texts.

    Args:
        pairing: how well sentences answer questions.
        matching: how well texts answer questions, both read together.
        superseding: whether a later text takes the place of an earlier one.
    """

    pairing: Pairing
    matching: Matching
    superseding: Superseding


def sentences(text: str) -> Iterator[str]:
    """Sentences of a text that ask nothing."""
    yield from (part for part in _SENTENCE.split(text[:CHARS])[:SENTENCES] if part.strip() and not part.endswith("?"))


def evidence(
    question: Question,
    candidates: Sequence[Candidate],
    reader: SlotReader,
    by: Comparing,
    counting: Sequence[bool] | NDArray[np.bool_],
) -> Matrix:
    """What speaks for each candidate: float32 `(candidates, len(FEATURES))`.

    Args:
        question: what is asked.
        candidates: one at least, best first.
        reader: what it sees of questions and of sentences.
        by: what compares it with them.
        counting: which candidates state anything and were told by then; others neither take a place nor lose theirs.
    """
    scores = np.asarray([one.score for one in candidates], dtype=np.float32)
    asked, none = reader.asked(question.text)
    found = np.empty((len(candidates), len(FEATURES)), dtype=np.float32)
    found[:, :3] = _scored(scores)
    found[:, 3:12] = [_known(question, one) for one in candidates]
    texts = [_text(one.text[:CHARS]) for one in candidates]
    found[:, 12:18] = _seen([text.parts for text in texts], asked, reader)
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
    found[:, 26] = [text.long for text in texts]
    found[:, 27] = scores.max()
    held = [text.held for text in texts]
    words = frozenset(stems(question.text))
    found[:, 28] = _lacks(words, held)
    found[:, 29:39] = _speaks(question, candidates)
    found[:, 39:42] = _covers(words, held)
    found[:, 42] = len(question.subjects)
    found[:, 43] = [text.long_ago for text in texts]
    at = [one.at if one.dated else None for one in candidates]
    paired = by.pairing.paired(question.text[:CHARS], [text.parts for text in texts])
    brief = [one.text[:CHARS] for one in candidates]
    match = by.matching.matched(question.text[:CHARS], brief)
    matched: Matrix = (1 / (1 + np.exp(-match))).astype(np.float32)
    found[:, 44:51] = taken_up(words, held, at, (found[:, 39], np.exp(found[:, 12]), paired, matched), POOL)
    found[:, 51:56] = [text.spoken for text in texts]
    found[:, 56:59] = wanted(question.text)
    said = [reader.vectors(text.parts) for text in texts]
    found[:, 59:66] = alike(question.text[:CHARS], [text.drawn for text in texts], said, found[:, 39])
    found[:, 66:69] = _beside_others(paired)
    found[:, 69] = match
    found[:, 70:73] = _beside_others(matched)
    told = Told(texts=brief, at=[time if own else None for time, own in zip(at, counting, strict=True)], match=match)
    found[:, 73:] = superseded(question.text[:CHARS], told, by.superseding)
    return found


def known_of(said: Iterable[tuple[str, Iterable[Key]]]) -> frozenset[str]:
    """Keys of people who are known.

    Args:
        said: of candidates: who says it, and of what facts were read of it.
    """
    found = set()
    for speaker, told in said:
        found.add(speaker)
        found.update(subject.partition("'s ")[0] for subject, _ in told)
    return frozenset(found.difference((USER,)))


@record(frozen=True, slots=True, kw_only=True)
class _Text:
    """What a text has, whatever is asked; see `FEATURES`."""

    parts: tuple[str, ...]
    held: frozenset[str]
    long: float
    long_ago: bool
    spoken: tuple[bool, ...]
    drawn: Drawn


@lru_cache(maxsize=TEXTS)  # candidates of a recall are often those of the next
def _text(text: str) -> _Text:
    return _Text(
        parts=tuple(sentences(text)) or (text,),
        held=frozenset(stems(text)),
        long=math.log1p(len(text.split())),
        long_ago=_LONG_AGO.search(text) is not None,
        spoken=spoken(text),
        drawn=drawn(text),
    )


def _scored(scores: NDArray[np.float32]) -> Matrix:
    """How well each was found beside the others: the first three columns."""
    least = min(BY_THE_WAY, scores.min())
    among = np.concatenate([scores, np.full(max(0, POOL - len(scores)), least, dtype=np.float32)])
    found = np.empty((len(scores), 3), dtype=np.float32)
    found[:, 0] = (scores - among.mean()) / (among.std() + FLOOR)
    found[:, 1] = np.log(np.clip(scores / max(float(scores.max()), 1e-6), 0, None) + 1e-3)
    found[:, 2] = np.arange(len(scores)) / 8
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


def _seen(parts: Sequence[Sequence[str]], asked: NDArray[np.float32], reader: SlotReader) -> Matrix:
    """What the slot reader sees in the sentence of each text that tells most of what is asked."""
    told, says = reader.read([part for own in parts for part in own])
    share = told @ asked
    told_most, stated = told.max(axis=1), says[:, 0] + says[:, 1]
    found = np.empty((len(parts), 6), dtype=np.float32)
    begin = 0
    for place, own in enumerate(parts):
        end = begin + len(own)
        best = begin + int(np.argmax(share[begin:end] * (stated[begin:end] + 1e-3)))
        found[place] = (np.log(share[best] + LEAST), *says[best], told_most[best])
        begin = end
    return found


def _lacks(words: frozenset[str], held: Sequence[frozenset[str]]) -> list[int]:
    """ "My budget for sneakers" is not any budget."""
    asked = words.intersection(held[0])
    return [min(LACKS_MAX, len(asked.difference(own))) for own in held]


def _covers(words: frozenset[str], held: Sequence[frozenset[str]]) -> Matrix:
    """How much of the question each holds, how much less than the best, and how much the best of the others."""
    count = max(POOL, len(held))
    rare = {word: math.log((count + 1) / (1 + sum(word in own for own in held))) + RARE_LEAST for word in words}
    whole = sum(rare[word] for word in sorted(rare)) or 1.0
    return _beside_others(
        np.asarray([sum(rare[word] for word in sorted(words & own)) / whole for own in held], dtype=np.float32)
    )


def _beside_others(share: NDArray[np.float32]) -> Matrix:
    """A share, how much less it is than the best, and the best of the others, 0 at least: float32 `(candidates, 3)`."""
    first = int(np.argmax(share))
    others = np.full_like(share, share[first])
    others[first] = max(share[:first].max(initial=0), share[first + 1 :].max(initial=0))
    return np.stack([share, share[first] - share, others], axis=1)


def _speaks(question: Question, candidates: Sequence[Candidate]) -> list[tuple[float, ...]]:
    known = known_of((one.speaker, one.told) for one in candidates)
    found: list[tuple[float, ...]] = []
    for one in candidates:
        of = speaks_of(one.text[:CHARS], one.speaker, question.subjects, known)
        names, silent = of.names, of.silent
        found.append(
            (
                bool(names) and names[0],
                any(names),
                bool(silent) and silent[0],
                any(silent),
                of.others,
                of.owners,
                of.kin,
                of.capitals,
                of.third,
                of.first,
            )
        )
    return found


def _told(one: Candidate, asked: NDArray[np.float32], reader: SlotReader) -> float:
    return max((float(asked[reader.slots.index(slot)]) for _, slot in one.told if slot in reader.slots), default=0.0)
