"""Logistic models over named inputs, with or without a hidden layer: of calibrations, and of pairs of hits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.ranking.features.bm25 import weighted
from recall_integrations.records import record

LOGIT_MAX = 12.0  # a model's probability is never closer to 0 or 1 than 6e-6
Doubles = NDArray[np.float64]


@record(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Hidden layer of a logistic model: `Σ out · tanh(into · input + bias)`, inputs clipped."""

    into: Doubles  # float64 `(units, inputs)`
    bias: Doubles  # bias, out: float64 `(units,)`
    out: Doubles

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], inputs: int) -> Hidden:
        """Read a layer from a file that `scripts/` has written."""
        into, bias, out = (np.asarray(kept[name], dtype=np.float64) for name in ("into", "bias", "out"))
        if into.shape != (len(bias), inputs) or bias.shape != out.shape:
            raise ValueError("the hidden layer does not fit the inputs")
        if not all(np.isfinite(part).all() for part in (into, bias, out)):
            raise ValueError("a weight of the hidden layer is not a finite number")
        return cls(into=into, bias=bias, out=out)


@record(frozen=True, slots=True, kw_only=True)
class Logistic:
    """Logistic model with the logit `bias + Σ weight · clip(input, low, high)`, plus that of a hidden layer."""

    names: tuple[str, ...]  # the inputs, in the order of the other three
    weights: Doubles  # weights, low, high: float64 `(len(names),)`
    low: Doubles
    high: Doubles
    bias: float  # logit where all inputs are 0
    hidden: Hidden | None = None  # `None` = none

    def logits(self, x: Doubles) -> Doubles:
        """Compute the logit of each row of `(n, inputs)`."""
        columns = np.minimum(np.maximum(x, self.low), self.high).T
        z = weighted(self.weights, columns) + self.bias
        if self.hidden is not None:
            made = np.tanh(self.hidden.into @ columns + self.hidden.bias[:, None])
            z += weighted(self.hidden.out, made)
        return np.minimum(np.maximum(z, -LOGIT_MAX), LOGIT_MAX)

    def logit(self, x: Doubles) -> float:
        """Compute the logit of one row, `(inputs,)`."""
        return float(self.logits(x[None, :])[0])

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any], names: tuple[str, ...]) -> Logistic:
        """Read a model from a file that `scripts/` has written."""
        inputs = kept["inputs"]
        if set(inputs) != set(names):
            raise ValueError(f"inputs differ from this version's: {sorted(set(inputs) ^ set(names))}")
        table = np.asarray([inputs[name] for name in names], dtype=np.float64).reshape(-1, 3)
        bias = float(kept["bias"])
        if not (np.isfinite(table).all() and math.isfinite(bias)) or (table[:, 1] > table[:, 2]).any():
            raise ValueError("a weight or a bound is not a finite number, or a lower bound is above the upper one")
        hidden = None if kept.get("hidden") is None else Hidden.from_dict(kept["hidden"], len(names))
        weights, low, high = table.T
        return cls(names=names, weights=weights, low=low, high=high, bias=bias, hidden=hidden)
