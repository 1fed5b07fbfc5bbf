"""Fit a `Calibration`: from scores of queries with known answers to probabilities, and how well these hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.calibration.logistic import fit_logistic
from recall_integrations.ranking.calibration.model import HIT, RESULT, Calibration, K, hit_inputs, result_inputs
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.layered import Doubles, Logistic
from recall_integrations.ranking.rankers.feature_sum import Ranking
from recall_integrations.types import Scope

Bools = NDArray[np.bool_]
Fitting = Callable[[Doubles, Bools, Doubles, tuple[str, ...]], Logistic]
PLACES = 14  # candidates of a query that are fitted to: the best, and one in `EVERY` of the others
EVERY = 10
RIDGE = 3.0  # weights sum to the number of rows
CLIP = (0.2, 99.8)  # percentiles
K_FITTED = (1, 2, 3, 5, 7, 20)
BINS = 10
PER_K = (0.5, 0.0)  # of `per_k`, where few queries say little of it


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


def fit_calibration(
    outcomes: Sequence[Outcome],
    *,
    ranker: str,
    ranker_version: str,
    version: str,
    about: Mapping[str, Any],
    hits: Fitting | None = None,
) -> Calibration:
    """Fit both models. Outcomes without candidates teach nothing."""
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
        weights.append(np.where(kept < PLACES, own.weight, own.weight * EVERY))
    fit_hits = hits or fitted
    return Calibration(
        ranker=ranker,
        ranker_version=ranker_version,
        version=version,
        result=result,
        per_k=_per_k(logits, found, weight),
        hit=fit_hits(np.concatenate(rows), np.concatenate(labels), np.concatenate(weights), tuple(HIT)),
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


ANSWERABLE = 2 / 3
MIN_OUTCOMES = 100  # queries with a relevant candidate; with fewer, probabilities would be noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """The quality of probabilities on queries that neither the ranker nor the calibration had seen."""

    queries: int  # number of queries asked in their own scope
    wrong: int  # number of queries asked in another scope
    score_error: float  # expected calibration error of the scores of the first ten hits
    confidence_error: float  # of the confidence, k = 10
    auroc: float | None

    def about(self) -> dict[str, Any]:
        """Return the figures as plain data for the weights."""
        figures = {"hits ECE": round(self.score_error, 4), "confidence ECE": round(self.confidence_error, 4)}
        if self.auroc is not None:
            figures["AUROC, wrong scope"] = round(self.auroc, 4)
        assumed = "queries have an answer; there was no other scope to ask them in, so abstaining was not learned"
        if self.wrong:
            assumed = f"{ANSWERABLE:.2f} of the queries have an answer; another scope has none"
        return {
            "data": {"queries": self.queries, "asked in another scope": self.wrong},
            "assumes": assumed,
            "split": "figures: scores of rankers and calibrations fitted without the fold; this one: all folds",
            "figures": figures,
        }


def wrong_scopes(asked: Sequence[Question], fold_of: Sequence[int]) -> list[Scope | None]:
    """Choose for each query a scope that is not its own: the next of its fold, so that the fold's ranker has not
    learned from its queries either; else the next of all; `None` where there is one scope."""
    everywhere = _in_order(q.scope for q in asked)
    within = {
        fold: _in_order(q.scope for q, f in zip(asked, fold_of, strict=True) if f == fold) for fold in set(fold_of)
    }
    found: list[Scope | None] = []
    for question, fold in zip(asked, fold_of, strict=True):
        near = within[fold] if len(within[fold]) > 1 else everywhere
        found.append(near[(near.index(question.scope) + 1) % len(near)] if len(near) > 1 else None)
    return found


def weighed(own: Sequence[Outcome], wrong: Sequence[Outcome], answerable: float = ANSWERABLE) -> list[Outcome]:
    """Return all outcomes, weighed so that `answerable` of the weight is in `own`."""
    if not own or not wrong:
        return [*own, *wrong]
    size = len(own) + len(wrong)
    return [
        *(replace(o, weight=size * answerable / len(own)) for o in own),
        *(replace(o, weight=size * (1 - answerable) / len(wrong)) for o in wrong),
    ]


def calibrated(
    own: Mapping[int, Sequence[Outcome]], wrong: Mapping[int, Sequence[Outcome]], *, ranker: str, ranker_version: str
) -> tuple[Calibration, Calibrated] | None:
    """Fit the calibration, and measure such calibrations; `None` where there are too few outcomes."""
    if sum(bool(o.relevant.any()) for some in own.values() for o in some) < MIN_OUTCOMES:
        return None

    def fitted(without: int | None, about: Mapping[str, Any]) -> Calibration:
        kept, other = ([o for fold, part in side.items() if fold != without for o in part] for side in (own, wrong))
        version = f"own-{ranker_version}"
        some = weighed(kept, other)
        return fit_calibration(some, ranker=ranker, ranker_version=ranker_version, version=version, about=about)

    judged: list[JudgedOutcome] = []
    right: list[bool] = []
    for fold in sorted(own):
        there = fitted(fold, {})
        for side, answered in ((own, True), (wrong, False)):
            judged.extend(judge(o, there) for o in side.get(fold, ()))
            right.extend(answered for _ in side.get(fold, ()))
    figures = _figures(judged, np.asarray(right))
    return fitted(None, figures.about()), figures


def _figures(judged: Sequence[JudgedOutcome], right: NDArray[np.bool_]) -> Calibrated:
    weight = np.ones(len(judged))
    if not right.all():
        weight = np.where(right, ANSWERABLE / right.sum(), (1 - ANSWERABLE) / (~right).sum())
    scores, hits = (np.concatenate([getattr(j, name) for j in judged]) for name in ("scores", "hits"))
    confidence = np.asarray([j.confidence[K] for j in judged])
    found = np.asarray([j.found[K] for j in judged])
    return Calibrated(
        queries=int(right.sum()),
        wrong=int((~right).sum()),
        score_error=ece(scores.astype(np.float64), hits, np.repeat(weight, [len(j.scores) for j in judged])),
        confidence_error=ece(confidence, found, weight),
        auroc=None if right.all() else auroc(confidence[right], confidence[~right]),
    )


def _in_order(scopes: Iterable[Scope]) -> list[Scope]:
    return sorted(set(scopes), key=scope_text)
