"""What memories of a scope say of slots, in memory: read when it is first asked for, brought forward after writes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, func, select

from recall_integrations.database import schema
from recall_integrations.database.reading import read_by
from recall_integrations.database.sending import reading
from recall_integrations.facts.said import OPS
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.timeline import Stretch, Told, timeline
from recall_integrations.indexes.ends import stays
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.records import record

SCOPES_MAX = 256  # whose facts are in memory
TOLD_MAX = 1_000  # of one slot of one subject: the newest so many decide; `MemoryStore.facts` reads all of them
FACTS_MAX = 200_000  # of one scope: so many of the newest are in memory
Key = tuple[str, str]  # (subject, slot)


@record(frozen=True, slots=True, kw_only=True)
class State:
    """How what a memory tells stands at a time. Times are microseconds.

    Args:
        past: whether nothing of it holds.
        ended_by: number of the memory that ended it; `None` = it holds, or none did.
        start, stop: when it holds, where it tells of one thing only; `timeline.PAST` = nobody says since when.
    """

    past: bool
    ended_by: int | None = None
    start: int | None = None
    stop: int | None = None


class ScopeFacts:
    """What is told in one scope, as one view shows it. Threads may share it.

    Args:
        told: by subject and slot, everything, in the order of the numbers.
        keys: by number of the memory, what it tells of.
        view: what of it is there.
        slots: the schema.
        kept: timelines that were made, by key, with the numbers that they were made from.
    """

    def __init__(
        self,
        told: dict[Key, list[Told]],
        keys: dict[int, tuple[Key, ...]],
        view: Shown,
        slots: Slots,
        kept: dict[Key, tuple[tuple[int, ...], tuple[Stretch, ...]]],
    ) -> None:
        self._told, self._keys, self._view, self.slots, self._kept = told, keys, view, slots, kept

    def __bool__(self) -> bool:
        return bool(self._told)

    def has(self, key: Key) -> bool:
        """Whether anything was ever told of it."""
        return key in self._told

    def tell(self, nums: Iterable[int]) -> bool:
        """Whether one of some memories tells anything: few do."""
        return not self._keys.keys().isdisjoint(nums)

    def of_memory(self, num: int) -> tuple[Key, ...]:
        """What a memory tells of."""
        return self._keys.get(num, ())

    def timeline(self, key: Key) -> tuple[Stretch, ...]:
        """What held when, by the memories that are there."""
        told = self._living(self._told.get(key, ()))
        nums = tuple(one.num for one in told)
        kept = self._kept.get(key)
        if kept is not None and kept[0] == nums:
            return kept[1]
        found = timeline(told, one=self.slots.one(key[1]))
        self._kept[key] = nums, found
        return found

    def state_of(self, num: int, at: int, key: Key | None = None) -> State | None:
        """How what a memory tells stands at a time, in microseconds; `None` where it tells nothing.

        Args:
            num: of the memory.
            at: the time.
            key: what is asked; default everything that it tells.
        """
        keys = self._keys.get(num, ())
        if not keys:
            return None
        own = [
            stretch
            for each in ((key,) if key in keys else keys)
            for stretch in self.timeline(each)
            if num in stretch.nums
        ]
        if not own:
            return None
        holds = any(stretch.holds_at(at) or stretch.start > at for stretch in own)
        only = own[0] if len(own) == 1 else None
        return State(
            past=not holds,
            ended_by=None if holds else own[-1].ended_by,
            start=None if only is None else only.start,
            stop=None if only is None else only.stop,
        )

    def past(self, now: datetime) -> list[int]:
        """Memories of which nothing that they tell holds at a time, rising."""
        at = to_micros(now)
        return sorted(num for num in self._keys if (state := self.state_of(num, at)) is not None and state.past)

    def slots_of(self, subject: str) -> list[str]:
        """Names of the slots that anything was told of."""
        return [slot for who, slot in self._told if who == subject]

    def of_slot(self, slot: str) -> list[Key]:
        """Of whom anything of a slot was ever told."""
        return [key for key in self._told if key[1] == slot]

    def keys(self) -> list[Key]:
        """Everything that anything was told of."""
        return list(self._told)

    def _living(self, told: Sequence[Told]) -> list[Told]:
        if len(told) > TOLD_MAX:
            told = sorted(told, key=lambda one: one.order)[-TOLD_MAX:]
        view = self._view
        rows = np.searchsorted(view.nums, [one.num for one in told])
        rows[rows == view.size] = 0
        return [
            one
            for one, row in zip(told, rows.tolist(), strict=True)
            if view.size and view.nums[row] == one.num and view.alive[row]
        ]


class Shown(Protocol):
    """What of a scope is there: a `ScopeView`, or `Telling`."""

    @property
    def scope_id(self) -> int: ...
    @property
    def nums(self) -> NDArray[np.int64]: ...
    @property
    def at(self) -> NDArray[np.int64]: ...
    @property
    def alive(self) -> NDArray[np.bool_]: ...
    @property
    def size(self) -> int: ...


@record(frozen=True, slots=True, kw_only=True)
class Telling:
    """The memories of a scope that tell facts, where the scope is not read whole.

    Args:
        scope_id: of the scope.
        nums, at: of those that are there, as in `ScopeView`.
        alive: they all are.
    """

    scope_id: int
    nums: NDArray[np.int64]
    at: NDArray[np.int64]
    alive: NDArray[np.bool_]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.nums)


class _Kept:
    """What is in memory of a scope."""

    def __init__(self) -> None:
        self.telling: tuple[tuple[int, int], Telling] | None = None  # of the version of the scope and up to an end
        self.upto = -1
        self.lock = threading.Lock()
        self.told: dict[Key, list[Told]] = {}
        self.keys: dict[int, tuple[Key, ...]] = {}
        self.lines: dict[Key, tuple[tuple[int, ...], tuple[Stretch, ...]]] = {}


class FactTables:
    """The facts of recently used scopes.

    Args:
        engine: of the store.
        slots: the schema; `None` = no facts are kept.
        ended: up to when what ends is left out of a scope, in microseconds.
    """

    def __init__(self, engine: Engine, slots: Slots | None, ended: Callable[[int], int] = lambda _scope_id: 0) -> None:
        self._engine, self._slots, self._ended = engine, slots, ended
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, view: ScopeView) -> ScopeFacts | None:
        """What is told in a scope; `None` where no facts are kept."""
        if self._slots is None:
            return None
        with self._lock:
            kept = self._kept.get(view.scope_id)
            if kept is None:
                kept = self._kept[view.scope_id] = _Kept()
            self._kept.move_to_end(view.scope_id)
            while len(self._kept) > SCOPES_MAX:
                self._kept.popitem(last=False)
        if view.drawn:
            with kept.lock:
                return ScopeFacts(kept.told, kept.keys, self._forward(kept, view), self._slots, kept.lines)
        last = view.nums.item(-1) if view.size else -1
        if kept.upto < last:
            with kept.lock:
                if kept.upto < last:
                    self._read(kept, view, last)
        return ScopeFacts(kept.told, kept.keys, view, self._slots, kept.lines)

    def drop(self, scope_id: int | None = None) -> None:
        """Read a scope's facts anew, or those of all: rows were written for memories that are there."""
        with self._lock:
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

    def _forward(self, kept: _Kept, view: ScopeView) -> Telling:
        """The facts of a scope that is not read whole, brought forward; and which of their memories are there."""
        ended = self._ended(view.scope_id)
        if kept.telling is not None and kept.telling[0] == (view.version, ended):
            return kept.telling[1]
        m, f = schema.memories.c, schema.facts.c
        nums = select(f.num).where(f.scope_id == view.scope_id, f.num <= view.seq).distinct()
        query = select(m.num, func.coalesce(m.event_at, m.created_at)).where(m.scope_id == view.scope_id)
        query = query.where(m.num.in_(nums), stays(ended)).order_by(m.num)
        with reading(self._engine) as connection:
            found = connection.execute(query).all()
        there = np.asarray([tuple(row) for row in found], dtype=np.int64).reshape(-1, 2)
        alive = np.ones(len(there), dtype=np.bool_)
        telling = Telling(scope_id=view.scope_id, nums=there[:, 0], at=there[:, 1], alive=alive)
        last = telling.nums.item(-1) if telling.size else -1
        if kept.upto < last:
            self._read(kept, telling, last)
        kept.telling = (view.version, ended), telling
        return telling

    def _read(self, kept: _Kept, view: Shown, last: int) -> None:
        f = schema.facts.c
        query = select(*COLUMNS).where(f.scope_id == view.scope_id, f.num > kept.upto, f.num <= last)
        query = query.order_by(f.num.desc(), f.place.desc()).limit(FACTS_MAX)

        def newest(engine: Engine) -> Sequence[Any]:
            with reading(engine) as connection:
                return connection.execute(query).all()

        rows = read_by(self._engine, newest)[::-1]
        nums = np.asarray([row.num for row in rows], dtype=np.int64)
        places = np.searchsorted(view.nums, nums)
        ats = view.at[np.minimum(places, max(view.size - 1, 0))].tolist() if view.size else []
        there = (view.nums[np.minimum(places, max(view.size - 1, 0))] == nums).tolist() if view.size else []
        found = [(row, at) for row, at, is_there in zip(rows, ats, there, strict=True) if is_there]
        for row, at in found:
            if not readable(row):
                continue
            key = (row.subject, row.slot)
            kept.told.setdefault(key, []).append(told_of(row, at))
            known = kept.keys.get(row.num, ())
            if key not in known:
                kept.keys[row.num] = (*known, key)
        kept.upto = last


_f = schema.facts.c
COLUMNS = (
    _f.num,
    _f.place,
    _f.subject,
    _f.slot,
    _f.value,
    _f.op,
    _f.instead_of,
    _f.corrects,
    _f.since,
    _f.until,
    _f.confidence,
    _f.by,
)


def readable(row: Any) -> bool:
    """Whether a row of `facts` holds what was written; a damaged one says nothing."""
    texts = (row.subject, row.slot, row.value, row.op, row.instead_of, row.by)
    times = (row.since, row.until)
    return (
        all(isinstance(text, str) for text in texts)
        and row.op in OPS
        and all(time is None or isinstance(time, int) for time in times)
        and isinstance(row.confidence, int | float)
    )


def told_of(row: object, at: int) -> Told:
    """A row of `facts`, as timelines take it."""
    values = {name: getattr(row, name) for name in _FIELDS}
    return Told(at=at, corrects=bool(getattr(row, "corrects", 0)), **values)


_FIELDS = ("num", "place", "value", "op", "instead_of", "since", "until", "confidence", "by")


def in_order(keys: Iterable[Key]) -> list[Key]:
    """By subject, then slot: the user first."""
    return sorted(keys)
