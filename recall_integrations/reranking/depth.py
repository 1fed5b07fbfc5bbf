"""Multi-stage retrieval: coarse fetch, score filter, rerank, removal of near-duplicates.

k wanted ─▶ coarse_factor · k candidates ─▶ those from a percentile of the scores on ─▶ rerank_top_n to the reranker
         ─▶ near-duplicates folded ─▶ k hits
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import ConfigError
from recall_integrations.types.numbers import is_number


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiStage:
    """How many candidates go from stage to stage.

    Args:
        coarse_factor: arms are asked for at least this many times k candidates.
        score_percentile: candidates whose score lies below this percentile of all candidates' scores leave before
            the rerank, in [0, 100); 0 = off. The first k always stay.

    Raises:
        ConfigError: a value out of its range.
    """

    coarse_factor: float = 10.0
    score_percentile: float = 0.0

    def __post_init__(self) -> None:
        _checked("coarse_factor", self.coarse_factor, 1 <= _number(self.coarse_factor) <= 1_000, "from 1 to 1000")
        _checked(
            "score_percentile", self.score_percentile, 0 <= _number(self.score_percentile) < 100, "from 0 to below 100"
        )

    def coarse(self, k: int, arm_limit: int = 0) -> int:
        """How many candidates an arm is asked for: `max(arm_limit, ceil(coarse_factor · k))`."""
        return max(arm_limit, math.ceil(self.coarse_factor * k))

    def survivors(self, scores: NDArray[np.floating], k: int) -> int:
        """How many of the candidates, given by falling score, pass the score filter."""
        if self.score_percentile == 0 or len(scores) <= k:
            return len(scores)
        floor = np.percentile(scores, self.score_percentile)
        return max(k, int(np.count_nonzero(scores >= floor)))


def _number(value: object) -> float:
    return float(value) if is_number(value) else math.nan


def _checked(name: str, value: object, fits: bool, expected: str) -> None:
    if not fits:
        raise ConfigError(f"multi_stage.{name} must be a number {expected}, not {value!r}.")
