"""The best rows of a sum over several lists, without adding up all of them.

MaxScore (Turtle and Flood 1995): lists are added in falling order of what each can give a row at most. Once the lists
that are left cannot lift a row that has nothing so far among the best, they are only looked up for rows that are
already known, and ever fewer of those. A word that two fifths of the memories hold is hardly ever read then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.vector_column import lower_bound
from recall_integrations.records import record

Rows = NDArray[np.int64]
Scores = NDArray[np.float64]
_FEW = 64  # so many entries of a list are passed over in the time in which one row is looked up in it
_SLACK = 1e-6  # share of a score that float32 cannot tell apart, and more


@record(frozen=True)
class Entries:
    """Gains of one word for the rows that hold it: `weight · count / (count + k)`."""

    # rows that hold the word, rising, and their counts; the rows of each part lie above those before
    parts: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]
    weight: float  # upper limit of a gain
    most: int  # the largest of the counts
    k: Callable[[NDArray[Any]], Scores]  # returns `k` of rows
    lowest: float  # the smallest `k`

    def __len__(self) -> int:
        return sum([len(rows) for rows, _ in self.parts])

    @cached_property
    def bound(self) -> float:
        """Largest gain of a row."""
        return self.weight * self.most / (self.most + self.lowest) * (1 + _SLACK)

    def gains(self, rows: NDArray[Any], counts: NDArray[np.int32]) -> Scores:
        """Return the gains of rows that hold the word `counts` times."""
        found = np.multiply(self.weight, counts, dtype=np.float64)
        found /= counts + self.k(rows)
        return found

    def looked_up(self, rows: NDArray[np.int32]) -> Scores:
        """Return the gains of any rows; 0 for a row without the word."""
        counts = np.zeros(len(rows), dtype=np.int32)
        for own, often in self.parts:
            if len(own):
                at = own.searchsorted(rows)
                at[at == len(own)] = 0
                counts += np.where(own[at] == rows, often[at], np.int32(0))
        return self.gains(rows, counts)


def best_rows(
    lists: Sequence[Entries], size: int, limit: int, allowed: NDArray[np.bool_] | None
) -> tuple[Rows, Scores]:
    """Return rows that may be among the best `limit` by the sum of their gains, rising, and the sums.

    All rows that share the score of the last of the best are among them. Gains are added in the order of `lists`.
    """
    sums: Scores = np.zeros(size)
    falling = sorted(lists, key=lambda one: one.bound, reverse=True)
    left, bar = sum(one.bound for one in falling), 0.0
    read: list[NDArray[np.int32]] = []
    while falling and left >= bar:
        one = falling.pop(0)
        left = sum(other.bound for other in falling)
        for held, often in one.parts:
            kept = slice(None) if allowed is None else allowed[held]
            rows, counts = held[kept], often[kept]
            now = sums[rows]
            now += one.gains(rows, counts)
            sums[rows] = now
            read.append(rows)
            bar = max(bar, lower_bound(now, limit) * (1 - _SLACK))
    near = _reaching(read, sums, bar - left)
    known = sums[near]
    for place, one in enumerate(falling):
        left = sum(other.bound for other in falling[place + 1 :])
        if len(near) * _FEW < len(one):
            known = known + one.looked_up(near)
        else:
            for rows, counts in one.parts:
                sums[rows] += one.gains(rows, counts)
            known = sums[near]
        sums[near] = known
        bar = max(bar, lower_bound(known, limit) * (1 - _SLACK))
        kept = known >= bar - left
        near, known = near[kept], known[kept]
    total: Scores = np.zeros(len(near))
    for one in lists:
        total += one.looked_up(near)
    return near.astype(np.int64), total


def _reaching(read: Sequence[NDArray[np.int32]], sums: Scores, bar: float) -> NDArray[np.int32]:
    """Return the distinct rows of some lists whose sums reach the bar, rising."""
    found = [rows[sums[rows] >= bar] for rows in read]
    if len(found) == 1:
        return found[0]
    merged = np.concatenate(found) if found else np.empty(0, dtype=np.int32)
    merged.sort()
    return merged[np.diff(merged, prepend=-1) > 0]
