"""How well a statement answers a question, by what was learned of both: "which gym do I go to?" and "joined the Y".

The static vector of a text is the mean of its words, whatever they are for. A question for a state and a statement that
answers it share few of them. So each of the two is turned and stretched by a matrix of its own before they are
compared: the two towers of Huang et al., "Learning Deep Structured Semantic Models for Web Search using Clickthrough
Data" (CIKM 2013), of one linear layer each, begun from the plain cosine. Taught by `benchmarks.facts.teaching_pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.reader.vectors import KEPT, vector_of
from recall_integrations.records import record

Vector = NDArray[np.float32]
QUERIES = 64  # that were asked last, and of which the vector is kept


@record(frozen=True, slots=True, kw_only=True)
class Towers:
    """What turns vectors, rounded to int8.

    Args:
        asked: `(dimensions, dimensions)`; a vector of a question is multiplied with it from the left.
        told: the same for statements.
        scales: float32 `(2,)`: what a step of the one and of the other is worth.
    """

    asked: NDArray[np.int8]
    told: NDArray[np.int8]
    scales: Vector


class Pairing:
    """Never changed after it is made, so threads share one.

    Args:
        towers: what it has learned.
    """

    def __init__(self, towers: Towers) -> None:
        self.towers = towers
        self._of_asked = towers.asked.astype(np.float32) * towers.scales[0]
        self._of_told = towers.told.astype(np.float32) * towers.scales[1]
        self._asked = lru_cache(maxsize=QUERIES)(lambda text: _turned(bundled().embed_query(text), self._of_asked))
        self._told = lru_cache(maxsize=KEPT)(lambda text: _turned(vector_of(text), self._of_told))

    def paired(self, question: str, texts: Sequence[Sequence[str]]) -> Vector:
        """How well each text answers a question, in [-1, 1]: that of its sentences which does it best, `(texts,)`.

        Args:
            question: what is asked.
            texts: the sentences of each, one at least.
        """
        asked = self._asked(question)
        said = np.stack([self._told(part) for parts in texts for part in parts])
        begins = np.cumsum([0, *map(len, texts[:-1])])
        # No product of matrices: see `facts.reader.slot_reader.Linear`.
        best: Vector = np.maximum.reduceat(np.einsum("ik,k->i", said, asked), begins)
        return best


def _turned(vector: Vector, tower: Vector) -> Vector:
    turned: Vector = np.einsum("j,jk->k", vector, tower)
    turned /= max(float(np.sqrt(turned @ turned)), 1e-9)
    turned.setflags(write=False)
    return turned


def towers_of(asked: NDArray[np.floating], told: NDArray[np.floating]) -> Towers:
    """Matrices of full precision, `(dimensions, dimensions)`, rounded."""
    scales = [max(float(np.abs(one).max()), 1e-9) / 127 for one in (asked, told)]
    rounded = [np.round(one / scale).astype(np.int8) for one, scale in zip((asked, told), scales, strict=True)]
    return Towers(asked=rounded[0], told=rounded[1], scales=np.asarray(scales, dtype=np.float32))
