"""Times that memories tell in their texts (`query.temporal.event_times`), beside the columns of a scope: few do.

Read when a query first asks for a time, and brought forward by newer ones: other recalls, and opening, do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.records import record

Rows = NDArray[np.int64]
Values = NDArray[np.float32]
# Worth of a memory of another time that tells of the window, where one of that time is worth 1. Chosen among .7
# and 1 on records of phones; what is said later without a date is worth .6 at most (`ranking.features.dates`).
WORTH = 0.7
SHARE_LEAST = 0.1  # of a told time that lies in a window; "this year" tells nothing of a month


def _nothing() -> Rows:
    return np.empty(0, dtype=np.int64)


@record(frozen=True, slots=True, kw_only=True)
class ToldColumn:
    """Told times of a scope in the store, by number of the memory."""

    upto: int = 0  # number up to which it was read
    # int64 `(m,)`, rising; a memory that tells several times is there several times
    nums: Rows = field(default_factory=_nothing)
    # with `stop`: int64 `(m,)`: the times in microseconds, `stop` exclusive
    start: Rows = field(default_factory=_nothing)
    stop: Rows = field(default_factory=_nothing)

    def extended(self, connection: Connection, scope_id: int, upto: int) -> ToldColumn:
        """Return the column with the told times of newer memories, up to a number."""
        if upto <= self.upto:
            return self
        t = schema.told_times.c
        query = select(t.num, t.start, t.stop).where(t.scope_id == scope_id, t.num > self.upto, t.num <= upto)
        found = connection.execute(query.order_by(t.num, t.place)).all()
        if not found:
            return ToldColumn(upto=upto, nums=self.nums, start=self.start, stop=self.stop)
        new = np.asarray([tuple(row) for row in found], dtype=np.int64).reshape(-1, 3)
        nums, start, stop = (
            np.concatenate([old, part]) for old, part in zip((self.nums, self.start, self.stop), new.T, strict=True)
        )
        return ToldColumn(upto=upto, nums=nums, start=start, stop=stop)


@record(frozen=True, slots=True, kw_only=True)
class Told:
    """Times that the memories of a view tell."""

    size: int  # rows of the view
    rows: Rows  # int64 `(m,)`, rising: one that tells several times is there several times
    start: Rows  # with `stop`: int64 `(m,)`: the times in microseconds, `stop` exclusive
    stop: Rows

    @classmethod
    def of(cls, column: ToldColumn, nums: Rows, wanted: NDArray[np.bool_]) -> Told:
        """Select the told times of wanted rows from a column; `nums` has the rows' numbers."""
        size = len(nums)
        if not size or not len(column.nums):
            return cls(size=size, rows=_nothing(), start=_nothing(), stop=_nothing())
        rows = np.searchsorted(nums, column.nums)
        rows[rows == size] = 0
        keep = (nums[rows] == column.nums) & wanted[rows]
        return cls(size=size, rows=rows[keep], start=column.start[keep], stop=column.stop[keep])

    def shares(self, start: int | None, stop: int | None) -> Values:
        """Compute for each row the share of a told time that lies in a window, in [0, 1], float32 `(size,)`.

        Among several times the one with the largest share counts; shares below `SHARE_LEAST` are 0.
        """
        found = np.zeros(self.size, dtype=np.float32)
        if not len(self.rows):
            return found
        first = self.start if start is None else np.maximum(self.start, start)
        last = self.stop if stop is None else np.minimum(self.stop, stop)
        share = (np.maximum(last - first, 0) / np.maximum(self.stop - self.start, 1)).astype(np.float32)
        share[share < SHARE_LEAST] = 0
        np.maximum.at(found, self.rows, share)
        return found

    def of_row(self, row: int, start: int | None = None, stop: int | None = None) -> tuple[int, int] | None:
        """Return the told time of a row with the largest share in a window; `None` = it tells none of the window."""
        first, last = np.searchsorted(self.rows, [row, row + 1]).tolist()
        best: tuple[int, int] | None = None
        most = 0.0
        for begin, end in zip(self.start[first:last].tolist(), self.stop[first:last].tolist(), strict=True):
            inside = min(end, end if stop is None else stop) - max(begin, begin if start is None else start)
            share = inside / max(end - begin, 1)
            if share >= SHARE_LEAST and share > most:
                best, most = (begin, end), share
        return best

    def of_rows(
        self, rows: Sequence[int], start: int | None = None, stop: int | None = None
    ) -> dict[int, tuple[int, int]]:
        """Return `of_row` of the rows that tell a time of a window: few do, and all are looked up together."""
        if not len(self.rows) or not rows:
            return {}
        at = np.searchsorted(self.rows, rows)
        at[at == len(self.rows)] = 0
        tell = (self.rows[at] == rows).tolist()
        found = {row: self.of_row(row, start, stop) for row, tells in zip(rows, tell, strict=True) if tells}
        return {row: time for row, time in found.items() if time is not None}

    def tells(self) -> NDArray[np.bool_]:
        """Flag the rows that tell a time."""
        found = np.zeros(self.size, dtype=np.bool_)
        found[self.rows] = True
        return found
