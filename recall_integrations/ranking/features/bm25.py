"""Parts of BM25 with an absolute length pivot, for the features.

`K(len, p) = k1·(1 − b + b·max(len, p)/p)` takes the place of the average length by a pivot `p` of the kind of text
(Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text.analyser import K1, B

Values = NDArray[np.float32]
Real = TypeVar("Real", np.float32, np.float64)

PRODUCT_MAX = 8_192  # numbers in one product of a vector and a table; OpenBLAS starts threads from 9,216
PIVOT_1, PIVOT_2 = 75, 120  # of a window of ±1, of ±2 texts; `text.bm25.PIVOT` is of one text


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
