"""The decision whether a rerank is worth its time: a pure function of what is known before it runs.

`should_rerank` asks, in this order: does the plan want it, are there enough candidates, is the reranker working and
loaded, could it change the answer, does it fit into the time. The first *no* decides and is the reason code.

**Could it change the answer?** Two tests on the calibrated scores `p_1 ≥ … ≥ p_n` (probabilities of relevance) of the
candidates. The answer is the order of the first k. The weight of place i is `d_i = 1 / log2(i + 1)` (that of nDCG), and
0 beyond k.

1. *Regret* (`skip.certain`). What is expected now is `Σ d_i · p_i`. A perfect reranker puts the R relevant candidates
   first and reaches `F(R) = d_1 + … + d_R`. F is concave, so by Jensen's inequality, however the candidates depend on
   each other, `E[F(R)] ≤ F(Σ p_i)` with F interpolated. The difference is the most that any reranker can add, in hits
   at the first place. The rerank is skipped if it is at most `regret_max`.

2. *Stability* (`skip.stable`). How far did this reranker move candidates so far? The movement of a recall is the
   largest gap `p_i - p_j` that a lower candidate j overcame such that the answer changed (0 = unchanged). The margin of
   a recall is the least gap that has to be overcome, `min_{i≤k} (p_i - p_{i+1})`. If the answer changes, movement ≥
   margin. Let q be the `ceil((m + 1)(1 - risk))`-th smallest of m observed movements: by split
   conformal prediction (Vovk, Gammerman and Shafer 2005) a new movement exceeds q with probability at most `risk`, as
   long as recalls are exchangeable. The rerank is skipped if the margin exceeds q, so at most the share `risk` of all
   recalls is skipped and would have changed: on average, not for each kind of query.

Both lean on calibrated scores: where these are wrong by a constant factor, so is the regret; the stability test needs
nothing but the same scale from recall to recall. A threshold on the reranker's scores may drop hits however sure
the order is, so with one neither test is made.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.resilience.guard import Estimate

RISK = 0.05
Calibrated = NDArray[np.floating]


@record(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """Settings of the gate; `RerankConfig` has the ranges.

    Args:
        min_k: fewer candidates than this are not worth a rerank.
        regret_max: see above; 0 skips only where nothing at all could be added.
        risk: see above, in [0, 1); 0 = no stability test.
        budget_ms: longest wait for the reranker.
        skip_when_slow: whether it is off while the 95th percentile of its recent runs is beyond `budget_ms`.
    """

    min_k: int = 3
    regret_max: float = 0.02
    risk: float = RISK
    budget_ms: float = 1_000.0
    skip_when_slow: bool = True


@record(frozen=True, slots=True, kw_only=True)
class GateInput:
    """Input of the gate.

    Args:
        allowed: whether the plan lets the cross-encoder run.
        calibrated: scores of the candidates for the reranker, falling, in [0, 1].
        k: number of hits wanted.
        open_breaker: whether the reranker failed so often lately that it is off.
        ready: whether its model is loaded.
        movement: the q of the stability test; `inf` = not enough was seen yet.
        trims: whether a threshold on its scores may drop hits.
        estimate: of the time of this rerank; `None` = unknown, or not asked for yet.
        remaining_ms: time left for the whole recall.
        audit: run even if certain, so that movements are also seen where the gate would not let it run.
        probe: run even if it was slow, to see whether it still is.
    """

    allowed: bool
    calibrated: Calibrated
    k: int
    open_breaker: bool = False
    ready: bool = True
    movement: float = math.inf
    trims: bool = False
    estimate: Estimate | None = None
    remaining_ms: float = math.inf
    audit: bool = False
    probe: bool = False


def should_rerank(given: GateInput, settings: GateSettings) -> tuple[bool, str]:
    """Decide whether to rerank, and return the reason code: `run`, or why not (`RerankOutcome.reason`)."""
    if not given.allowed:
        return False, "skip.plan"
    if len(given.calibrated) < max(2, settings.min_k):
        return False, "skip.few"
    if given.open_breaker:
        return False, "skip.breaker"
    if not given.ready:
        return False, "skip.cold"
    if not given.trims and not given.audit:
        if regret_max(given.calibrated, given.k) <= settings.regret_max:
            return False, "skip.certain"
        if settings.risk > 0 and margin(given.calibrated, given.k) > given.movement:
            return False, "skip.stable"
    if given.remaining_ms <= 0:
        return False, "skip.budget"
    if given.estimate is not None and not given.probe:
        if given.estimate.median_ms > given.remaining_ms:
            return False, "skip.budget"
        if settings.skip_when_slow and given.estimate.p95_ms > settings.budget_ms:
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


def margin(calibrated: Calibrated, k: int) -> float:
    """Return the least gap that a candidate has to overcome to change the answer; `inf` if nothing can."""
    p = np.asarray(calibrated, dtype=np.float64)
    gaps = (p[:-1] - p[1:])[: min(k, len(p))]
    return float(gaps.min()) if len(gaps) else math.inf


def movement(calibrated: Calibrated, order: NDArray[np.integer], k: int) -> float:
    """Return the largest gap that a candidate overcame in a rerank such that the answer changed; 0 if it is the same.

    Args:
        calibrated: scores before, falling.
        order: places before, in the order after.
        k: number of hits wanted.
    """
    p = np.asarray(calibrated, dtype=np.float64)
    n = len(p)
    k = min(k, n)
    place = np.empty(n, dtype=np.int64)
    place[np.asarray(order)] = np.arange(n)
    overtaken = np.triu(place[:k, None] > place[None, :], 1)
    return float((p[:k, None] - p[None, :])[overtaken].max()) if overtaken.any() else 0.0
