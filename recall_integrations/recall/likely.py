"""What a query asks of a slot where neither rules nor facts say so: the slot reader guesses; only the order changes.

"Which digits would a courier need to reach me?" has no word of the slot, and "new sim since Monday: 555-0202" has no
shape that a rule reads, so no fact is kept of it. The slot reader (`facts.reader`) gives both shares over the slots of
the schema. Candidates that seem to tell what the query seems to ask, of the same person, are put together, and the
newest of them comes first: for now, for a time that is named, and, the second newest, for what was before. The reason
says that it may tell it. Nothing is kept of a guess, and no fact is changed by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import NOW, PREVIOUS, THEN, StateAsked
from recall_integrations.facts.deciding import Decided, Sought, guessed
from recall_integrations.facts.reader import SlotReader, slot_reader
from recall_integrations.facts.reader.slot_reader import ENDS, STATES, WAS
from recall_integrations.facts.rules import words as of_rules
from recall_integrations.facts.rules.loose_words import ME
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.subjects_of import USER, name_key, speaker_key
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.patterns import regex
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.evident import mode_of, of_several
from recall_integrations.recall.state import RecallState
from recall_integrations.text import stems
from recall_integrations.types import Memory
from recall_integrations.types.roles import Role

POOL = 12  # candidates that are looked at
ASKED_MIN = 0.12  # share of the slot that is most likely asked for
OTHER_MAX = 0.6  # share of asking for no slot
OTHER_UNASKED = 0.3  # the same of what has not the shape of a question: "need my digits, the courier waits"
TOLD_MIN = 0.02  # share of telling it, of that of asking for it
ENOUGH = 0.1  # share of the best score that a candidate must have
OF_BEST = 0.2  # of the share that the best candidate has
LACKS_MAX = 2  # words of the query that the best candidate holds and another one lacks
WORDS_MAX = 12  # of the query: who says more asks for something special
LASTS = timedelta(days=20)  # a shorter time that is named is asked for what happened in it
SENTENCES = 4  # of a memory that are looked at
CHARS = 600
CONFIDENCE = 0.7  # that this is asked; a guess has less of it (`deciding.DOUBTED`)
OF_THINGS = frozenset("deadline room budget owner version price status launch_date location".split())  # not of who asks
_SAYS = {NOW: (STATES, ENDS), THEN: (STATES, ENDS), PREVIOUS: (STATES, ENDS, WAS)}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*", 2)
# Asks whether something is so, or for a count of what was told.
_OTHER = regex(
    r"\s*(?:have|has|had|is|are|am|did|was|were|do(?!\s+you\s+(?:know|remember|have|recall))|does|how\s+many)\b", 2
)
_HAPPENED = regex(r"\b(?:what|which|who|whom)\b.*\bdid\b", 2)  # with a time: "what did we eat in March?"
_SPEAKING = frozenset("i i'm i've i'd i'll im ive we we're we've me us".split())
_NO_NAME = ME.union(
    _SPEAKING,
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday christmas easter".split(),
)


def likely(state: RecallState, fused: Fused, delivery: Delivery, slots: Slots) -> Decided | None:
    """What the slot reader would put first; `None` = nothing.

    Args:
        state: of the recall, of whose query no rule read what it asks.
        fused: the candidates, best first.
        delivery: fetches memories.
        slots: the schema.
    """
    text = state.query.original
    if state.asked is not None or len(fused.rows) < 2 or len(text.split()) > WORDS_MAX or _OTHER.match(text):
        return None
    if state.query.language not in ("", "en") or any(one.stage == "facts" for one in state.degraded):
        return None
    reader = slot_reader()
    found = _sought(state, reader, slots)
    if found is None:
        return None
    sought, shares = found
    rows = _newest_first(sought, _telling(sought, state, fused, delivery, reader, shares), state.scope)
    wanted = rows[1:] if sought.asked.mode == PREVIOUS else rows
    if not wanted or _lacks(text, fused, wanted[0], delivery, state.scope):
        return None
    return guessed(sought, (sought.subjects[0], sought.asked.slots[0]), state.scope.nums.item(wanted[0]))


def _sought(state: RecallState, reader: SlotReader, slots: Slots) -> tuple[Sought, NDArray[np.float32]] | None:
    """What a query asks for, and the share of each slot of the reader; `None` = for no slot, as far as can be told."""
    text, window = state.query.original, state.query.temporal_window
    windowed = window is not None
    if mode_of(text, windowed=windowed, asks=True) not in _SAYS:
        return None
    if window is not None and window.start is not None and window.end is not None and window.end - window.start < LASTS:
        return None
    subjects = _subjects(state, text)
    if not subjects or any(of_several(subject, state) for subject in subjects):
        return None
    shares, other = reader.asked(text)
    best = int(np.argmax(shares))
    slot = reader.slots[best]
    known = _known(reader, slots)
    if other >= OTHER_MAX or shares[best] < ASKED_MIN or not known[best]:
        return None
    mode = mode_of(text, windowed=windowed, asks=other <= OTHER_UNASKED)
    if mode is None or (slot in OF_THINGS and USER in subjects) or (mode == THEN and _HAPPENED.search(text)):
        return None
    until = to_micros(state.request.as_of or state.request.now)
    if mode == THEN and window is not None and window.end is not None:
        until = min(until, to_micros(window.end))
    asked = StateAsked(slots=(slot,), mode=mode, confidence=CONFIDENCE)
    return Sought(asked=asked, subjects=subjects, until=until), shares * known


@lru_cache(maxsize=16)
def _known(reader: SlotReader, slots: Slots) -> NDArray[np.bool_]:
    """Which slots of the reader the schema has with one value."""
    return np.asarray([slots.get(name) is not None and slots.one(name) for name in reader.slots])


def _telling(
    sought: Sought,
    state: RecallState,
    fused: Fused,
    delivery: Delivery,
    reader: SlotReader,
    shares: NDArray[np.float32],
) -> Mapping[int, float]:
    """Rows of candidates that may tell what is sought, with how likely they do."""
    view, slot = state.scope, sought.asked.slots[0]
    rows = fused.rows[:POOL]
    rows = rows[fused.scores[: len(rows)] >= ENOUGH * float(fused.scores[0])]
    rows = rows[(view.at[rows] <= sought.until) & view.dated[rows]]
    facts = delivery.facts(view)
    found: dict[int, float] = {}
    untold: list[tuple[int, Memory]] = []
    for row, memory in delivery.memories(view, rows):
        told = facts.of_memory(view.nums.item(row)) if facts else ()
        if not told:
            untold.append((row, memory))
        elif any(name == slot and subject in sought.subjects for subject, name in told):
            found[row] = 1.0  # what was read of it is known; of another slot, it tells that one
    found |= _shares(untold, sought.subjects, reader, shares, sought.asked.mode)
    best = max(found.values(), default=0.0)
    enough = max(TOLD_MIN * float(shares.max()), OF_BEST * best)
    return {row: share for row, share in found.items() if share >= enough}


def told_shares(
    memories: Sequence[tuple[int, Memory]], subjects: Sequence[str], slot: str, mode: str = NOW
) -> dict[int, float]:
    """How likely memories, of which nothing was read, tell a slot of somebody: by their rows.

    Args:
        memories: rows and memories.
        subjects: keys of whom (`subjects_of`).
        slot: name of it; of one that the reader does not know nothing is said.
        mode: what is asked: `now`, `then` or `previous`.
    """
    reader = slot_reader()
    if not memories or slot not in reader.slots:
        return {}
    only = np.zeros(len(reader.slots), dtype=np.float32)
    only[reader.slots.index(slot)] = 1.0
    return _shares(memories, subjects, reader, only, mode)


def _shares(
    memories: Sequence[tuple[int, Memory]],
    subjects: Sequence[str],
    reader: SlotReader,
    wanted: NDArray[np.float32],
    mode: str,
) -> dict[int, float]:
    """The best sentence of each memory counts; `wanted` weighs the slots."""
    parts = [(row, part) for row, m in memories if any(_is_of(m, who) for who in subjects) for part in _parts(m.text)]
    if not parts:
        return {}
    shares = reader.told([part for _, part in parts], _SAYS[mode]) @ wanted
    found: dict[int, float] = {}
    for (row, _), share in zip(parts, shares.tolist(), strict=True):
        found[row] = max(found.get(row, 0.0), share)
    return found


def _lacks(text: str, fused: Fused, row: int, delivery: Delivery, view: ScopeView) -> bool:
    """Whether the best candidate holds so many words of the query that a row lacks that it is about another thing: "my
    budget for sneakers" is not any budget."""
    best = int(fused.rows[0])
    if row == best:
        return False
    found = [frozenset(stems(memory.text)) for _, memory in delivery.memories(view, np.asarray((best, row)))]
    return len(found) > 1 and len(found[0].intersection(stems(text)) - found[1]) >= LACKS_MAX


def _newest_first(sought: Sought, found: Mapping[int, float], view: ScopeView) -> list[int]:
    return sorted(found, key=lambda row: (-view.at[row], -row))


def _parts(text: str) -> Iterator[str]:
    """Sentences of a text that ask nothing."""
    yield from (part for part in _SENTENCE.split(text[:CHARS])[:SENTENCES] if part.strip() and not part.endswith("?"))


def _subjects(state: RecallState, text: str) -> tuple[str, ...]:
    """Keys of whom a query may be about: "my sister"; else those it names, and who asks if it says "my"."""
    view, words = state.scope, _WORD.findall(text)
    low = [_plain(word) for word in words]
    for mine, word in pairwise(low):
        if mine in ("my", "our") and word in _KIN:
            return (f"{USER}'s {word}",)
    users = tuple(map(name_key, view.speakers(Role.USER)))
    mentions = (name_key(ref.mention) for ref in state.query.entity_refs if ref.mention)
    found = [name for name in mentions if name not in ME]
    found += [word for word in low if word in users]
    found += _named(words, low)
    if not ME.isdisjoint(low):
        found += [USER, *users]
    return tuple(dict.fromkeys(found))


def _named(words: Sequence[str], low: Sequence[str]) -> Iterator[str]:
    """Names inside a sentence: words with a capital, in a row."""
    row: list[str] = []
    for word, plain in zip((*words[1:], ""), (*low[1:], ""), strict=True):
        if word[:1].isupper() and plain not in _NO_NAME:
            row.append(plain)
        elif row:
            yield " ".join(row)
            row = []


def _plain(word: str) -> str:
    return word.casefold().replace("’", "'").removesuffix("'s")


def _is_of(memory: Memory, subject: str) -> bool:
    """Whether a memory may speak of somebody. Who tells something of themselves need not say so: "moved to Lisbon"."""
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(memory.text[:CHARS])]
    plain = [word.removesuffix("'s") for word in words]
    _, of, kin = subject.partition("'s ")
    if of:
        return kin in plain
    if subject != speaker_key(memory.actor, memory.role):
        return bool(subject) and all(part in plain for part in subject.split())
    if not _SPEAKING.isdisjoint(words):
        return True
    others = any(mine in ("my", "our") and word in _KIN for mine, word in zip(words, plain[1:], strict=False))
    return not others and not (words and words[0].endswith("'s") and memory.text[:1].isupper())


_KIN = of_rules.RELATIONS - frozenset(
    "partner boss manager landlord landlady doctor dentist therapist lawyer accountant vet coach mentor pet dog cat "
    "puppy kitten horse rabbit parrot hamster".split()
)
