"""Rankers: features become one score per candidate, and what each of them added to it.

`FixedWeights` is the default for any corpus: a sum of features with fixed weights (`Feature.weight`). Features of the
whole candidate list enter as z-scores, so that scales of embeddings and of BM25 do not matter; those that few
candidates have enter as they are, since a z-score of a rare value grows without limit. A spread below `Feature.floor`
counts as the floor: where all candidates are about equal in something, the small differences must not decide (as in a
scope of five memories). Evidence that is absent is the same for all candidates and orders nothing.

Not all evidence means the same everywhere, so a weight may stand behind a gate (`kind.GATES`): a factor in [0, 1] that
is read from the scope and the length of the query. Nobody has to say what a scope is made of.

One set of weights for all kinds, chosen on data whose licences allow it (project chats, phone records, abstracts with
long questions, scenes of many speakers, two encyclopaedia sets, three languages, and made-up chats and notes): a
listwise softmax fit, then coordinate ascent on nDCG@10 over bootstrap samples of the questions, averaged and rounded;
those behind `documents`, which only one of the sets opens, by hand (`scripts/fit_weights.py` fits them again).
LoCoMo and the long chats with an assistant were not among them. docs/ranking.md says how they do on each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.types.numbers import is_number

FULL_SPREAD = 6.0  # highest z-score from which plain values have their full weight: 37 candidates


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

    One with an attribute `calibration` (a `Calibration`) has its scores turned into probabilities by it. One with an
    attribute `known` (a `FeatureSet`) gets those features, any other one the package's.
    """

    @property
    def name(self) -> str:
        """`fixed_weights`, `linear` or `trees`."""
        ...

    @property
    def version(self) -> str:
        """Of the weights; part of the cache key."""
        ...

    @property
    def detail(self) -> bool:
        """Whether the features that only trees look at are needed (`FeatureSet.detail`)."""
        ...

    def score(self, features: Features) -> Ranking:
        """Score every candidate."""
        ...


def known_of(ranker: Ranker | None) -> FeatureSet:
    """The features that a ranker gets."""
    known: FeatureSet = getattr(ranker, "known", FEATURES)
    return known


class FixedWeights:
    """The fixed sum.

    Args:
        weights: replaces the weights of single features, whatever the kind; 0 leaves a feature out. Scores are then no
            longer those that the shipped calibration was made for: they only order.
        known: the features that there are, with their weights; the same holds of others than the package's.

    Raises:
        InvalidArgument: there is no such feature, or its weight is no finite number.
    """

    name = "fixed_weights"
    version = "fixed-weights-5"
    detail = False

    def __init__(self, weights: Mapping[str, float] | None = None, known: FeatureSet = FEATURES) -> None:
        changed = dict(weights or {})
        for feature, weight in changed.items():
            if feature not in known.main:
                raise InvalidArgument(f"There is no feature {feature!r}. Known: {', '.join(known.main)}.")
            if not is_number(weight) or not math.isfinite(weight):
                raise InvalidArgument(f"The weight of {feature!r} must be a finite number, not {weight!r}.")
        if known is not FEATURES:
            self.version = f"{self.version} of {', '.join(known.weights)}"
        if changed:
            self.version = f"{self.version} with {', '.join(f'{k} {v:g}' for k, v in sorted(changed.items()))}"
        self.known = known
        self._weights = {**known.weights, **{feature: {"always": weight} for feature, weight in changed.items()}}

    def score(self, features: Features) -> Ranking:
        """`Σ weight · z + s · Σ weight · value`, with `s = min(1, sqrt(candidates - 1) / 6)`.

        A z-score of n values is at most `sqrt(n - 1)`: in a handful of candidates the best match of all cannot be worth
        more than that, and what is said beside it must not outweigh it. A date that is asked for keeps its weight.
        """
        known, floors = self.known, self.known.floors
        weights = {k: w for k, gated in self._weights.items() if (w := self._weight(k, gated, features))}
        names = [k for k in weights if k in floors and k in features.columns]
        factors = np.asarray([weights[k] for k in names], dtype=np.float32)
        spread = spread_scores(features, names) * factors
        added: dict[str, Values] = dict(zip(names, spread.T, strict=True))
        scale = min(1.0, math.sqrt(max(features.size - 1, 0)) / FULL_SPREAD)
        added.update(
            (k, features[k] * np.float32(w if known[k].decisive else w * scale))
            for k, w in weights.items()
            if k not in floors and k in features.columns
        )
        return Ranking(scores=total(added, features.size), added=added)

    def _weight(self, feature: str, gated: Mapping[str, float], features: Features) -> float:
        """Of a feature, for this scope and query. What a cosine is worth depends on the embedding and the language.

        A strong embedding is worth more alone, not together with the neighbours' (`cosine_w1`), and takes nothing away.
        """
        gates, most = features.gates, self.known[feature].worth_max
        rise = 1.0 if most is None else min(features.cosine_worth, most)
        return sum(
            weight * (1.0 if gate == "always" else gates.get(gate, 0.0)) * (rise if weight > 0 else min(rise, 1.0))
            for gate, weight in gated.items()
        )


def spread_scores(features: Features, names: Sequence[str]) -> Values:
    """`(value − mean) / max(standard deviation, floor)` over the candidates, `(candidates, names)`."""
    matrix = features.matrix(names)
    if not len(matrix):
        return matrix
    floors = np.asarray([features.known.floors[k] for k in names], dtype=np.float32)
    z: Values = (matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), floors)
    return z


def total(added: Mapping[str, Values], size: int) -> Values:
    """Sum of what the features added."""
    scores = np.zeros(size, dtype=np.float32)
    for values in added.values():
        scores += values
    return scores
