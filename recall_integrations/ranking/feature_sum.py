"""The ranker: a sum of features with fixed weights (`Feature.weight`), and the same with steps learned from use.

Features of the whole candidate list enter as z-scores, so that scales of embeddings and of BM25 do not matter; those
that few candidates have enter as they are, since a z-score of a rare value grows without limit. A spread below
`Feature.floor` counts as the floor: where all candidates are about equal in something, the small differences must not
decide (as in a scope of five memories). Evidence that is absent is the same for all candidates and orders nothing.

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
from functools import lru_cache
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.kernels import Values
from recall_integrations.ranking.calibration import Calibration
from recall_integrations.ranking.features.compute import FEATURES, Features, stacked
from recall_integrations.ranking.features.feature import Feature, FeatureSet
from recall_integrations.records import record
from recall_integrations.types.numbers import is_number

FULL_SPREAD = 6.0  # highest z-score from which plain values have their full weight: 37 candidates
STEP_MAX = 3.0  # of one feature: as much as the strongest shipped weight


@record(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Scores of the candidates, higher is better, and each feature's part of them.

    What the features added sums to the score, but for a constant that is the same for all candidates.
    Scores order the candidates of one query. They are no probabilities and are not comparable between rankers.
    """

    scores: Values
    added: Mapping[str, Values]


@runtime_checkable
class Ranker(Protocol):
    """Object that gives candidates their order.

    One with an attribute `calibration` (a `Calibration`) has its scores turned into probabilities by it. One with an
    attribute `known` (a `FeatureSet`) gets those features, any other one the package's.
    """

    @property
    def name(self) -> str:
        """Name of the ranker, such as `fixed_weights`."""
        ...

    @property
    def version(self) -> str:
        """Version of the weights; part of the cache key."""
        ...

    def score(self, features: Features) -> Ranking:
        """Score every candidate."""
        ...


def known_of(ranker: Ranker | None) -> FeatureSet:
    """Return the features that a ranker gets."""
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
    version = "fixed-weights-9"

    def __init__(self, weights: Mapping[str, float] | None = None, known: FeatureSet = FEATURES) -> None:
        changed = dict(weights or {})
        for feature, weight in changed.items():
            if feature not in known:
                raise InvalidArgument(f"There is no feature {feature!r}. Known: {', '.join(known.names)}.")
            if not is_number(weight) or not math.isfinite(weight):
                raise InvalidArgument(f"The weight of {feature!r} must be a finite number, not {weight!r}.")
        if known is not FEATURES:
            self.version = f"{self.version} of {', '.join(known.weights)}"
        if changed:
            self.version = f"{self.version} with {', '.join(f'{k} {v:g}' for k, v in sorted(changed.items()))}"
        self.known = known
        self._gated = {**known.weights, **{feature: {"always": weight} for feature, weight in changed.items()}}
        self._weights_of = lru_cache(maxsize=256)(self._weights)

    def score(self, features: Features) -> Ranking:
        """Compute `Σ weight · z + s · Σ weight · value`, with `s = min(1, sqrt(candidates - 1) / 6)`.

        A z-score of n values is at most `sqrt(n - 1)`: in a handful of candidates the best match of all cannot be worth
        more than that, and neighbouring texts must not outweigh it. A date that is asked for keeps its weight.
        """
        # Of a scope and a kind of query they are the same every time.
        gates, column = tuple(features.gates.items()), features.columns.get
        embedding = features.cosine_worth, features.cosine_spread
        terms = self._weights_of(gates, *embedding)
        found = [(name, values) for name in terms.names if (values := column(name)) is not None]
        if len(found) < len(terms.names):
            terms = self._weights_of(gates, *embedding, tuple([name for name, _ in found]))
        made = stacked([values for _, values in found], features.size)
        standardise(made[: len(terms.floors)], terms.floors)
        scale, weights = scale_of(features.size), terms.weights
        made *= weights if scale == 1 else np.where(terms.scaled, weights * np.float32(scale), weights)
        return Ranking(scores=np.add.reduce(made, axis=0), added=dict(zip(terms.names, made, strict=True)))

    def _weights(
        self,
        gates: tuple[tuple[str, float], ...],
        cosine_worth: float,
        cosine_spread: float,
        among: tuple[str, ...] | None = None,
    ) -> _Terms:
        """Collect the features with a weight in this scope and query, all or `among` these: those that enter as
        z-scores first.
        """
        opened, found = dict(gates), []
        for name, gated in self._gated.items():
            feature = self.known[name]
            if among is not None and name not in among:
                continue
            if weight := _weight(gated, feature.worth_max, opened, cosine_worth):
                found.append((feature, weight))
        found.sort(key=lambda term: term[0].floor is None)
        return _Terms(
            names=[feature.name for feature, _ in found],
            weights=np.asarray([weight for _, weight in found], dtype=np.float32)[:, None],
            floors=np.asarray([floor_of(f, cosine_spread) for f, _ in found if f.floor is not None], dtype=np.float32),
            scaled=np.asarray([f.floor is None and not f.decisive for f, _ in found], dtype=np.bool_)[:, None],
        )


class SteppedWeights(FixedWeights):
    """Fixed sum with steps: `score = Σ (shipped weight + step) · x`, `x` as in the fixed sum.

    A step holds whatever the scope is made of; the gates of the shipped weights stay. Steps of features that no longer
    exist are left out. The shipped calibration goes on to be used: steps are small beside the sum, and how far its
    probabilities are off is measured (docs/learning.md).
    """

    def __init__(
        self,
        steps: Mapping[str, float],
        version: str,
        calibration: Calibration | None = None,
        known: FeatureSet = FEATURES,
    ) -> None:
        super().__init__(known=known)
        for feature, step in steps.items():
            if not is_number(step) or not math.isfinite(step) or abs(step) > STEP_MAX:
                raise InvalidArgument(
                    f"The step of {feature!r} must be a number of at most {STEP_MAX:g}, not {step!r}."
                )
        self.version = f"{self.version} and {version}"
        self.steps = {feature: float(step) for feature, step in steps.items() if feature in known.weights}
        self.calibration = calibration
        for feature, step in self.steps.items():
            gated = self._gated[feature]
            self._gated[feature] = {**gated, "always": gated.get("always", 0.0) + step}


def scale_of(candidates: int) -> float:
    """Return the share of its weight with which a plain value counts among so many candidates."""
    return min(1.0, math.sqrt(max(candidates - 1, 0)) / FULL_SPREAD)


def floor_of(feature: Feature, cosine_spread: float) -> float:
    """Give the least spread of a feature that counts, in the units of the store's embedding where it is a cosine."""
    floor = feature.floor or 0.0
    return floor if feature.worth_max is None else floor * min(cosine_spread, 1.0)


def _weight(gated: Mapping[str, float], worth_max: float | None, gates: Mapping[str, float], worth: float) -> float:
    """Compute a feature's weight for this scope and query. A cosine's worth depends on the embedding and the language.

    A strong embedding is worth more alone, not together with the neighbours' (`cosine_w1`), and takes nothing away.
    """
    rise = 1.0 if worth_max is None else min(worth, worth_max)
    return sum(
        weight * (1.0 if gate == "always" else gates.get(gate, 0.0)) * (rise if weight > 0 else min(rise, 1.0))
        for gate, weight in gated.items()
    )


class _Terms(NamedTuple):
    """Features in the sum: those that enter as z-scores come first, and have a floor."""

    names: list[str]
    weights: Values  # `(names, 1)`
    floors: Values
    scaled: NDArray[np.bool_]  # which count for less in a handful of candidates, `(names, 1)`


def standardise(rows: Values, floors: Sequence[float] | Values) -> None:
    """Apply `(value − mean) / max(standard deviation, floor)` in place to each of `rows`, `(names, candidates)`."""
    size = rows.shape[1]
    if not rows.size:
        return
    rows -= (np.add.reduce(rows, axis=1) / np.float32(size))[:, None]
    deviation = np.sqrt(np.add.reduce(rows * rows, axis=1) / np.float32(size))
    rows /= np.maximum(deviation, np.asarray(floors, dtype=np.float32))[:, None]


def entered(features: Features, names: tuple[str, ...]) -> Values:
    """Return features as the fixed sum takes them in, before any weight, `(names, candidates)`; 0 for a missing one."""
    known, size = features.known, features.size
    made = stacked([features[name] for name in names], size)
    if not size:
        return made
    spread = [i for i, name in enumerate(names) if known[name].floor is not None]
    rows = made[spread]
    standardise(rows, [floor_of(known[names[i]], features.cosine_spread) for i in spread])
    made[spread] = rows
    scale = np.float32(scale_of(size))
    for i, name in enumerate(names):
        feature = known[name]
        if feature.floor is None and not feature.decisive:
            made[i] *= scale
        if feature.worth_max is not None:
            made[i] *= np.float32(min(features.cosine_worth, feature.worth_max))
    return made
