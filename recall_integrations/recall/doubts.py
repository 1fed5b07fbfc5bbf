"""What is held true may be old: a later memory speaks of the same slot in words that no rule reads.

A fact is put first with confidence. Where a change is told in other words than the rules know, that is the old value.
So candidates are looked at that were told later and of which nothing was read: those that may tell another value of the
slot (`facts.rules.notes.unread`) come before what is held, and the reason says so. No other memory is looked at.
"""

from __future__ import annotations

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import NOW, THEN
from recall_integrations.facts.deciding import Decided, Sought, at_stake, doubted, guessed
from recall_integrations.facts.rules.notes.unread import may_tell
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.subjects_of import speaker_key
from recall_integrations.facts.timeline import PAST, Stretch
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.likely import told_shares
from recall_integrations.recall.state import RecallState
from recall_integrations.types.facts import RETRACTED

SURE = 0.25  # share of telling the slot, by the slot reader, from which a memory casts doubt
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
    told = _told(view, stake)
    rows = fused.rows[: max(POOL, 2 * state.request.k)]
    rows = rows[(view.at[rows] > told) & (view.at[rows] <= held.until) & view.dated[rows]]
    if not len(rows):
        return held
    untold = delivery.untold(view, rows)
    found = [
        row
        for row, memory in untold
        if may_tell(memory.text, subject, speaker_key(memory.actor, memory.role), slot, stake.value, slots)
    ]
    if state.query.language in ("", "en"):
        shares = told_shares(untold, (subject,), slot)
        found += [row for row, share in shares.items() if share >= SURE and row not in found]
    found.sort(key=lambda row: (-view.at[row], -row))
    return doubted(held, stake, view.nums[found].tolist()) if found else held


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


def _told(view: ScopeView, stake: Stretch) -> int:
    """When it was last said, or said to hold no longer, microseconds; `PAST` of what is known as past only."""
    if stake.start == PAST:
        return PAST
    by = (stake.ended_by,) if stake.ended == RETRACTED and stake.ended_by is not None else ()
    return int(view.at[view.rows_of((*stake.nums, *by))].max(initial=PAST))
