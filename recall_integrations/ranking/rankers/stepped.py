"""The fixed sum with steps, learned from use and added to the shipped weights, feature by feature."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration.model import Calibration
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features, stacked
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.rankers.feature_sum import FULL_SPREAD, FixedWeights, floor_of, standardise
from recall_integrations.types.numbers import is_number

STEP_MAX = 3.0  # of one feature: as much as the strongest shipped weight


class SteppedWeights(FixedWeights):
    """Fixed sum with steps: `score = Σ (shipped weight + step) · x`, `x` as in the fixed sum.

    A step holds whatever the scope is made of; the gates of the shipped weights stay. The shipped calibration goes on
    to be used: steps are small beside the sum, and how far its probabilities are off is measured (docs/learning.md).

    Args:
        steps: steps by feature; those of features that no longer exist are left out.
        version: version of the steps.
        calibration: calibration of the fixed sum; `None` = scores are no probabilities.
        known: the features that there are.

    Raises:
        InvalidArgument: a step is no number of at most `STEP_MAX`.
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


def entered(features: Features, names: tuple[str, ...]) -> Values:
    """Return features as the fixed sum takes them in, before any weight: float32 `(names, candidates)`; 0 for a missing
    one.
    """
    known, size = features.known, features.size
    made = stacked([features[name] for name in names], size)
    if not size:
        return made
    spread = [i for i, name in enumerate(names) if known[name].floor is not None]
    rows = made[spread]
    standardise(rows, [floor_of(known[names[i]], features.cosine_spread) for i in spread])
    made[spread] = rows
    scale = np.float32(min(1.0, math.sqrt(max(size - 1, 0)) / FULL_SPREAD))
    for i, name in enumerate(names):
        feature = known[name]
        if feature.floor is None and not feature.decisive:
            made[i] *= scale
        if feature.worth_max is not None:
            made[i] *= np.float32(min(features.cosine_worth, feature.worth_max))
    return made
