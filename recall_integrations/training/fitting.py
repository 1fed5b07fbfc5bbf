"""Fit rankers to labelled queries: a weight per feature, or boosted trees in two passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration.logistic import fit_logistic
from recall_integrations.ranking.features.around import AROUND
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.rankers.feature_sum import Ranker, spread_scores
from recall_integrations.ranking.rankers.linear import LinearRanker
from recall_integrations.ranking.rankers.trees import (
    LINEAR_FIRST,
    TreesModel,
    TreesRanker,
    Z,
    around_first,
    columns_of,
    fixed_scores,
    in_order,
    looked_at,
    looked_at_again,
    require_lightgbm,
    tree_matrix,
)

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


INNER = 4  # folds of the first scores
C = 0.1  # of the linear sum, see `training.fit_linear`

# Of the scores around a candidate: more of these should never make it worse,
RISING = frozenset({"u", "u_gap", "u_mean", "u_top"})
FALLING = frozenset({"u_rank"})  # and more of these never better


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """An example with scores of the fixed weights, inputs of the first pass, and the rows kept for training."""

    example: Example
    u: Values
    among: NDArray[np.int64]
    kept: NDArray[np.int64]
    matrix: Values
    useful: bool

    def of(self, wanted: NDArray[np.int64]) -> Values:
        """Return the rows of kept candidates."""
        rows: Values = self.matrix[np.searchsorted(self.kept, wanted)]
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _First:
    """A fitted first pass."""

    model: Any
    linear: NDArray[np.float64]

    def scores(self, rows: _Rows) -> Values:
        """Score all candidates."""
        own = rows.of(rows.among)
        return in_order(self.model.predict(own, num_threads=1) + LINEAR_FIRST * (own @ self.linear), rows.among, rows.u)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    known: FeatureSet
    columns: tuple[str, ...]
    trees: int
    monotone: bool
    engine: Any
    parameters: Mapping[str, Any]

    def train(self, parts: Sequence[tuple[Values, NDArray[np.bool_]]], columns: Sequence[str], seed: int) -> Any:
        """Train trees from queries, each `(rows, columns)` with its labels."""
        data = self.engine.Dataset(
            np.concatenate([x for x, _ in parts]),
            np.concatenate([y for _, y in parts]).astype(np.int32),
            group=[len(y) for _, y in parts],
            free_raw_data=True,
        )
        rising = {"monotone_constraints": [self.direction(c) for c in columns]} if self.monotone else {}
        return self.engine.train({"seed": seed, **rising, **self.parameters}, data, num_boost_round=self.trees)

    def direction(self, column: str) -> int:
        """Return 1 where more is never worse, -1 where more is never better, else 0."""
        name = column.removeprefix(Z)
        rising = name in RISING or (name in self.known and self.known[name].rising)
        return int(rising) - int(name in FALLING)


def fit_trees(
    examples: Sequence[Example],
    *,
    seed: int = 0,
    columns: Sequence[str] | None = None,
    besides: Sequence[str] = (),
    trees: int = 200,
    leaves: int = 15,
    rate: float = 0.05,
    seconds: int = 3,
    monotone: bool = False,
    threads: int = 1,
    version: str = "trained",
    about: Mapping[str, Any] | None = None,
    explain: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> TreesRanker:
    """Learn boosted trees; the same seed gives the same trees.

    Split points are drawn at random (Geurts et al. 2006). The seed alone moves LoCoMo's figures by .005, so the second
    pass is the mean of `seconds` models. `monotone` holds relevance features to "more is never worse": no better
    in-domain, meant for data unlike that of the training. Default of `columns`: all features that are not `optional`;
    `besides` are further ones.
    """
    known = examples[0].features.known if examples else FEATURES
    settings = _Settings(
        known=known,
        columns=(*(columns_of(known) if columns is None else columns), *besides),
        trees=trees,
        monotone=monotone,
        engine=require_lightgbm(),
        parameters={**_parameters(leaves, rate, threads), **(parameters or {})},
    )
    return TreesRanker(
        _fitted(examples, settings, seconds, seed), version=version, about=about, explain=explain, known=known
    )


def _parameters(leaves: int, rate: float, threads: int) -> dict[str, Any]:
    """Return the parameters of LightGBM."""
    return {
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
        "max_bin": 127,
        "verbose": -1,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads,
    }


def _fitted(examples: Sequence[Example], settings: _Settings, seconds: int, seed: int) -> TreesModel:
    """Fit both passes."""
    prepared = [_rows(e, settings.columns) for e in examples if e.features.size]
    need_some([rows.kept for rows in prepared if rows.useful])
    useful = [rows for rows in prepared if rows.useful]
    crossed = _crossed(useful, settings, seed)
    again = [_second_rows(rows, scores) for rows, scores in zip(useful, crossed, strict=True)]
    names = (*settings.columns, *AROUND)
    first = _fit_first(useful, settings, seed)
    return TreesModel(
        columns=settings.columns,
        linear=tuple(float(np.float32(w)) for w in first.linear),
        first=first.model.model_to_string(),
        second=tuple(settings.train(again, names, seed + i).model_to_string() for i in range(seconds)),
    )


def _rows(example: Example, columns: Sequence[str]) -> _Rows:
    u = fixed_scores(example.features)
    among, right = looked_at(u), np.flatnonzero(example.relevant)
    kept = np.union1d(right, among)
    return _Rows(
        example=example,
        u=u,
        among=among,
        kept=kept,
        matrix=tree_matrix(example.features, columns, u)[kept],
        useful=0 < len(right) < len(kept),
    )


def _fit_first(some: Sequence[_Rows], settings: _Settings, seed: int) -> _First:
    parts = [(rows.matrix, rows.example.relevant[rows.kept]) for rows in some]
    x, y = np.concatenate([x for x, _ in parts]).astype(np.float64), np.concatenate([y for _, y in parts])
    linear, _ = standardised(x, y, C)
    if settings.monotone:
        way = np.asarray([settings.direction(c) for c in settings.columns])
        linear = np.where(linear * way < 0, 0.0, linear)
    return _First(model=settings.train(parts, settings.columns, seed), linear=linear)


def _crossed(some: Sequence[_Rows], settings: _Settings, seed: int) -> list[Values]:
    """Score each example by a first pass that was fitted without its fold."""
    folds = _inner_folds([rows.example.group for rows in some])
    if len(set(folds)) < 2:  # a single query: nothing to hold out
        return [_fit_first(some, settings, seed).scores(rows) for rows in some]
    scores: list[Values] = [np.empty(0, dtype=np.float32)] * len(some)
    for fold in sorted(set(folds)):
        first = _fit_first([rows for rows, f in zip(some, folds, strict=True) if f != fold], settings, seed)
        for i, rows in enumerate(some):
            if folds[i] == fold:
                scores[i] = first.scores(rows)
    return scores


def _inner_folds(groups: Sequence[str]) -> list[int]:
    """Assign folds to groups in turn; to queries in turn where there is one group only."""
    names = sorted(set(groups))
    if len(names) < 2:
        return [i % INNER for i in range(len(groups))]
    return [names.index(group) % INNER for group in groups]


def _second_rows(rows: _Rows, first: Values) -> tuple[Values, NDArray[np.bool_]]:
    relevant = rows.example.relevant
    kept = np.union1d(np.flatnonzero(relevant), looked_at_again(first, rows.u))
    beside = around_first(rows.example.features, first)[kept]
    return np.hstack([rows.of(kept), beside]), relevant[kept]
