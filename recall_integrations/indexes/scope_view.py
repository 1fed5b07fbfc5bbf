"""One scope's memories as columns in memory, for arms and ranking, and the times that they tell."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.kernels import changes
from recall_integrations.indexes.vector_column import Similarities, VectorRows
from recall_integrations.records import record
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types import MemoryType
from recall_integrations.types.roles import Role

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
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

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
        kept: tuple[Any, Values] | None = self.memo.get("shares")  # one recall asks several times
        if kept is not None and kept[0] == (start, stop):
            found[:] = kept[1]
            return found
        first = self.start if start is None else np.maximum(self.start, start)
        last = self.stop if stop is None else np.minimum(self.stop, stop)
        share = (np.maximum(last - first, 0) / np.maximum(self.stop - self.start, 1)).astype(np.float32)
        share[share < SHARE_LEAST] = 0
        np.maximum.at(found, self.rows, share)
        self.memo["shares"] = (start, stop), found.copy()
        return found

    def of_rows(
        self, rows: Sequence[int], start: int | None = None, stop: int | None = None
    ) -> dict[int, tuple[int, int]]:
        """Return of each row that tells a time of a window the told time with the largest share in it."""
        found: dict[int, tuple[int, int]] = {}
        places = (self.rows.searchsorted(rows, side).tolist() for side in ("left", "right"))
        for row, first, last in zip(rows, *places, strict=True):
            most = 0.0
            for begin, end in zip(self.start[first:last].tolist(), self.stop[first:last].tolist(), strict=True):
                inside = min(end, end if stop is None else stop) - max(begin, begin if start is None else start)
                share = inside / max(end - begin, 1)
                if share >= SHARE_LEAST and share > most:
                    found[row], most = (begin, end), share
        return found

    def tells(self) -> NDArray[np.bool_]:
        """Flag the rows that tell a time."""
        found = np.zeros(self.size, dtype=np.bool_)
        found[self.rows] = True
        return found


TYPE_CODES = {t.value: i for i, t in enumerate(MemoryType)}
STORED_MAX = 1_000  # rows whose vectors a stage may read from the store to score them: a few milliseconds

Mask = NDArray[np.bool_]


@record(frozen=True, slots=True, kw_only=True)
class ScopeView:
    """Columns of one scope, row `i` of each belonging to the same memory; rows in order of `nums`."""

    scope_id: int  # with `version`, `seq`: what the snapshot shows
    version: int
    seq: int
    nums: NDArray[np.int64]  # int64 `(n,)`, rising: the memory's number in the store
    ids: Sequence[str]  # the memory's id; the first `n` entries of a shared sequence
    at: NDArray[np.int64]  # int64 `(n,)`: `event_at`, or `created_at` where there is none, in microseconds
    # bool `(n,)`: whether `at` says when it was. Not of a `chunk` without `event_at`: when a document was stored says
    # nothing about its time
    dated: Mask
    types: NDArray[np.int8]  # int8 `(n,)`: index into `MemoryType`
    importance: NDArray[np.float32]  # float32 `(n,)`
    text: TextColumns  # words, threads and actors, row by row
    alive: Mask  # bool `(n,)`: false for rows that were forgotten or replaced since
    vectors: VectorRows | None  # unit rows (0 where the memory has none), or `None` where they do not fit into memory
    # reads the vectors of nums from the store, float32 `(len(nums), d)`
    stored: Callable[[NDArray[np.int64]], NDArray[np.float32]] | None = None
    # int32 `(n,)`: words of the actor's name and the text, all of them, as BM25 counts them
    lengths: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    mean_length: float = float(PIVOT)  # mean of `lengths` over the living rows, `PIVOT` at least for each
    # reads from the store the times that memories tell; `None` = none do
    told_column: Callable[[], ToldColumn] | None = None
    # what was computed from the snapshot once, by name
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def told(self) -> Told:
        """Times that living memories tell; "last month" means nothing in a document of unknown time, but in a note."""
        found: Told | None = self.memo.get("told")
        if found is None:
            column = ToldColumn() if self.told_column is None else self.told_column()
            found = self.memo["told"] = Told.of(column, self.nums, self.alive & (self.dated | self.brief))
        return found

    @property
    def brief(self) -> bool:
        """Whether the memories are as short as notes, so that chunks among them are no documents."""
        return self.text.kind.brief > 0

    @property
    def size(self) -> int:
        """Number of rows, dead ones included."""
        return len(self.nums)

    @property
    def count(self) -> int:
        """Number of living memories."""
        found: int | None = self.memo.get("count")
        if found is None:
            found = self.memo["count"] = int(np.count_nonzero(self.alive))
        return found

    @property
    def exact(self) -> bool:
        """True if all vectors are here to be scanned."""
        return self.vectors is not None and self.vectors.scanned

    def speakers(self, role: Role) -> list[str]:
        """Return the names of the actors that have a role."""
        return self.text.speakers(role)

    def rows_of(self, nums: NDArray[np.int64] | Sequence[int]) -> Rows:
        """Return the rows of the given memories, in their order, without those that are not in the scope any more."""
        wanted = np.asarray(nums, dtype=np.int64)
        if not self.size or not wanted.size:
            return np.empty(0, dtype=np.int64)
        rows: Rows = np.searchsorted(self.nums, wanted)
        rows[rows == self.size] = 0
        found: Rows = rows[(self.nums[rows] == wanted) & self.alive[rows]]
        return found

    def similarity(self, rows: Rows, query: NDArray[np.float32] | None) -> NDArray[np.float32] | None:
        """Compute the cosine of each row with the query, `(len(rows),)`; `None` where vectors are not at hand."""
        if query is None or (self.vectors is None and len(rows) > STORED_MAX):
            return None
        vectors = self.vectors_of(rows)
        if vectors is None or query.shape != vectors.shape[1:]:
            return None
        cosines: NDArray[np.float32] = np.vecdot(vectors, query)
        return cosines

    def vectors_of(self, rows: Rows) -> NDArray[np.float32] | None:
        """Return the vectors of rows, float32 `(len(rows), d)`, from memory or else from the store."""
        if self.vectors is not None:
            return self.vectors.of(rows)
        return None if self.stored is None else self.stored(self.nums[rows])

    def scan(self, vectors: NDArray[np.float32] | None) -> Similarities | None:
        """Return each row's nearness to any of `vectors` `(m, d)`; `None` where not all vectors are in memory."""
        own = self.vectors
        if own is None or not own.scanned or vectors is None or vectors.shape[1:] != (own.dimensions,):
            return None
        return Similarities(own, vectors, self.top)

    def order_by_id(self, rows: Rows, scores: NDArray[Any]) -> NDArray[np.int64]:
        """Return the indices that sort by falling score, ties by id."""
        order: NDArray[np.int64] = (-scores).argsort(kind="stable")
        falling = scores[order]
        new = changes(falling)
        if new.all():
            return order
        begins = [*new.nonzero()[0].tolist(), len(order)]
        ids, named, places = self.ids, rows.tolist(), order.tolist()
        for begin, end in pairwise(begins):
            if end - begin > 1:  # names are looked at only where numbers do not tell
                places[begin:end] = sorted(places[begin:end], key=lambda place: ids[named[place]])
        return np.asarray(places, dtype=np.int64)

    def _first_by_id(self, rows: Rows, limit: int) -> list[int]:
        """Return the places of the first `limit` rows by their ids."""
        named = zip(map(self.ids.__getitem__, rows.tolist()), count(), strict=False)
        return [place for _, place in heapq.nsmallest(limit, named)]

    def top(self, rows: Rows, scores: NDArray[Any], limit: int) -> tuple[Rows, NDArray[np.float32]]:
        """Return the best `limit` rows and their scores, falling, ties by id (also at the cut)."""
        if len(rows) > limit:
            bound = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            keep = (scores >= bound).nonzero()[0]
            if len(keep) > limit:  # those at the cut are equal: the first by id, without sorting a whole scope
                level = scores[keep] == bound
                above, equal = keep[~level], keep[level]
                keep = np.concatenate([above, equal[self._first_by_id(rows[equal], limit - len(above))]])
            rows, scores = rows[keep], scores[keep]
        order = self.order_by_id(rows, scores)[:limit]
        return rows[order], np.asarray(scores[order], dtype=np.float32)


def of_types(view: ScopeView, types: Iterable[MemoryType], rows: Rows | None = None) -> Mask:
    """Flag memories of one of `types` among all rows of the view, or among the given ones in their order."""
    column = view.types if rows is None else view.types[rows]
    mask: Mask = np.zeros(len(column), dtype=np.bool_)
    for one in types:
        mask |= column == TYPE_CODES[one.value]
    return mask
