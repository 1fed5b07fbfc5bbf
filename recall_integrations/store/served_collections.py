"""The collections of large scopes on a server (Chroma, or pgvector) that nodes share, filled in the background.

No write waits for the server. The reach of each collection is in the record, so whichever node holds the lease goes on
where another one ended. One that is gone, of another history, of other vectors, or lacks some is left, and another one
is filled, under a name that is used once. Where an index over all costs less than one that grows (pgvector), a new
collection is loaded and then indexed: in the record it reaches to 0 until then, so every node scans the scope.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.meta import pruned_upto
from recall_integrations.errors import RecallError, VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import (
    NO_HOME,
    CollectionBusy,
    CollectionLost,
    CollectionServer,
    CollectionStrange,
    Seen,
    VectorsOver,
    finds_itself,
)
from recall_integrations.privacy.logs import told
from recall_integrations.records import record
from recall_integrations.resilience.guard import Health
from recall_integrations.store import homes, journal
from recall_integrations.store.collections import (
    CLOSE_S,
    LEAVES,
    SLICE,
    WAITING_MAX,
    CollectionsBase,
    Progress,
    Slice,
    next_slice,
)
from recall_integrations.store.directory import Held
from recall_integrations.store.homes import NOTHING, Home
from recall_integrations.store.journal import Point

if TYPE_CHECKING:
    from recall_integrations.indexes.pg_vectors import PgVectors

logger = logging.getLogger("recall_integrations")

WAITED_S = 5.0  # since the first of waiting changes, for which the thread does not wait for quiet either
FRESH_S = 1.0  # for which what was read of a scope's collection is good
PAUSE_S, PAUSE_MAX_S = 0.5, 30.0  # until a server that failed is tried again: the first, and the longest
POLL_S = 0.05  # of who waits until all is filled
LEASE_S = 5.0  # until it is looked whether another node still fills
OVER_S = 3_600.0  # for which a collection is left as it is, since the server refused a request as too large
ALL_S = 60.0  # between two looks at all scopes; written ones are looked at at once
SAMPLES = 4  # vectors that a collection has to find
ANEW = "It is made anew from the store."
LEFT = "What the collection lacks is scanned meanwhile. That is tried again in an hour, or when the store is opened."


@record(frozen=True, slots=True, kw_only=True)
class Over:
    """A request for a collection that the server refused as too large."""

    why: str  # message of the server
    at: float  # time of the refusal, in monotonic seconds


Apply = Callable[[str, Sequence[int], NDArray[np.float32], Sequence[int]], None]


class ServedCollections(CollectionsBase):
    """The collections of large scopes on the server, how far each reaches, and the thread that fills them."""

    BEHIND = "{} What collections lack is scanned meanwhile, and brought there when it is back."

    def __init__(
        self,
        held: Held,
        server: CollectionServer,
        *,
        scan_max: Callable[[], int],
        note: Callable[[str], None],
        fingerprint: Callable[[], str],
        problem: str = "",
    ) -> None:
        super().__init__(held.engine, scan_max=scan_max, write_lock=held.turn, note=note)
        self._held, self._server = held, server
        self._fingerprint, self._problem = fingerprint, problem
        self._lock = threading.RLock()
        self._known: dict[int, tuple[Home, float]] = {}  # with the time of reading, in monotonic seconds
        self._proven: set[str] = set()  # collections checked since the server was last away
        self._checked: set[str] = set()  # the same, by the filling process
        self._lost: dict[str, str] = {}  # collections that cannot be used, and why
        self._over: dict[str, Over] = {}  # collections that are left as they are for a while
        self._told_over: set[str] = set()  # their names and messages that were reported
        self._touched: set[int] = set()
        self._since = 0.0  # when the first of the waiting changes came
        self._tries = 0
        self._all_at = 0.0  # time of the next look at all scopes, not only written ones
        self._busy = False  # whether there may be work on the server
        self._swept = not server.own  # whether unnamed collections were removed

    # -- what recalls ask --------------------------------------------------------------------------------------------

    def home_of(self, scope_id: int) -> str:
        return self._home(scope_id).name

    def home_until(self, scope_id: int) -> int:
        """Return the highest number that the collection of a scope surely holds; later ones have to be scanned."""
        home = self._home(scope_id)
        return 0 if home.name in self._lost else home.until

    def nearest(
        self, home: str, vector: NDArray[np.float32], limit: int, *, seconds: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        end = time.monotonic() + seconds
        try:
            if home not in self._proven:
                self._prove(home, self._server.look(home, seconds))
            return self._server.nearest(home, vector, limit, seconds=end - time.monotonic())
        except CollectionLost as e:
            self._lose(home, str(e))
            raise
        except (VectorsAway, VectorsRefused):
            self._proven.clear()  # the server may come back with another disk
            raise

    @property
    def index(self) -> ServedCollections:
        return self

    def health(self) -> tuple[Health, ...]:
        return (self._server.health(),) if self._server.opened else ()

    def _reached(self, connection: Connection) -> dict[int, int]:
        return {scope_id: home.until for scope_id, home in homes.noted(connection).items()}

    def _home(self, scope_id: int) -> Home:
        (known, read), now = self._known.get(scope_id, (NOTHING, -math.inf)), time.monotonic()
        if now - read < FRESH_S:
            return known
        s = schema.scopes.c
        try:
            with self._engine.connect() as connection:
                row = connection.execute(select(s.vector_home, s.vector_until).where(s.scope_id == scope_id)).first()
        except SQLAlchemyError:  # the record is away: how far it reached still holds
            return known
        fits = row is not None and homes.fits(str(row[0]), self._fingerprint())
        found = Home(str(row[0]), int(row[1])) if row is not None and fits else NOTHING
        self._known[scope_id] = found, now
        return found

    def _prove(self, home: str, seen: Seen, until: int | None = None) -> None:
        """Check that a collection is the one of the record."""
        with self._engine.connect() as connection:
            if until is None:
                noted = select(schema.scopes.c.vector_until).where(schema.scopes.c.vector_home == home)
                until = int(connection.execute(noted).scalar() or 0)
            problem = foreign(connection, until, seen)
        if problem:
            raise CollectionStrange(f"The collection {home} is of another history: {problem}.")
        if until and seen.dimension is None:
            raise CollectionLost(f"The collection {home} is empty.")
        self._proven.add(home)

    def _lose(self, home: str, why: str) -> None:
        self._lost[home] = why
        self._over.pop(home, None)
        self._known.pop(homes.scope_of(home), None)
        self._proven.discard(home)
        self._checked.discard(home)
        self._busy = True
        self.filling.wake(urgent=True)

    # -- opening and closing -----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Read the state, and begin to fill collections that lack vectors; under the write lock, without the server."""
        if self._problem:
            self._note(f"{self._problem} Until it is back, large scopes are scanned, or looked through for words.")
            self._problem = ""
        self._review(shrunk=True)
        with self._engine.connect() as connection:
            self._busy = not self._swept or bool(homes.noted(connection) or homes.left(connection))
        if self._busy:
            self.filling.wake(urgent=True)

    def load(self) -> None:
        """Drop the known collections; they are read anew."""
        self._known.clear()

    def close(self, *, sealed: bool) -> None:
        """Release the server. Missing vectors are filled in by another node, or after the next open."""
        self._closed = True
        if not self.filling.stop(CLOSE_S):
            logger.warning("%s is waited for: it is left behind.", self._server.called)
        with contextlib.suppress(RecallError, SQLAlchemyError):
            self._held.fills_no_longer()
        self._server.close()

    # -- following the vectors ---------------------------------------------------------------------------------------

    def follow(self, scope_ids: set[int], changes: int) -> None:
        """Register vectors that were written and memories that were removed, by any process."""
        now = time.monotonic()
        with self._lock:
            self._touched |= scope_ids
            self._since = self._since if self._waiting else now
            self._waiting += changes
            urgent = self._waiting >= WAITING_MAX or now - self._since > WAITED_S
        self.filling.wake(urgent=urgent and not self._tries)

    def settle(self, timeout: float | None = None) -> bool:
        """Fill all collections now; say whether they hold everything within `timeout` seconds. Without a limit, a
        server that is away is tried once; collections refused as too large are tried once in any case."""
        end = None if timeout is None else time.monotonic() + timeout
        self._over.clear()
        while True:
            with self._lock:
                self._all_at, self._busy = 0.0, True
            left = None if end is None else max(0.0, end - time.monotonic())
            if self.filling.settle(left) and not self._work():
                return True
            if end is None or self._closed or self._over or time.monotonic() + POLL_S >= end:
                self.filling.wake(after=PAUSE_S)
                return False
            time.sleep(POLL_S)

    def _work(self, *, looking: bool = False) -> bool:
        if not self._swept:
            return True
        with self._engine.connect() as connection:
            if homes.left(connection):
                return True
            found = homes.noted(connection)
        return any(
            home.name in self._lost
            or (looking and home.until and home.name not in self._checked)
            or next_slice(self._engine, scope_id, home.until, 1) is not None
            for scope_id, home in found.items()
            if not (looking and self._is_left(home.name))
        )

    def _review(self, *, shrunk: bool = False) -> None:
        """Give collections to scopes that are too large, and take them from those that are empty."""
        s, most, now = schema.scopes.c, self._scan_max(), time.monotonic()
        with self._lock:
            touched, self._touched = self._touched, set()
        wanted = select(s.scope_id, s.memories, s.vector_home).where((s.memories > most) | (s.vector_home != NO_HOME))
        if not shrunk and now < self._all_at and len(touched) <= schema.SQL_VARIABLES:
            wanted = wanted.where(s.scope_id.in_(sorted(touched)))
        else:
            self._all_at = now + ALL_S
        with self._engine.connect() as connection:
            rows = connection.execute(wanted).all()
        self._busy = self._busy or bool(rows)
        kind = self._fingerprint()
        for scope_id, memories, home in rows:
            housed = home != NO_HOME
            if housed and (not memories or (shrunk and memories <= LEAVES * most)):
                self._rehouse(scope_id, home, NO_HOME)
            elif (memories > most and not housed) or (housed and not homes.fits(home, kind)):
                self._rehouse(scope_id, home)

    def _rehouse(self, scope_id: int, old: str, new: str | None = None, *, leave: bool = True) -> None:
        """Give a scope another collection, which is filled from the beginning; do nothing if it has got one meanwhile.

        `new`: `NO_HOME` = none; `None` = one with a new name.
        """
        s = schema.scopes
        with self._writing(), self._engine.begin() as connection:
            if new is None:
                new = homes.new(homes.store_of(connection), scope_id, self._fingerprint())
            changed = update(s).where(s.c.scope_id == scope_id, s.c.vector_home == old)
            done = connection.execute(changed.values(vector_home=new, vector_until=0)).rowcount
            if done and leave:
                homes.leave(connection, [old])
        self._known.pop(scope_id, None)
        self._lost.pop(old, None)
        self._over.pop(old, None)

    # -- filling -----------------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        self._review()
        if not (self._busy or self._lost) or not self._work(looking=True):
            return self._done()
        if not self._held.fills():
            if not self._work():
                return self._done()  # the filling process checks them
            self.filling.wake(after=LEASE_S * random.uniform(0.5, 1.5))
            return False
        self._sweep()
        self._remove_left()
        with self._engine.connect() as connection:
            found = homes.noted(connection)
        busy = False
        # Collections in use come first: a new one takes long.
        for scope_id, home in sorted(found.items(), key=lambda one: (not one[1].until, one[0])):
            if self._is_left(home.name):
                continue
            try:
                if self.filling.halted or self._step_of(scope_id, home):
                    break
            except CollectionBusy:
                busy = True
        else:
            if busy:
                self.filling.wake(after=LEASE_S * random.uniform(0.5, 1.5))
                return False
        self._tries = 0
        return not self.filling.halted

    def _done(self) -> bool:
        self._held.fills_no_longer()
        self._lost.clear()  # no scope names them any more
        with self._lock:
            self._waiting, self._tries, self._busy = 0, 0, False
        self.failed = next((over.why for over in list(self._over.values())), "")
        return False

    def _step_of(self, scope_id: int, home: Home) -> bool:
        """Check a collection and give it a slice; say whether anything was done."""
        self._over.pop(home.name, None)
        try:
            if home.name in self._lost:
                raise CollectionLost(self._lost[home.name])
            if home.until and home.name not in self._checked:
                self._check(scope_id, home)
            return self._advance(scope_id, home) is not None
        except CollectionLost as e:
            self._rehouse(scope_id, home.name, leave=self._server.own or not isinstance(e, CollectionStrange))
            self._note(f"{e} {ANEW}")
        except VectorsOver as e:
            self._leave_as_it_is(home.name, str(e))
        return True

    def _leave_as_it_is(self, home: str, said: str) -> None:
        """Stop filling a collection for a while, since the same request would be refused again."""
        if not self._told_over & {home, said}:
            self._note(f"{said} {LEFT}")
        self._told_over |= {home, said}
        self._over[home] = Over(why=said, at=time.monotonic())
        self.failed = said

    def _is_left(self, home: str) -> bool:
        over = self._over.get(home)
        return over is not None and time.monotonic() - over.at < OVER_S

    def _advance(self, scope_id: int, home: Home, *, whole: bool = False) -> int | None:
        """Give a collection its next slice; return the number of vectors in it, `None` if it lacks nothing."""
        loading = self._server.loading
        if loading is not None and not home.until:
            return self._load(scope_id, home, loading, whole=whole)
        part = next_slice(self._engine, scope_id, home.until, SLICE)
        if part is None:
            return None
        if self._given(home, part, self._server.apply, whole=whole):
            self._reach(scope_id, home, part.upto)
        return len(part.nums)

    def _given(self, home: Home, part: Slice, apply: Apply, *, whole: bool) -> bool:
        """Give a slice to the server; say whether it has all of it."""
        server, store = self._server, homes.store_part(home.name)
        if part.after:
            self._prove(home.name, server.look(home.name), part.after)  # a copy of this store may have written to it
        else:
            server.drop(home.name)  # rest of an interrupted slice; some memories may be removed by now
            server.make(home.name, store)
        mark = part.mark or Point(part.upto)
        server.mark(home.name, store, mark.seq, mark.digest)
        apply(home.name, [], part.vectors[:0], part.gone)
        for start in range(0, len(part.nums), server.at_once):
            if self.filling.halted and not whole:
                return False
            some = slice(start, start + server.at_once)
            apply(home.name, part.nums[some], part.vectors[some], [])
        return True

    def _reach(self, scope_id: int, home: Home, upto: int) -> None:
        """Note in the record how far a collection reaches, if it still reaches to `home.until`."""
        s = schema.scopes
        reached = update(s).where(s.c.scope_id == scope_id, s.c.vector_home == home.name)
        with self._writing(), self._engine.begin() as connection:
            connection.execute(reached.where(s.c.vector_until == home.until).values(vector_until=upto))
        self._known.pop(scope_id, None)
        self._checked.add(home.name)
        self._proven.add(home.name)

    def _load(self, scope_id: int, home: Home, loading: PgVectors, *, whole: bool) -> int | None:
        """Give a new collection its next slice, or, where it has all, build the index; from then on it is used."""
        there = loading.loaded(home.name)
        if not there.indexed:
            part = next_slice(self._engine, scope_id, there.upto, SLICE)
            if part is not None:
                if self._given(home, part, loading.load, whole=whole):
                    loading.note(home.name, part.upto)
                return len(part.nums)
            if not there.upto:
                return None
            self._prove(home.name, self._server.look(home.name), there.upto)
            self._take_out(scope_id, home.name, there.upto)  # the journal may have been cut while it was loaded
            loading.index(home.name, lambda: self._closed or (self.filling.halted and not whole))
        with self._engine.connect() as connection:
            lost = pruned_upto(connection) > there.upto
        if lost:
            self._take_out(scope_id, home.name, there.upto)
        self._reach(scope_id, home, there.upto)
        return 0

    def _check(self, scope_id: int, home: Home) -> None:
        """Compare a collection with the record: history, length, numbers, and a search for its own vectors."""
        seen = self._server.look(home.name)
        self._prove(home.name, seen)
        wanted, sample = self._wanted(scope_id, home.until, SAMPLES)
        with self._engine.connect() as connection:
            lost = pruned_upto(connection) > home.until
        found = self._server.count(home.name)
        if found < wanted:
            raise CollectionLost(f"The collection {home.name} holds {found:,} vectors, the store {wanted:,}.")
        for vector in sample:
            if seen.dimension != len(vector):
                raise CollectionLost(
                    f"The collection {home.name} holds vectors of {seen.dimension} numbers, the store of {len(vector)}."
                )
            _, cosines = self._asked_itself(home.name, vector)
            if not finds_itself(cosines):
                raise CollectionLost(f"The collection {home.name} does not find its own vectors.")
        if lost or found > wanted:
            self._take_out(scope_id, home.name, home.until)
        self._checked.add(home.name)

    def _asked_itself(self, home: str, vector: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Search in a collection; one that fails on a server that works is damaged."""
        try:
            return self._server.nearest(home, vector, 1)
        except VectorsAway as e:
            try:
                self._server.check()
            except (VectorsAway, VectorsRefused):
                raise e from None
            raise CollectionLost(f"The collection {home} cannot be asked: {e}") from e

    def _take_out(self, scope_id: int, home: str, until: int) -> None:
        """Remove vectors that the record does not have any more, also where the journal does not tell of that."""
        held, v = self._server.nums(home), schema.vectors.c
        with self._engine.connect() as connection:
            found = connection.execute(select(v.num).where(v.scope_id == scope_id)).scalars().all()
        standing = np.asarray(found, dtype=np.int64)
        lacks = len(np.setdiff1d(standing[standing <= until], held))
        if lacks:
            raise CollectionLost(f"The collection {home} lacks {lacks:,} vectors.")
        gone = np.setdiff1d(held, standing)
        if len(gone):
            self._server.apply(home, [], np.empty((0, 1), dtype=np.float32), gone.tolist())

    def _sweep(self) -> None:
        """Remove collections that no scope names, once: those left while the store was open without the server."""
        if self._swept:
            return
        there = self._server.homes()  # before the record is read, which names each before it is made
        with self._engine.connect() as connection:
            named = {home.name for home in homes.noted(connection).values()}
        for home in there:
            if home not in named:
                self._server.drop(home)
        self._swept = True

    def _remove_left(self) -> None:
        with self._engine.connect() as connection:
            names = homes.left(connection)
        if not names:
            return
        for name in names:
            self._server.drop(name)
        with self._writing(), self._engine.begin() as connection:
            homes.removed(connection, names)

    def _could_not(self, error: BaseException) -> None:
        """Note a failure of the thread, which is tried again after a pause, unless somebody waits for the end."""
        if self._closed or self.filling.halted:
            return
        self._checked.clear()
        self._tries += 1
        self._report(error, f"{self._server.called} is away." if isinstance(error, VectorsAway) else "")
        if not self.filling.hurried:
            longest = min(PAUSE_MAX_S, PAUSE_S * 2 ** min(self._tries, 10))
            self.filling.wake(after=max(self._server.resting, random.uniform(PAUSE_S / 2, longest)))

    # -- making anew -------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Remove all collections, under the write lock; others are filled in the background."""
        with self.filling.held():
            self._leave_all()
            try:
                self._remove_left()
            except (VectorsAway, VectorsRefused) as e:
                self._note(f"{told(e)} What was forgotten is removed there when it is back.")
        self._busy = True
        self.filling.wake(urgent=True)

    def rebuild(self, progress: Progress | None = None) -> None:
        """Fill new collections in place of the old ones, under the write lock; in the background where that fails."""
        with self.filling.held():
            self._leave_all()
            self._all_at = 0.0
            self._review()
            try:
                self._remove_left()
                self._fill_all(progress)
            except (VectorsAway, VectorsRefused, CollectionBusy) as e:
                self._note(f"{told(e)} Collections are filled when it is back.")
        self._busy = True
        self.filling.wake(urgent=True)

    def _leave_all(self) -> None:
        with self._engine.connect() as connection:
            found = homes.noted(connection)
        for scope_id, home in sorted(found.items()):
            self._rehouse(scope_id, home.name)
        self._proven.clear()
        self._checked.clear()

    def _give(self, scope_id: int) -> int | None:
        with self._engine.connect() as connection:
            home = homes.noted(connection)[scope_id]
        return self._advance(scope_id, home, whole=True)


def foreign(connection: Connection, until: int, seen: Seen) -> str | None:
    """Say why a collection was filled from another history than this journal's; `None` = it was not.

    An entry that was dropped from the journal proves nothing.
    """
    if until and seen.seq < until:
        return f"it was filled up to change {seen.seq:,}, the store knows of {until:,}"
    if not seen.seq or not seen.digest:
        return None
    if seen.seq > journal.last_seq(connection):
        return f"it was filled up to change {seen.seq:,}, which the store does not have"
    noted = Point(seen.seq, seen.digest)
    if seen.seq >= pruned_upto(connection) and journal.point(connection, seen.seq) != noted:
        return f"its change {seen.seq:,} is not that of the store, which may be a copy or a backup that was put back"
    return None
