"""The model: whether a query asks for a state, how likely each candidate tells it, and which is the latest of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError
from recall_integrations.facts.latest.attention import gelu
from recall_integrations.facts.latest.evidence import FEATURES, Comparing
from recall_integrations.facts.latest.matching import NAMES, Matching
from recall_integrations.facts.latest.pairing import Pairing, Towers
from recall_integrations.facts.latest.superseding import NAMES as OF_SUPERSEDING
from recall_integrations.facts.latest.superseding import Superseding
from recall_integrations.facts.reader.features import places
from recall_integrations.facts.reader.slot_reader import QUERIES, Linear, Part
from recall_integrations.records import record

FILE = Path(__file__).with_name("latest.safetensors")
STATE, OTHER = "state", "other"  # classes of a query: it asks for a state of somebody, or for anything else
_PART = ("vector", "words", "scales", "bias", "rare")
_NET = ("mean", "spread", "inner", "inner_bias", "outer", "outer_bias")
_TOWERS = ("asked", "told", "scales")

Matrix = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Nets:
    """Small networks with one hidden layer (GELU), whose answers are averaged: each was begun with other numbers.

    Args:
        mean: float32 `(nets, features)`, taken off.
        spread: float32 `(nets, features)`, divided by.
        inner: float32 `(nets, features, hidden)`.
        inner_bias: float32 `(nets, hidden)`.
        outer: float32 `(nets, hidden)`.
        outer_bias: float32 `(nets,)`.
    """

    mean: Matrix
    spread: Matrix
    inner: Matrix
    inner_bias: Matrix
    outer: Matrix
    outer_bias: Matrix

    def logits(self, found: Matrix) -> Matrix:
        """Of telling what is asked: float32 `(nets, candidates)`."""
        given = (found[None] - self.mean[:, None]) / self.spread[:, None]
        inner = gelu((given @ self.inner + self.inner_bias[:, None]).astype(np.float32))
        logits: Matrix = (inner @ self.outer[:, :, None])[:, :, 0] + self.outer_bias[:, None]
        return logits


class LatestModel:
    """Never changed after it is made, so threads share one.

    Args:
        asking: whether a query asks for a state; classes `state` and `other`.
        nets: how likely a candidate tells what is asked.
        comparing: compares questions and texts, which is a part of the evidence.
    """

    def __init__(self, asking: Part, nets: Nets, comparing: Comparing) -> None:
        self.comparing = comparing
        self._asking, self._nets = Linear(asking), nets
        self._state = asking.classes.index(STATE)
        self._asks = lru_cache(maxsize=QUERIES)(self._asks_of)

    def asks(self, query: str) -> float:
        """Share of asking for a state, in [0, 1]."""
        return self._asks(query)

    def _asks_of(self, query: str) -> float:
        return float(self._asking.shares(bundled().embed_query(query), places(query))[self._state])

    def telling(self, found: Matrix, at: Sequence[int]) -> tuple[Matrix, Matrix]:
        """How likely each candidate tells what is asked, and how likely it is the latest that does.

        Of candidates that tell independently of each other, one is the latest that does if it does and no later one
        does. What is missing from 1 in the sum of the second is how likely none tells it.

        Args:
            found: `evidence` of the candidates.
            at: when each was told, microseconds; of equal ones the earlier place counts as later.
        """
        logits = self._nets.logits(found)
        told, untold = _log_share(logits), _log_share(-logits)
        order = np.lexsort((np.arange(len(at)), -np.asarray(at, dtype=np.int64)))  # the latest first
        later = np.zeros_like(untold)
        later[:, order[1:]] = np.cumsum(untold[:, order[:-1]], axis=1)
        return np.exp(told).mean(axis=0), np.exp(told + later).mean(axis=0)


def _log_share(logits: Matrix) -> Matrix:
    """Logarithm of the logistic function, without overflow."""
    share: Matrix = -np.logaddexp(np.float32(0), -logits)
    return share


@cache
def latest_model() -> LatestModel:
    """The model that ships, one for the whole process.

    Raises:
        EmbeddingError: its file is missing, damaged, or of other evidence.
    """
    return load(FILE)


def load(file: Path) -> LatestModel:
    """A model.

    Raises:
        EmbeddingError: it cannot be read, or is of other evidence than `FEATURES`.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy") as opened:
            about = json.loads((opened.metadata() or {})["about"])
            if tuple(about["features"]) != FEATURES:
                raise EmbeddingError(f"The model {file} is of other evidence. Reinstall recall-integrations.")
            asking = Part(
                classes=tuple(about["classes"]), **{name: opened.get_tensor(f"asking.{name}") for name in _PART}
            )
            nets = Nets(**{name: opened.get_tensor(f"nets.{name}") for name in _NET})
            towers = Towers(**{name: opened.get_tensor(f"pairing.{name}") for name in _TOWERS})
            length = float(about["length"])
            matching = Matching({name: opened.get_tensor(f"matching.{name}") for name in NAMES}, length)
            weights = {name: opened.get_tensor(f"superseding.{name}") for name in OF_SUPERSEDING}
    except (OSError, SafetensorError, KeyError, ValueError) as e:
        raise EmbeddingError(f"Cannot read the model {file}: {e}. Reinstall recall-integrations.") from e
    comparing = Comparing(pairing=Pairing(towers), matching=matching, superseding=Superseding(weights, length))
    return LatestModel(asking, nets, comparing)


def save(asking: Part, nets: Nets, comparing: Comparing, file: Path) -> None:
    """Write a model where `load` finds it."""
    from safetensors.numpy import save_file

    tensors = {f"asking.{name}": getattr(asking, name) for name in _PART}
    tensors |= {f"nets.{name}": getattr(nets, name) for name in _NET}
    tensors |= {f"pairing.{name}": getattr(comparing.pairing.towers, name) for name in _TOWERS}
    for name in ("matching", "superseding"):
        tensors |= {f"{name}.{each}": one for each, one in getattr(comparing, name).weights.items()}
    tensors = {name: np.ascontiguousarray(one) for name, one in tensors.items()}  # else rows are written as columns
    about = {"features": FEATURES, "classes": asking.classes, "length": comparing.matching.length}
    save_file(tensors, file, {"about": json.dumps(about)})
