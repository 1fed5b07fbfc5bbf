"""Sums over many short integers, by SIMD kernels where `simsimd` can be imported, else by numpy; runs of equal numbers.

Both give the same numbers: float32 holds them exactly up to 1,040 dimensions, and to seven digits above.

And parts of BM25 with an absolute length pivot: `K(len, p) = k1·(1 − b + b·max(len, p)/p)` takes the place of the
average length by a pivot `p` of the kind of text (Robertson and Zaragoza 2009; k1 = 1.2, b = 0.75).
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text.analyser import K1, B

_simsimd: Any
try:
    import simsimd as _simsimd
except ImportError:  # no wheel for this machine
    _simsimd = None

_BLOCK = 2_048  # rows that numpy widens at a time: they stay in the processor's cache
_FEW = 128  # rows that are multiplied with several queries at a time
_PRODUCT_MAX = 250_000  # multiplications in one matrix product; OpenBLAS starts threads from 262,144
_HALF_BITS = np.int32(-0x70002000)  # 0x8FFFE000: sign, and the 15 other bits of a half, three places lower
_HALF_SCALE = np.float32(2.0**112)  # between the exponents' biases


def dots(codes: NDArray[np.int8], query: NDArray[np.int8]) -> NDArray[np.float32]:
    """Compute the inner product of each row of `codes` `(n, d)` with `query` `(d,)`."""
    if not len(codes):
        return np.empty(0, dtype=np.float32)
    if _simsimd is not None:
        found = np.asarray(_simsimd.cdist(query[None], codes, metric="dot", out_dtype="f32"))
        return found.reshape(-1).astype(np.float32, copy=False)
    out = np.empty(len(codes), dtype=np.float32)
    wide = query.astype(np.float32)
    for begin in range(0, len(codes), _BLOCK):
        np.vecdot(codes[begin : begin + _BLOCK].astype(np.float32), wide, out=out[begin : begin + _BLOCK])
    return out


def products_of(codes: NDArray[np.int8], rows: NDArray[Any], queries: NDArray[np.int8]) -> NDArray[np.float32]:
    """Compute the inner products of `queries` `(m, d)` with some rows of `codes`, `(m, len(rows))`."""
    if not len(rows) or not len(queries):
        return np.empty((len(queries), len(rows)), dtype=np.float32)
    if _simsimd is not None:
        found = np.asarray(_simsimd.cdist(queries, codes.take(rows, axis=0), metric="dot", out_dtype="f32"))
        return found.reshape(len(queries), len(rows)).astype(np.float32, copy=False)
    out = np.empty((len(queries), len(rows)), dtype=np.float32)
    wide = queries.astype(np.float32)
    # In blocks that stay in the processor's cache, and too small for BLAS to wake its threads.
    step = max(8, min(_FEW, _PRODUCT_MAX // wide.size))
    for begin in range(0, len(rows), step):
        block = codes.take(rows[begin : begin + step], axis=0).astype(np.float32)
        np.matmul(wide, block.T, out=out[:, begin : begin + step])
    return out


def widened(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Convert finite float16 to float32, exactly, by moving bits: numpy does that in vectors, its cast one by one."""
    wide = _moved(halves)
    wide *= _HALF_SCALE
    return wide


def products_of_halves(halves: NDArray[np.float16], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute the inner product of each row of finite `halves` `(n, d)` with `query` `(d,)`, as if in float32."""
    # The query is scaled in place of the rows: by a power of two, so that not a bit of the sums is another.
    # vecdot, not `@`: a matrix product wakes BLAS threads, which on busy cores cost 10 ms where the sum takes 0.2.
    found: NDArray[np.float32] = np.vecdot(_moved(halves), query * _HALF_SCALE)
    return found


def _moved(halves: NDArray[np.float16]) -> NDArray[np.float32]:
    """Move the bits of float16 into float32 values that are 2¹¹² times too small."""
    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _HALF_BITS
    return bits.view(np.float32)


def maxima_of_runs(table: NDArray[np.float32], places: NDArray[Any], begins: NDArray[Any]) -> NDArray[np.float32]:
    """Compute the maxima of the rows of `table` `(n, m)` at each run of `places`: `(m, runs)`.

    The runs begin at `begins`, which rise from 0, and are short. Each is filled up to the longest by its last place, so
    that numpy takes maxima of whole rows: five times as fast as `reduceat`, which compares number by number.
    """
    ends = np.append(begins[1:], len(places))
    longest = int((ends - begins).max())
    padded = begins[:, None] + np.arange(longest)
    np.minimum(padded, ends[:, None] - 1, out=padded)
    best = table.take(places.take(padded), axis=0)
    while longest > 1:
        half = (longest + 1) // 2
        best = np.maximum(best[:, :half], best[:, longest - half : longest])
        longest = half
    return np.ascontiguousarray(best[:, 0].T)


Mask = NDArray[np.bool_]


def changes(values: NDArray[Any]) -> Mask:
    """Flag each value that differs from the one before it, and the first value."""
    new = np.empty(len(values), dtype=np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def heads(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place where each run of equal values begins."""
    return changes(values).nonzero()[0]


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct values, rising."""
    rising = np.sort(values)
    return rising[changes(rising)]


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
