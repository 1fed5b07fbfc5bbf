"""Maximal marginal relevance: prefer items that are relevant and not yet said.

Carbonell and Goldstein (1998), "The Use of MMR, Diversity-Based Reranking for Reordering Documents and Producing
Summaries": the next item is the one with the highest `λ·relevance − (1 − λ)·(greatest similarity to a chosen item)`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import InvalidArgument

# Similarities are rounded to this, so that equal vectors tie exactly whatever order BLAS summed them in.
_QUANTUM = 2.0**-20


def mmr(scores: NDArray[np.floating], vectors: NDArray[np.floating], k: int, lambda_: float) -> NDArray[np.intp]:
    """Return the order in which to take `k` of `n` items.

    Args:
        scores: relevance, shape `(n,)`, finite, in [0, 1] so that it weighs against a cosine.
        vectors: shape `(n, d)`, finite, rows of length 1 (or 0: similar to nothing).
        k: number of items to take; more than `n` takes all.
        lambda_: share of relevance in [0, 1]; 1 is the order of the scores, 0 is novelty alone.

    Returns:
        Indices into `scores`, shape `(min(k, n),)`, all different; ties go to the lower index.

    Raises:
        InvalidArgument: shapes that do not fit, numbers that are not finite, `k` below 0, `lambda_` outside [0, 1].
    """
    scores, vectors = _checked(scores, vectors, k, lambda_)
    n = len(scores)
    k = min(k, n)
    order = np.empty(k, dtype=np.intp)
    if k == 0:
        return order
    # The whole similarity matrix is one fast product, but only worth it if many of its rows are used.
    similarity = _rounded(vectors @ vectors.T) if 4 * k >= n else None
    value = lambda_ * scores
    weight = 1.0 - lambda_
    nearest = np.full(n, -np.inf)
    gain = value.copy()
    penalty = np.empty(n)
    for place in range(k):
        best = int(gain.argmax())  # the first of equals
        order[place] = best
        value[best] = -np.inf
        row = similarity[best] if similarity is not None else _rounded(vectors @ vectors[best])
        np.maximum(nearest, row, out=nearest)
        np.multiply(nearest, weight, out=penalty)
        np.subtract(value, penalty, out=gain)
    return order


def _rounded(similarity: NDArray[np.floating]) -> NDArray[np.float64]:
    scaled = np.asarray(similarity, dtype=np.float64) / _QUANTUM
    np.rint(scaled, out=scaled)
    scaled *= _QUANTUM
    return scaled


def _checked(
    scores: NDArray[np.floating], vectors: NDArray[np.floating], k: int, lambda_: float
) -> tuple[NDArray[np.float64], NDArray[np.floating]]:
    relevance = np.asarray(scores, dtype=np.float64)
    rows = np.asarray(vectors)
    if relevance.ndim != 1 or rows.ndim != 2 or len(rows) != len(relevance):
        raise InvalidArgument(
            f"mmr needs scores of shape (n,) and vectors of shape (n, d), not {relevance.shape} and {rows.shape}."
        )
    if not np.isfinite(relevance).all() or not np.isfinite(rows).all():
        raise InvalidArgument("mmr needs finite scores and vectors; there is a NaN or an infinity among them.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise InvalidArgument(f"k must be a whole number from 0 on, not {k!r}.")
    if not 0 <= lambda_ <= 1:
        raise InvalidArgument(f"lambda_ must be in [0, 1], not {lambda_!r}.")
    return relevance, rows
