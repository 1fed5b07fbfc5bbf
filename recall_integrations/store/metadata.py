"""The values that filters test besides a scope's columns: keys of the metadata, actors, channels, threads.

Each is read from the store when a filter first asks for it, and then brought forward: new memories have higher numbers.
Forgotten memories are no rows of a view, so no filter reads them; they are dropped when the columns drop them.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Engine, Select, Text, cast, select, type_coerce

from recall_integrations.database import schema
from recall_integrations.database.portable import among, streamed
from recall_integrations.indexes.damage import UNREADABLE
from recall_integrations.indexes.metadata import KeyColumn
from recall_integrations.indexes.scope_view import ScopeView

SCOPES_MAX = 4_096  # of which something is kept; those of a handful of memories take next to nothing each
_AT_ONCE = 5_000
_METADATA = "metadata"
_NOTHING = "{}"


class Asked(NamedTuple):
    """The subject of a filter: a column of the memories; of `metadata`, a key."""

    column: str
    key: str = ""


def of_key(key: str) -> Asked:
    """Make the `Asked` of a metadata key."""
    return Asked(_METADATA, key)


Columns = Mapping[Asked, KeyColumn]


class _Scope:
    """The values of one scope in memory."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.columns: OrderedDict[Asked, KeyColumn] = OrderedDict()  # the least recently asked first
        self.seq = 0  # the last change in them
        self.size = 0  # rows of the view then

    @property
    def bytes(self) -> int:
        return sum(column.bytes for column in list(self.columns.values()))


class MetadataIndex:
    """Values of memories by column and key. Threads share it."""

    def __init__(self, engine: Engine, budget_bytes: int) -> None:
        self._engine, self._budget = engine, budget_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, _Scope] = OrderedDict()

    @contextmanager
    def of(self, view: ScopeView, asked: Sequence[Asked]) -> Iterator[Columns]:
        """Yield the values of memories of the view; valid inside of the block."""
        with self._lock:
            scope = self._kept.setdefault(view.scope_id, _Scope())
            self._kept.move_to_end(view.scope_id)
        with scope.lock:
            grown = self._bring(scope, view, asked)
            for one in asked:
                scope.columns.move_to_end(one)
            yield {one: scope.columns[one] for one in asked}
        if grown:
            self._fit()

    @contextmanager
    def of_drawn(self, view: ScopeView, asked: Sequence[Asked]) -> Iterator[Columns]:
        """Yield the values for a view that has only some rows of its scope; nothing is cached."""
        with self._engine.connect() as connection:
            read = _read(connection, view.scope_id, list(dict.fromkeys(asked)), 0, view.seq, view.nums.tolist())
        columns = {one: KeyColumn() for one in read}
        for one, (nums, values) in read.items():
            columns[one].extend(nums, values)
        yield columns

    def has(self, scope_id: int, asked: Sequence[Asked]) -> bool:
        """Say whether all values are in memory, but for the newest memories: else reading them may take long."""
        with self._lock:
            scope = self._kept.get(scope_id)
        return scope is not None and all(one in scope.columns for one in asked)

    @property
    def bytes(self) -> int:
        """Approximate memory of all values, in bytes."""
        with self._lock:
            return sum(scope.bytes for scope in self._kept.values())

    def _bring(self, scope: _Scope, view: ScopeView, asked: Sequence[Asked]) -> bool:
        """Bring cached values forward, and read missing ones whole; say whether any were read."""
        upto = max(scope.seq, view.seq)
        missing = [one for one in dict.fromkeys(asked) if one not in scope.columns]
        newer = scope.seq < upto and bool(scope.columns)
        if missing or newer:
            with self._engine.connect() as connection:
                fresh = _read(connection, view.scope_id, list(scope.columns), scope.seq, upto) if newer else {}
                whole = _read(connection, view.scope_id, missing, 0, upto) if missing else {}
            for one, (nums, values) in (*fresh.items(), *whole.items()):
                scope.columns.setdefault(one, KeyColumn()).extend(nums, values)
        if scope.seq <= view.seq:
            if view.size < scope.size:  # forgotten memories were dropped from the columns
                _drop_gone(scope, view)
            scope.size = view.size
        scope.seq = upto
        return bool(missing or newer)

    def _fit(self) -> None:
        """Drop the least recently used values, until the rest fits."""
        with self._lock:
            total = sum(scope.bytes for scope in self._kept.values())
            while total > self._budget or len(self._kept) > SCOPES_MAX:
                scope_id, scope = next(iter(self._kept.items()))
                if len(self._kept) > 1 or not scope.columns:
                    del self._kept[scope_id]
                    total -= scope.bytes
                    if not self._kept:
                        return
                elif not scope.lock.acquire(blocking=False):
                    return  # in use: its user calls this next
                else:
                    try:
                        total -= scope.columns.popitem(last=False)[1].bytes
                    finally:
                        scope.lock.release()


def _drop_gone(scope: _Scope, view: ScopeView) -> None:
    for one, column in scope.columns.items():
        gone = np.ones(len(column), dtype=np.bool_)
        if view.size and len(column):
            rows = np.minimum(np.searchsorted(view.nums, column.nums), view.size - 1)
            gone = (view.nums[rows] != column.nums) & (column.nums <= view.seq)
        if gone.any():
            scope.columns[one] = column.without(gone)


Read = dict[Asked, tuple[list[int], list[Any]]]


def _read(
    connection: Connection,
    scope_id: int,
    asked: Sequence[Asked],
    after: int,
    upto: int,
    only: Sequence[int] | None = None,
) -> Read:
    """Read the memories with numbers above `after`, up to `upto`, that hold each of the asked values.

    `only`: numbers of the memories to read; `None` = all.
    """
    found: Read = {one: ([], []) for one in asked}
    m = schema.memories.c

    def rows(query: Select[Any]) -> Iterator[Any]:
        query = query.where(m.scope_id == scope_id, m.num > after, m.num <= upto).order_by(m.num)
        if only is not None:
            query = query.where(among(m.num, only))
        elif not after:
            query = streamed(query, _AT_ONCE)
        for part in connection.execute(query).partitions(_AT_ONCE):
            yield from part

    keys = [(one.key, *found[one]) for one in asked if one.column == _METADATA]
    if keys:
        told = cast(m.metadata, Text) != _NOTHING
        for num, text in rows(select(m.num, type_coerce(m.metadata, Text)).where(told)):  # one by one: some may be none
            metadata = _decoded(text)
            for key, nums, values in keys:
                if key in metadata:
                    nums.append(num)
                    values.append(metadata[key])
    for one in asked:
        if one.column != _METADATA:
            column = m[one.column]
            nums, values = found[one]
            for num, value in rows(select(m.num, column).where(column.is_not(None))):
                nums.append(num)
                values.append(value)
    return found


def _decoded(text: Any) -> Mapping[str, Any]:
    """Decode metadata; empty where they cannot be read. Some drivers have read the JSON already."""
    try:
        found = text if isinstance(text, dict) else json.loads(text)
    except UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}
