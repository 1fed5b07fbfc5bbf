"""Fitted models as JSON, as the package reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from recall_integrations.ranking.calibration import FORMAT, Calibration, Logistic


def logistic_data(model: Logistic) -> dict[str, Any]:
    """Return a model as `Logistic.from_dict` reads it."""
    rows = zip(model.names, model.weights.tolist(), model.low.tolist(), model.high.tolist(), strict=True)
    data: dict[str, Any] = {
        "bias": round(model.bias, 5),
        "inputs": {name: [round(w, 5), round(low, 5), round(high, 5)] for name, w, low, high in rows},
    }
    if model.hidden is not None:
        layer = {"into": model.hidden.into, "bias": model.hidden.bias, "out": model.hidden.out}
        data["hidden"] = {name: weights.round(4).tolist() for name, weights in layer.items()}
    return data


def calibration_data(calibration: Calibration) -> dict[str, Any]:
    """Return one ranker's calibration."""
    return {
        "ranker_version": calibration.ranker_version,
        "version": calibration.version,
        "about": dict(calibration.about),
        "confidence": {**logistic_data(calibration.result), "per_k": [round(v, 5) for v in calibration.per_k]},
        "hit": logistic_data(calibration.hit),
        "sole": logistic_data(calibration.sole),
    }


def to_json(calibrations: Mapping[str, Calibration]) -> str:
    """Write calibrations as `calibration.from_json` reads them."""
    rankers = {name: calibration_data(calibrations[name]) for name in sorted(calibrations)}
    return json.dumps({"format": FORMAT, "rankers": rankers}, indent=1, ensure_ascii=False) + "\n"
