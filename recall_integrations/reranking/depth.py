"""Multi-stage retrieval: coarse fetch, score filter, rerank, removal of near-duplicates.

k wanted ─▶ coarse_factor · k candidates ─▶ those from a percentile of the scores on ─▶ top_n to the reranker
         ─▶ near-duplicates folded ─▶ k hits
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record


@record(frozen=True, slots=True, kw_only=True)
class MultiStage:
    """Number of candidates from stage to stage; `RerankConfig` has the ranges."""

    coarse_factor: float = 10.0  # arms are asked for at least this many times k candidates
    # candidates whose score lies below this percentile of all candidates' scores leave before the rerank, in [0, 100);
    # 0 = off. The first k always stay.
    score_percentile: float = 0.0

    def coarse(self, k: int, arm_limit: int = 0) -> int:
        """Return the number of candidates to ask of an arm: `max(arm_limit, ceil(coarse_factor · k))`."""
        return max(arm_limit, math.ceil(self.coarse_factor * k))

    def survivors(self, scores: NDArray[np.floating], k: int) -> int:
        """Count the candidates, given by falling score, that pass the score filter."""
        if self.score_percentile == 0 or len(scores) <= k:
            return len(scores)
        floor = np.percentile(scores, self.score_percentile)
        return max(k, int(np.count_nonzero(scores >= floor)))
