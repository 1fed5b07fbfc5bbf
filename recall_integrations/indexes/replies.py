"""Replies to short questions: turns that need the turns before them to say what they are about.

"Eleven, and I gave some away" answers "How many?", which asks about the tomatoes of the turn before that. All of it is
read from the existing columns: who speaks, what asks, how long it is, what comes before.
"""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.columns import Rows, TextColumns

SHORT = 6  # content words of a question that needs what was said before it; one of twice as many needs nothing
STEPS = 4  # turns that a reply may stand behind what it is about


def elliptic(columns: TextColumns, row: int) -> float:
    """Rate in [0, 1] how surely a row answers another's question that is too short to name its subject."""
    asking = columns.before.item(row)
    if not 0 <= asking < columns.size or not columns.questions.item(asking):
        return 0.0
    actor, other = columns.actors.item(row), columns.actors.item(asking)
    if actor < 0 or other < 0 or actor == other:
        return 0.0
    return min(max(2 - columns.lengths.item(asking) / SHORT, 0.0), 1.0)


def replies_after(columns: TextColumns, rows: Rows, known: Rows, limit: int) -> Rows:
    """Return replies to short questions two to `STEPS` turns after found rows, the nearest and best first.

    Row by row: of ten rows that is a fraction of what arrays cost.
    """
    after, size = columns.after.item, columns.size
    before, questions = columns.before.item, columns.questions.item
    actors, lengths = columns.actors.item, columns.lengths.item
    behind, replies = rows.tolist(), []
    for step in range(STEPS):
        behind = [row for row in map(after, behind) if 0 <= row < size]
        for row in behind if step else ():  # as `elliptic` > 0, without a call for each
            asking = before(row)
            if 0 <= asking < size and questions(asking) and lengths(asking) < 2 * SHORT:
                actor = actors(row)
                if actor >= 0 and 0 <= actors(asking) != actor:
                    replies.append(row)
    if not replies:
        return np.empty(0, dtype=np.int64)
    there = set(known.tolist())
    return np.asarray([row for row in dict.fromkeys(replies) if row not in there][:limit], dtype=np.int64)
