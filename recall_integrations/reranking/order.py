"""The order of a reranker.

A reranker's scores are on a scale of its own: logits, cosines, places. Only their order is used. The calibrated
scores that the candidates had are shared out anew in that order, so a rerank changes who comes first and never what a
score means: the best hit scores as much after it as before, and `confidence` and thresholds on scores stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray


def reordered(scores: Sequence[float | None], unscored: AbstractSet[int] = frozenset()) -> NDArray[np.int64]:
    """Return the new order of candidates: places before, best first. Ties go to the candidate that came first."""
    order = np.arange(len(scores), dtype=np.int64)
    places = np.asarray([i for i in range(len(scores)) if i not in unscored], dtype=np.int64)
    given = np.asarray([-np.inf if (score := scores[i]) is None else score for i in places], dtype=np.float64)
    order[places] = places[np.lexsort((places, -given))]
    return order
