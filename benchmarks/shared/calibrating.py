"""Fit a `Calibration`: from scores of queries with known answers to probabilities, and how well these hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.kernels import Values
from recall_integrations.ranking.calibration import (
    HIT,
    RESULT,
    Calibration,
    Doubles,
    K,
    Logistic,
    hit_inputs,
    result_inputs,
)
from recall_integrations.ranking.feature_sum import Ranking
from recall_integrations.ranking.features.compute import Features

Bools = NDArray[np.bool_]
Fitting = Callable[[Doubles, Bools, Doubles, tuple[str, ...]], Logistic]
PLACES = 14  # candidates of a query that are fitted to: the best, and one in `EVERY` of the others
EVERY = 10
# What the best candidate of a query counts where there are at most FEW: a threshold decides about it.
FIRST, FEW = 8.0, 100
RIDGE = 3.0  # weights sum to the number of rows
CLIP = (0.2, 99.8)  # percentiles
K_FITTED = (1, 2, 3, 5, 7, 20)
BINS = 10
PER_K = (0.5, 0.0)  # of `per_k`, where few queries say little of it
STEPS = 50  # of Newton's method
FREE = 1e-9  # ridge of the bias


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A query with its candidates as a ranker scored them."""

    features: Features
    scores: Values  # of the candidates, by a ranker that has not seen the query
    relevant: Bools  # bool `(candidates,)`; all false where the scope has no answer
    unknown: float  # see `calibration.unknown_share`
    weight: float = 1.0

    @property
    def order(self) -> NDArray[np.int64]:
        """Places of the candidates, best first."""
        return np.argsort(-self.scores, kind="stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOutcome:
    """The probabilities of a calibration for an outcome, and the truth."""

    confidence: Mapping[int, float]  # k → probability that one of the first k is relevant
    found: Mapping[int, bool]  # k → whether one of the first k is relevant
    scores: Values  # probabilities of the first ten candidates, best first, and whether they are relevant
    hits: Bools
    weight: float


def fit_sole(outcomes: Sequence[Outcome]) -> Logistic:
    """Fit the model of a sole candidate."""
    some = [o for o in outcomes if o.features.size == 1]
    if not some:
        raise InvalidArgument("No query has a sole candidate, so there is nothing to calibrate that of.")
    x = np.concatenate([hit_inputs(o.features, o.scores, o.order, o.unknown) for o in some])
    return fitted(x, np.asarray([o.relevant[0] for o in some]), np.asarray([o.weight for o in some]), tuple(HIT))


def fit_calibration(
    outcomes: Sequence[Outcome],
    *,
    sole: Logistic,
    ranker: str,
    ranker_version: str,
    version: str,
    about: Mapping[str, Any],
    hits: Fitting | None = None,
) -> Calibration:
    """Fit the models of results and hits. Outcomes without candidates teach nothing."""
    some = [o for o in outcomes if o.features.size]
    if not some:
        raise InvalidArgument("No query has candidates, so there is nothing to calibrate.")
    weight = np.asarray([o.weight for o in some])
    orders = [o.order for o in some]
    found = [o.relevant[order] for o, order in zip(some, orders, strict=True)]
    x = np.stack([result_inputs(o.features, o.scores, o.unknown) for o in some])
    result = fitted(x, np.asarray([f[:K].any() for f in found]), weight, tuple(RESULT))
    logits = result.logits(x)
    rows, labels, weights = [], [], []
    for own, order, right in zip(some, orders, found, strict=True):
        inputs = hit_inputs(own.features, own.scores, order, own.unknown)
        kept = np.append(np.arange(min(PLACES, len(inputs))), np.arange(PLACES + EVERY // 2, len(inputs), EVERY))
        rows.append(inputs[kept])
        labels.append(right[kept])
        first = FIRST if own.features.size <= FEW else 1.0
        weights.append(own.weight * np.where(kept < PLACES, np.where(kept == 0, first, 1.0), EVERY))
    fit_hits = hits or fitted
    return Calibration(
        ranker=ranker,
        ranker_version=ranker_version,
        version=version,
        result=result,
        per_k=_per_k(logits, found, weight),
        hit=fit_hits(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights), tuple(HIT)),
        sole=sole,
        about=about,
    )


def judge(outcome: Outcome, calibration: Calibration, ks: Sequence[int] = (K,)) -> JudgedOutcome:
    """Apply `calibration` to `outcome`."""
    ranking = Ranking(scores=outcome.scores, added={})
    said = {k: calibration.confidence(outcome.features, ranking, outcome.unknown, k=k) for k in {*ks, K}}
    order = outcome.order
    scores = calibration.probabilities(outcome.features, ranking, order, outcome.unknown)
    hits = outcome.relevant[order]
    return JudgedOutcome(
        confidence=said,
        found={k: bool(hits[:k].any()) for k in said},
        scores=scores[order[:10]],
        hits=hits[:10],
        weight=outcome.weight,
    )


def ece(p: Doubles, y: Bools, weight: Doubles | None = None, *, mass: bool = False) -> float:
    """Compute the expected calibration error, in 10 bins of equal width or weight: `Σ share · |mean p − share of
    y|`."""
    w = np.ones(len(p)) if weight is None else weight
    order = np.argsort(p, kind="stable")
    p, true, w = p[order], y[order].astype(np.float64), w[order]
    place = (np.cumsum(w) - w / 2) / max(w.sum(), 1e-12) if mass else p
    bins = np.minimum((place * BINS).astype(np.int64), BINS - 1)
    return float(sum(abs((w * (p - true))[bins == b].sum()) for b in range(BINS)) / max(w.sum(), 1e-12))


def auroc(positive: ArrayLike, negative: ArrayLike) -> float:
    """The chance that a positive scores higher than a negative, ties one half."""
    above, below = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    m, n = len(above), len(below)
    if not m or not n:
        raise InvalidArgument("AUROC needs at least one positive and one negative score.")
    _, place, count = np.unique(np.concatenate([above, below]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place.ravel()]  # equal values share the middle of their ranks
    return float((ranks[:m].sum() - m * (m + 1) / 2) / (m * n))


def fitted(x: Doubles, y: Bools, weight: Doubles, names: tuple[str, ...]) -> Logistic:
    """Fit a model without a hidden layer to rows of `names`."""
    low, high = np.percentile(x, CLIP, axis=0)
    x = np.clip(x, low, high)
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    scale = np.where(deviation > 1e-9, deviation, 1.0)
    own, bias = fit_logistic((x - mean) / scale, y, weight / weight.mean(), RIDGE)
    weights = np.where(deviation > 1e-9, own / scale, 0.0)
    return Logistic(names=names, weights=weights, low=low, high=high, bias=float(bias - weights @ mean))


def _per_k(logits: Doubles, found: Sequence[Bools], weight: Doubles) -> tuple[float, float]:
    """Fit `Calibration.per_k`: maximum likelihood over `K_FITTED`, with the logits at k = 10 given."""
    prior = np.asarray(PER_K)
    value = prior.copy()
    weight = weight / weight.mean()
    parts = []
    for k in K_FITTED:
        z = np.log(np.asarray([min(k, len(f)) for f in found]) / K)
        parts.append((np.stack([z, z * z], axis=1), np.asarray([f[:k].any() for f in found])))
    for _ in range(20):
        first, second = value - prior, np.eye(2)
        for z, y in parts:
            p = 1 / (1 + np.exp(-np.clip(logits + z @ value, -30, 30)))
            first += z.T @ (weight * (p - y))
            second += (z * (weight * p * (1 - p))[:, None]).T @ z
        value -= np.linalg.solve(second, first)
    return max(0.0, float(value[0])), min(0.0, float(value[1]))


def fit_logistic(x: Doubles, y: NDArray[np.bool_], weight: Doubles, ridge: float = 1.0) -> tuple[Doubles, float]:
    """Fit weights and bias that minimise `ridge·|w|²/2 + Σ weight·ln(1 + exp(−±z))`, `z = x·w + bias`.

    Args:
        x: `(rows, inputs)`, of about the same scale.
        y: which rows are positive.
        weight: of each row, at least 0.
        ridge: above 0; keeps classes that can be told apart from pushing weights to infinity.
    """
    full = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.append(np.full(x.shape[1], ridge), FREE)
    w = np.zeros(full.shape[1])

    def loss(w: Doubles) -> float:
        z = full @ w
        return float((weight * np.logaddexp(0, np.where(y, -z, z))).sum() + 0.5 * (penalty * w * w).sum())

    now = loss(w)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(full @ w, -500, 500)))
        gradient = full.T @ (weight * (p - y)) + penalty * w
        curvature = (full * (weight * p * (1 - p))[:, None]).T @ full + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (after := loss(w - size * step)) > now and size > 1e-6:
            size /= 2
        w, gain, now = w - size * step, now - after, after
        if gain < 1e-9 * max(abs(now), 1.0):
            break
    return w[:-1], float(w[-1])
