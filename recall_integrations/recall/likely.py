"""What a query asks of a slot where neither rules nor facts say so: a model over its candidates decides; only the order
changes.

"Which digits would a courier need to reach me?" has no word of the slot, and "new sim since Monday: 555-0202" has no
shape that a rule reads, so no fact is kept of it. Beside the other candidates both can be told: `facts.latest` says how
likely each tells what is asked, of the person that is asked about, and which is likely the latest that does. That one
comes first: for now, for a time that is named, and, the one before it, for what was before. The reason says that it may
tell it. Nothing is kept of it, and no fact is changed by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import NOW, PREVIOUS, THEN, StateAsked
from recall_integrations.facts.deciding import Decided, Sought, guessed
from recall_integrations.facts.latest import Candidate, Question, evidence, latest_model
from recall_integrations.facts.latest.evidence import CHARS, FEATURES, POOL, Key, known_of, sentences
from recall_integrations.facts.latest.whom import asked_of, may_be_of
from recall_integrations.facts.reader import slot_reader
from recall_integrations.facts.subjects_of import USER, name_key, speaker_key
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.patterns import regex
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.amounts import asks_amount, tells_amount
from recall_integrations.recall.evident import mode_of, of_several, surely
from recall_integrations.recall.other_times import is_short, other_time
from recall_integrations.recall.previous import before
from recall_integrations.recall.state import RecallState
from recall_integrations.records import record
from recall_integrations.types import Memory
from recall_integrations.types.roles import Role

LATEST_MIN = 0.35  # share of asking for a state, times that of being the latest that tells it
# The same for one that holds some words of the query, and fewer than the first candidate: it may be another thing of
# the kind.
PARTLY_MIN = 0.45
# So much more where somebody else is asked about: of others much is asked and told that is no state (`talk`).
OTHERS_MORE = 0.15
# The same where a query asks for several ("what pets does Ana have?"): none of them takes the place of another.
SEVERAL_MIN = 0.75
# Where no candidate holds any word of the query, the one that tells it has to be as near as this by the pairing: else
# nothing that was found may be about it. Nothing is nearer in one scene of twenty.
NEAR_MIN = 0.25
COVERS_LESS = 0.05  # so much less of the words, by how rare they are, is less
READ = 0.5  # so much of what is missing from the first of them rules make up, where they read what is asked
SLOT_MIN = 0.5  # share of a slot from which a decision names it
# Share of asking for a state, times that of telling what was before. Of hands .65 were right first with .25 to .35, and
# .64 with .4.
BEFORE_MIN = 0.35
CONFIDENCE = 0.7  # that this is asked; a guess has less of it (`deciding.DOUBTED`)
MENTIONS, TELLS_LEAST = 0.5, 0.15  # of the words of the question, and of the slot, by the slot reader
NAMED = 0.5  # of the share of one that names nobody, where somebody is asked about
COVERS, TELLS, PAIRED = FEATURES.index("covers"), FEATURES.index("tells"), FEATURES.index("paired")
ANEW = FEATURES.index("supersedes")
NAMES, SPEAKS, OF_ANY = FEATURES.index("names_any"), FEATURES.index("speaks"), FEATURES.index("of_any")
_MODES = (NOW, THEN, PREVIOUS)
# Asks whether something is so, for a count of what was told, or for anything about something.
_OTHER = regex(
    r"\s*(?:(?:what|how)\s+about|anything|have|has|had|is|are|am|did|was|were|do(?!\s+you\s+(?:know|remember|have|recall))|does|"
    r"how\s+many\s+(?:times|minutes|hours|days|nights|weeks|months|years|more|(?:[\w-]+\s+){1,3}(?:between|until|before|left)|(?:[\w-]+\s+){1,3}(?:did|had|was|were|have\s+(?:i|we|you|they)|has)\b))\b",
    2,
)
_HAPPENED = regex(r"\b(?:what|which|who|whom)\b.*\bdid\b", 2)  # with a time: "what did we eat in March?"
_SEVERAL = regex(
    r"\b(?:kinds|types|sorts|genres)\sof\b|\b(?:kind|type|sort|genre)\sof\s(?:[\w’'-]+\s)?[\w-]{2,}[^s\Wuia]s\b|"
    r"\b(?:what|which)\s(?:are\s(?:the\s|all\s)?|"
    r"(?:(?!(?:do|does|did|are|is|am|has|have|had|was|were|can|will|would)\b)[\w’'-]+\s){0,2}?)"
    r"(?!(?:days|weekdays|hours|times|glasses|shoes|boots|trousers|terms|digits|minutes|months|weeks|news|settings|headphones|keys|evenings|mornings|afternoons|nights|meds|tablets|pronouns|species|series|canvas|lens|address)\b)"
    r"[\w-]{2,}[^s\Wuia]s\s(?:do|does|are|have|has|did|of|is|am|can)\b",
    2,
)
_NEWS = regex(
    r"\b(?:latest|newest|news|updates?)\s(?:on|about|from|of|with|regarding)\b", 2
)  # whatever is new, not a state


@record(frozen=True, slots=True, kw_only=True)
class Pool:
    """The first candidates, best first.

    Args:
        rows: of them.
        scores: of the search.
        memories: what they are.
        told: of what facts were read of each.
    """

    rows: tuple[int, ...]
    scores: tuple[float, ...]
    memories: tuple[Memory, ...]
    told: tuple[tuple[Key, ...], ...]

    def candidates(self, question: Question, view: ScopeView, held: Decided | None) -> list[Candidate]:
        """What is known of each, beside a question."""
        found = []
        for row, score, memory, told in zip(self.rows, self.scores, self.memories, self.told, strict=True):
            num, speaker = view.nums.item(row), speaker_key(memory.actor, memory.role)
            found.append(
                Candidate(
                    text=memory.text,
                    score=score,
                    of=tuple([may_be_of(memory.text[:CHARS], speaker, subject) for subject in question.subjects]),
                    speaker=speaker,
                    at=int(view.at[row]),
                    dated=bool(view.dated[row]),
                    told=told,
                    first=held is not None and num in held.first,
                    beneath=held is not None and num in held.beneath,
                )
            )
        return found

    def text_of(self, row: int) -> str:
        """What a row of it says."""
        return self.memories[self.rows.index(row)].text

    def tells_amount(self, row: int) -> bool:
        """Whether a row of it tells an amount."""
        return tells_amount(self.text_of(row)[:CHARS])

    def known(self) -> frozenset[str]:
        """Keys of people who are known: who says any of them, and of whom facts were read."""
        return known_of(
            [(speaker_key(one.actor, one.role), told) for one, told in zip(self.memories, self.told, strict=True)]
        )


@record(frozen=True, slots=True, kw_only=True)
class Telling:
    """What the model says of the first candidates.

    Args:
        rows: of them, best first.
        told: how likely each tells what is asked.
        latest: how likely each is the latest that does.
        covers: share of the words of the question that each holds.
        near: how well each answers the question, by the pairing.
        tells: logarithm of the share of the slot that is asked for, as the slot reader sees each.
        of: whether each names whom is asked about, or is said by them; all do where who asks is.
        may_be_of: whether each may speak of whom is asked about at all: "my sister's number" is none of mine.
        anew: how likely each tells anew what an earlier one told: a logit (`facts.latest.superseding`).
    """

    rows: Rows
    told: Sequence[float]
    latest: Sequence[float]
    covers: Sequence[float]
    near: Sequence[float]
    tells: Sequence[float]
    of: Sequence[bool]
    may_be_of: Sequence[bool]
    anew: Sequence[float]

    def best(self) -> tuple[int, float]:
        """The row that is likely the latest that tells it, and how likely; rather one that says of whom."""
        place = int(np.argmax(self.latest))
        mine = (p for p, of in enumerate(zip(self.of, self.may_be_of, strict=True)) if all(of))
        own = max(mine, key=lambda p: self.latest[p], default=place)
        if own == place or self.latest[own] < NAMED * self.latest[place]:
            return int(self.rows[place]), self.latest[place]
        return int(self.rows[own]), self.latest[own] + self.latest[place]

    def only_mentions(self, row: int) -> bool:
        """Whether a row holds words of the question and seems to tell nothing of the slot: "on the way to my gym"."""
        place: int = self.rows.tolist().index(row)
        return self.covers[place] >= MENTIONS and self.tells[place] < math.log(TELLS_LEAST)

    def may_be_about(self, row: int) -> bool:
        """Whether a row may be about what is asked: words of it were found, or it is near."""
        return max(self.covers) > 0 or self.near[self.rows.tolist().index(row)] >= NEAR_MIN

    def tells_anew(self, row: int, least: float) -> bool:
        """Whether a row likely tells anew what an earlier one told."""
        place: int = self.rows.tolist().index(row)
        return self.anew[place] >= least

    def is_of_others(self, row: int) -> bool:
        """Whether a row speaks of somebody else only."""
        return not self.may_be_of[self.rows.tolist().index(row)]

    def limit(self, row: int, first: int, *, own: bool) -> float:
        """The least share with which a row comes before the one that is first; see `limit_of`."""
        shares = dict(zip(self.rows.tolist(), self.covers, strict=True))
        return limit_of(shares[row], shares.get(first, 0.0), own=own)


def limit_of(covers: float, first: float, *, own: bool) -> float:
    """The least share with which a candidate comes first.

    Args:
        covers: share of the words of the question that it holds.
        first: the same of the first candidate.
        own: whether who asks asks of themselves.
    """
    least = PARTLY_MIN if COVERS_LESS < covers < first - COVERS_LESS else LATEST_MIN
    return least if own else least + OTHERS_MORE


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
    mode = _mode(state)
    if mode is None:
        return None
    read = state.sought is not None and surely(state.sought.asked, state)
    asks = latest_model().asks(text)
    sure = sure_of(asks, read)
    if sure < LATEST_MIN:
        return None
    pool = pool_of(state, fused, delivery)
    subjects = _subjects(state, pool)
    if not subjects:
        return None
    until = _until(state, mode)
    if mode == NOW and state.request.as_of is None and state.scope.at[fused.rows[0]] > until:
        return None  # what is found best is told later than now: that another is the latest, nobody can say
    slots = state.sought.asked.slots if state.sought is not None else ()
    question = Question(text=text, subjects=subjects, slots=slots, asks_state=asks)
    found = telling(question, state, pool, until)
    if found is None:
        return None
    row = _before(found, pool, state, sure) if mode == PREVIOUS else _now(found, pool, fused, subjects, text, sure)
    if row is None or not found.may_be_about(row):
        return None
    slot = _slot_of(text)
    sought = Sought(asked=StateAsked(slots=(slot,), mode=mode, confidence=CONFIDENCE), subjects=subjects, until=until)
    return guessed(sought, (subjects[0], slot), state.scope.nums.item(row))


def _now(found: Telling, pool: Pool, fused: Fused, subjects: tuple[str, ...], text: str, sure: float) -> int | None:
    """The latest that tells it; `None` = that is not sure enough."""
    row, share = found.best()
    least = SEVERAL_MIN if _SEVERAL.search(text) else found.limit(row, int(fused.rows[0]), own=USER in subjects)
    if sure * share < least:
        return None
    return None if asks_amount(text) and not pool.tells_amount(row) and pool.tells_amount(pool.rows[0]) else row


def _before(found: Telling, pool: Pool, state: RecallState, sure: float) -> int | None:
    """The one before it; `None` = there is none, or that is not sure enough."""
    rows: list[int] = found.rows.tolist()
    row = before(state.query.original, rows, [pool.text_of(one) for one in rows], found.told, state.scope)
    return None if row is None or sure * found.told[rows.index(row)] < BEFORE_MIN else row


def _slot_of(text: str) -> str:
    """The slot that a query asks for, if that is likelier than all others together; empty = of none that has a name."""
    reader = slot_reader()
    shares, _ = reader.asked(text)
    best = int(np.argmax(shares))
    return reader.slots[best] if shares[best] >= SLOT_MIN else ""


def sure_of(asks: float, read: bool) -> float:
    """Share of asking for a state.

    Args:
        asks: the same, by the model.
        read: whether rules read what is asked. They are seldom wrong, but "what pets does Ana have?" may ask for all.
    """
    return asks + READ * (1 - asks) if read else asks


def may_be_read(state: RecallState) -> bool:
    """Whether the model knows the language of a query, and nothing of the stage before it is missing."""
    return state.query.language in ("", "en") and not any(one.stage == "facts" for one in state.degraded)


def pool_of(state: RecallState, fused: Fused, delivery: Delivery) -> Pool:
    """The first candidates, and what they are.

    Args:
        state: of the recall.
        fused: the candidates, best first.
        delivery: fetches memories.
    """
    view, facts = state.scope, delivery.facts(state.scope)
    rows = fused.rows[:POOL]
    score_of = dict(zip(rows.tolist(), fused.scores[: len(rows)].tolist(), strict=True))
    found = delivery.memories(view, rows)
    return Pool(
        rows=tuple([row for row, _ in found]),
        scores=tuple([score_of[row] for row, _ in found]),
        memories=tuple([memory for _, memory in found]),
        told=tuple([tuple(facts.of_memory(view.nums.item(row))) if facts else () for row, _ in found]),
    )


def telling(
    question: Question, state: RecallState, pool: Pool, until: int, held: Decided | None = None
) -> Telling | None:
    """What the model says of the first candidates; `None` = there is none.

    Args:
        question: what is asked.
        state: of the recall.
        pool: the first candidates.
        until: time up to which what was told counts, microseconds.
        held: what the facts decide.
    """
    rows, shown = seen(question, state, pool, until, held)
    if not len(rows):
        return None
    told, latest = latest_model().telling(shown, state.scope.at[rows].tolist())
    covers, tells = shown[:, COVERS].tolist(), shown[:, TELLS].tolist()
    if USER in question.subjects:  # an answer to who asks repeats what they said, or guesses
        said = dict(zip(pool.rows, pool.memories, strict=True))
        answers = [said[row].role == Role.ASSISTANT for row in rows.tolist()]
        told, latest = np.where(answers, 0, told), np.where(answers, 0, latest)
    own = (shown[:, NAMES] > 0) | (shown[:, SPEAKS] > 0) | (USER in question.subjects)
    return Telling(
        rows=rows,
        told=told.tolist(),
        latest=latest.tolist(),
        covers=covers,
        near=shown[:, PAIRED].tolist(),
        tells=tells,
        of=own.tolist(),
        may_be_of=(shown[:, OF_ANY] > 0).tolist(),
        anew=shown[:, ANEW].tolist(),
    )


def seen(
    question: Question, state: RecallState, pool: Pool, until: int, held: Decided | None
) -> tuple[Rows, NDArray[np.float32]]:
    """Of the first candidates those that state anything and were told by then, and what speaks for each.

    Arguments are those of `telling`.
    """
    view, rows, own = state.scope, np.asarray(pool.rows, dtype=np.int64), counting(state, pool, until)
    if not own.any():
        return rows[own], np.empty((0, len(FEATURES)), dtype=np.float32)
    # The others are evidence, too.
    candidates = pool.candidates(question, view, held)
    return rows[own], evidence(question, candidates, slot_reader(), latest_model().comparing, own)[own]


def counting(state: RecallState, pool: Pool, until: int) -> NDArray[np.bool_]:
    """Which of the first candidates state anything and were told by then; arguments are those of `telling`."""
    view, rows = state.scope, np.asarray(pool.rows, dtype=np.int64)
    own = np.asarray([any(sentences(memory.text)) for memory in pool.memories], dtype=np.bool_)  # else it only asks
    return own & (view.at[rows] <= until) & view.dated[rows] if len(rows) else own


def _mode(state: RecallState) -> str | None:
    """What a query asks for, if it asks for a state, as far as can be told without the model; `None` = it does not."""
    text, window = state.query.original, other_time(state)
    mode = mode_of(text, windowed=window is not None, asks=True)
    if len(text.split()) < 2:  # a word alone asks nothing
        return None
    if mode not in _MODES or _NEWS.search(text) or (mode == THEN and _HAPPENED.search(text)):
        return None
    return None if window is not None and is_short(window) else mode


def _until(state: RecallState, mode: str) -> int:
    """Time up to which what was told counts, microseconds."""
    window, until = state.query.temporal_window, to_micros(state.request.as_of or state.request.now)
    if mode == THEN and window is not None and window.end is not None:
        until = min(until, to_micros(window.end))
    return until


def _subjects(state: RecallState, pool: Pool) -> tuple[str, ...]:
    """Keys of whom a query may be about: as a rule read it, else as its words look, else who asks; empty = of two."""
    sought = () if state.sought is None else state.sought.subjects
    if sought and (sought[0] == USER or sought[0] in pool.known()):
        return () if any(of_several(subject, state) for subject in sought) else sought
    users = tuple(map(name_key, state.scope.speakers(Role.USER)))
    mentions = [name_key(ref.mention) for ref in state.query.entity_refs if ref.mention]
    found = asked_of(state.query.original, mentions, users, pool.known())
    named = (*found, *(mention for mention in mentions if any(mention.endswith(name) for name in found if name)))
    if any(of_several(name, state) for name in (*sought, *named)):
        return ()
    return tuple(dict.fromkeys((*found, *sought))) or (USER, *users)
