"""From labelled queries to rankers, and how good they are on what they have not seen.

An `Example` is a query's features with the candidates that answer it; its `group` is the conversation (or scope) it
belongs to. `leave_one_group_out` scores every example by a ranker that was fitted without its group: nothing is
reported on a conversation it was trained on.

- `fit_linear`: logistic regression, classes balanced, features standardised, ridge penalty `1/(2·c)·|w|²`, c = .1
  (the objective of scikit-learn's `LogisticRegression(C=c, class_weight="balanced")`), by Newton's method.
- `fit_trees`: LambdaMART with LightGBM, split points drawn at random.

Both look at all relevant candidates of a query; of the others linear weights at a random sample, trees at those that
they will have to order (`trees.AMONG`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.features import Features, Values
from recall_integrations.ranking.linear import LinearRanker
from recall_integrations.ranking.ranker import Ranker, spread_scores
from recall_integrations.ranking.trees import COLUMNS, TreesRanker, Z, looked_at, require_lightgbm, tree_matrix

# What the linear ranker looks at. Left out: doubles of these (bm_max, cov, mt and the like), which gained nothing, and
# what is a habit of one data set (the length of the text before, whether a question names other people).
SPREAD = ("bm", "msn", "mwn", "mw2n", "qm", "bs", "smb", "smm", "d", "d1")
PLAIN = ("own", "qa", "isq", "bg", "dw", "sp", "date")
NEWTON_STEPS = 50
# A spread below this counts as this: what hardly varies in the sample (one date in a thousand candidates, half faded)
# would get a weight of thousands, which decides alone where it does vary.
SPREAD_MIN = 0.02

# More of these should never make a candidate worse.
MONOTONE = frozenset(
    """
    bm bm_max bm_ub cov msn mt mwn mw2n own qa bg bs smb smm d d1 date mws wbm mt_b2 t0 t1 t2 t3 w0 w1 w2 w3 sd qm
    u u_gap
    """.split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One labelled query.

    Args:
        features: of its candidates, in a fixed order.
        relevant: bool `(candidates,)`.
        group: what is left out together: a conversation, a scope.
    """

    features: Features
    relevant: NDArray[np.bool_]
    group: str

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
    spread: Sequence[str] = SPREAD,
    plain: Sequence[str] = PLAIN,
    version: str = "trained",
    about: Mapping[str, Any] | None = None,
) -> LinearRanker:
    """Learn a weight per feature.

    Raises:
        InvalidArgument: no example has both a relevant and another candidate.
    """
    chosen = _sample(examples, negatives, seed)
    rows = [
        np.hstack([spread_scores(e.features, spread), e.features.matrix(plain)])[keep]
        for e, keep in zip(examples, chosen, strict=True)
        if len(keep)
    ]
    x = np.concatenate(rows).astype(np.float64)
    y = np.concatenate([e.relevant[keep] for e, keep in zip(examples, chosen, strict=True)])
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    scale = np.maximum(deviation, SPREAD_MIN)
    weights, bias = logistic((x - mean) / scale, y, c)
    weights = np.where(deviation > 1e-9, weights / scale, 0.0)
    by_name = dict(zip((*spread, *plain), weights.tolist(), strict=True))
    return LinearRanker(
        version=version,
        bias=float(bias - weights @ mean),
        spread={k: by_name[k] for k in spread},
        plain={k: by_name[k] for k in plain},
        about=dict(about or {}),
    )


def logistic(x: NDArray[np.float64], y: NDArray[np.bool_], c: float) -> tuple[NDArray[np.float64], float]:
    """Weights and bias that minimise `|w|²/2 + c·Σ s·ln(1 + exp(−±z))`, `s` = n / (2·n of the class)."""
    share = np.where(y, len(y) / (2 * max(int(y.sum()), 1)), len(y) / (2 * max(int((~y).sum()), 1))) * c
    full = np.hstack([x, np.ones((len(x), 1))])
    ridge = np.append(np.ones(x.shape[1]), 1e-9)  # the bias is free
    w = np.zeros(full.shape[1])

    def loss(w: NDArray[np.float64]) -> float:
        z = full @ w
        return float((share * np.logaddexp(0, np.where(y, -z, z))).sum() + 0.5 * (ridge * w * w).sum())

    now = loss(w)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-np.clip(full @ w, -500, 500)))
        gradient = full.T @ (share * (p - y)) + ridge * w
        curvature = (full * (share * p * (1 - p))[:, None]).T @ full + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (after := loss(w - size * step)) > now and size > 1e-6:
            size /= 2
        w, gain, now = w - size * step, now - after, after
        if gain < 1e-9 * max(abs(now), 1.0):
            break
    return w[:-1], float(w[-1])


def fit_trees(
    examples: Sequence[Example],
    *,
    seed: int = 0,
    columns: Sequence[str] = COLUMNS,
    trees: int = 200,
    leaves: int = 15,
    rate: float = 0.05,
    monotone: bool = False,
    threads: int = 1,
    version: str = "trained",
    about: Mapping[str, Any] | None = None,
    explain: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> TreesRanker:
    """Learn boosted trees; the same seed gives the same trees.

    Split points are drawn at random (Geurts et al. 2006), which seemed to carry over a little better to conversations
    that were not seen; the seed alone moves LoCoMo's figures by about as much (.005). `monotone` holds relevance
    features to "more is never worse": no better in-domain, meant for data unlike that of the training.

    Raises:
        InvalidArgument: no example has both a relevant and another candidate.
        MissingExtra: LightGBM is not installed.
    """
    engine = require_lightgbm()
    chosen = [_ordered_by_trees(e) for e in examples]
    _some(chosen)
    kept = [(e, keep) for e, keep in zip(examples, chosen, strict=True) if len(keep)]
    x = np.concatenate([tree_matrix(e.features, columns)[keep] for e, keep in kept])
    y = np.concatenate([e.relevant[keep] for e, keep in kept]).astype(np.int32)
    settings = {
        "objective": "lambdarank",
        "num_leaves": leaves,
        "learning_rate": rate,
        "min_data_in_leaf": 50,
        "lambda_l2": 5.0,
        "feature_fraction": 0.5,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "lambdarank_truncation_level": 20,
        "extra_trees": True,
        **({"monotone_constraints": [int(c.removeprefix(Z) in MONOTONE) for c in columns]} if monotone else {}),
        "verbose": -1,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads,
        **(parameters or {}),
    }
    data = engine.Dataset(x, y, group=[len(keep) for _, keep in kept], free_raw_data=True)
    booster = engine.train(settings, data, num_boost_round=trees)
    return TreesRanker(booster.model_to_string(), columns, version=version, about=about, explain=explain)


def leave_one_group_out(examples: Sequence[Example], fit: Fit, *, always: Sequence[Example] = ()) -> list[Values]:
    """Scores of each example's candidates by a ranker fitted on the other groups (and on `always`).

    Raises:
        InvalidArgument: there is only one group.
    """
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
    """Per example: all relevant candidates and at most `negatives` others; nothing where either is missing."""
    rng = np.random.default_rng(seed)
    chosen: list[NDArray[np.int64]] = []
    for example in examples:
        right, wrong = np.flatnonzero(example.relevant), np.flatnonzero(~example.relevant)
        if len(wrong) > negatives:
            wrong = rng.choice(wrong, negatives, replace=False)
        both = len(right) > 0 and len(wrong) > 0
        chosen.append(np.sort(np.concatenate([right, wrong])) if both else np.empty(0, dtype=np.int64))
    _some(chosen)
    return chosen


def _ordered_by_trees(example: Example) -> NDArray[np.int64]:
    """The relevant candidates and those that trees look at; nothing where there is nothing to order."""
    right = np.flatnonzero(example.relevant)
    keep = np.union1d(right, looked_at(example.features)[0])
    return keep if 0 < len(right) < len(keep) else np.empty(0, dtype=np.int64)


def _some(chosen: Sequence[NDArray[np.int64]]) -> None:
    if not any(len(keep) for keep in chosen):
        raise InvalidArgument("No query has both a relevant and another candidate among those that were found.")
