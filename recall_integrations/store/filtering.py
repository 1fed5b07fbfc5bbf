"""Hard filters as a mask over a scope's rows: types and times from its columns, other values from the store.

Metadata keys, actors, channels and threads are read when a filter first asks for one, and then brought forward: new
memories have higher numbers. Values of forgotten memories are dropped when the columns drop them. A value is kept once,
and a test is asked of the values, however many memories hold them.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Select, Text, cast, select, type_coerce

from recall_integrations.database import schema
from recall_integrations.database.sending import streamed
from recall_integrations.indexes.array_file import grown
from recall_integrations.indexes.damage import UNREADABLE
from recall_integrations.indexes.scope_view import Mask, ScopeView, of_types
from recall_integrations.indexes.windows import window_mask
from recall_integrations.store.entities import EntityCatalog
from recall_integrations.store.fact_tables import ScopeFacts
from recall_integrations.types import Filters
from recall_integrations.types.filters import (
    ORDER,
    Condition,
    Every,
    Instant,
    Opposite,
    Test,
    instant,
    keys_of,
    tests_of,
    token,
)
from recall_integrations.types.numbers import is_number
from recall_integrations.types.roles import ROLE_CODES

EXACT_MAX = 2.0**53  # whole numbers below are what they are as a float, and those above stay above
_NO_TIME = np.iinfo(np.int64).min
_ROW_BYTES, _VALUE_BYTES = 12, 160

Nums = NDArray[np.int64]


class KeyColumn:
    """Column of one metadata key. It only grows; its user holds the lock of the scope."""

    def __init__(self) -> None:
        self._nums, self._codes, self._n = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32), 0
        self._values: list[Any] = []
        self._code_of: dict[Hashable, int] = {}
        self._text_bytes = 0
        self._numbers = np.empty(0, dtype=np.float64)  # NaN: the value is none
        self._times = np.empty(0, dtype=np.int64)
        self._folded: dict[str, list[int]] = {}
        self._folded_upto = 0

    def __len__(self) -> int:
        return self._n

    @property
    def nums(self) -> Nums:
        """Numbers of all memories that hold the key, rising."""
        return self._nums[: self._n]

    @property
    def bytes(self) -> int:
        """Approximate memory of the column, in bytes."""
        return _ROW_BYTES * len(self._nums) + _VALUE_BYTES * len(self._values) + self._text_bytes

    def extend(self, nums: Sequence[int], values: Iterable[Any]) -> None:
        """Add memories with higher numbers than all present ones."""
        codes = [self._coded(value) for value in values]
        end = self._n + len(codes)
        if end > len(self._nums):
            capacity = max(end, 2 * len(self._nums))
            self._nums, self._codes = grown(self._nums, self._n, capacity), grown(self._codes, self._n, capacity)
        self._nums[self._n : end], self._codes[self._n : end] = nums, codes
        self._n = end

    def _coded(self, value: Any) -> int:
        key = token(value)
        code = self._code_of.get(key)
        if code is None:
            code = self._code_of[key] = len(self._values)
            self._values.append(value)
            self._text_bytes += len(value) if isinstance(value, str) else 0
        return code

    def without(self, gone: NDArray[np.bool_]) -> KeyColumn:
        """Return a copy without memories that are gone, and without values that nobody holds any more."""
        kept = KeyColumn()
        codes = self._codes[: self._n][~gone].tolist()
        kept.extend(self.nums[~gone].tolist(), (self._values[code] for code in codes))
        return kept

    # -- asking ------------------------------------------------------------------------------------------------------

    def holding(self, test: Test) -> Nums:
        """Return the memories whose value meets a test, rising."""
        if test.op == "$exists":
            return self.nums
        codes = self._meeting(test)
        if isinstance(codes, np.ndarray):
            return self.nums[codes[self._codes[: self._n]]]
        return self.of(codes)

    def of(self, codes: Sequence[int]) -> Nums:
        """Return the memories that hold one of a few values, rising."""
        own = self._codes[: self._n]
        if not codes:
            return np.empty(0, dtype=np.int64)
        return self.nums[own == codes[0] if len(codes) == 1 else np.isin(own, codes)]

    def named(self, names: Iterable[str]) -> list[int]:
        """Return the numbers of values that are one of these names, in any case of their letters."""
        for code in range(self._folded_upto, len(self._values)):
            if isinstance(self._values[code], str):
                self._folded.setdefault(folded(self._values[code]), []).append(code)
        self._folded_upto = len(self._values)
        return [code for name in dict.fromkeys(map(folded, names)) for code in self._folded.get(name, ())]

    def _meeting(self, test: Test) -> NDArray[np.bool_] | list[int]:
        """Find the values that meet a test: return their numbers, or a flag for each value."""
        op, operand = test.op, test.operand
        if test.shown is not None:
            values = map(test.shown, self._values)
            return np.fromiter(map(test.predicate, values), dtype=np.bool_, count=len(self._values))
        if op == "$eq" and not isinstance(operand, Instant):
            return [] if (code := self._code_of.get(token(operand))) is None else [code]
        if op == "$in" and not any(isinstance(item, Instant) for item in operand):
            found = (self._code_of.get(key) for key in dict.fromkeys(map(token, operand)))
            return [code for code in found if code is not None]
        if op in ORDER and isinstance(operand, Instant):
            self._times = self._read(self._times, _micros)
            return self._in_order(op, self._times, operand.micros)
        if op in ORDER and is_number(operand) and abs(operand) < EXACT_MAX:
            self._numbers = self._read(self._numbers, _float)
            return self._in_order(op, self._numbers, operand)
        return np.fromiter(map(test.predicate, self._values), dtype=np.bool_, count=len(self._values))

    def _in_order(self, op: str, column: NDArray[Any], bound: float) -> NDArray[np.bool_]:
        there = column != _NO_TIME if column.dtype == np.int64 else ~np.isnan(column)
        found: NDArray[np.bool_] = np.asarray(ORDER[op](column, bound) & there, dtype=np.bool_)
        return found

    def _read(self, known: NDArray[Any], of: Callable[[Any], float]) -> NDArray[Any]:
        """Return the numbers of all values, given those of the first so many."""
        more = [of(value) for value in self._values[len(known) :]]
        return np.concatenate([known, np.asarray(more, dtype=known.dtype)]) if more else known


def folded(name: str) -> str:
    """Fold the case of a name's letters and reduce its spaces to single ones."""
    return " ".join(name.casefold().split())


def _micros(value: Any) -> int:
    return _NO_TIME if (micros := instant(value)) is None else micros


def _float(value: Any) -> float:
    """Return a value as a number. One that a float cannot hold is beyond all that are compared this way."""
    if not is_number(value):
        return float("nan")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


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

    def has(self, scope_id: int, asked: Sequence[Asked]) -> bool:
        """Say whether all values are in memory, but for the newest memories: else reading them may take long."""
        with self._lock:
            scope = self._kept.get(scope_id)
        return scope is not None and all(one in scope.columns for one in asked)

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
) -> Read:
    """Read the memories with numbers above `after`, up to `upto`, that hold each of the asked values."""
    found: Read = {one: ([], []) for one in asked}
    m = schema.memories.c

    def rows(query: Select[Any]) -> Iterator[Any]:
        query = query.where(m.scope_id == scope_id, m.num > after, m.num <= upto).order_by(m.num)
        if not after:
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


ACTOR, CHANNEL, THREAD = Asked("actor"), Asked("channel"), Asked("thread")
SOON = 20_000  # rows whose metadata are read in some tens of milliseconds
SHOWN_SOON = 1_000  # rows whose metadata are redacted in that time, where a mode shows them so
FIRST = 64  # memories that are looked up before all of them are
KEYS_MAX = 1_000  # of which it is noted whether a snapshot holds them
MASKS_MAX = 8  # of one snapshot; a filter of a retriever is the same in every recall
_MASKS, _HELD = "filters.masks", "filters.held"


class Filtering:
    """Finds rows that meet filters. Threads share it."""

    def __init__(
        self,
        engine: Engine,
        catalog: EntityCatalog,
        index: MetadataIndex,
        facts: Callable[[ScopeView], ScopeFacts | None] = lambda _view: None,
    ) -> None:
        self._engine, self._catalog, self._index, self._facts = engine, catalog, index, facts

    def mask(self, view: ScopeView, filters: Filters, now: datetime, as_of: datetime) -> Mask | None:
        """Return the mask of rows that meet every condition, or `None` if there is no condition."""
        if not filters:
            return None
        mask = window_mask(view, filters.after, filters.before)
        if filters.recency_days is not None:
            with suppress(OverflowError):  # earlier than any date: everything is recent enough
                mask &= window_mask(view, now - timedelta(days=filters.recency_days), None)
        if filters.types:
            mask &= of_types(view, filters.types)
        if filters.roles:
            mask &= np.isin(view.text.roles, [ROLE_CODES[r] for r in filters.roles])
        if asked_of(filters):
            mask &= self._by_values(view, filters)
        if filters.entities:
            mask &= self._by_entities(view, filters)
        if filters.current_only and (facts := self._facts(view)) is not None:
            mask[view.rows_of(facts.past(as_of))] = False
        return mask

    def ready(self, view: ScopeView, filters: Filters) -> bool:
        """Say whether the mask is quick enough for a recall: its columns are in memory, or soon read."""
        if filters.condition is not None and any(test.shown for test in tests_of(filters.condition)):
            return view.size <= SHOWN_SOON or _key(filters) in view.memo.get(_MASKS, {})
        return view.size <= SOON or self._index.has(view.scope_id, asked_of(filters))

    def absent(self, view: ScopeView, filters: Filters) -> list[str]:
        """List the metadata keys of a filter that no memory has."""
        if filters.condition is None:
            return []
        asked = [of_key(key) for key in keys_of(filters.condition)]
        known: Mapping[Asked, bool] = view.memo.get(_HELD, {})
        if not known.keys() >= set(asked):  # a column that does not fit into memory is not read for this alone
            with self._index.of(view, asked) as columns:
                known = _held(view, columns)
        return [one.key for one in asked if not known[one]]

    def _by_values(self, view: ScopeView, filters: Filters) -> Mask:
        key = _key(filters)
        masks: dict[object, Mask] = view.memo.setdefault(_MASKS, {})
        known = masks.get(key)
        if known is not None:
            return known
        with self._index.of(view, asked_of(filters)) as columns:
            mask: Mask = view.alive.copy()
            if filters.actors:
                actors = columns[ACTOR]
                mask &= _of_nums(view, actors.of(actors.named(filters.actors)))
            for column, wanted in ((CHANNEL, filters.channels), (THREAD, filters.threads)):
                if wanted:
                    mask &= _of_nums(view, columns[column].holding(Test(column.column, "$in", wanted)))
            if filters.condition is not None:
                mask &= meeting(view, filters.condition, columns)
                _held(view, columns)
        if len(masks) >= MASKS_MAX:
            masks.clear()
        masks[key] = mask
        return mask

    def _by_entities(self, view: ScopeView, filters: Filters) -> Mask:
        known = self._catalog.of(view.scope_id)
        found = [known.ent_of.get(i) for name in filters.entities for i in known.index.lookup(name)]
        ents = [ent for ent in found if ent is not None]
        n = schema.mentions
        if not ents:
            return np.zeros(view.size, dtype=np.bool_)
        with self._engine.connect() as connection:
            query = select(n.c.num).where(n.c.scope_id == view.scope_id, n.c.ent.in_(ents))
            return _of_nums(view, [row[0] for row in connection.execute(query)])


def _key(filters: Filters) -> object:
    return filters.actors, filters.channels, filters.threads, repr(filters.condition)


def asked_of(filters: Filters) -> list[Asked]:
    """List the columns and keys that filters ask for, besides types, times, roles and entities."""
    asked = [one for one in (ACTOR, CHANNEL, THREAD) if getattr(filters, f"{one.column}s")]
    return asked if filters.condition is None else [*asked, *map(of_key, keys_of(filters.condition))]


def meeting(view: ScopeView, condition: Condition, columns: Columns) -> Mask:
    """Return the mask of rows whose metadata meet a condition. Forgotten rows count as rows without the key."""
    if isinstance(condition, Test):
        return _of_nums(view, columns[of_key(condition.key)].holding(condition))
    if isinstance(condition, Opposite):
        return ~meeting(view, condition.part, columns)
    mask = np.full(view.size, isinstance(condition, Every))
    join = np.logical_and if isinstance(condition, Every) else np.logical_or
    for part in condition.parts:
        join(mask, meeting(view, part, columns), out=mask)
    return mask


def _held(view: ScopeView, columns: Columns) -> Mapping[Asked, bool]:
    """Say of each column whether any memory of a snapshot holds it; the answer is cached."""
    known: Mapping[Asked, bool] = view.memo.get(_HELD, {})
    found = {one: known[one] if one in known else _any_of(view, column.nums) for one, column in columns.items()}
    view.memo[_HELD] = {**(known if len(known) < KEYS_MAX else {}), **found}
    return found


def _any_of(view: ScopeView, nums: NDArray[np.int64]) -> bool:
    """Say whether any of these memories is in the view: mostly one of the newest."""
    return bool(len(view.rows_of(nums[-FIRST:]))) or bool(len(view.rows_of(nums[:-FIRST])))


def _of_nums(view: ScopeView, nums: NDArray[np.int64] | Sequence[int]) -> Mask:
    mask = np.zeros(view.size, dtype=np.bool_)
    mask[view.rows_of(nums)] = True
    return mask
