"""Replies to short questions: turns that say what they are about only together with what was said before them.

"Eleven, and I gave some away" answers "How many?", which asks about the tomatoes of the turn before that. All of it is
read from the columns that there are anyway: who speaks, what asks, how long it is, what comes before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows, TextColumns

SHORT = 6  # content words of a question that needs what was said before it; one of twice as many needs nothing
STEPS = 4  # turns that a reply may stand behind what it is about


def elliptic(columns: TextColumns, rows: Rows) -> NDArray[np.float32]:
    """How surely each of some rows answers another's question that is too short to say what it is about, in [0, 1]."""
    before = columns.previous(rows)
    found = np.zeros(len(rows), dtype=np.float32)
    there = (before >= 0).nonzero()[0]
    if not len(there):
        return found
    asking, actors = before[there], columns.actors[rows[there]]
    other = columns.actors[asking]
    answers = columns.questions[asking] & (actors >= 0) & (other >= 0) & (actors != other)
    found[there] = answers * np.clip(2 - columns.lengths[asking] / np.float32(SHORT), 0, 1)
    return found


def replies_after(columns: TextColumns, rows: Rows, known: Rows, limit: int) -> Rows:
    """Replies to short questions that stand two to `STEPS` turns behind what was found, the best and nearest first.

    Args:
        columns: the scope.
        rows: what was found, best first.
        known: rows that are not looked for.
        limit: replies at most.
    """
    behind = columns.following(rows)
    steps = []
    for _ in range(1, STEPS):
        behind = columns.following(behind)
        steps.append(behind)
    flat = np.concatenate(steps)
    flat = flat[flat >= 0]
    if not len(flat):
        return flat
    replies = flat[elliptic(columns, flat) > 0].tolist()
    if not replies:
        return flat[:0]
    there = set(known.tolist())
    return np.asarray([row for row in dict.fromkeys(replies) if row not in there][:limit], dtype=np.int64)
