"""Filters as a condition of SQL, and nearest vectors, for scopes that no node reads whole.

Metadata keys are read for the whole scope when a filter first asks for one. A Chroma server or pgvector is asked where
it has a collection of the scope; vectors that it lacks are compared one by one, and so are a few memories that meet a
filter. Where it does not answer, the newest vectors are compared; where there is none, all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from recall_integrations.errors import RecallTimeout, VectorsAway, VectorsRefused
from recall_integrations.indexes.bm25 import Where
from recall_integrations.indexes.metadata import folded
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.vectors import FETCH_MAX, OVERFETCH, CollectionLost, Neighbours
from recall_integrations.records import record
from recall_integrations.store.filtering import Columns, MetadataIndex, of_key, whole
from recall_integrations.store.outlines import Outline
from recall_integrations.types import Filters, MemoryType
from recall_integrations.types.conditions import Condition, Every, Opposite, Test, keys_of
from recall_integrations.types.roles import ROLE_CODES, role_of

AT = "coalesce(m.event_at, m.created_at)"
DATED = f"(m.event_at IS NOT NULL OR m.type <> '{MemoryType.CHUNK.value}')"


class Conditions:
    """Makes conditions on `m`, a row of `memories`, one after the other."""

    def __init__(self, outline: Outline, parts: Sequence[str] = (), values: dict[str, Any] | None = None) -> None:
        self._outline = outline
        self.parts = list(parts)
        self.values: dict[str, Any] = {} if values is None else dict(values)

    def also(self, sql: str, **values: Any) -> Conditions:
        """Return the conditions with one more; names in braces stand for parameters."""
        names = {name: f"c{len(self.values) + place}" for place, name in enumerate(values)}
        written = sql.format(**{name: f":{given}" for name, given in names.items()})
        given = {names[name]: value for name, value in values.items()}
        return Conditions(self._outline, [*self.parts, written], {**self.values, **given})

    @property
    def plain(self) -> bool:
        """True if there is no condition, so that every memory meets them."""
        return not self.parts

    def where(self) -> Where:
        """Return the conditions for `bm25.best_pushed`."""
        sql = " AND ".join(f"({part})" for part in self.parts)
        return Where(upto=self._outline.upto, sql=sql, values=self.values, gone=self._outline.gone)

    def sql(self) -> str:
        """Return the conditions in SQL, with the one for visible memories of the scope."""
        shown = "m.scope_id = :scope_id AND m.num <= :upto AND (m.expires_at IS NULL OR m.expires_at > :ended)"
        return " AND ".join([shown, *(f"({part})" for part in self.parts)])

    def given(self) -> dict[str, Any]:
        """Return the values of the parameters."""
        outline = self._outline
        return {"scope_id": outline.scope_id, "upto": outline.upto, "ended": outline.ended, **self.values}


def conditions(
    outline: Outline,
    filters: Filters,
    now: datetime,
    index: MetadataIndex,
    entities: Callable[[Sequence[str]], Sequence[int]],
    past: Callable[[datetime], Sequence[int]],
) -> Conditions:
    """Make the conditions of filters."""
    found = Conditions(outline)
    if not filters:
        return found
    after = filters.after
    if filters.recency_days is not None:
        with suppress(OverflowError):
            since = now - timedelta(days=filters.recency_days)
            after = since if after is None else max(after, since)
    if after is not None:
        found = found.also(f"{AT} >= {{after}}", after=to_micros(after))
    if filters.before is not None:
        found = found.also(f"{AT} < {{before}}", before=to_micros(filters.before))
    if filters.types:
        found = found.also("m.type = ANY(CAST({types} AS text[]))", types=[one.value for one in filters.types])
    if filters.actors:
        found = said_by(found, outline, filters.actors)
    if filters.roles:
        found = of_roles(found, outline, [ROLE_CODES[role] for role in filters.roles])
    for column, wanted in (("channel", filters.channels), ("thread", filters.threads)):
        if wanted:
            found = found.also(f"m.{column} = ANY(CAST({{names}} AS text[]))", names=list(wanted))
    if filters.entities:
        mentioned = "SELECT n.num FROM mentions n WHERE n.scope_id = :scope_id AND n.ent = ANY(CAST({ents} AS int[]))"
        found = found.also(f"m.num IN ({mentioned})", ents=list(entities(filters.entities)))
    if filters.condition is not None:
        with index.of(whole(outline.scope_id, outline.upto), list(map(of_key, keys_of(filters.condition)))) as columns:
            found = _meeting(found, filters.condition, columns)
    if filters.current_only:
        found = found.also("m.num <> ALL(CAST({past} AS bigint[]))", past=list(past(now)))
    return found


def said_by(found: Conditions, outline: Outline, names: Sequence[str]) -> Conditions:
    """Add the condition for these actors, in any case of letters."""
    wanted = set(map(folded, names))
    actors = [actor for actor in outline.actors if folded(actor) in wanted]
    return found.also("m.actor = ANY(CAST({actors} AS text[]))", actors=actors)


def of_roles(found: Conditions, outline: Outline, codes: Sequence[int]) -> Conditions:
    """Add the condition for these roles: as given, or else that of the actor's name."""
    text = outline.view.text
    assert text is not None
    named = [text.actor_names[code] for role in codes for code in text.role_actors.get(role, ())]
    given = [role.value for role, code in ROLE_CODES.items() if role is not None and code in codes]
    by_name = [name for name in named if ROLE_CODES[role_of(name)] in codes]
    return found.also(
        "m.role = ANY(CAST({given} AS text[])) OR (m.role IS NULL AND m.actor = ANY(CAST({named} AS text[])))",
        given=given,
        named=by_name,
    )


def _meeting(found: Conditions, condition: Condition, columns: Columns) -> Conditions:
    """Add the condition on metadata."""
    values: dict[str, Any] = {}

    def written(one: Condition) -> str:
        if isinstance(one, Test):
            name = f"held{len(values)}"
            values[name] = columns[of_key(one.key)].holding(one).tolist()
            return f"m.num = ANY(CAST({{{name}}} AS bigint[]))"
        if isinstance(one, Opposite):
            return f"NOT ({written(one.part)})"
        joined = [f"({written(part)})" for part in one.parts]
        return (" AND " if isinstance(one, Every) else " OR ").join(joined) or str(isinstance(one, Every)).lower()

    return found.also(written(condition), **values)


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
    """The vectors of one scope for one query."""

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
