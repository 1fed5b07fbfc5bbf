"""The memories of a scope that are nearest to a query, where no node has the scope's vectors in memory.

A Chroma server is asked where it has a collection of the scope; what that lacks is compared one by one, and so are a few
memories that meet a filter. Where there is no server, the vectors are read from the database and compared, all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from recall_integrations.database.portable import streamed
from recall_integrations.errors import RecallTimeout, VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import FETCH_MAX, CollectionLost, Neighbours
from recall_integrations.records import record
from recall_integrations.store.where import Conditions

COMPARED_MAX = 20_000  # memories that meet a filter, up to which they are compared one by one
AT_ONCE = 5_000
AWAY = "vectors.away"
Found = tuple[NDArray[np.int64], NDArray[np.float32]]
Queries = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Server:
    """A server of vectors, as far as it has those of a scope.

    Args:
        index: which is asked.
        home: the collection.
        until: numbers above it are not there.
        overfetch: `retrieval.overfetch`.
        seconds: that it may take.
    """

    index: Callable[[], Neighbours]
    home: str
    until: int
    overfetch: float
    seconds: Callable[[], float]


class Nearest:
    """The vectors of one scope for one query.

    Args:
        connection: to the store.
        queries: float32 `(m, d)`; the best over them counts.
        server: what is asked; `None` = there is none.
        over: whether there is no time any more.
    """

    def __init__(
        self, connection: Connection, queries: Queries, server: Server | None, over: Callable[[], bool]
    ) -> None:
        self._connection, self._queries, self._server, self._over = connection, queries, server, over
        self._scanned: Found | None = None
        self.without: tuple[str, str] | None = None  # what it had to do without: reason and detail

    def best(self, wanted: Conditions, limit: int) -> NDArray[np.int64]:
        """The nearest memories that meet conditions, `limit` of them with all that are as near as the last."""
        if self._server is not None:
            found = self._asked(self._server, wanted, limit)
            if found is not None:
                return _first(*found, limit)
        nums, scores = self._all()
        if not wanted.plain:
            sql = f"SELECT m.num FROM memories m WHERE {wanted.sql()}"
            there = np.asarray(self._connection.execute(text(sql), wanted.given()).scalars().all(), dtype=np.int64)
            kept = np.isin(nums, there)
            nums, scores = nums[kept], scores[kept]
        return _first(nums, scores, limit)

    def of(self, nums: Sequence[int], wanted: Conditions) -> Found:
        """How near some memories are."""
        sql = "SELECT v.num, v.vector FROM vectors v WHERE v.scope_id = :scope_id AND v.num = ANY(CAST(:nums AS bigint[]))"
        return self._compared(sql, {"scope_id": wanted.given()["scope_id"], "nums": list(nums)})

    def prepare(self, whole: Conditions) -> None:
        """Say what the scope is."""
        self._whole = whole

    def _all(self) -> Found:
        """Of all memories of the scope; read once."""
        if self._scanned is None:
            sql = (
                "SELECT v.num, v.vector FROM memories m JOIN vectors v ON v.scope_id = m.scope_id AND v.num = m.num "
                f"WHERE {self._whole.sql()}"
            )
            self._scanned = self._compared(sql, self._whole.given())
        return self._scanned

    def _asked(self, server: Server, wanted: Conditions, limit: int) -> Found | None:
        """By the server; `None` where it cannot be asked, or what it says is not enough."""
        if not wanted.plain:
            sql = f"SELECT m.num FROM memories m WHERE {wanted.sql()} LIMIT {COMPARED_MAX + 1}"
            few = self._connection.execute(text(sql), wanted.given()).scalars().all()
            if len(few) <= COMPARED_MAX:
                return self.of(few, wanted)
        fetch = limit if wanted.plain else min(int(server.overfetch * limit * 10), FETCH_MAX)
        found: dict[int, float] = {}
        try:
            index = server.index()
            for query in self._queries:
                nums, scores = index.nearest(
                    server.home, query, min(max(fetch, limit), FETCH_MAX), seconds=server.seconds()
                )
                for num, score in zip(nums.tolist(), scores.tolist(), strict=True):
                    if num <= server.until:
                        found[num] = max(score, found.get(num, -1.0))
        except (VectorsAway, VectorsRefused, CollectionLost) as e:
            self.without = AWAY, str(e)
            found = {}
        behind = wanted.also("m.num > {until}", until=server.until)
        sql = f"SELECT m.num FROM memories m WHERE {behind.sql()} ORDER BY m.num DESC LIMIT {COMPARED_MAX}"
        late = self._connection.execute(text(sql), behind.given()).scalars().all()
        there = wanted.also("m.num = ANY(CAST({found} AS bigint[]))", found=list(found))
        sql = f"SELECT m.num FROM memories m WHERE {there.sql()}"
        kept = self._connection.execute(text(sql), there.given()).scalars().all() if found else []
        nums, scores = self.of(late, wanted)
        own = np.asarray(kept, dtype=np.int64)
        return (
            np.concatenate([nums, own]),
            np.concatenate([scores, np.asarray([found[num] for num in own.tolist()], dtype=np.float32)]),
        )

    def _compared(self, sql: str, values: dict[str, Any]) -> Found:
        nums: list[NDArray[np.int64]] = []
        best: list[NDArray[np.float32]] = []
        width = self._queries.shape[1]
        for part in self._connection.execute(streamed(text(sql), AT_ONCE), values).partitions(AT_ONCE):
            if self._over():
                raise RecallTimeout("The deadline has passed.")
            whole = [(num, vector) for num, vector in part if len(vector) == 2 * width]
            matrix = np.frombuffer(b"".join(vector for _, vector in whole), dtype="<f2").reshape(-1, width)
            rows = matrix.astype(np.float32)
            nums.append(np.asarray([num for num, _ in whole], dtype=np.int64))
            best.append((rows @ self._queries.T).max(axis=1, initial=-1.0).astype(np.float32))
        if not nums:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        return np.concatenate(nums), np.concatenate(best)


def _first(nums: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """The best `limit`, with some that are as good as the last."""
    if len(nums) <= limit:
        return nums
    bound = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    kept = np.flatnonzero(scores >= bound - 1e-6)
    if len(kept) > 4 * limit:
        kept = kept[np.argsort(-scores[kept], kind="stable")[: 4 * limit]]
    found: NDArray[np.int64] = nums[kept]
    return found
