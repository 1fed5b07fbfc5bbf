"""What a query asks of a slot where neither rules nor facts say so: a model over its candidates decides; only the order
changes.

"Which digits would a courier need to reach me?" has no word of the slot, and "new sim since Monday: 555-0202" has no
shape that a rule reads, so no fact is kept of it. Beside the other candidates both can be told: `facts.latest` says how
likely each tells what is asked, of the person that is asked about, and which is likely the latest that does. That one
comes first: for now, for a time that is named, and, the one before it, for what was before. The reason says that it may
tell it. Nothing is kept of it, and no fact is changed by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import NOW, PREVIOUS, THEN, StateAsked
from recall_integrations.facts.deciding import Decided, Sought, guessed
from recall_integrations.facts.latest import Candidate, Question, evidence, latest_model
from recall_integrations.facts.latest.evidence import CHARS, FEATURES, sentences
from recall_integrations.facts.reader import slot_reader
from recall_integrations.facts.rules import words as of_rules
from recall_integrations.facts.rules.loose_words import ME
from recall_integrations.facts.subjects_of import USER, name_key, speaker_key
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.patterns import regex
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.evident import mode_of, of_several
from recall_integrations.recall.state import RecallState
from recall_integrations.records import record
from recall_integrations.types import Memory
from recall_integrations.types.roles import Role

POOL = 12  # candidates that are looked at: the model was taught on so many
ASKS_MIN = 0.8  # share of asking for a state
LATEST_MIN = 0.4  # share of being the latest that tells it
TELLS_MIN = 0.5  # share of telling it, where more than the latest is wanted
LASTS = timedelta(days=20)  # a shorter time that is named is asked for what happened in it
CONFIDENCE = 0.7  # that this is asked; a guess has less of it (`deciding.DOUBTED`)
_MODES = (NOW, THEN, PREVIOUS)
_WORD = regex(r"[^\W_]+(?:['’][^\W_]+)*", 2)
# Asks whether something is so, or for a count of what was told.
_OTHER = regex(
    r"\s*(?:have|has|had|is|are|am|did|was|were|do(?!\s+you\s+(?:know|remember|have|recall))|does|how\s+many)\b", 2
)
_HAPPENED = regex(r"\b(?:what|which|who|whom)\b.*\bdid\b", 2)  # with a time: "what did we eat in March?"
_NEWS = regex(
    r"\b(?:latest|newest|news|updates?)\s(?:on|about|from|of|with|regarding)\b", 2
)  # whatever is new, not a state
_SPEAKING = frozenset("i i'm i've i'd i'll im ive we we're we've me us".split())
_NO_NAME = ME.union(
    _SPEAKING,
    "january february march april may june july august september october november december jan feb mar apr jun jul aug "
    "sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday christmas easter".split(),
)


@record(frozen=True, slots=True, kw_only=True)
class Telling:
    """What the model says of the first candidates.

    Args:
        rows: of them, best first.
        told: how likely each tells what is asked.
        latest: how likely each is the latest that does.
    """

    rows: Rows
    told: Sequence[float]
    latest: Sequence[float]

    def best(self) -> tuple[int, float]:
        """The row that is likely the latest that tells it, and how likely."""
        place = int(np.argmax(self.latest))
        return int(self.rows[place]), self.latest[place]


def likely(state: RecallState, fused: Fused, delivery: Delivery) -> Decided | None:
    """What the model would put first; `None` = nothing.

    Args:
        state: of the recall, which no fact decides.
        fused: the candidates, best first.
        delivery: fetches memories.
    """
    text = state.query.original
    if state.asked is not None or len(fused.rows) < 2 or _OTHER.match(text) or not may_be_read(state):
        return None
    sought = _sought(state)
    if sought is None:
        return None
    asks = latest_model().asks(text)
    if state.sought is None and asks < ASKS_MIN:  # rules that read what is asked are seldom wrong
        return None
    asked = state.sought.asked.slots if state.sought is not None else ()
    question = Question(text=text, subjects=sought.subjects, slots=asked, asks_state=asks)
    found = telling(question, state, fused, delivery, sought.until)
    if found is None:
        return None
    row, share = found.best()
    if share < LATEST_MIN:
        return None
    if sought.asked.mode == PREVIOUS:
        before = _before(found, state.scope)
        if before is None:
            return None
        row = before
    return guessed(sought, (sought.subjects[0], sought.asked.slots[0]), state.scope.nums.item(row))


def may_be_read(state: RecallState) -> bool:
    """Whether the model knows the language of a query, and nothing of the stage before it is missing."""
    return state.query.language in ("", "en") and not any(one.stage == "facts" for one in state.degraded)


def telling(
    question: Question,
    state: RecallState,
    fused: Fused,
    delivery: Delivery,
    until: int,
    held: Decided | None = None,
) -> Telling | None:
    """What the model says of the first candidates; `None` = there is none.

    Args:
        question: what is asked.
        state: of the recall.
        fused: the candidates, best first.
        delivery: fetches memories.
        until: time up to which what was told counts, microseconds.
        held: what the facts decide.
    """
    rows, shown = seen(question, state, fused, delivery, until, held)
    if not len(rows):
        return None
    told, latest = latest_model().telling(shown, state.scope.at[rows].tolist())
    return Telling(rows=rows, told=told.tolist(), latest=latest.tolist())


def seen(
    question: Question, state: RecallState, fused: Fused, delivery: Delivery, until: int, held: Decided | None
) -> tuple[Rows, NDArray[np.float32]]:
    """Of the first candidates those that state anything and were told by then, and what speaks for each.

    Arguments are those of `telling`.
    """
    view, facts = state.scope, delivery.facts(state.scope)
    rows = fused.rows[:POOL]
    score_of = dict(zip(rows.tolist(), fused.scores[: len(rows)].tolist(), strict=True))
    counts = dict(zip(rows.tolist(), ((view.at[rows] <= until) & view.dated[rows]).tolist(), strict=True))
    found, candidates, states = [], [], set()
    for row, memory in delivery.memories(view, rows):
        num = view.nums.item(row)
        found.append(row)
        if counts[row] and any(sentences(memory.text)):  # who only asks tells nothing
            states.add(row)
        candidates.append(
            Candidate(
                text=memory.text,
                score=score_of[row],
                of=tuple([_is_of(memory, subject) for subject in question.subjects]),
                speaker=speaker_key(memory.actor, memory.role),
                told=tuple(facts.of_memory(num)) if facts else (),
                first=held is not None and num in held.first,
                beneath=held is not None and num in held.beneath,
            )
        )
    own = [place for place, row in enumerate(found) if row in states]
    kept = np.asarray([found[place] for place in own], dtype=np.int64)
    if not own:
        return kept, np.empty((0, len(FEATURES)), dtype=np.float32)
    return kept, evidence(question, candidates, slot_reader())[own]  # the others are evidence, too


def _before(found: Telling, view: ScopeView) -> int | None:
    """The newest that tells it, without the latest; `None` = nothing else tells it."""
    told = [row for row, share in zip(found.rows.tolist(), found.told, strict=True) if share >= TELLS_MIN]
    return next(iter(sorted(told, key=lambda row: (-view.at[row], -row))[1:]), None)


def _sought(state: RecallState) -> Sought | None:
    """Of whom and for when a query may ask; `None` = for no state, as far as can be told without the model."""
    text, window = state.query.original, state.query.temporal_window
    mode = mode_of(text, windowed=window is not None, asks=True)
    if mode not in _MODES or _NEWS.search(text) or (mode == THEN and _HAPPENED.search(text)):
        return None
    if window is not None and window.start is not None and window.end is not None and window.end - window.start < LASTS:
        return None
    subjects = _subjects(state, text)
    if not subjects or any(of_several(subject, state) for subject in subjects):
        return None
    until = to_micros(state.request.as_of or state.request.now)
    if mode == THEN and window is not None and window.end is not None:
        until = min(until, to_micros(window.end))
    shares, _ = slot_reader().asked(text)
    slot = slot_reader().slots[int(np.argmax(shares))]
    return Sought(asked=StateAsked(slots=(slot,), mode=mode, confidence=CONFIDENCE), subjects=subjects, until=until)


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
