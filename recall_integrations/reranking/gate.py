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
import threading
from collections import deque
from collections.abc import Sequence
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.resilience.pace import Estimate

RISK = 0.05
Calibrated = NDArray[np.floating]


@record(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """Settings of the gate; `RerankConfig` has the ranges."""

    min_k: int = 3  # fewer candidates than this are not worth a rerank
    regret_max: float = 0.02  # see above; 0 skips only where nothing at all could be added
    risk: float = RISK  # see above, in [0, 1); 0 = no stability test
    budget_ms: float = 1_000.0  # longest wait for the reranker
    skip_when_slow: bool = True  # whether it is off while the 95th percentile of its recent runs is beyond `budget_ms`


@record(frozen=True, slots=True, kw_only=True)
class GateInput:
    """Input of the gate."""

    allowed: bool  # whether the plan lets the cross-encoder run
    calibrated: Calibrated  # scores of the candidates for the reranker, falling, in [0, 1]
    k: int  # number of hits wanted
    open_breaker: bool = False  # whether the reranker failed so often lately that it is off
    ready: bool = True  # whether its model is loaded
    movement: float = math.inf  # the q of the stability test; `inf` = not enough was seen yet
    trims: bool = False  # whether a threshold on its scores may drop hits
    estimate: Estimate | None = None  # of the time of this rerank; `None` = unknown, or not asked for yet
    remaining_ms: float = math.inf  # time left for the whole recall
    audit: bool = False  # run even if certain, so that movements are also seen where the gate would not let it run
    probe: bool = False  # run even if it was slow, to see whether it still is


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
    """Return the largest gap that a candidate overcame in a rerank that changed the answer; 0 if none did."""
    p = np.asarray(calibrated, dtype=np.float64)
    n = len(p)
    k = min(k, n)
    place = np.empty(n, dtype=np.int64)
    place[np.asarray(order)] = np.arange(n)
    overtaken = np.triu(place[:k, None] > place[None, :], 1)
    return float((p[:k, None] - p[None, :])[overtaken].max()) if overtaken.any() else 0.0


MOVEMENTS = 400  # observed movements that the stability test goes by
AUDIT_EVERY = 5  # of the recalls that might be skipped as stable; these are reranked in any case
# About what 512 tokens hold: what a cross-encoder does not read costs nothing. And the fixed cost of a pair.
PAIR_CHARS_MAX, PAIR_CHARS = 2_000, 64


def work_of(query: str, texts: Sequence[str]) -> float:
    """Return the size of a rerank, about proportional to its time: `Σ min(|query| + |text|, 2000) + 64` characters."""
    return float(sum(min(len(query) + len(text), PAIR_CHARS_MAX) + PAIR_CHARS for text in texts))


class MovementHistory:
    """Movements of candidates in reranks, and their quantile for the stability test (`gate`).

    Skipped reranks cannot be observed, and observing only the others would bias the quantile. So every fifth
    recall is audited, that is reranked whatever the tests say, and only these are observed.
    """

    def __init__(self, risk: float) -> None:
        self._risk = risk
        self._lock = threading.Lock()
        self._seen: deque[float] = deque(maxlen=MOVEMENTS)
        self._asked = 0

    def audit(self) -> bool:
        """Say whether the next recall is audited. Call it once for each recall that gets as far as the tests."""
        if self._risk == 0:
            return False
        with self._lock:
            self._asked += 1
            return self._asked % AUDIT_EVERY == 1

    def record(self, moved: float) -> None:
        """Note the movement of an audited rerank."""
        with self._lock:
            self._seen.append(moved)

    def quantile(self) -> float:
        """Return the `ceil((m + 1)(1 - risk))`-th smallest of m movements; `inf` while m is too small for the risk."""
        with self._lock:
            seen = sorted(self._seen)
        rank = math.ceil((len(seen) + 1) * (1 - self._risk) - 1e-9)
        return seen[rank - 1] if self._risk > 0 and 0 < rank <= len(seen) else math.inf


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
