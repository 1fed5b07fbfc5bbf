"""The decision whether a rerank is worth its time, and what a cross-encoder's scores mean in words.

The gate asks, in this order: does the plan want it, are there enough candidates, is the reranker working and loaded,
could it change the answer, does it fit into the time. The first *no* decides and is the reason code.

**Could it change the answer?** (`skip.certain`) Let `p_1 ≥ … ≥ p_n` be the calibrated scores (probabilities of
relevance) and `d_i = 1 / log2(i + 1)` the weight of place i (that of nDCG), 0 beyond k. What is expected now is
`Σ d_i · p_i`. A perfect reranker puts the R relevant candidates first and reaches `F(R) = d_1 + … + d_R`. F is concave,
so by Jensen's inequality, however the candidates depend on each other, `E[F(R)] ≤ F(Σ p_i)` with F interpolated. The
difference, the regret, is the most that any reranker can add, in hits at the first place. The rerank is skipped if it
is at most `regret_max`; not where a threshold on the reranker's scores may drop hits however sure the order is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.resilience.guard import Estimate

MIN_K = 3  # fewer candidates than this are not worth a rerank
Calibrated = NDArray[np.floating]


@record(frozen=True, slots=True, kw_only=True)
class GateInput:
    """Input of the gate."""

    allowed: bool  # whether the plan lets the cross-encoder run
    calibrated: Calibrated  # scores of the candidates for the reranker, falling, in [0, 1]
    k: int  # number of hits wanted
    open_breaker: bool = False  # whether the reranker failed so often lately that it is off
    ready: bool = True  # whether its model is loaded
    trims: bool = False  # whether a threshold on its scores may drop hits
    estimate: Estimate | None = None  # of the time of this rerank; `None` = unknown, or not asked for yet
    remaining_ms: float = math.inf  # time left for the whole recall
    probe: bool = False  # run even if it was slow, to see whether it still is


def should_rerank(given: GateInput, least: float, budget_ms: float) -> tuple[bool, str]:
    """Decide whether to rerank, and return the reason code: `run`, or why not (`RerankOutcome.reason`).

    `least` is `rerank.regret_max`, `budget_ms` the longest wait for the reranker.
    """
    if not given.allowed:
        return False, "skip.plan"
    if len(given.calibrated) < MIN_K:
        return False, "skip.few"
    if given.open_breaker:
        return False, "skip.breaker"
    if not given.ready:
        return False, "skip.cold"
    if not given.trims and regret_max(given.calibrated, given.k) <= least:
        return False, "skip.certain"
    if given.remaining_ms <= 0:
        return False, "skip.budget"
    if given.estimate is not None and not given.probe:
        if given.estimate.median_ms > given.remaining_ms:
            return False, "skip.budget"
        if given.estimate.p95_ms > budget_ms:
            return False, "skip.slow"
    return True, "run"


def regret_max(calibrated: Calibrated, k: int) -> float:
    """Return the most that a perfect reranker could add, in hits at the first place; see the module."""
    p = np.asarray(calibrated, dtype=np.float64)
    k = min(k, len(p))
    weights = 1 / np.log2(np.arange(2, k + 2))
    relevant = float(p.sum())
    perfect = float(np.interp(relevant, np.arange(k + 1), np.concatenate([[0.0], np.cumsum(weights)])))
    return max(0.0, perfect - float(weights @ p[:k]))


# About what 512 tokens hold: what a cross-encoder does not read costs nothing. And the fixed cost of a pair.
PAIR_CHARS_MAX, PAIR_CHARS = 2_000, 64


def work_of(query: str, texts: Sequence[str]) -> float:
    """Return the size of a rerank, about proportional to its time: `Σ min(|query| + |text|, 2000) + 64` characters."""
    return float(sum(min(len(query) + len(text), PAIR_CHARS_MAX) + PAIR_CHARS for text in texts))


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
