"""Fit rankers to labelled queries, and measure them on queries they have not seen.

An `Example` is a query's features with the candidates that answer it; its `group` is the conversation (or scope) it
belongs to. `leave_one_group_out` scores every example by a ranker that was fitted without its group: nothing is
reported on a conversation it was trained on.

- `fit_linear`: logistic regression, classes balanced, features standardised, ridge penalty `1/(2·c)·|w|²`, c = .1
  (the objective of scikit-learn's `LogisticRegression(C=c, class_weight="balanced")`), by Newton's method. It uses
  features that are `linear`: the others double these and gained nothing, or are a habit of one data set (the length of
  the text before, whether a question names other people).
- `fit_trees` (`training/trees.py`): LambdaMART with LightGBM in two passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration.logistic import fit_logistic
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rankers.feature_sum import Ranker, spread_scores
from recall_integrations.ranking.rankers.linear import LinearRanker

# A smaller spread counts as this: a feature that hardly varies in the sample (one date in a thousand candidates)
# would get a weight of thousands, and decide alone where it does vary.
SPREAD_MIN = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One labelled query."""

    features: Features  # of its candidates, in a fixed order
    relevant: NDArray[np.bool_]  # bool `(candidates,)`
    group: str  # the unit that is left out together: a conversation, a scope

    def __post_init__(self) -> None:
        if len(self.relevant) != self.features.size:
            raise InvalidArgument(f"There are {self.features.size} candidates and {len(self.relevant)} labels.")


Fit = Callable[[Sequence[Example]], Ranker]


def fit_linear(
    examples: Sequence[Example],
    *,
    c: float = 0.1,
    negatives: int = 50,
    seed: int = 0,
    spread: Sequence[str] | None = None,
    plain: Sequence[str] | None = None,
    besides: Sequence[str] = (),
    version: str = "trained",
    about: Mapping[str, Any] | None = None,
) -> LinearRanker:
    """Learn a weight per feature."""
    chosen = _sample(examples, negatives, seed)
    known = examples[0].features.known  # `_sample` refuses to learn from none
    spread = known.spread if spread is None else spread
    plain = (*(known.plain if plain is None else plain), *besides)
    rows = [
        np.hstack([spread_scores(e.features, spread), e.features.matrix(plain)])[keep]
        for e, keep in zip(examples, chosen, strict=True)
        if len(keep)
    ]
    x = np.concatenate(rows).astype(np.float64)
    y = np.concatenate([e.relevant[keep] for e, keep in zip(examples, chosen, strict=True)])
    weights, bias = standardised(x, y, c)
    by_name = dict(zip((*spread, *plain), weights.tolist(), strict=True))
    return LinearRanker(
        version=version,
        bias=bias,
        spread={k: by_name[k] for k in spread},
        plain={k: by_name[k] for k in plain},
        about=dict(about or {}),
        known=known,
    )


def standardised(x: NDArray[np.float64], y: NDArray[np.bool_], c: float) -> tuple[NDArray[np.float64], float]:
    """Run `logistic` on standardised inputs; return weights and bias for the inputs as they are."""
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    scale = np.maximum(deviation, SPREAD_MIN)
    weights, bias = logistic((x - mean) / scale, y, c)
    weights = np.where(deviation > 1e-9, weights / scale, 0.0)
    return weights, float(bias - weights @ mean)


def logistic(x: NDArray[np.float64], y: NDArray[np.bool_], c: float) -> tuple[NDArray[np.float64], float]:
    """Return weights and bias that minimise `|w|²/2 + c·Σ s·ln(1 + exp(−±z))`, `s` = n / (2·n of the class)."""
    share = np.where(y, len(y) / (2 * max(int(y.sum()), 1)), len(y) / (2 * max(int((~y).sum()), 1)))
    return fit_logistic(x, y, share * c)


def leave_one_group_out(examples: Sequence[Example], fit: Fit, *, always: Sequence[Example] = ()) -> list[Values]:
    """Score each example's candidates by a ranker fitted on the other groups (and on `always`)."""
    groups = sorted({e.group for e in examples})
    if len(groups) < 2:
        raise InvalidArgument("Leaving one group out needs at least two groups.")
    scores: list[Values] = [np.empty(0, dtype=np.float32)] * len(examples)
    for left_out in groups:
        ranker = fit([*(e for e in examples if e.group != left_out), *always])
        for i, example in enumerate(examples):
            if example.group == left_out:
                scores[i] = ranker.score(example.features).scores
    return scores


def _sample(examples: Sequence[Example], negatives: int, seed: int) -> list[NDArray[np.int64]]:
    """Choose per example all relevant candidates and at most `negatives` others; none where either is missing."""
    rng = np.random.default_rng(seed)
    chosen: list[NDArray[np.int64]] = []
    for example in examples:
        right, wrong = np.flatnonzero(example.relevant), np.flatnonzero(~example.relevant)
        if len(wrong) > negatives:
            wrong = rng.choice(wrong, negatives, replace=False)
        both = len(right) > 0 and len(wrong) > 0
        chosen.append(np.sort(np.concatenate([right, wrong])) if both else np.empty(0, dtype=np.int64))
    need_some(chosen)
    return chosen


def need_some(chosen: Sequence[NDArray[np.int64]]) -> None:
    """Raise unless rows are chosen of some query: others have nothing to tell apart."""
    if not any(len(keep) for keep in chosen):
        raise InvalidArgument("No query has both a relevant and another candidate among those that were found.")
