"""A linear ranker: a weight per feature, learned from labelled queries, kept as JSON.

`score = bias + Σ weight · x`, where `x` is the feature's z-score over the candidates (with the floor of
`Feature.floor`) for those in `spread`, and its value for those in `plain`; the logit of a logistic regression that
tells relevant candidates from others. `training.fit_linear` makes it; the package ships none, since weights learned on
one kind of data were no better on another than the fixed weights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration.model import Calibration
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.rankers import weight_files
from recall_integrations.ranking.rankers.feature_sum import Ranking, spread_scores, total
from recall_integrations.records import record
from recall_integrations.types.numbers import is_number

FORMAT = "recall-linear-1"


@record(frozen=True, slots=True, kw_only=True)
class LinearRanker:
    """Weights by feature.

    Args:
        version: version of the weights.
        bias: added to every score.
        spread: weights of z-scores.
        plain: weights of values.
        about: what it was trained on; kept as it is.
        calibration: turns its scores into probabilities.
        known: the features that there are.
    """

    version: str
    bias: float
    spread: Mapping[str, float]
    plain: Mapping[str, float]
    about: Mapping[str, Any]
    calibration: Calibration | None = field(default=None, compare=False)
    known: FeatureSet = field(default=FEATURES, compare=False)

    @property
    def name(self) -> str:
        return "linear"

    @property
    def detail(self) -> bool:
        """Always false: the features that only trees look at are not used."""
        return False

    def score(self, features: Features) -> Ranking:
        """Compute the logit of each candidate, and each feature's part of it."""
        names = tuple(self.spread)
        weights = np.asarray([self.spread[k] for k in names], dtype=np.float32)
        added: dict[str, Values] = dict(zip(names, (spread_scores(features, names) * weights).T, strict=True))
        added.update((k, features[k] * np.float32(w)) for k, w in self.plain.items() if k in features.columns)
        return Ranking(scores=total(added, features.size) + np.float32(self.bias), added=added)

    def described(
        self, *, version: str, about: Mapping[str, Any], calibration: Calibration | None = None
    ) -> LinearRanker:
        """Return the same weights under another version and description, with that version's calibration."""
        return replace(self, version=version, about=dict(about), calibration=calibration)

    def to_json(self) -> str:
        """Write the weights as `from_json` reads them."""
        fields = {
            "format": FORMAT,
            "version": self.version,
            "about": dict(self.about),
            "bias": round(self.bias, 5),
            "spread": {k: round(v, 5) for k, v in self.spread.items()},
            "plain": {k: round(v, 5) for k, v in self.plain.items()},
            "calibration": weight_files.kept_calibration(self.calibration),
        }
        return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"


def from_json(text: str, where: str = "the weights", known: FeatureSet = FEATURES) -> LinearRanker:
    """Read weights of known features.

    Raises:
        InvalidArgument: not weights of a linear ranker, or they name an unknown feature; the message says what.
    """
    fields = weight_files.parsed(text, FORMAT, where)
    version = str(fields.get("version", "unnamed"))
    return LinearRanker(
        version=version,
        bias=_number(fields.get("bias", 0.0), "bias", where),
        spread=_weights(fields, "spread", where, known.floors),
        plain=_weights(fields, "plain", where, known.main),
        about=weight_files.about(fields),
        calibration=weight_files.own_calibration(fields, "linear", version, where),
        known=known,
    )


def load(path: str | Path, known: FeatureSet = FEATURES) -> LinearRanker:
    """Read weights from a file, as `recall train` makes them.

    Raises:
        InvalidArgument: the file cannot be read, or does not hold weights of a linear ranker.
    """
    return from_json(weight_files.read(path, "the weights"), str(path), known)


def _weights(fields: Mapping[str, Any], part: str, where: str, names: Iterable[str]) -> dict[str, float]:
    given = fields.get(part, {})
    if not isinstance(given, dict):
        raise InvalidArgument(f"{where}: {part!r} must map features to weights, not be {type(given).__name__}.")
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise InvalidArgument(
            f"{where}: there is no feature {unknown[0]!r} for {part!r}. "
            "They belong to another version; train them again."
        )
    return {name: _number(value, f"{part}.{name}", where) for name, value in given.items()}


def _number(value: object, what: str, where: str) -> float:
    if not is_number(value) or not math.isfinite(value):
        raise InvalidArgument(f"{where}: {what} must be a finite number, not {value!r}.")
    return float(value)
