"""The memories of a scope that are nearest to a query, where no node has the scope's vectors in memory.

A Chroma server or pgvector is asked where it has a collection of the scope; vectors that it lacks are compared one by
one, and so are a few memories that meet a filter. Where it does not answer, the newest vectors are compared. Where
there is neither, the vectors are read from the database and compared, all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from recall_integrations.errors import RecallTimeout, VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import FETCH_MAX, OVERFETCH, CollectionLost, Neighbours
from recall_integrations.records import record
from recall_integrations.store.outlines import Outline
from recall_integrations.store.where import Conditions

COMPARED_MAX = 20_000  # memories that are compared one by one beside a server
AT_ONCE = 20_000  # vectors that are in memory at once
AWAY = "vectors.away"
Found = tuple[NDArray[np.int64], NDArray[np.float32]]
Queries = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Server:
    """A server of vectors, with its collection of a scope."""

    index: Callable[[], Neighbours]  # gives the index of the server
    home: str  # the collection
    until: int  # the highest number in the collection
    seconds: Callable[[], float]  # gives the seconds that a call may take


class Nearest:
    """The vectors of one scope for one query.

    `server`: the server to ask; `None` = there is none.
    """

    def __init__(
        self,
        connection: Connection,
        outline: Outline,
        queries: Queries,
        server: Server | None,
        over: Callable[[], bool],
    ) -> None:
        self._connection, self._outline, self._queries = connection, outline, queries
        self._server, self._over = server, over
        self._scanned: Found | None = None
        self.without: tuple[str, str] | None = None  # why the server was not used: reason and detail

    def best(self, wanted: Conditions, limit: int) -> NDArray[np.int64]:
        """Return the `limit` nearest memories that meet conditions, with all that are as near as the last."""
        if self._server is not None:
            return _first(*self._asked(self._server, wanted, limit), limit)
        nums, scores = self._all()
        if not wanted.plain:
            sql = f"SELECT string_agg(CAST(m.num AS text), ',') FROM memories m WHERE {wanted.sql()}"
            kept = np.isin(nums, _numbers(self._connection.execute(text(sql), wanted.given()).scalar()))
            nums, scores = nums[kept], scores[kept]
        return _first(nums, scores, limit)

    def of(self, nums: Sequence[int]) -> Found:
        """Compare some memories, those that have a vector."""
        return self._compared("v.num = ANY(CAST(:nums AS bigint[]))", {"nums": list(nums)})

    def _all(self) -> Found:
        """Compare all memories of the scope; read once, block by block."""
        if self._scanned is None:
            parts: list[Found] = []
            last = 0
            while True:
                block = "v.num > :last AND v.num <= :upto ORDER BY v.num LIMIT :most"
                found = self._compared(block, {"last": last, "upto": self._outline.upto, "most": AT_ONCE})
                if not len(found[0]):
                    break
                parts.append(found)
                last = found[0].item(-1)
            nums = np.concatenate([part[0] for part in parts]) if parts else np.empty(0, dtype=np.int64)
            scores = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, dtype=np.float32)
            gone = np.isin(nums, self._outline.gone)
            self._scanned = nums[~gone], scores[~gone]
        return self._scanned

    def _asked(self, server: Server, wanted: Conditions, limit: int) -> Found:
        """Ask the server, and compare the newest `COMPARED_MAX` of those that it lacks; where it is away, of all."""
        if not wanted.plain:
            sql = f"SELECT m.num FROM memories m WHERE {wanted.sql()} LIMIT {COMPARED_MAX + 1}"
            few = self._connection.execute(text(sql), wanted.given()).scalars().all()
            if len(few) <= COMPARED_MAX:
                return self.of(few)
        fetch = limit if wanted.plain else min(int(OVERFETCH * limit * 10), FETCH_MAX)
        found: dict[int, float] = {}
        until = server.until
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
            found, until = {}, 0
        behind = wanted.also("m.num > {until}", until=until)
        sql = f"SELECT m.num FROM memories m WHERE {behind.sql()} ORDER BY m.num DESC LIMIT {COMPARED_MAX}"
        late = self._connection.execute(text(sql), behind.given()).scalars().all()
        there = wanted.also("m.num = ANY(CAST({found} AS bigint[]))", found=list(found))
        sql = f"SELECT m.num FROM memories m WHERE {there.sql()}"
        kept = self._connection.execute(text(sql), there.given()).scalars().all() if found else []
        nums, scores = self.of(late)
        own = np.asarray(kept, dtype=np.int64)
        return (
            np.concatenate([nums, own]),
            np.concatenate([scores, np.asarray([found[num] for num in own.tolist()], dtype=np.float32)]),
        )

    def _compared(self, which: str, values: dict[str, Any]) -> Found:
        """Compare memories. Their vectors come as one value: rows would take ten times as long to read."""
        if self._over():
            raise RecallTimeout("The deadline has passed.")
        width = self._queries.shape[1]
        sql = (
            "SELECT string_agg(CAST(num AS text), ',' ORDER BY num), string_agg(vector, '' ORDER BY num) FROM ("
            "SELECT v.num, v.vector FROM vectors v WHERE v.scope_id = :scope_id AND octet_length(v.vector) = :width "
            f"AND {which}) block"
        )
        given = {"scope_id": self._outline.scope_id, "width": 2 * width, **values}
        listed, joined = self._connection.execute(text(sql), given).one()
        if joined is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        rows = np.frombuffer(joined, dtype="<f2").reshape(-1, width).astype(np.float32)
        near = (rows @ self._queries.T).max(axis=1, initial=-1.0)
        return _numbers(listed), np.nan_to_num(near, nan=-1.0).astype(np.float32)


def _numbers(listed: str | None) -> NDArray[np.int64]:
    """Parse numbers that come as one text."""
    return np.fromstring(listed or "", dtype=np.int64, sep=",")


def _first(nums: NDArray[np.int64], scores: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Return the best `limit`, with some that are as good as the last."""
    if len(nums) <= limit:
        return nums
    bound = np.partition(scores, len(scores) - limit)[len(scores) - limit]
    kept = np.flatnonzero(scores >= bound - 1e-6)
    if len(kept) > 4 * limit:
        kept = kept[np.argsort(-scores[kept], kind="stable")[: 4 * limit]]
    found: NDArray[np.int64] = nums[kept]
    return found
