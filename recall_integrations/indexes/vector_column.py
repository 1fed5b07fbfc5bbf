"""The vectors of a scope in memory: small codes that are scanned, and float16 rows from which scores are computed.

A row's code is int8: its components divided by the largest of them. A scan compares codes, and what can be among the
best by them is compared again by its float16 row. How far the two can be apart is known (the longest of what rounding
took from a row, and from the query), so a scan returns what comparing all rows would have, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.array_file import Scratch, grown, held, let_go, roomier
from recall_integrations.indexes.kernels import dots, products_of_halves, widened
from recall_integrations.records import record

_FEW = 256  # rows that are compared at once without looking at their codes
_AT_ONCE = 2_048  # rows widened at a time: they stay in the processor's cache
_LARGEST = 127
_GROUP, _GROUPS = 16, 8_192  # scores of which the best is looked at, and more where there would be so many groups
_RESIDENT_MAX = 64_000_000  # bytes of a mapped file's rows that stay in memory: those of 125,000 of the bundled model
_AROUND = 65_536  # bytes that become resident where one of them is read; Linux 6.18 maps whole folios, up to 2 MB
_SLACK = 2e-6  # what sums in float32 are off
GROWING = tuple(f"vectors.{name}" for name in ("halves", "codes", "scales"))  # when a row is added

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]
Best = Callable[[Rows, Scores, int], tuple[Rows, Scores]]


def scan_max(exact_max: int, dimensions: int, budget_bytes: int) -> int:
    """Return the number of rows up to which vectors are scanned: at most `exact_max`, and as many as fit the budget."""
    return min(exact_max, budget_bytes // (3 * dimensions + 4))  # float16, int8, and the factor of a row


class Mapped:
    """Rows mapped from a file and read here and there, with a bound on their resident memory."""

    __slots__ = ("_left", "_most", "_rows")

    def __init__(self, rows: NDArray[np.float16], most: int = _RESIDENT_MAX) -> None:
        self._rows = rows
        # Of w windows, x reads touch w · (1 - e^(-x / w)).
        windows = rows.nbytes / _AROUND
        self._most = math.inf if rows.nbytes <= most else -windows * math.log1p(-most / rows.nbytes)
        self._left = self._most

    def read(self, count: int) -> None:
        """Note that `count` rows were read."""
        self._left -= count  # two threads may count as one: it is let go of a little later
        if self._left < 0:
            self._left = self._most
            let_go(self._rows)


@record(frozen=True, slots=True, kw_only=True)
class VectorRows:
    """Rows of a column at one time."""

    halves: NDArray[np.float16]  # float16 `(n, d)`: unit rows, 0 where there is none
    codes: NDArray[np.int8] | None = None  # int8 `(n, d)`, or `None` where they are only for scoring subsets
    scales: NDArray[np.float32] | None = None  # float32 `(n,)`: what a code is multiplied by
    lost: float = 0.0  # length of the longest difference between a row and its code
    mapped: Mapped | None = None  # told of what is read of `halves`, where they are mapped

    def __len__(self) -> int:
        return len(self.halves)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.halves.shape[1])

    @property
    def scanned(self) -> bool:
        """True if there are codes to scan."""
        return self.codes is not None

    def of(self, rows: Rows | slice) -> NDArray[np.float32]:
        """Return the vectors of rows, `(len(rows), d)`."""
        found = widened(self.halves[rows])
        if self.mapped is not None:
            self.mapped.read(len(found))
        return found

    def cosines(self, rows: Rows, queries: NDArray[np.float32]) -> Scores:
        """Compute the best cosine of each row with any of `queries` `(m, d)`."""
        if len(rows) > _AT_ONCE:
            parts = [self.cosines(rows[i : i + _AT_ONCE], queries) for i in range(0, len(rows), _AT_ONCE)]
            return np.concatenate(parts)
        if len(queries) == 1:
            if self.mapped is not None:
                self.mapped.read(len(rows))
            return products_of_halves(self.halves.take(rows, axis=0), queries[0])
        near = self.of(rows)
        # vecdot, not `@`: a matrix product wakes BLAS threads, which on busy cores cost 10 ms where the sum takes 0.2.
        best: Scores = np.vecdot(near, queries[0])
        for query in queries[1:]:
            np.maximum(best, np.vecdot(near, query), out=best)
        return best


class VectorColumn:
    """Column of vectors that grows row by row. Snapshots share its rows; not safe to extend from two threads."""

    def __init__(
        self, dimensions: int, capacity: int = 64, *, scanned: bool = True, scratch: Scratch | None = None
    ) -> None:
        self.dimensions, self.scanned = dimensions, scanned
        self._scratch = scratch = Scratch() if scratch is None else scratch
        self._n, self._lost = 0, 0.0
        capacity = max(64, capacity)
        self._halves: NDArray[np.float16] = scratch.empty((capacity, dimensions), np.float16)
        self._codes = np.empty((capacity if scanned else 0, dimensions), dtype=np.int8)
        self._scales = np.empty(capacity if scanned else 0, dtype=np.float32)
        self._mapped: Mapped | None = None  # what is scratch the system writes out by itself where memory is short

    def __len__(self) -> int:
        return self._n

    @property
    def bytes(self) -> int:
        """Bytes of memory for the column; rows in a file are read here and there, and need a bounded part of it."""
        rows = min(held(self._halves) or _RESIDENT_MAX, self._halves.nbytes)
        return int(rows + self._codes.nbytes + self._scales.nbytes)

    def append(self, rows: NDArray[np.float16]) -> None:
        """Append rows, `(n, d)`, finite."""
        first, end = self._n, self._n + len(rows)
        if end > len(self._halves):
            self._grow(max(end, roomier(len(self._halves))))
        self._halves[first:end] = rows
        if self.scanned:
            for begin in range(first, end, _AT_ONCE):
                part = slice(begin, min(begin + _AT_ONCE, end))
                codes, scales, lost = coded(widened(self._halves[part]))
                self._codes[part], self._scales[part] = codes, scales
                self._lost = max(self._lost, float(lost.max(initial=0.0)))
        self._n = end

    def _grow(self, capacity: int) -> None:
        self._halves = self._scratch.grown(self._halves, self._n, capacity)
        self._mapped = None
        if self.scanned:
            self._codes = grown(self._codes, self._n, capacity)
            self._scales = grown(self._scales, self._n, capacity)

    def kept(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Return the arrays of some rows, which rise, for a file; of all rows without a copy: they never change."""
        chosen = slice(self._n) if len(rows) == self._n else rows
        found: dict[str, NDArray[Any]] = {"vectors.halves": self._halves[chosen]}
        if self.scanned:
            found["vectors.codes"], found["vectors.scales"] = self._codes[chosen], self._scales[chosen]
            found["vectors.lost"] = np.asarray([self._lost], dtype=np.float64)
        return found

    @classmethod
    def restored(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        *,
        scanned: bool,
        buffers: Mapping[str, NDArray[Any]] | None = None,
        scratch: Scratch | None = None,
    ) -> VectorColumn:
        """Return a column as if `kept` rows had been appended to it; it goes on with these very arrays."""
        halves = arrays["vectors.halves"]
        if halves.ndim != 2:
            raise ValueError(f"vectors of the shape {halves.shape}")
        column = cls(halves.shape[1], 0, scanned=scanned, scratch=scratch)
        roomy = arrays if buffers is None else buffers
        column._halves, column._n, column._mapped = roomy["vectors.halves"], len(halves), Mapped(halves)
        if scanned:
            codes, scales = arrays["vectors.codes"], arrays["vectors.scales"]
            column._lost = float(arrays["vectors.lost"][0])
            if codes.shape != halves.shape or scales.shape != halves.shape[:1]:
                raise ValueError(f"codes of the shape {codes.shape} for vectors of {halves.shape}")
            column._codes, column._scales = roomy["vectors.codes"], roomy["vectors.scales"]
        return column

    def snapshot(self) -> VectorRows:
        """Return the rows as they are now."""
        n = self._n
        return VectorRows(
            halves=self._halves[:n],
            codes=self._codes[:n] if self.scanned else None,
            scales=self._scales[:n] if self.scanned else None,
            lost=self._lost,
            mapped=self._mapped,
        )

    @classmethod
    def of(cls, rows: NDArray[np.floating], *, scanned: bool = True) -> VectorRows:
        """Convert vectors to `VectorRows`."""
        column = cls(rows.shape[1], len(rows), scanned=scanned)
        column.append(rows.astype(np.float16))
        return column.snapshot()


def coded(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], Scores, Scores]:
    """Round rows to codes; return them, the factor of each, and the length of each rounding error."""
    scales: Scores = np.maximum.reduce(np.abs(rows), axis=1, initial=0.0)
    scales /= np.float32(_LARGEST)
    scaled = rows / (np.where(scales > 0, scales, 1) if np.count_nonzero(scales) < len(scales) else scales)[:, None]
    whole = np.rint(scaled)
    scaled -= whole
    lost: Scores = np.sqrt(np.vecdot(scaled, scaled)) * scales
    return whole.astype(np.int8), scales, lost


class Similarities:
    """Nearness of a scope's rows to a query's readings: approximate for all, exact for those that are asked for.

    Several arms and the ranking ask for the same rows: exact numbers are kept. Threads may share one; two that ask for
    a row at once both compute the same number.
    """

    __slots__ = ("_best", "_exact", "_known", "_queries", "_rough", "_vectors", "margin")

    def __init__(self, vectors: VectorRows, queries: NDArray[np.float32], best: Best) -> None:
        if vectors.codes is None or vectors.scales is None:
            raise ValueError("Vectors without codes cannot be scanned.")
        self._vectors, self._queries, self._best = vectors, queries, best
        # Blank memory, of which only the pages that are written to are taken.
        self._exact, self._known = np.zeros(len(vectors), dtype=np.float32), np.zeros(len(vectors), dtype=np.bool_)
        codes, scales, lost = coded(queries)
        longest = float(np.sqrt(np.maximum.reduce(np.vecdot(queries, queries))))
        # |x·q - x̂·q̂| ≤ |x - x̂|·|q| + |x̂|·|q - q̂|, and |x̂| ≤ 1 + |x - x̂|; a unit row in float16 is a little off.
        self.margin = vectors.lost * longest + (1.001 + vectors.lost) * float(np.maximum.reduce(lost)) + _SLACK
        rough = dots(vectors.codes, codes[0]) * scales[0]
        for code, scale in zip(codes[1:], scales[1:], strict=True):
            np.maximum(rough, dots(vectors.codes, code) * scale, out=rough)
        rough *= vectors.scales
        self._rough: Scores = rough

    def __len__(self) -> int:
        return len(self._vectors)

    def of(self, rows: Rows) -> Scores:
        """Return the similarities of rows, `(len(rows),)`."""
        missing = rows[~self._known[rows]]
        if len(missing):
            found = self._vectors.cosines(missing, self._queries)
            if len(missing) == len(rows):
                self._exact[rows] = found
                self._known[rows] = True
                return found
            self._exact[missing] = found
            self._known[missing] = True  # last: who sees it set finds the number there
        return self._exact[rows]

    def roughly(self, rows: Rows) -> Scores:
        """Return approximate similarities, no more than `margin` above or below the exact ones."""
        return self._rough[rows]

    def top(self, allowed: Mask | None, limit: int) -> tuple[Rows, Scores]:
        """Return the most similar rows and their similarities: falling, ties by id."""
        if allowed is not None and np.count_nonzero(allowed) <= _FEW:
            return self.top_of(np.flatnonzero(allowed), limit)
        rough = self._rough if allowed is None else np.where(allowed, self._rough, -np.inf)
        return self._best_of(None, rough, limit, self.of, self.margin)

    def top_of(
        self, rows: Rows, limit: int, base: Scores | float | None = None, share: float = 1.0
    ) -> tuple[Rows, Scores]:
        """Return the best of some rising rows and their scores: falling, ties by id.

        With `base`, a score is `base + share · similarity`, with similarities below 0 as 0; else the similarity alone.
        """
        if base is None:
            return self._best_of(rows, self.roughly(rows) if len(rows) > _FEW else None, limit, self.of, self.margin)
        known = base if isinstance(base, np.ndarray) else None

        def scored(near: Scores, at: Rows | None) -> Scores:
            of_each = base if known is None else known if at is None else known[at]
            # `numpy.clip` takes several times as long for so few.
            return np.asarray(of_each + share * np.minimum(np.maximum(near, 0), 1), dtype=np.float32)

        def exactly(some: Rows) -> Scores:
            return scored(self.of(some), None if known is None else np.searchsorted(rows, some))

        rough = scored(self.roughly(rows), None) if len(rows) > max(limit, _FEW) else None
        return self._best_of(rows, rough, limit, exactly, share * self.margin + _SLACK)

    def _best_of(
        self, rows: Rows | None, rough: Scores | None, limit: int, exactly: Callable[[Rows], Scores], margin: float
    ) -> tuple[Rows, Scores]:
        """Return the best of rows (`None` = all) whose scores are known up to a margin (`None` = not at all)."""
        if rough is None:
            assert rows is not None
            return self._best(rows, exactly(rows), limit)
        bound = lower_bound(rough, limit)
        if bound == -np.inf:
            found = (rough > bound).nonzero()[0] if rows is None else rows[rough > bound]
            return self._best(found, exactly(found), limit)
        # The last of the best is no further below the bound than the margin, and what is as good no further below that.
        places = (rough >= bound - 2 * margin).nonzero()[0]
        roughly = rough[places]
        above = roughly >= bound
        near = places[above]
        found = near if rows is None else rows[near]
        scores = exactly(found)
        last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        above |= roughly < last - margin
        if not above.all():  # what is below the bound may still be as good as the last of the best
            more = places[~above]
            others = more if rows is None else rows[more]
            found, scores = np.concatenate([found, others]), np.concatenate([scores, exactly(others)])
        return self._best(found, scores, limit)


def lower_bound(scores: NDArray[np.floating], limit: int) -> float:
    """Return a score that at least `limit` of the scores reach, and few more: the `limit`-th best of many groups."""
    if not 0 < limit < len(scores):
        return float("-inf")
    per_group, groups = min(max(_GROUP, len(scores) // _GROUPS), len(scores) // (4 * limit)), scores
    if per_group > 1:
        whole = len(scores) // per_group * per_group
        groups = np.maximum.reduce(scores[:whole].reshape(per_group, -1), axis=0)
    else:
        groups = scores.copy()
    groups.partition(len(groups) - limit)
    return float(groups[len(groups) - limit])
