"""A reranker's order and the scores that hits carry.

A reranker's scores are on a scale of its own: logits, cosines, places. Only their order is used. The calibrated
scores that the candidates had are shared out anew in that order, so a rerank changes who comes first and never what a
score means: the best hit scores as much after it as before, and `confidence` and thresholds on scores stay as they are.

With `r_i` = the calibrated score that candidate i would get by the reranker's order alone (quantile matching), the
order is that of

    b_i = (1 - weight) · logit(p_i) + weight · logit(r_i)

and the calibrated scores are shared out in the order of b. Weight 1 is the reranker's order, weight 0 the one before.
The right weight depends on the quality of the reranker: learn it from labelled queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument

_EDGE = 1e-6  # keeps logits finite; scores nearer to 0 or 1 count as equal


def blend(
    calibrated: NDArray[np.floating],
    scores: Sequence[float | None],
    weight: float = 1.0,
    unscored: AbstractSet[int] = frozenset(),
) -> NDArray[np.int64]:
    """Return the new order of candidates: places before, best first. The i-th keeps the i-th calibrated score.

    Args:
        calibrated: scores before the rerank, falling, in [0, 1], shape `(n,)`.
        scores: the reranker's, higher is better; `None` = it dropped the candidate, which counts as worst.
        weight: the reranker's share in [0, 1]. With 1 the order is monotone in its scores.
        unscored: places that the reranker had no time for: they stay, the others change among themselves.

    Ties go to the candidate that came first.

    Raises:
        InvalidArgument: the shapes do not fit, or the weight is outside [0, 1].
    """
    n = len(calibrated)
    if len(scores) != n:
        raise InvalidArgument(f"There are {len(scores)} scores for {n} candidates; there must be one for each.")
    if not 0 <= weight <= 1:
        raise InvalidArgument(f"The weight of the reranker must be in [0, 1], not {weight!r}.")
    order = np.arange(n, dtype=np.int64)
    places = np.asarray([i for i in range(n) if i not in unscored], dtype=np.int64)
    if weight == 0 or len(places) < 2:
        return order
    given = np.asarray([_value(scores[i]) for i in places])
    by_reranker = np.lexsort((places, -given))
    before = np.clip(np.asarray(calibrated, dtype=np.float64)[places], _EDGE, 1 - _EDGE)
    logits = np.log(before) - np.log1p(-before)
    matched = np.empty_like(logits)
    matched[by_reranker] = np.sort(logits)[::-1]
    rank = np.empty(len(places), dtype=np.int64)
    rank[by_reranker] = np.arange(len(places))
    blended = matched if weight == 1 else (1 - weight) * logits + weight * matched
    order[places] = places[np.lexsort((rank, -blended))]
    return order


def _value(score: float | None) -> float:
    return -np.inf if score is None else score
