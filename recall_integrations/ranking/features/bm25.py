"""Parts of BM25 with an absolute length pivot, for the features.

`K(len, p) = k1·(1 − b + b·max(len, p)/p)` takes the place of the average length by a pivot `p` of the kind of text
(Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.text.analyser import K1, B

Values = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)

PRODUCT_MAX = 8_192  # numbers in one product of a vector and a table; OpenBLAS starts threads from 9,216
PIVOT_1, PIVOT_2 = 75, 120  # of a window of ±1, of ±2 texts; `text.bm25.PIVOT` is of one text

PLAIN_LENGTH = 200.0  # of the static vector of a word that says little
PLAIN, PLAIN_MIN = 0.3, 0.1  # `telling` from which a word counts in full, and the least share of it
PRIOR_MEMORIES = 10


def length_term(lengths: Values, pivot: float) -> Values:
    """Compute `K` of texts of these lengths."""
    k: Values = np.maximum(lengths, pivot)
    k *= np.float32(K1 * B / pivot)
    k += np.float32(K1 * (1 - B))
    return k


def undamped(worth: Values, lengths: Values, pivot: float) -> Values:
    """Compute `worth · 2.2 / (1 + K)` of texts of these lengths, in place."""
    damping: Values = np.maximum(lengths, pivot)
    damping *= np.float32(K1 * B / pivot / (K1 + 1))
    damping += np.float32((1 + K1 * (1 - B)) / (K1 + 1))
    worth /= damping
    return worth


def saturated(tf: Values, k: Values | np.float32) -> Values:
    """Compute BM25 of one term without its idf."""
    worth: Values = tf * np.float32(K1 + 1)
    worth /= tf + k
    return worth


def weighted(weights: NDArray[Real], table: NDArray[Real]) -> NDArray[Real]:
    """Sum the weighted rows of a table. Of a large one not by `@`: a product may wake BLAS threads."""
    summed: NDArray[Real] = weights @ table if table.size < PRODUCT_MAX else np.einsum("i,ij->j", weights, table)
    return summed


@lru_cache(maxsize=4_096)
def telling(word: str) -> float:
    """Rate how telling a word is: the longer its static vector, the rarer it is in the language; at least .05."""
    model = bundled()
    ids = np.asarray(model.tokenize_ids([word])[0], dtype=np.int64)
    length = float(np.linalg.norm(np.add.reduce(model.weighted(ids), axis=0))) if len(ids) else 0.0
    return min(max(length / PLAIN_LENGTH - 1, 0.05), 3.0)


@lru_cache(maxsize=256)
def telling_of(words: tuple[str, ...]) -> Values:
    """Rate each of the words."""
    return np.asarray([telling(word) for word in words], dtype=np.float32)


def language_weights(words: tuple[str, ...], memories: int, worth: float) -> Values:
    """Return factors for the idf of words, at most 1: of few memories each word is rare, so the language counts, too.

    "Who gets the keys?" is about keys, though of five memories one says "get". The fewer the memories, the more the
    language decides, as if ten memories of a prior stood beside those of the scope.

    Args:
        words: of the query.
        memories: of the scope.
        worth: how much the language counts, in [0, 1].
    """
    share: Values = np.clip(telling_of(words) / np.float32(PLAIN), PLAIN_MIN, 1)
    share[[not word.isalpha() for word in words]] = 1  # a sign or a digit ("O+", "27B") is no common word
    weights: Values = share ** np.float32(worth * PRIOR_MEMORIES / (PRIOR_MEMORIES + memories))
    return weights
