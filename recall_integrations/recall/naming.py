"""Later memories that name what is held: "we cancelled Ironworks" shares no word with "which gym do I go to?"."""

from __future__ import annotations

import numpy as np

from recall_integrations.facts.rules.notes.unread import is_telling
from recall_integrations.facts.timeline import PAST, Stretch
from recall_integrations.indexes.scope_view import Rows, ScopeView
from recall_integrations.text import stems
from recall_integrations.types.facts import RETRACTED

NAMING_MAX = 5  # of them, the latest
COMMON = 50  # memories that hold a stem; a value with such words only is named by too many


def last_told(view: ScopeView, stake: Stretch) -> int:
    """When a value was last said, or said to hold no longer, microseconds; `PAST` of what is known as past only."""
    if stake.start == PAST:
        return PAST
    by = (stake.ended_by,) if stake.ended == RETRACTED and stake.ended_by is not None else ()
    return int(view.at[view.rows_of((*stake.nums, *by))].max(initial=PAST))


def naming(view: ScopeView, stake: Stretch, until: int) -> Rows:
    """Rows that were told later than a value was, and hold all its words, the latest first; none of a common word.

    Args:
        view: of the scope; where its words are not in memory, there are none.
        stake: the value.
        until: time up to which what was told counts, microseconds.
    """
    none: Rows = np.empty(0, dtype=np.int64)
    if view.text is None or not is_telling(stake.value):
        return none
    held = [view.text.holding(stem)[0] for stem in dict.fromkeys(stems(stake.value))]
    if not held or min(map(len, held)) > COMMON:
        return none
    rows: Rows = held[0].astype(np.int64)
    for others in held[1:]:
        rows = rows[np.isin(rows, others)]
    rows = rows[(view.at[rows] > last_told(view, stake)) & (view.at[rows] <= until) & view.dated[rows]]
    return rows[np.lexsort((-rows, -view.at[rows]))][:NAMING_MAX]
