"""The scopes that no node reads whole, and how their tables are filled and kept.

A scope of more than `retrieval.local_max` memories in PostgreSQL is counted in tables of its own (`pushed_rows`):

    larger than local_max ─▶ a row in `pushed` ─▶ slices of memories, each in a turn to write ─▶ whole: recalls ask it
                                                        others write between two slices
    a write    to a whole scope: its rows go in with its memories; to one that is being filled: the filler adds them
    a removal  of counted memories: their rows go with them

Any node fills, in a background thread; its progress is in `pushed.until`, so another node goes on there after one that
was killed. Every node has to know these scopes before it writes: a row that is added, becomes whole or is removed is
announced to the others as an entry of the journal (`touch`).

A scope pushed by one node is pushed for all. Nodes should have one `local_max`, and may not: then the least holds, as
a scope that one gives back and another pushes again would be counted without end. So `pushed.whole` holds the limit of
the count, and no node gives back a scope that has not shrunk below that, nor one that is being counted. The node that
began to count it may, and one that has opened the store with no other there: so the limit can be raised.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, case, func, select, update

from recall_integrations.database import schema
from recall_integrations.database.sending import reading
from recall_integrations.errors import StoreClosed
from recall_integrations.indexes.word_rows import Cut
from recall_integrations.privacy.logs import told
from recall_integrations.store import pushed_rows
from recall_integrations.store.filling import Filling
from recall_integrations.store.pushed_rows import Pushed, pushed
from recall_integrations.types import Memory

if TYPE_CHECKING:
    from recall_integrations.store.parts import StoreParts
    from recall_integrations.store.removing import Removing

logger = logging.getLogger("recall_integrations")

SLICE = 1_000  # memories that are counted in one turn to write
SHRUNK = 0.8  # of `local_max`: a scope that has become so small is read whole again
LIMIT = 2  # `pushed.whole` is the limit of who counted it and this, so that it is above 0
CLOSE_S = 10.0  # for the slice that is under way
_P, _S = schema.pushed.c, schema.scopes.c


class Pushing:
    """The scopes that no node reads whole. Threads share it. Methods with a connection need the write lock.

    `local_max`: memories up to which a scope is read whole; `None` = every scope is.
    """

    def __init__(self, engine: Engine, local_max: int | None) -> None:
        self._engine = engine
        self.local_max = local_max
        self._known: dict[int, int] | None = {} if local_max is None else None  # scope → `pushed.whole`
        self._own: set[int] = set()  # scopes that are given back by the limit of this node
        self._noticed: set[int] = set()  # limits of other nodes that were reported
        self._counts: dict[int, int] = {}  # number of memories by scope, as far as this node knows
        self._lock = threading.Lock()
        self._parts: Callable[[], StoreParts | None] = lambda: None
        self.filling = Filling(self._step, _failed)

    def connect(self, parts: StoreParts) -> None:
        """Fill due scopes from now on."""
        self._parts = weakref.ref(parts)
        if self.local_max is None:
            return
        with reading(self._engine) as connection:
            counts = connection.execute(select(_S.scope_id, _S.memories)).all()
            there = connection.execute(select(_P.scope_id)).scalars().all()
        if there and not parts.directory.others():
            self._own.update(there)
        self._counts.update({int(scope_id): int(memories) for scope_id, memories in counts})
        for scope_id in self._counts:
            self.note(scope_id, 0)

    def forget(self) -> None:
        """Forget the list of scopes, which another node may have changed; it is read again on demand."""
        if self.local_max is not None:
            with self._lock:
                self._known = None

    def is_whole(self, scope_id: int) -> bool:
        """Say whether a scope is answered from the tables."""
        return self._states().get(scope_id, 0) > 0

    def note(self, scope_id: int, added: int) -> None:
        """Note that `added` memories were written to a scope, or removed from it."""
        if self.local_max is None:
            return
        count = self._counts[scope_id] = self._counts.get(scope_id, 0) + added
        known = self._states().get(scope_id)
        if (not known and count > self.local_max) or (known is not None and count <= self._small(scope_id, known)):
            self.filling.wake()

    def _small(self, scope_id: int, whole: int) -> float:
        """Return the number of memories up to which a pushed scope is given back; -1 = not by this node."""
        assert self.local_max is not None
        if scope_id in self._own:
            return SHRUNK * self.local_max
        return SHRUNK * min(self.local_max, whole - LIMIT) if whole else -1

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until due scopes are filled; say whether they were, in time."""
        return self.local_max is None or self.filling.settle(timeout)

    # -- in the transactions of others -----------------------------------------------------------------------------

    def leaving(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        """Subtract memories that are about to be removed."""
        if not nums or scope_id not in self._states():
            return
        until = connection.execute(select(_P.until).where(_P.scope_id == scope_id)).scalar()
        counted = [num for num in nums if until is not None and num <= until]
        m = schema.memories.c
        for start in range(0, len(counted), SLICE):
            part = counted[start : start + SLICE]
            pushed_rows.take(connection, scope_id, pushed_rows.read(connection, scope_id, m.num.in_(part)))

    def coming(
        self,
        connection: Connection,
        scope_id: int,
        nums: Sequence[int],
        memories: Sequence[Memory],
        cuts: Sequence[Cut],
    ) -> None:
        """Count memories that are written, with numbers above all stored ones."""
        if not self.is_whole(scope_id):
            return
        rows = [_of(num, memory, cut) for num, memory, cut in zip(nums, memories, cuts, strict=True)]
        for start in range(0, len(rows), SLICE):
            pushed_rows.add(connection, scope_id, rows[start : start + SLICE])

    def anew(self, connection: Connection) -> None:
        """Drop all counts, since all words were cut anew."""
        if self.local_max is not None:
            pushed_rows.clear(connection)

    def again(self) -> None:
        """Fill the scopes again once that is committed."""
        self.forget()
        for scope_id in list(self._counts):
            self.note(scope_id, 0)

    # -- filling ---------------------------------------------------------------------------------------------------

    def _states(self) -> dict[int, int]:
        known = self._known
        if known is None:
            with self._lock:
                known = self._known
                if known is None:
                    with reading(self._engine) as connection:
                        rows = connection.execute(select(_P.scope_id, _P.whole)).all()
                    known = self._known = {int(scope_id): int(whole) for scope_id, whole in rows}
                    self._see_limits({whole - LIMIT for whole in known.values() if whole})
        return known

    def _see_limits(self, limits: set[int]) -> None:
        """Report other nodes with another limit, once for each limit."""
        parts = self._parts()
        if parts is None:
            return
        for limit in sorted(limits - {self.local_max} - self._noticed):
            self._noticed.add(limit)
            parts.indexes.note(
                f"A node with a retrieval.local_max of {limit:,} has pushed scopes down, and that of this node is "
                f"{self.local_max:,}. Every node asks PostgreSQL of them. Give all nodes the same limit; a higher one "
                "holds for these scopes once a node opens the store with no other there."
            )

    def _step(self) -> bool:
        """Do one slice; say whether there is more to do."""
        parts = self._parts()
        if parts is None or not parts.usable or self.filling.halted or self.local_max is None:
            return False
        with parts.errors(), reading(self._engine) as connection:
            work = _work(connection, self.local_max, self._own)
        if work is None:
            return False
        began = time.monotonic()
        parts.retried(lambda: self._slice(parts, *work), twice=True)
        took = time.monotonic() - began
        if not self.filling.hurried:
            time.sleep(min(took, 0.2))  # others write meanwhile
        return True

    def _slice(self, parts: StoreParts, scope_id: int, large: bool) -> None:
        """Take one step with a scope, in a turn to write."""
        from recall_integrations.store.removing import Removing

        scope = parts.expiry.scope_of(scope_id)
        with parts.write_lock, parts.errors():
            parts.check_open()
            removing = Removing(parts)
            with self._engine.begin() as connection:
                row = connection.execute(select(_P.until, _P.whole).where(_P.scope_id == scope_id)).first()
                change, rows = self._next(connection, scope_id, row, large=large)
                if change is None:
                    pushed_rows.add(connection, scope_id, rows)
                    return
            if change is _nothing:
                return
            with parts.revisions.writing(scope):
                self._changed(parts, removing, scope_id, change)

    def _changed(self, parts: StoreParts, removing: Removing, scope_id: int, change: Callable[..., Any]) -> None:
        try:
            with self._engine.begin() as connection:
                change(connection, scope_id)
                touched = removing.touch(connection, scope_id)
        finally:
            self.forget()
        if change is pushed_rows.begin:
            self._own.add(scope_id)
        else:  # the scope is whole, or given back
            self._own.discard(scope_id)
        removing.touched(scope_id, touched)
        parts.views.drop(scope_id)

    def _next(
        self, connection: Connection, scope_id: int, row: Any, *, large: bool
    ) -> tuple[Callable[[Connection, int], None] | None, list[Pushed]]:
        """Return the next step of a scope: a change that other nodes are told of, or memories to count."""
        if row is None or not large:
            change = pushed_rows.begin if large else pushed_rows.clear
            return (change if large or row is not None else _nothing), []
        if row.whole:
            return _nothing, []
        rows = pushed_rows.read(connection, scope_id, schema.memories.c.num > row.until, limit=SLICE)
        return (None, rows) if rows else (self._whole, [])

    def _whole(self, connection: Connection, scope_id: int) -> None:
        assert self.local_max is not None
        noted = update(schema.pushed).where(_P.scope_id == scope_id).values(whole=self.local_max + LIMIT)
        connection.execute(noted)


def _of(num: int, memory: Memory, cut: Cut) -> Pushed:
    return pushed(num, cut, memory.actor, memory.role, memory.thread)


def _work(connection: Connection, local_max: int, own: Collection[int]) -> tuple[int, bool] | None:
    """Return a scope that has work to do, and whether it is large; `None` = no scope has."""
    large = _S.memories > local_max
    mine = _P.scope_id.in_(sorted(own))
    least = case((mine, local_max), (_P.whole > 0, func.least(_P.whole - LIMIT, local_max)), else_=-1)
    small = _P.scope_id.is_not(None) & (_S.memories <= SHRUNK * least)
    query = select(_S.scope_id, large).select_from(schema.scopes.outerjoin(schema.pushed, _P.scope_id == _S.scope_id))
    query = query.where((large & (_P.scope_id.is_(None) | (_P.whole == 0))) | small)
    found = connection.execute(query.order_by(_S.scope_id).limit(1)).first()
    return None if found is None else (int(found[0]), bool(found[1]))


def _nothing(_connection: Connection, _scope_id: int) -> None:
    """Do nothing: another node did it meanwhile."""


def _failed(error: BaseException) -> None:
    if not isinstance(error, StoreClosed):
        logger.warning("A large scope could not be counted, which is tried again: %s", told(error))
