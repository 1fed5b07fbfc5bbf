"""Tells caches of a scope whether it is unchanged; and the ends of memories (`Memory.expires_at`).

A cache stores an answer only if the number of the scope is the same before and after computing it. There is none while
a write is under way, and none when a memory has ended and is still shown. A recall removes nothing.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from sqlalchemy import Connection, Engine, func, select

from recall_integrations.database import schema
from recall_integrations.database.sending import in_parts
from recall_integrations.indexes.times import ends, to_micros
from recall_integrations.resilience.failures import time_of
from recall_integrations.types import Clock, Scope

Revision = tuple[int, int]


class Watcher(Protocol):
    """A cache of results computed from scopes."""

    def drop(self, scope: Scope | None) -> None:
        """Drop results computed from the scope; `None` = from any."""


class Revisions:
    """Revisions of scopes, in memory: reading one takes a microsecond. Each opening begins anew. Threads share it."""

    def __init__(self, ending: Callable[[Scope], bool] = lambda _scope: False) -> None:
        self._ending = ending
        self._lock = threading.Lock()
        self._numbers: Counter[Scope] = Counter()
        self._all = 0
        self._under_way: Counter[Scope | None] = Counter()
        self._watchers: weakref.WeakSet[Watcher] = weakref.WeakSet()

    def of(self, scope: Scope) -> Revision | None:
        """Return a value that changes with every write to the scope; `None` while one is under way."""
        with self._lock:
            under_way = self._under_way
            if under_way and (under_way.get(scope) or under_way.get(None)):
                return None
            found = self._all, self._numbers.get(scope, 0)
        return None if self._ending(scope) else found

    def watch(self, watcher: Watcher) -> None:
        """Tell a watcher of writes from now on. It is held weakly."""
        with self._lock:
            self._watchers.add(watcher)

    @contextmanager
    def writing(self, scope: Scope | None) -> Iterator[None]:
        """Mark a write, also one that may fail, from before it is visible until all of it is."""
        with self._lock:
            self._under_way[scope] += 1
            if scope is None:
                self._all += 1
            else:
                self._numbers[scope] += 1
            watchers = list(self._watchers)
        try:
            for watcher in watchers:  # without the lock: watchers ask for revisions under their own locks
                watcher.drop(scope)
            yield
        finally:
            with self._lock:
                self._under_way[scope] -= 1
                if not self._under_way[scope]:
                    del self._under_way[scope]


REMOVED_MAX = 500  # at one write, of one scope
PAUSE_MICROS = 60_000_000  # between two writes that remove what has ended

_m = schema.memories.c


class Expiry:
    """Ended memories of all scopes. Threads share it."""

    def __init__(self, engine: Engine, clock: Clock, scopes: Mapping[Scope, int]) -> None:
        self._engine, self._clock, self._scopes = engine, clock, scopes
        self.revisions = Revisions(self._due)
        self._lock = threading.Lock()
        self._next: dict[int, int] = {}  # by scope, the next end of a memory
        self._ended: dict[int, int] = {}  # by scope, the time up to which ended memories are left out
        self._left: set[int] = set()  # scopes with ended memories that are not removed yet
        self._swept = 0

    def load(self, connection: Connection) -> None:
        first = select(_m.scope_id, func.min(_m.expires_at)).where(ends()).group_by(_m.scope_id)
        found = {int(scope_id): int(at) for scope_id, at in connection.execute(first)}
        with self._lock:
            self._next.clear()
            self._next.update(found)
            self._ended.clear()
            self._left.clear()

    @property
    def none(self) -> bool:
        """True if no memory in the store ends, or has ended and is still there."""
        return not self._next and not self._left

    def now(self) -> int:
        return to_micros(time_of(self._clock))

    def _due(self, scope: Scope) -> bool:
        """Say whether an ended memory of the scope is still shown. Takes no lock."""
        at = self._next.get(self._scopes.get(scope, 0)) if self._next else None
        return at is not None and self.now() >= at

    def note(self, scope_id: int, at: int | None) -> None:
        """Note that a memory with this end was committed, in microseconds; `None` = it stays."""
        if at is None:
            return
        with self._lock:
            self._next[scope_id] = min(at, self._next.get(scope_id, at))
            if scope_id in self._ended and at <= self._ended[scope_id]:
                self._back(scope_id)

    def ended(self, scope_id: int) -> int:
        """Return the time up to which ended memories of a scope are left out, in microseconds; 0 = none has ended."""
        at = self._next.get(scope_id)
        if at is not None and (now := self.now()) >= at:
            self._turn(scope_id, now)
        return self._ended.get(scope_id, 0)

    def left(self, scope_id: int) -> int:
        """Count the memories of a scope that have ended and are still in the database."""
        ended = self.ended(scope_id)
        if scope_id not in self._left:
            return 0
        over = select(func.count()).where(_m.scope_id == scope_id, ends(upto=ended))
        with self._engine.connect() as connection:
            return int(connection.execute(over).scalar_one())

    def to_remove(self, *, all_of_them: bool = False) -> list[int]:
        """List scopes with ended memories to remove; none if the last call is less than a minute ago."""
        if self.none:
            return []
        now = self.now()
        if not all_of_them and abs(now - self._swept) < PAUSE_MICROS:
            return []
        for scope_id in [scope_id for scope_id, at in self._ended.items() if at - now > PAUSE_MICROS]:
            with self.revisions.writing(self.scope_of(scope_id)), self._lock:
                self._back(scope_id)
        for scope_id in [scope_id for scope_id, at in self._next.items() if now >= at]:
            self.ended(scope_id)
        self._swept = now
        return sorted(self._left)

    def over(self, connection: Connection, scope_id: int) -> list[int]:
        """List the numbers of ended memories of a scope, the first to end first; at most `REMOVED_MAX`."""
        ended = self.ended(scope_id)
        found = select(_m.num).where(_m.scope_id == scope_id, ends(upto=ended))
        return list(connection.execute(found.order_by(_m.expires_at, _m.num).limit(REMOVED_MAX)).scalars())

    def over_of(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> list[int]:
        """Return the numbers in `nums` of memories that have ended."""
        ended = self.ended(scope_id)
        if scope_id not in self._left:
            return []
        found: list[int] = []
        for part in in_parts(nums):
            over = select(_m.num).where(_m.scope_id == scope_id, _m.num.in_(part), ends(upto=ended))
            found.extend(connection.execute(over).scalars())
        return found

    def scope_of(self, scope_id: int) -> Scope | None:
        return next((scope for scope, number in dict(self._scopes).items() if number == scope_id), None)

    def removed(self, scope_id: int, *, whole: bool, upto: int) -> None:
        """Note that the result of `over` is removed; `whole`: that was all that had ended by `upto`, or later."""
        with self._lock:
            if whole and self._ended.get(scope_id, 0) <= upto:
                self._left.discard(scope_id)
            else:
                self._swept = 0

    def _back(self, scope_id: int) -> None:
        """Show memories again that end after now: the clock went back after they had ended."""
        self._ended[scope_id] = min(self.now(), self._ended[scope_id])
        self._wait(scope_id, self._ended[scope_id])

    def _wait(self, scope_id: int, now: int) -> None:
        """Read the next end of a scope after now."""
        with self._engine.connect() as connection:
            later = select(func.min(_m.expires_at)).where(_m.scope_id == scope_id, ends(after=now))
            following = connection.execute(later).scalar()
        if following is None:
            self._next.pop(scope_id, None)
        else:
            self._next[scope_id] = int(following)

    def _turn(self, scope_id: int, now: int) -> None:
        """Leave out the memories that have ended by now."""
        with self.revisions.writing(self.scope_of(scope_id)), self._lock:
            if self._next.get(scope_id, now + 1) > now:
                return  # another thread did it
            self._wait(scope_id, now)
            self._ended[scope_id] = now
            self._left.add(scope_id)
