"""Features of the store's embedding."""

from __future__ import annotations

import math

import numpy as np

from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.feature import Feature
from recall_integrations.ranking.features.match import Match


def cosine_w1(match: Match) -> Values:
    """Average the cosines of a text and its neighbours at ±1, which say what it is about."""
    at = match.at
    mean: Values = np.add.reduce(match.cosines[at[:3]]) / (1 + np.add.reduce(at[1:3] < len(match.pool)))
    return mean


def cosine_w2(match: Match) -> Values:
    """Average the cosines of a text and its neighbours at ±2."""
    mean: Values = match.cosines[match.at].sum(0) / np.maximum(match.there.sum(0), 1)
    return mean


VECTORS = (
    Feature(
        name="cosine",
        formula="cosine of the query with the text, by the store's embedding",
        of=lambda match: match.cosines[: len(match.rows)],
        group="vector",
        weight={"always": 0.3, "notes": 0.8, "untold": 0.5, "long": -0.7, "documents": 0.5},
        floor=0.05,
        arm="semantic",
        linear=True,
        rising=True,
        worth_max=math.inf,
    ),
    Feature(
        name="cosine_w1",
        formula="mean of the cosine over the text and its neighbours at ±1",
        of=cosine_w1,
        group="vector",
        weight={"always": 0.4},
        floor=0.04,
        arm="semantic",
        linear=True,
        rising=True,
        worth_max=1.0,
    ),
    Feature(
        name="cosine_before",
        formula="cosine of the text before, 0 = none",
        of=lambda match: match.cosines[match.at[1]],
        group="vector",
        detail=True,
    ),
    Feature(
        name="cosine_after",
        formula="cosine of the text after, 0 = none",
        of=lambda match: match.cosines[match.at[2]],
        group="vector",
        detail=True,
    ),
    Feature(
        name="cosine_w2",
        formula="mean of the cosine over the text and its neighbours at ±2",
        of=cosine_w2,
        group="vector",
        detail=True,
    ),
)
