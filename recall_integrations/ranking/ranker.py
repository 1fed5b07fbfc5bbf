"""Rankers: features become one score per candidate, and what each of them added to it.

`Unlearned` is the default for any corpus: a sum of features with fixed weights. Features of the whole candidate list
enter as z-scores, so that scales of embeddings and of BM25 do not matter; those that few candidates have enter as they
are, since a z-score of a rare value grows without limit. A spread below `FLOORS` counts as the floor: where all
candidates are about equal in something, the small differences must not decide (as in a scope of five memories).
Evidence that is absent is the same for all candidates and orders nothing.

No weight comes out of a fit, but they were chosen with the data in view: coordinate ascent on LoCoMo, HotpotQA and
MuSiQue together, rounded and held back by hand. The figures on these sets are therefore optimistic; repeating the
search without the conversation that is measured cost .013 recall@5 and .008 nDCG@10. `scripts/measure_ranking.py`
prints the ablation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.bm25 import Values
from recall_integrations.ranking.features import FORMULAS, Features

# z-scored; the floor is about the 5th percentile of the spread over the candidates of a question.
SPREAD_WEIGHTS: Mapping[str, float] = {
    "bm": 0.4,
    "msn": 0.7,
    "mwn": 0.5,
    "mw2n": 0.4,
    "bs": 0.6,
    "smm": 0.4,
    "d": 0.5,
    "d1": 0.4,
}
FLOORS: Mapping[str, float] = {
    "bm": 0.8,
    "bm_max": 0.1,
    "bm_ub": 0.05,
    "cov": 0.05,
    "msn": 0.06,
    "mt": 0.06,
    "mwn": 0.06,
    "mw2n": 0.07,
    "qm": 0.08,
    "L": 0.3,
    "len_b": 0.3,
    "bs": 1.0,
    "smb": 0.1,
    "smm": 0.05,
    "d": 0.05,
    "d1": 0.04,
}
FULL_SPREAD = 6.0  # highest z-score from which plain values have their full weight: 37 candidates
# As they are.
PLAIN_WEIGHTS: Mapping[str, float] = {
    "sp": 1.5,
    "qa": 5.0,
    "own": 3.0,
    "isq": -1.0,
    "bg": 1.0,
    "dw": 0.3,
    "dww": 0.6,
    "date": 3.5,
    "graph": 1.0,
    "recency": 0.02,
    "importance": 0.02,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Scores of the candidates, higher is better, and per feature what it added.

    What the features added sums to the score, but for a constant that is the same for all candidates.
    Scores order the candidates of one query. They are no probabilities and are not comparable between rankers.
    """

    scores: Values
    added: Mapping[str, Values]


@runtime_checkable
class Ranker(Protocol):
    """What gives candidates their order.

    One with an attribute `calibration` (a `Calibration`) has its scores turned into probabilities by it.
    """

    @property
    def name(self) -> str:
        """`unlearned`, `linear` or `trees`."""
        ...

    @property
    def version(self) -> str:
        """Of the weights; part of the cache key."""
        ...

    @property
    def detail(self) -> bool:
        """Whether the features of `features.DETAIL` are needed."""
        ...

    def score(self, features: Features) -> Ranking:
        """Score every candidate."""
        ...


class Unlearned:
    """The fixed sum.

    Args:
        weights: replaces single weights, by feature of `features.FORMULAS`; 0 leaves a feature out. Scores are then no
            longer those that the shipped calibration was made for: they only order.

    Raises:
        InvalidArgument: there is no such feature, or its weight is no finite number.
    """

    name = "unlearned"
    version = "unlearned-2"
    detail = False

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        changed = dict(weights or {})
        for feature, weight in changed.items():
            if feature not in FORMULAS:
                raise InvalidArgument(f"There is no feature {feature!r}. Known: {', '.join(FORMULAS)}.")
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
                raise InvalidArgument(f"The weight of {feature!r} must be a finite number, not {weight!r}.")
        if changed:
            self.version = f"{self.version} with {', '.join(f'{k} {v:g}' for k, v in sorted(changed.items()))}"
        self._spread = {k: changed.pop(k, v) for k, v in SPREAD_WEIGHTS.items()}
        self._plain = {**PLAIN_WEIGHTS, **changed}

    def score(self, features: Features) -> Ranking:
        """`Σ weight · z + s · Σ weight · value`, with `s = min(1, sqrt(candidates - 1) / 6)`.

        A z-score of n values is at most `sqrt(n - 1)`: in a handful of candidates the best match of all cannot be worth
        more than that, and what is said beside it must not outweigh it. A date that is asked for keeps its weight.
        """
        added: dict[str, Values] = {}
        names = [k for k, w in self._spread.items() if w]
        weights = np.asarray([self._spread[k] for k in names], dtype=np.float32)
        spread = spread_scores(features, names) * weights
        added.update(zip(names, spread.T, strict=True))
        scale = min(1.0, math.sqrt(max(features.size - 1, 0)) / FULL_SPREAD)
        added.update(
            (k, features[k] * np.float32(w if k == "date" else w * scale))
            for k, w in self._plain.items()
            if w and k in features.columns
        )
        return Ranking(scores=total(added, features.size), added=added)


def spread_scores(features: Features, names: Sequence[str]) -> Values:
    """`(value − mean) / max(standard deviation, floor)` over the candidates, `(candidates, names)`."""
    matrix = features.matrix(names)
    if not len(matrix):
        return matrix
    floors = np.asarray([FLOORS[k] for k in names], dtype=np.float32)
    z: Values = (matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), floors)
    return z


def total(added: Mapping[str, Values], size: int) -> Values:
    """Sum of what the features added."""
    scores = np.zeros(size, dtype=np.float32)
    for values in added.values():
        scores += values
    return scores
