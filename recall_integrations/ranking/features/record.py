"""Features of a memory besides its text: links, age, importance."""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.times import to_micros
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.dates import DAY, is_dated
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match


def graph(match: Match) -> Values | None:
    """Return the score of the entity graph; `None` where it was not asked."""
    found = match.given.graph
    return found if found is None or np.isfinite(found).all() else np.nan_to_num(found)


def recency(match: Match) -> Values | None:
    """Compute recency, which halves with every half-life."""
    given = match.given
    if given.at is None or given.now is None:
        return None
    before = np.minimum(given.at.take(given.rows) - to_micros(given.now), 0) * (1 / (DAY * given.half_life_days))
    np.exp2(before, out=before)
    before *= is_dated(given)
    return before.astype(np.float32)


def importance(match: Match) -> Values | None:
    """Return the importance of the candidates as it was given."""
    return None if match.given.importance is None else match.given.importance.take(match.given.rows)


def age(match: Match) -> Values:
    """Return each candidate's place between the earliest and the latest time, 0 to 1; 0 where all are of one time."""
    size = len(match.rows)
    if match.given.at is None or not size:
        return np.zeros(size, dtype=np.float32)
    time = match.given.at[match.rows]
    halved: Values = ((time - time.min()) / max(float(time.max() - time.min()), 1.0)).astype(np.float32)
    return halved


RECORD = (
    Feature(
        name="graph",
        formula="score of the entity graph, 0 where it has none",
        of=graph,
        group="graph",
        weight={"always": 0.7},
        arm="graph",
        optional=True,
    ),
    Feature(
        name="recency",
        formula="2^(−age in days / half-life), 0 where no time is known",
        of=recency,
        group="recency",
        weight={"always": 0.02},
        label=Label("recent", ruled=True),
        optional=True,
    ),
    Feature(
        name="importance",
        formula="the memory's importance",
        of=importance,
        group="recency",
        weight={"always": 0.02},
        optional=True,
    ),
    Feature(
        name="age",
        formula="place of its time between the earliest and the latest candidate, 0 to 1",
        of=age,
        group="recency",
        detail=True,
    ),
)
