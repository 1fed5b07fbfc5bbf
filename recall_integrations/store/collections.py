"""The collections of large scopes: in files (Chroma), or on a server (Chroma, or pgvector) that nodes share.

A collection of a scope reaches up to a number: it holds the vectors up to that one, without those removed up to it.
Later vectors are scanned exactly, so a recall finds the same at any moment, and what fills collections, in the
background, may be slow, damaged or gone without a write failing: vectors are in SQL.

The reach of each collection is in the record, so whoever fills them next goes on where the last one ended. One that is
gone, of another history, of other vectors, or lacks some is left, and another one is filled, under a name that is used
once. Where an index over all costs less than one that grows (pgvector), a new collection is loaded and then indexed: in
the record it reaches to 0 until then, so every node scans the scope.

Files belong to the process that keeps the indexes, and Chroma is loaded when they are needed: by a recall, which checks
them first, or to bring many vectors there. It holds Python's lock while it works, so the thread rests as long as each
part took, unless somebody waits.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.schema import pruned_upto
from recall_integrations.database.sending import writing
from recall_integrations.errors import EmbeddingError, IndexUnavailable, RecallError, VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import (
    NO_HOME,
    CollectionBusy,
    CollectionLost,
    CollectionServer,
    CollectionStrange,
    VectorsOver,
)
from recall_integrations.privacy.door import told
from recall_integrations.records import record
from recall_integrations.resilience.failures import pause_s
from recall_integrations.resilience.guard import Health
from recall_integrations.store import chroma_files, homes, journal
from recall_integrations.store.chroma_files import ChromaFiles
from recall_integrations.store.directory import Held
from recall_integrations.store.filling import Filling
from recall_integrations.store.homes import NOTHING, Checks, Home, Slice, count_after, next_slice
from recall_integrations.store.journal import SEMANTIC, Point

if TYPE_CHECKING:
    from recall_integrations.indexes.pg_vectors import PgVectors

logger = logging.getLogger("recall_integrations")

Progress = Callable[[str, int, int], None]  # (what, done, total)
SLICE = 2_000  # changes after which it is noted how far a collection reaches
LEAVES = 0.8  # of the largest scope that is scanned: below, one leaves its collection at an open
CLOSE_S = 10.0  # for a part that is under way; leaving it behind costs only work
REST_MAX_S = 0.2
WAITED_S = 5.0  # since the first of waiting changes, for which the thread waits for quiet
FRESH_S = 1.0  # for which what was read of a scope's collection is good
PAUSE_S, PAUSE_MAX_S = 0.5, 30.0  # until a server that failed is tried again: the first, and the longest
POLL_S = 0.05  # of who waits until all is filled
LEASE_S = 5.0  # until it is looked whether another node still fills
OVER_S = 3_600.0  # for which a collection is left as it is, since the server refused a request as too large
ALL_S = 60.0  # between two looks at all scopes; written ones are looked at at once
BEHIND = "What collections lack is scanned meanwhile, and brought there when it is back."
ANEW = "It is rebuilt from the store."
LEFT = "What the collection lacks is scanned meanwhile. That is tried again in an hour, or when the store is opened."


@record(frozen=True, slots=True, kw_only=True)
class Over:
    """A request for a collection that the server refused as too large."""

    why: str  # message of the server
    at: float  # time of the refusal, in monotonic seconds


Apply = Callable[[str, Sequence[int], NDArray[np.float32], Sequence[int]], None]


class Collections:
    """The collections of large scopes, how far each reaches, and the thread that fills them."""

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
        self._held, self.server = held, server
        self._files = server if isinstance(server, ChromaFiles) else None
        self.shared = self._files is None  # whether every process may ask and fill them
        self._engine, self._write_lock = held.engine, held.turn
        self._scan_max, self._note = scan_max, note
        self._fingerprint, self._problem = fingerprint, problem
        self._lock, self._looking = threading.RLock(), threading.RLock()
        self._unseen = not self.shared  # whether files are still to be checked
        self._awaited, self._seen = False, threading.Event()  # whether a recall waits for that
        self._known: dict[int, tuple[Home, float]] = {}  # with the time of reading, in monotonic seconds
        self._forgotten = 0  # how often one of them was dropped
        self._checks = Checks(self._engine, server)
        self._checked: set[str] = set()  # collections compared by the filling process, since the server was last away
        self._lost: dict[str, CollectionLost] = {}  # collections that cannot be used, and why
        self._over: dict[str, Over] = {}  # collections that are left as they are for a while
        self._told_over: set[str] = set()  # their names and messages that were reported
        self._touched: set[int] = set()
        self._tries = 0
        self._all_at = 0.0  # time of the next look at all scopes, not only written ones
        self._busy = False  # whether there may be work
        self._swept = not server.own  # whether unnamed collections were removed
        self._closed = False
        self.failed = ""  # why the thread last ended; empty = its work was done
        self.filling = Filling(self._step, self._could_not, most_s=WAITED_S)

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
            if home not in self._checks.proven:
                self._checks.prove(home, self.server.look(home, seconds))
            return self.server.nearest(home, vector, limit, seconds=end - time.monotonic())
        except CollectionLost as e:
            self._lose(home, e)
            raise
        except (VectorsAway, VectorsRefused):
            self._checks.proven.clear()  # the server may come back with another disk
            raise

    def ready(self, seconds: float) -> bool:
        """Say whether the collections can be asked; a thread opens files meanwhile, and is waited for some seconds."""
        if self._unseen:
            self._awaited = self._busy = True
            self.filling.wake(urgent=True)
            self._seen.wait(seconds)
        return not self._unseen

    def health(self) -> tuple[Health, ...]:
        """Return the health of the server; nothing if there is none, or it was never asked."""
        return (self.server.health(),) if self.shared and self.server.opened else ()

    def lacking(self) -> dict[int, int]:
        """Count the vectors that the collection of each large scope does not have yet, by scope."""
        with self._engine.connect() as connection:
            return {i: count_after(connection, i, home.until) for i, home in sorted(self._noted(connection).items())}

    @property
    def _mine(self) -> bool:
        return self.shared or self._held.keeps()

    def _noted(self, connection: Connection) -> dict[int, Home]:
        return homes.noted(connection, files=not self.shared) if self._mine else {}

    def _home(self, scope_id: int) -> Home:
        (known, read), now = self._known.get(scope_id, (NOTHING, -math.inf)), time.monotonic()
        if now - read < FRESH_S:
            return known
        if not self._mine:
            return NOTHING
        s, before = schema.scopes.c, self._forgotten
        try:
            with self._engine.connect() as connection:
                row = connection.execute(select(s.vector_home, s.vector_until).where(s.scope_id == scope_id)).first()
        except SQLAlchemyError:  # the record is away: how far it reached still holds
            return known
        found = NOTHING if row is None else Home(str(row[0]), int(row[1]))
        if not homes.in_form(found.name) or not homes.fits(found.name, self._fingerprint(), files=not self.shared):
            found = NOTHING
        if self._forgotten == before:  # else it may have got another one meanwhile
            self._known[scope_id] = found, now
        return found

    def _forget(self, scope_id: int) -> None:
        self._forgotten += 1
        self._known.pop(scope_id, None)

    def _lose(self, home: str, why: CollectionLost) -> None:
        self._lost[home] = why
        self._over.pop(home, None)
        self._forget(homes.scope_of(home))
        self._checks.proven.discard(home)
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
            found, left = self._noted(connection), homes.left(connection, files=not self.shared)
            dropped = pruned_upto(connection)
        if self._files is None:
            self._busy = bool(not self._swept or found or left)
        elif not found:
            self._leave_all()
        else:
            self._files.sweep()
            problem = self._files.problem(max(home.until for home in found.values()))
            if problem:
                self._begin_anew(problem, self._files.path)
                return
            self._busy = bool(left) or any(self._urgent(i, home, dropped) for i, home in found.items())
        if self._busy:
            self.filling.wake(urgent=True)

    def _urgent(self, scope_id: int, home: Home, dropped: int) -> bool:
        """Say whether a collection lacks so much, or may hold removed vectors, so that Chroma is loaded for it."""
        part = next_slice(self._engine, scope_id, home.until, SLICE)
        much = part is not None and (not part.after or bool(part.gone) or len(part.nums) == SLICE)
        return much or 0 < home.until < dropped

    def look(self) -> None:
        """Open files and compare them with the record, once; leave damaged ones."""
        if not self._unseen:
            return
        files = self._files
        with self._looking:
            if files is None or not self._unseen:
                return
            if self._closed:
                raise IndexUnavailable("The semantic index is closed.")
            path = files.path
            with self._engine.connect() as connection:
                found = self._noted(connection)
            try:
                files.check()
                for scope_id, home in sorted(found.items()):
                    if home.until:
                        self._checks.compare(scope_id, home)
                chroma_files.mark_trying(path, False)
                self._unseen = False
                self._seen.set()
                return
            except (IndexUnavailable, OSError) as e:
                problem = str(e)
        self._begin_anew(problem, path)

    def _begin_anew(self, problem: str, path: Path) -> None:
        """Leave damaged files, and fill new ones in the background; do nothing if that is done already."""
        with self._writing(), self._looking:
            if self._closed or self._files is None or self._files.path != path:
                return
            self._leave_all()
        self._note(f"{problem} {ANEW}")
        self._busy = True
        self.filling.wake(urgent=True)

    def close(self, *, sealed: bool) -> None:
        """Release the server. Missing vectors are filled in by another process, or after the next open."""
        self._closed = True
        ended = self.filling.stop(CLOSE_S)
        if not ended:
            logger.warning("%s is waited for: it is left behind.", self.server.called)
        with contextlib.suppress(RecallError, SQLAlchemyError):
            self._held.fills_no_longer()
        if self._files is None:
            self.server.close()
        elif ended:
            with self._looking:
                opened = self._files.opened
                self._files.close()
            if opened and sealed:
                self._files.seal()

    # -- following the vectors ---------------------------------------------------------------------------------------

    def follow(self, scope_ids: set[int]) -> None:
        """Register vectors that were written and memories that were removed, by any process."""
        with self._lock:
            self._touched |= scope_ids
        if not self._tries:  # else a pause until the next try is under way
            self.filling.wake()

    def settle(self, timeout: float | None = None) -> bool:
        """Fill all collections now; say whether they hold everything within `timeout` seconds. Without a limit, a
        server that is away is tried once; files, and collections refused as too large, are tried once in any case."""
        end = None if timeout is None else time.monotonic() + timeout
        self._over.clear()
        while True:
            with self._lock:
                self._all_at, self._busy = 0.0, True
            left = None if end is None else max(0.0, end - time.monotonic())
            if self.filling.settle(left) and not self._work():
                return True
            if end is None or not self.shared or self._closed or self._over or time.monotonic() + POLL_S >= end:
                self.filling.wake(after=PAUSE_S)
                return False
            time.sleep(POLL_S)

    def _work(self, *, looking: bool = False) -> bool:
        if (self.shared and not self._swept) or (self._awaited and self._unseen):
            return True
        with self._engine.connect() as connection:
            found = self._noted(connection)
            if (found or self.shared) and homes.left(connection, files=not self.shared):
                return True
            dropped = pruned_upto(connection)  # removals up to here can no longer be read
        unseen = {home.name for home in found.values() if home.until} - self._checked
        return any(
            home.name in self._lost
            or (home.name in unseen and (home.until < dropped or (looking and self.shared)))
            or next_slice(self._engine, scope_id, home.until, 1) is not None
            for scope_id, home in found.items()
            if not (looking and self._is_left(home.name))
        )

    def _review(self, *, shrunk: bool = False) -> None:
        """Give collections to scopes that are too large, and take them from those that are empty."""
        if not self._mine:
            return
        s, most, now = schema.scopes.c, self._scan_max(), time.monotonic()
        with self._lock:
            touched, self._touched = self._touched, set()
        large = select(s.scope_id, s.memories, s.vector_home).where((s.memories > most) | (s.vector_home != NO_HOME))
        if not shrunk and now < self._all_at and len(touched) <= schema.SQL_VARIABLES:
            large = large.where(s.scope_id.in_(sorted(touched)))
        else:
            self._all_at = now + ALL_S
        with self._engine.connect() as connection:
            rows = connection.execute(large).all()
        self._busy = self._busy or bool(rows)
        try:
            kind = self._fingerprint() if rows else ""
        except EmbeddingError:  # it never worked: there is no vector
            return
        if any(home != NO_HOME and not homes.in_form(home) for _, _, home in rows):
            self._note("Collections are of an earlier version. They are rebuilt from the store.")
        for scope_id, memories, home in rows:
            housed = home != NO_HOME
            if housed and (not memories or (shrunk and memories <= LEAVES * most)):
                self._rehouse(scope_id, home, NO_HOME)
            elif (memories > most and not housed) or (housed and not homes.fits(home, kind, files=not self.shared)):
                self._rehouse(scope_id, home)

    def _rehouse(self, scope_id: int, old: str, new: str | None = None, *, leave: bool = True) -> None:
        """Give a scope another collection, which is filled from the beginning; do nothing if it has got one meanwhile.

        `new`: `NO_HOME` = none; `None` = one with a new name.
        """
        s = schema.scopes
        with self._writing(), writing(self._engine) as connection:
            if new is None:
                store = homes.store_of(connection) if self.shared else homes.FILES
                new = homes.new(store, scope_id, self._fingerprint())
            changed = update(s).where(s.c.scope_id == scope_id, s.c.vector_home == old)
            done = connection.execute(changed.values(vector_home=new, vector_until=0)).rowcount
            if done and leave:
                homes.leave(connection, [old])
        self._forget(scope_id)
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
        self.look()
        self._sweep()
        self._remove_left()
        with self._engine.connect() as connection:
            found = self._noted(connection)
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
            self._tries, self._busy = 0, False
        self.failed = next((over.why for over in list(self._over.values())), "")
        return False

    def _step_of(self, scope_id: int, home: Home) -> bool:
        """Check a collection and give it a slice; say whether anything was done."""
        self._over.pop(home.name, None)
        path = None if self._files is None else self._files.path
        try:
            if home.name in self._lost:
                raise self._lost[home.name]
            if home.until and home.name not in self._checked:
                self._compare(scope_id, home)
                return True
            return self._advance(scope_id, home) is not None
        except CollectionLost as e:
            if path is not None:
                self._begin_anew(str(e), path)
                return True
            self._rehouse(scope_id, home.name, leave=self.server.own or not isinstance(e, CollectionStrange))
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
        loading = self.server.loading
        if loading is not None and not home.until:
            return self._load(scope_id, home, loading, whole=whole)
        part = next_slice(self._engine, scope_id, home.until, SLICE)
        if part is None:
            return None
        if self._given(home, part, self.server.apply, whole=whole):
            self._reach(scope_id, home, part.upto)
        return len(part.nums)

    def _given(self, home: Home, part: Slice, apply: Apply, *, whole: bool) -> bool:
        """Give a slice to the server; say whether it has all of it."""
        server, store = self.server, homes.store_part(home.name)
        if part.after:
            self._checks.prove(
                home.name, server.look(home.name), part.after
            )  # a copy of this store may have written to it
        else:
            server.drop(home.name)  # rest of an interrupted slice; some memories may be removed by now
            server.make(home.name, store)
        mark = part.mark or Point(part.upto)
        server.mark(home.name, store, mark.seq, mark.digest)
        at_once = SLICE if whole else server.at_once
        for start in range(0, max(len(part.nums), len(part.gone)), at_once):
            if self.filling.halted and not whole:
                return False
            some, begun = slice(start, start + at_once), time.monotonic()
            apply(home.name, part.nums[some], part.vectors[some], part.gone[some])
            if not (self.shared or whole or self.filling.hurried):
                time.sleep(min(time.monotonic() - begun, REST_MAX_S))
        return True

    def _reach(self, scope_id: int, home: Home, upto: int) -> None:
        """Note in the record how far a collection reaches, if it still reaches to `home.until`."""
        s = schema.scopes
        reached = update(s).where(s.c.scope_id == scope_id, s.c.vector_home == home.name)
        with self._writing(), writing(self._engine) as connection:
            connection.execute(reached.where(s.c.vector_until == home.until).values(vector_until=upto))
        self._forget(scope_id)
        self._checked.add(home.name)
        self._checks.proven.add(home.name)

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
            self._checks.prove(home.name, self.server.look(home.name), there.upto)
            self._checks.take_out(scope_id, home.name, there.upto)  # the journal may have been cut while it was loaded
            loading.index(home.name, lambda: self._closed or (self.filling.halted and not whole))
        with self._engine.connect() as connection:
            lost = pruned_upto(connection) > there.upto
        if lost:
            self._checks.take_out(scope_id, home.name, there.upto)
        self._reach(scope_id, home, there.upto)
        return 0

    def _compare(self, scope_id: int, home: Home) -> None:
        """Check a collection, remove what the record has no more, and note that no removal before is to be read."""
        more = self._checks.compare(scope_id, home)
        with self._engine.connect() as connection:
            dropped, cursor = pruned_upto(connection), journal.cursors(connection).get(SEMANTIC, 0)
            mark = journal.point(connection, cursor)
        if more or dropped > home.until:
            self._checks.take_out(scope_id, home.name, home.until)
        upto = min(dropped, cursor)
        if mark is not None and upto > home.until and next_slice(self._engine, scope_id, home.until, 1) is None:
            self.server.mark(home.name, homes.store_part(home.name), mark.seq, mark.digest)
            self._reach(scope_id, home, upto)
        self._checked.add(home.name)

    def _sweep(self) -> None:
        """Remove collections that no scope names, once: those left while the store was open without the server."""
        if self._swept:
            return
        there = self.server.homes()  # before the record is read, which names each before it is made
        with self._engine.connect() as connection:
            named = {home.name for home in self._noted(connection).values()}
        for home in there:
            if home not in named:
                self.server.drop(home)
        self._swept = True

    def _remove_left(self) -> None:
        with self._engine.connect() as connection:
            names = homes.left(connection, files=not self.shared)
        if not names:
            return
        for name in names:
            self.server.drop(name)
        with self._writing(), writing(self._engine) as connection:
            homes.removed(connection, names)

    def _could_not(self, error: BaseException) -> None:
        """Note a failure of the thread, which is tried again after a pause, unless somebody waits for the end."""
        if self._closed or self.filling.halted:
            return
        self._checked.clear()
        self._tries += 1
        self._report(error, f"{self.server.called} is away." if isinstance(error, VectorsAway) else "")
        if not self.filling.hurried:
            self.filling.wake(after=max(self.server.resting, pause_s(self._tries, PAUSE_S, PAUSE_MAX_S)))

    # -- making anew -------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Remove all collections, under the write lock; others are filled in the background, those in files after the
        next open, not before: Chroma writes uninitialized memory into them, and in this process that memory may have
        held removed vectors."""
        with self.filling.held():
            if self._leave_all() and not self.shared:
                self.filling.stop(CLOSE_S)
            if self.shared:
                try:
                    self._remove_left()
                except (VectorsAway, VectorsRefused) as e:
                    self._note(f"{told(e)} What was forgotten is removed there when it is back.")
        self._busy = True
        self.filling.wake(urgent=True)

    def rebuild(self, progress: Progress | None = None) -> None:
        """Fill new collections in place of the old ones, under the write lock. A server that fails is noted, and they
        are filled in the background, as are those in files, after the error."""
        with self.filling.held():
            self._leave_all()
            self._all_at = 0.0
            self._review()
            self._busy = True
            self.filling.wake(urgent=True)  # after this, for what a failure leaves
            try:
                if self.shared:
                    self._remove_left()
                self._fill_all(progress)
            except (VectorsAway, VectorsRefused, CollectionBusy) as e:
                if not self.shared:
                    raise
                self._note(f"{told(e)} Collections are filled when it is back.")

    def _fill_all(self, progress: Progress | None) -> None:
        """Give all collections what they lack, in the thread of the caller, whoever wants that of its own to stop."""
        lacking, done = self.lacking(), 0
        total = sum(lacking.values())
        for scope_id in lacking:
            while (given := self._advance(scope_id, self._home(scope_id), whole=True)) is not None:
                done += given
                if progress is not None:
                    progress(SEMANTIC, min(done, total), total)

    def _leave_all(self) -> bool:
        """Give every collection another name, and leave files for an empty directory; say whether there was any."""
        with self._engine.connect() as connection:
            found = self._noted(connection)
        for scope_id, home in sorted(found.items()):
            self._rehouse(scope_id, home.name, leave=self.shared)
        self._checks.proven.clear()
        self._checked.clear()
        if self._files is not None and self._mine:
            self._files.empty()
            self._unseen = False
            self._seen.set()
            with self._engine.connect() as connection:
                left = homes.left(connection, files=True)
            if left:  # opening a store waits for nobody's lock
                with writing(self._engine) as connection:
                    homes.removed(connection, left)
        return bool(found)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the write lock, to change the database. A halted thread gives up: its stopper may hold the lock."""
        while not self._write_lock.acquire(timeout=0.05):
            if self._closed or (self.filling.mine and self.filling.halted):
                raise IndexUnavailable("The semantic index is closed.")
        try:
            yield
        finally:
            self._write_lock.release()

    def _report(self, error: BaseException, kind: str = "") -> None:
        said = str(error) if isinstance(error, RecallError) else f"{type(error).__name__}: {error}"
        if (kind or said) != self.failed:
            self.failed = kind or said
            self._note(f"{said} {BEHIND}")
