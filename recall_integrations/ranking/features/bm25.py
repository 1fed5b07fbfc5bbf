"""BM25 with an absolute length pivot, in pieces: what the features are made of.

`K(len, p) = k1·(1 − b + b·max(len, p)/p)` takes the place of the average length by a pivot `p` of the kind of text
(Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text.bm25 import K1, B

Values = NDArray[np.float32]

PIVOT_1, PIVOT_2 = 75, 120  # of a window of ±1, of ±2 texts; `text.bm25.PIVOT` is of one text


def length_term(lengths: Values, pivot: float) -> Values:
    """`K` of texts of these lengths."""
    k: Values = np.float32(K1) * (np.float32(1 - B) + np.float32(B) * np.maximum(lengths, pivot) / np.float32(pivot))
    return k


def saturated(tf: Values, k: Values | np.float32) -> Values:
    """BM25 of one term without its idf."""
    worth: Values = tf * np.float32(K1 + 1) / (tf + k)
    return worth


def weighted(weights: Values, table: Values) -> Values:
    """Weighted sum over the query's stems. einsum, not `@`: a matrix product may wake BLAS threads (see `Lexicon`)."""
    summed: Values = np.einsum("i,ij->j", weights, table)
    return summed
