"""The meaning of a cross-encoder's score in words.

The bands were read off `cross-encoder/ms-marco-MiniLM-L-6-v2`, which gives logits:

    above -8            highly relevant
    -8 down to -10      relevant
    -10 down to -12     weak
    below -12           irrelevant

A bound belongs to the band above it, save that -8 itself is `relevant`. Another model has another scale: there the
bands say nothing, and none is given. A model that squeezes its logit through a sigmoid gives a probability; its logit
is `ln(p / (1 - p))`, so -8 is 0.00034.
"""

from __future__ import annotations

import math
from enum import Enum

LOGIT, PROBABILITY = "logit", "probability"
HIGHLY, RELEVANT_FROM, WEAK_FROM = -8.0, -10.0, -12.0
_MODEL = "ms-marco-minilm-l"  # the family shares its data, its loss and so its scale
_TINY = 1e-300


class Band(str, Enum):
    """Relevance of a text to the query, by a cross-encoder's score."""

    HIGHLY_RELEVANT = "highly relevant"
    RELEVANT = "relevant"
    WEAK = "weak"
    IRRELEVANT = "irrelevant"

    def __str__(self) -> str:
        return self.value


def band(score: float, scale: str = LOGIT) -> Band | None:
    """Return the band of a score; `None` on a scale that is neither `logit` nor `probability`."""
    if scale == PROBABILITY:
        score = math.log(max(score, _TINY)) - math.log(max(1.0 - score, _TINY))
    elif scale != LOGIT:
        return None
    if score > HIGHLY:
        return Band.HIGHLY_RELEVANT
    if score >= RELEVANT_FROM:
        return Band.RELEVANT
    return Band.WEAK if score >= WEAK_FROM else Band.IRRELEVANT


def has_bands(model: str) -> bool:
    """Say whether the bands were made for this cross-encoder, by its name or the name of its folder."""
    return _MODEL in model.casefold()
