"""What is held true may be old: a later memory speaks of the same slot in words that no rule reads.

A fact is put first with confidence. Where a change is told in other words than the rules know, that is the old value.
So candidates are looked at that were told later: those of which nothing was read of it and that may tell another
value of the slot (`facts.rules.notes.unread`), and the one that a model over all candidates takes for the latest that
tells it (`recall.likely`). They come before what is held, and the reason says so.
"""

from __future__ import annotations

import numpy as np

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import NOW, THEN
from recall_integrations.facts.deciding import Decided, Sought, at_stake, doubted, guessed
from recall_integrations.facts.latest import Question, latest_model
from recall_integrations.facts.rules.notes.unread import denies, may_tell
from recall_integrations.facts.slots import Slot, Slots
from recall_integrations.facts.subjects_of import USER, name_key, speaker_key
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.patterns import regex
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.likely import may_be_read, pool_of, sure_of, telling
from recall_integrations.recall.naming import last_told, naming
from recall_integrations.recall.state import RecallState
from recall_integrations.types import Memory
from recall_integrations.types.roles import Role

# Share of being the latest that tells the slot, by the model, from which a memory casts doubt on what was read exactly,
# and on what was read loosely. Of hands that the model had not been taught from, mostly read loosely, .83 were right
# first with .6, and .84 with .4. What was read exactly is seldom old, and much is told later of the same person.
SURE, SURE_OF_LOOSE = 0.65, 0.4
ASKED = 0.3  # the same share, times that of asking for a state
EXACT = 0.7  # confidence of what was read exactly
ANEW = 1.0  # that a memory tells anew what an earlier one told, for what was read exactly: a logit, .73 as a share
# Up to a time to come: it holds now.
_TILL = regex(r"\b(?:un)?till?\b|\bthrough\b|\b(?:ends|expires|runs\sout)\b", 2)
POOL = 10  # candidates that are looked at, at least; else twice as many as are wanted


def with_doubts(held: Decided, state: RecallState, fused: Fused, delivery: Delivery, slots: Slots) -> Decided:
    """What decides, with what casts doubt on it.

    Args:
        held: what decides by the facts.
        state: of the recall.
        fused: the candidates, best first.
        delivery: fetches memories.
        slots: the schema.
    """
    view, (subject, slot), stake = state.scope, held.key, at_stake(held)
    if stake is None or not slots.one(slot):
        return held
    told = last_told(view, stake)
    rows = fused.rows[: max(POOL, 2 * state.request.k)]
    named = naming(view, stake, held.until)
    rows = np.concatenate([rows, named[np.isin(named, fused.rows) & ~np.isin(named, rows)]])
    rows = rows[(view.at[rows] > told) & (view.at[rows] <= held.until) & view.dated[rows]]
    if not len(rows):
        return held
    found = [
        row
        for row, memory, read in _of_other_slots(slot, view, rows, delivery)
        if may_tell(memory.text, subject, speaker_key(memory.actor, memory.role), slot, stake.value, slots, read=read)
    ]
    exact = stake.confidence >= EXACT
    found += [row for row in _latest(held, state, fused, delivery, rows, exact) if row not in found]
    found = _told_by(held.until, found, slots.get(slot), view, delivery)
    found.sort(key=lambda row: (-view.at[row], -row))
    return doubted(held, stake, view.nums[found].tolist()) if found else held


def _of_other_slots(slot: str, view: ScopeView, rows: Rows, delivery: Delivery) -> list[tuple[int, Memory, bool]]:
    """Of some rows those of which nothing was read of a slot, with their memories, and whether something else was."""
    facts = delivery.facts(view)
    if not facts:
        return []
    told = {row: {known for _, known in facts.of_memory(int(view.nums[row]))} for row in rows.tolist()}
    rest = [row for row, known in told.items() if slot not in known]
    return [(row, memory, bool(told[row])) for row, memory in delivery.memories(view, np.asarray(rest, dtype=np.int64))]


def _told_by(until: int, found: list[int], slot: Slot | None, view: ScopeView, delivery: Delivery) -> list[int]:
    """Rows without those that tell of a time to come: "next year I move to Lisbon" is no home yet.

    Of a slot that the schema lacks, and of dates, all are left: "the gate for next week's flight is B12" holds now.
    """
    if not found or slot is None or slot.kind == "date":
        return found
    later = [row for row, (start, _) in view.told.of_rows(sorted(found)).items() if start > until]
    told = delivery.memories(view, np.asarray(later, dtype=np.int64))
    to_come = {row for row, memory in told if not _TILL.search(memory.text)}
    return [row for row in found if row not in to_come]


def _latest(held: Decided, state: RecallState, fused: Fused, delivery: Delivery, later: Rows, exact: bool) -> list[int]:
    """The one of the later candidates that the model takes for the latest that tells the slot; empty = none."""
    if not may_be_read(state):
        return []
    (subject, slot), text = held.key, state.query.original
    users = tuple(map(name_key, state.scope.speakers(Role.USER))) if subject == USER else ()
    asks = latest_model().asks(text)
    question = Question(text=text, subjects=(subject, *users), slots=(slot,), asks_state=asks, held=True)
    pool = pool_of(state, fused, delivery)
    found = telling(question, state, pool, held.until, held)
    if found is None:
        return []
    row, share = found.best()
    known = state.scope.nums.item(row) in held.first or state.scope.nums.item(row) in held.beneath
    sure = share >= (SURE if exact else SURE_OF_LOOSE) and sure_of(asks, read=True) * share >= ASKED
    sure = sure and (not exact or found.tells_anew(row, ANEW))
    sure = sure and not found.only_mentions(row) and not found.is_of_others(row)
    sure = sure and not denies(pool.text_of(row))
    return [row] if sure and not known and row in later.tolist() else []


def latest_that_may_tell(
    sought: Sought, state: RecallState, fused: Fused, delivery: Delivery, slots: Slots
) -> Decided | None:
    """What decides where a slot is asked for of which nothing was read; `None` = no candidate seems to tell it.

    Args:
        sought: what is asked for.
        state: of the recall.
        fused: the candidates, best first.
        delivery: fetches memories.
        slots: the schema.
    """
    if sought.asked.mode not in (NOW, THEN):
        return None
    view = state.scope
    rows = fused.rows[: max(POOL, 2 * state.request.k)]
    rows = rows[(view.at[rows] <= sought.until) & view.dated[rows]]
    untold = delivery.untold(view, rows) if len(rows) else []
    untold.sort(key=lambda pair: (-view.at[pair[0]], -pair[0]))
    for slot in filter(slots.one, sought.asked.slots):
        for subject in sought.subjects:
            for row, memory in untold:
                if may_tell(memory.text, subject, speaker_key(memory.actor, memory.role), slot, "", slots):
                    return guessed(sought, (subject, slot), view.nums.item(row))
    return None
