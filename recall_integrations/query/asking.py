"""Estimate whether a query asks how things are, and not what happened, why, or how something is done.

A logistic model over the bundled vector of the query, fitted by `scripts/fit_asking.py`; it knows English.
"""

from __future__ import annotations

import json
import math
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled

WEIGHTS = Path(__file__).with_name("asking.json")
USUAL = 0.6
LOGIT_MAX = 8.0
CHARS_MAX = 1_024  # of a query that are read


@cache
def _model() -> tuple[NDArray[np.float64], float]:
    """Read the weights of the 256 numbers of a vector, and the bias: the logit if all of them are 0."""
    kept = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return np.asarray(kept["weights"], dtype=np.float64), float(kept["bias"])


def bare(query: str) -> str:
    """Cut a query, and leave out the marks at its end: a "?" or its absence says nothing of the user's wish."""
    return query[:CHARS_MAX].rstrip(" ?!.…¿¡。？！")


def asks_state(query: str, language: str | None) -> float:
    """Estimate the probability that a query asks how things are."""
    return _asks_state(bare(query)) if language in ("en", "", None) else USUAL


@lru_cache(maxsize=256)
def _asks_state(query: str) -> float:
    weights, bias = _model()
    logit = float(bundled().embed_query(query) @ weights) + bias
    return 1 / (1 + math.exp(-min(max(logit, -LOGIT_MAX), LOGIT_MAX)))
