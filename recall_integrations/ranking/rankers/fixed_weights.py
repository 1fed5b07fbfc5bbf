"""Rankers: features become one score per candidate, and what each of them added to it.

`FixedWeights` is the default for any corpus: a sum of features with fixed weights (`WEIGHTS`). Features of the whole
candidate list enter as z-scores, so that scales of embeddings and of BM25 do not matter; those that few candidates have
enter as they are, since a z-score of a rare value grows without limit. A spread below `FLOORS` counts as the floor:
where all candidates are about equal in something, the small differences must not decide (as in a scope of five
memories). Evidence that is absent is the same for all candidates and orders nothing.

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
from recall_integrations.ranking.features.formulas import FORMULAS, Features
from recall_integrations.types.numbers import is_number

# Feature → gate → weight.
WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "bm25_counted": {"always": 0.3, "long": -0.8, "documents": 3.0},
    "passage_match": {"always": 0.8, "long": -0.3, "documents": -0.7},
    "char_bm25": {"spelling": 1.8},
    "lead_match": {"always": 0.2, "documents": -0.2},
    "near_match_w2": {"always": 0.4, "crowd": 1.0, "documents": -0.4},
    "thread_best_soft_match": {"always": 0.2},
    "bigram_match": {"always": 2.4, "long": 8.6, "documents": -2.4},
    "feedback": {"long": 0.8, "documents": 2.5},
    "near_in_time": {"apart": 0.5},
    "cosine": {"always": 0.3, "long": -0.7, "documents": 0.5},
    "cosine_w1": {"always": 0.4},
    "speaker_named": {"always": 2.5},
    "cast_present": {"crowd": 1.1},
    "asked_before": {"people": 11.0},
    "speaker_prior_match": {"people": 1.0},
    "is_question": {"people": -1.9},
    "asking_share": {"people": -4.4},
    "by_user": {"roles": 3.0},
    "by_asked_role": {"roles": 5.8},
    "exchange_bm25": {"roles": 1.0},
    "date_words_asked": {"always": 0.2},
    "date_match": {"always": 2.1},
    "graph": {"always": 0.7},
    "recency": {"always": 0.02},
    "importance": {"always": 0.02},
}
# Of features that enter as z-scores; a floor is about the 5th percentile of the spread over the candidates of a query.
FLOORS: Mapping[str, float] = {
    "bm25": 0.8,
    "bm25_counted": 0.8,
    "char_bm25": 0.8,
    "bm25_of_best": 0.1,
    "bm25_of_ceiling": 0.05,
    "idf_coverage": 0.05,
    "passage_match": 0.06,
    "lead_match": 0.06,
    "feedback": 1.0,
    "near_in_time": 0.3,
    "exchange_bm25": 0.8,
    "cast_present": 0.1,
    "soft_match": 0.06,
    "near_match": 0.06,
    "near_match_w1": 0.06,
    "near_match_w2": 0.07,
    "exchange_match": 0.08,
    "log_length": 0.3,
    "previous_log_length": 0.3,
    "thread_bm25": 1.0,
    "thread_best_bm25": 0.1,
    "thread_best_soft_match": 0.05,
    "cosine": 0.05,
    "cosine_w1": 0.04,
}
FULL_SPREAD = 6.0  # highest z-score from which plain values have their full weight: 37 candidates
ASKED = (
    "date_match",
    "by_asked_role",
)  # features of what a query asks for: in a handful of candidates as decisive as among many
COSINE = "cosine"  # the feature whose weight is that of the embedding
COSINES = (COSINE, "cosine_w1")  # those that mean nothing where the embedding means nothing


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
        """`fixed_weights`, `linear` or `trees`."""
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


class FixedWeights:
    """The fixed sum.

    Args:
        weights: replaces the weights of single features of `features.FORMULAS`, whatever the kind; 0 leaves a feature
            out. Scores are then no longer those that the shipped calibration was made for: they only order.

    Raises:
        InvalidArgument: there is no such feature, or its weight is no finite number.
    """

    name = "fixed_weights"
    version = "fixed-weights-5"
    detail = False

    def __init__(self, weights: Mapping[str, float] | None = None) -> None:
        changed = dict(weights or {})
        for feature, weight in changed.items():
            if feature not in FORMULAS:
                raise InvalidArgument(f"There is no feature {feature!r}. Known: {', '.join(FORMULAS)}.")
            if not is_number(weight) or not math.isfinite(weight):
                raise InvalidArgument(f"The weight of {feature!r} must be a finite number, not {weight!r}.")
        if changed:
            self.version = f"{self.version} with {', '.join(f'{k} {v:g}' for k, v in sorted(changed.items()))}"
        self._weights = {**WEIGHTS, **{feature: {"always": weight} for feature, weight in changed.items()}}

    def score(self, features: Features) -> Ranking:
        """`Σ weight · z + s · Σ weight · value`, with `s = min(1, sqrt(candidates - 1) / 6)`.

        A z-score of n values is at most `sqrt(n - 1)`: in a handful of candidates the best match of all cannot be worth
        more than that, and what is said beside it must not outweigh it. A date that is asked for keeps its weight.
        """
        weights = {k: w for k, gated in self._weights.items() if (w := self._weight(k, gated, features))}
        names = [k for k in weights if k in FLOORS and k in features.columns]
        factors = np.asarray([weights[k] for k in names], dtype=np.float32)
        spread = spread_scores(features, names) * factors
        added: dict[str, Values] = dict(zip(names, spread.T, strict=True))
        scale = min(1.0, math.sqrt(max(features.size - 1, 0)) / FULL_SPREAD)
        added.update(
            (k, features[k] * np.float32(w if k in ASKED else w * scale))
            for k, w in weights.items()
            if k not in FLOORS and k in features.columns
        )
        return Ranking(scores=total(added, features.size), added=added)

    @staticmethod
    def _weight(feature: str, gated: Mapping[str, float], features: Features) -> float:
        """Of a feature, for this scope and query. What a cosine is worth depends on the embedding and the language.

        A strong embedding is worth more alone, not together with the neighbours' (`cosine_w1`), and takes nothing away.
        """
        gates, worth = features.gates, features.cosine_worth
        rise = worth if feature == COSINE else min(worth, 1.0) if feature in COSINES else 1.0
        return sum(
            weight * (1.0 if gate == "always" else gates.get(gate, 0.0)) * (rise if weight > 0 else min(rise, 1.0))
            for gate, weight in gated.items()
        )


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
