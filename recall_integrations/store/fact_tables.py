"""Facts of the memories of a scope, in memory: read on first use, brought forward after writes."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from recall_integrations.database import schema
from recall_integrations.database.sending import reading
from recall_integrations.facts.rows import REPLACES
from recall_integrations.facts.said import IS, OPS, name_key, same
from recall_integrations.facts.slots import Slots
from recall_integrations.facts.timeline import Stretch, Told, timeline
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.query.entities import EntityIndex
from recall_integrations.records import record
from recall_integrations.types.facts import CORRECTED

_OF = "'s "
SCOPES_MAX = 256  # whose facts are in memory
TOLD_MAX = 1_000  # of one slot of one subject: the newest so many decide; `MemoryStore.facts` reads all of them
FACTS_MAX = 200_000  # of one scope: so many of the newest are in memory
_MADE = "facts.made"
_NOBODY = EntityIndex()
LATEST = 2**62  # after all times
Key = tuple[str, str]  # (subject, slot)
Lined = tuple[tuple[str, ...], str]  # (names that are one subject, slot)
Names = Callable[[str], tuple[str, ...]]


def subject_names(index: EntityIndex) -> Names:
    """Return a function that gives all subjects of the same entity, the asked one included, in order of its names.

    It gives none for a name of two entities: the owner of each fact is unknown.
    """

    def holders(name: str) -> tuple[str, ...]:
        # A key has no "the" in front, which a name may have.
        return (index.lookup(name) or index.lookup(f"the {name}")) if name else ()

    @functools.cache
    def together(subject: str) -> tuple[str, ...]:
        owner, of, rest = subject.partition(_OF)
        found = holders(owner)
        if len(found) > 1:
            return ()
        names = dict.fromkeys(name_key(name) for entity in found for name in index.names(entity))
        if owner not in names:
            return (subject,)
        return tuple(f"{name}{of}{rest}" for name in names if name == owner or holders(name) == found)

    return together


@record(frozen=True, slots=True, kw_only=True)
class State:
    """The state of the facts of a memory at a time. Times are microseconds."""

    past: bool  # whether none of its facts holds
    ended_by: int | None = None  # number of the memory that ended its facts; `None` = they hold, or no memory did
    start: int | None = None
    stop: int | None = None


@record(frozen=True, slots=True, kw_only=True)
class Line:
    """A time line, and the part of each memory in it."""

    stretches: tuple[Stretch, ...]  # the values with their times
    own: Mapping[int, tuple[Stretch, ...]]  # by number of the memory, the stretches that it tells
    older: frozenset[int] = frozenset()  # memories beyond the newest `TOLD_MAX` whose facts hold no longer
    older_from: int = 0  # time from which these facts hold no longer


@record(slots=True, eq=False)
class _Made:
    """What was computed of the facts in one view of a scope, with the names of that time. Threads may share it."""

    kept: _Kept
    index: EntityIndex
    revision: int
    names: Names
    lines: dict[Lined, Line] = field(default_factory=dict)
    past: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None  # numbers of memories, and from when they are past


class ScopeFacts:
    """The facts of one scope in one view. Threads may share it.

    Facts under several names of one entity are one time line. A name that is two people has no time line.
    """

    def __init__(self, view: ScopeView, slots: Slots, made: _Made) -> None:
        self.slots = slots
        self._view, self._made, self._names = view, made, made.names
        self._told, self._keys, self._replaced = made.kept.told, made.kept.keys, made.kept.replaced

    def __bool__(self) -> bool:
        return bool(self._told or self._replaced)

    def has(self, key: Key) -> bool:
        """Say whether a key has any fact under this name, and the name is not two people."""
        return key in self._told and bool(self._names(key[0]))

    def tell(self, nums: Iterable[int]) -> bool:
        """Say whether one of the memories has a fact, or was replaced: few are."""
        nums = list(nums)
        if not self._keys.keys().isdisjoint(nums):
            return True
        rows = self._view.rows_of(nums).tolist() if self._replaced else ()
        return any(self._view.ids[row] in self._replaced for row in rows)

    @property
    def replaced(self) -> bool:
        """True if a memory took the place of another one, as an LLM said that read both."""
        return bool(self._replaced)

    def heir(self, row: int, at: int) -> int | None:
        """Return the row of the newest memory that took the place of one by a time; `None` where none did."""
        told = [heir for heir in self._heirs(row) if self._view.at[heir] <= at]
        return max(told, key=lambda heir: (self._view.at[heir], self._view.nums[heir]), default=None)

    def _heirs(self, row: int) -> list[int]:
        view = self._view
        nums = self._replaced.get(view.ids[row]) if self._replaced else None
        rows = view.rows_of(nums).tolist() if nums else []
        return [heir for heir in rows if view.at[row] <= view.at[heir] and heir != row]

    def timeline(self, key: Key) -> tuple[Stretch, ...]:
        """Return the time line of a key, from living memories, under all names of the subject."""
        return self._line(self._lined(key) or ((key[0],), key[1])).stretches

    def state_of(self, num: int, at: int, key: Key | None = None) -> State | None:
        """Return the state of a memory's facts at a time in microseconds; `None` where it is unknown or it has none."""
        rows = self._view.rows_of([num]).tolist() if self._replaced else ()
        for heir in (self.heir(row, at) for row in rows):
            if heir is not None:
                return State(past=True, ended_by=int(self._view.nums[heir]), stop=int(self._view.at[heir]))
        keys = self._keys.get(num, ())
        told = dict.fromkeys(self._lined(each) for each in keys)
        asked = None if key is None else self._lined(key)
        if asked is not None and asked in told:
            told = {asked: None}
        own: list[Stretch] = []
        for lined in told:
            if lined is None:  # the name is two people
                return None
            own += self._line(lined).own.get(num, ())
        if not own:
            return None
        past = all(_past_from(stretch) <= at for stretch in own)
        only = own[0] if len(own) == 1 else None
        return State(
            past=past,
            ended_by=own[-1].ended_by if past else None,
            start=None if only is None else only.start,
            stop=None if only is None else only.stop,
        )

    def past(self, now: datetime) -> list[int]:
        """List memories of which no fact holds at a time, rising."""
        if self._made.past is None:
            found = self._all_past()
            self._made.past = np.asarray(list(found), np.int64), np.asarray(list(found.values()), np.int64)
        nums, since = self._made.past
        return sorted(nums[since <= to_micros(now)].tolist())

    def slots_of(self, subject: str) -> list[str]:
        """List the slots with a fact under any name of the subject."""
        names = self._names(subject)
        return list(dict.fromkeys(slot for who, slot in list(self._told) if who in names))

    def _lined(self, key: Key) -> Lined | None:
        """Return the line of a key: the names with facts, and the slot. `None` = the name is two people."""
        names, slot = self._names(key[0]), key[1]
        if not names:
            return None
        return (names if len(names) == 1 else tuple(name for name in names if (name, slot) in self._told)), slot

    def _line(self, lined: Lined) -> Line:
        made = self._made.lines.get(lined)
        if made is None:
            names, slot = lined
            told = [one for name in names for one in self._told.get((name, slot), ())]
            told = self._living(sorted(told, key=lambda one: (one.num, one.place)) if len(names) > 1 else told)
            nums, lasting = tuple([one.num for one in told]), self._made.kept.lines
            known = lasting.get(lined)
            if known is None or known[0] != nums:
                known = lasting[lined] = nums, line_of(told, one=self.slots.one(slot))
            made = self._made.lines[lined] = known[1]
        return made

    def _all_past(self) -> dict[int, int]:
        """Return the memories of which some time no fact holds any more, and from when on."""
        view, found = self._view, dict[int, int]()
        for lined in dict.fromkeys(map(self._lined, list(self._told))):
            line = None if lined is None else self._line(lined)
            if line is not None:
                told = {num: max(map(_past_from, own)) for num, own in line.own.items()}
                for num, since in (*told.items(), *dict.fromkeys(line.older, line.older_from).items()):
                    found[num] = max(since, found.get(num, since))
        found = {num: since for num, since in found.items() if all(self._lined(key) for key in self._keys[num])}
        for row in [row for row in range(view.size) if view.ids[row] in self._replaced] if self._replaced else ():
            heirs, num = [int(view.at[heir]) for heir in self._heirs(row)], int(view.nums[row])
            found[num] = min([*heirs, found.get(num, LATEST)])
        return {num: since for num, since in found.items() if since < LATEST}

    def _living(self, told: Sequence[Told]) -> list[Told]:
        view = self._view
        rows = np.searchsorted(view.nums, [one.num for one in told])
        rows[rows == view.size] = 0
        return [
            one
            for one, row in zip(told, rows.tolist(), strict=True)
            if view.size and view.nums[row] == one.num and view.alive[row]
        ]


def _past_from(stretch: Stretch) -> int:
    """Return the time from which a value holds no longer, nor is to hold."""
    if stretch.ended == CORRECTED:
        return stretch.start
    return LATEST if stretch.stop is None else stretch.stop


def line_of(told: Sequence[Told], *, one: bool) -> Line:
    """Make the time line of facts, from the newest `TOLD_MAX` of them."""
    older: frozenset[int] = frozenset()
    older_from = 0
    if len(told) > TOLD_MAX:
        in_time = sorted(told, key=lambda each: each.order)
        rest, told = in_time[:-TOLD_MAX], in_time[-TOLD_MAX:]
        first = next((each for each in told if each.op == IS), None)
        if one and first is not None:  # it ended earlier facts, unless they say the same
            kept, older_from = {each.num for each in told}, first.order[0]
            said = {each.num for each in rest if each.op != IS or same(each.value, first.value)}
            older = frozenset(each.num for each in rest) - said - kept
    stretches = timeline(told, one=one)
    own: dict[int, tuple[Stretch, ...]] = {}
    for stretch in stretches:
        for num in dict.fromkeys(stretch.nums):
            own[num] = (*own.get(num, ()), stretch)
    return Line(stretches=stretches, own=own, older=older, older_from=older_from)


class _Kept:
    """The facts of a scope in memory."""

    def __init__(self) -> None:
        self.upto = -1
        self.lock = threading.Lock()
        self.told: dict[Key, list[Told]] = {}
        self.keys: dict[int, tuple[Key, ...]] = {}
        self.replaced: dict[str, list[int]] = {}  # by id, the memories that took its place
        self.lines: dict[Lined, tuple[tuple[int, ...], Line]] = {}  # and the memories of each: most outlast a write


class FactTables:
    """The facts of recently used scopes."""

    def __init__(
        self,
        engine: Engine,
        slots: Slots | None,
        index: Callable[[int], EntityIndex] = lambda _scope_id: _NOBODY,
    ) -> None:
        self._engine, self._slots, self._index = engine, slots, index
        self._kept: LRUCache[int, _Kept] = LRUCache(SCOPES_MAX)
        self._lock = threading.Lock()

    def get(self, view: ScopeView) -> ScopeFacts | None:
        """Return the facts of a scope; `None` where no facts are kept."""
        if self._slots is None:
            return None
        with self._lock:
            kept = self._kept.setdefault(view.scope_id, _Kept())
        last = view.nums.item(-1) if view.size else -1
        if kept.upto < last:
            with kept.lock:
                if kept.upto < last:
                    self._read(kept, view, last)
        return self._shown(kept, view, self._slots)

    def drop(self, scope_id: int | None = None) -> None:
        """Drop a scope's facts, or those of all: rows were written for existing memories."""
        with self._lock:
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

    def _shown(self, kept: _Kept, view: ScopeView, slots: Slots) -> ScopeFacts:
        index = self._index(view.scope_id) if kept.told else _NOBODY
        made: _Made | None = view.memo.get(_MADE)
        if made is None or made.kept is not kept or made.index is not index or made.revision != index.revision:
            made = view.memo[_MADE] = _Made(kept, index, index.revision, subject_names(index))
        return ScopeFacts(view, slots, made)

    def _read(self, kept: _Kept, view: ScopeView, last: int) -> None:
        f = schema.facts.c
        query = select(*COLUMNS).where(f.scope_id == view.scope_id, f.num > kept.upto, f.num <= last)
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(f.num.desc(), f.place.desc()).limit(FACTS_MAX)).all()[::-1]
        nums = np.asarray([row.num for row in rows], dtype=np.int64)
        places = np.minimum(np.searchsorted(view.nums, nums), view.size - 1)  # no view of none gets here
        there = view.nums[places] == nums
        for row, at, is_there in zip(rows, view.at[places].tolist(), there.tolist(), strict=True):
            if not (is_there and readable(row)):
                continue
            if row.slot == REPLACES:
                kept.replaced.setdefault(row.subject, []).append(row.num)
                continue
            key = (row.subject, row.slot)
            kept.told.setdefault(key, []).append(told_of(row, at))
            known = kept.keys.get(row.num, ())
            if key not in known:
                kept.keys[row.num] = (*known, key)
        kept.upto = last


_f = schema.facts.c
COLUMNS = tuple(column for column in schema.facts.c if column is not _f.scope_id)


def readable(row: Any) -> bool:
    """Say whether a row of `facts` is undamaged; a damaged one counts for nothing."""
    texts = (row.subject, row.slot, row.value, row.op, row.instead_of, row.by)
    times = (row.since, row.until)
    return (
        all(isinstance(text, str) for text in texts)
        and row.op in OPS
        and all(time is None or isinstance(time, int) for time in times)
        and isinstance(row.confidence, int | float)
    )


def told_of(row: object, at: int) -> Told:
    """Convert a row of `facts` for timelines."""
    values = {name: getattr(row, name) for name in _FIELDS}
    return Told(at=at, corrects=bool(getattr(row, "corrects", 0)), **values)


_FIELDS = ("num", "place", "value", "op", "instead_of", "since", "until", "confidence", "by")
