"""Watches on a store and locks of a PostgreSQL server, held by a connection: they go with the process that has them.

A turn is a transaction that is left open: a pooler (PgBouncer with `pool_mode = transaction`) leaves it on its
connection. Who has a store open holds a lock of its session, and behind a pooler one of an open transaction, too.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database.connections import LOCK_S, one_was_lost, remaining, within
from recall_integrations.database.postgres import is_pooled, mapped_errors
from recall_integrations.database.postgres_errors import WAITED, is_lost, sqlstate, waited_s
from recall_integrations.database.sending import driver_errors, send_sql
from recall_integrations.errors import RecallError, StoreClosed, StoreError

VECTORS = "semantic"  # the cursor of the index of vectors


class Reached(NamedTuple):
    """The state that a store has reached."""

    version: int  # another number than before if anything was written meanwhile
    # number and digest of the last entry of its journal; `None` = not said, or it has none
    head: tuple[int, str] | None = None
    semantic: int = 0  # up to which entry vectors are made

    @classmethod
    def read(cls, said: str) -> Reached:
        """Parse number and digest of the last entry, the sum of all cursors, and that of vectors, with `|` between."""
        entry, total, vectors = (part.strip() for part in said.rsplit("|", 2))
        # With the digest: a replica that took over may have given the same numbers to other memories.
        digest = hashlib.blake2b(f"{entry} {total}".encode(), digest_size=8).digest()
        seq, _, own = entry.partition(" ")
        head = (int(seq), own) if seq.isdecimal() else None
        return cls(int.from_bytes(digest, "big"), head, int(vectors) if vectors else 0)


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return the device and the number of the file at a path; `None` = there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Watch:
    """A connection of its own, which is asked nothing else. Threads share it; a look takes some microseconds."""

    def __init__(self, path: Path) -> None:
        self._lock, self._path = threading.Lock(), path
        self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        self._cursor = self._connection.cursor()
        self._file = _file_at(path)

    def now(self) -> Reached:
        """Return another version than before if anything was committed meanwhile, here or in another process.

        https://www.sqlite.org/pragma.html#pragma_data_version
        """
        with self._lock:
            return Reached(int(self._cursor.execute("PRAGMA data_version").fetchone()[0]))

    def turn_began(self) -> Reached:
        """Look, where the database is still the file that was opened: a write would go into one that is gone."""
        if _file_at(self._path) != self._file:
            raise StoreError(
                f"{self._path} was replaced or removed while this process has it open: what it writes goes into a file "
                "that is gone. Close the store and open it again; what was not confirmed is not in it."
            )
        return self.now()

    turn_ends = now

    def close(self) -> None:
        """Close the connection to the database. Closing twice is harmless."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.close()


# Keys: of who writes, of everybody who has the store open, of who learns, of who fills a server of vectors.
WRITING, OPENED, LEARNING, FILLING = 0x7265_6301, 0x7265_6302, 0x7265_6303, 0x7265_6304
WAIT_S = 1.0  # that the server is asked to wait for a lock, before it is asked again
LOOK_S = 0.5  # that a look at what is new waits for a lock of a table: an answer is made of what is known then
CLOSE_S = 2.0  # that the server is waited for
# The schema of the store's tables, or the one that they will be made in: stores of one database do not share locks.
PLACE = (
    "coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('changes')), "
    "to_regnamespace(quote_ident(current_schema()))::oid, 0::oid)"
)
# Where the server lists who has a lock of a store, by its key.
LOCKS = (
    f"FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = %(key)s AND classid = {PLACE} "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_KEY = f"(({PLACE})::bigint << 32) | CAST(%(key)s AS bigint)"
# Number and digest of the last entry of the journal, the sum of all cursors, and that of vectors. With the digest: a
# replica that took over may have given the same numbers to other memories.
_COMMITTED = (
    "SELECT concat_ws(' ', (SELECT concat(seq, ' ', digest) FROM changes ORDER BY seq DESC LIMIT 1), "
    f"'|', (SELECT sum(seq) FROM cursors), '|', (SELECT seq FROM cursors WHERE name = '{VECTORS}'))"
)
# An entry in PostgreSQL's log that says nothing: when it is on disk (and on replicas that are waited for), all is that
# was committed before. The other statement lets a commit not wait for that.
FLUSH = "SELECT pg_logical_emit_message(true, 'recall', '')"
MAY_FLUSH = (
    "SELECT bool_or(has_function_privilege(oid, 'execute')) FROM pg_proc "
    "WHERE proname = 'pg_logical_emit_message' AND pronamespace = 'pg_catalog'::regnamespace"
)
_LATER = "SET LOCAL synchronous_commit = off"
# Statements of such a transaction see what is committed before each of them. No limit of the server ends it.
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0"
_BEGIN_17 = f"{_BEGIN}; SET LOCAL transaction_timeout = 0"
# What is read in it keeps no lock of a table: these go with the savepoint.
_READ = "SAVEPOINT recall; {read}; ROLLBACK TO SAVEPOINT recall; RELEASE SAVEPOINT recall"


class Outside:
    """A connection outside of the pool, which is asked in turns and made anew when it was lost."""

    def __init__(self, engine: Engine, shares: int | None = None, *, stays: bool = False) -> None:
        self._engine, self._shares = engine, shares
        # Whether the connection is in a transaction from its beginning to its end.
        self.stays = (stays or shares is not None) and is_pooled(engine)
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._numbers: dict[int, int] = {}  # of locks, in the schema in which this connection finds the tables
        self._ended = False

    def ask(self, statement: str, **values: int) -> object:
        """Return the first value of a statement's answer; ask on another connection if this one was lost."""
        with self._lock, mapped_errors(self._engine):
            try:
                return self._asked(statement, values)
            except SQLAlchemyError as e:
                if not is_lost(e) or not remaining():
                    raise
                one_was_lost(self._engine)
                return self._asked(statement, values)

    def say(self, statements: str, key: int, *, place: int = -1) -> str:
        """Return the first value of one of several statements, sent to the server in one message; not asked again."""
        with self._lock, mapped_errors(self._engine):
            try:
                made = self._made()
                if key not in self._numbers:
                    self._numbers[key] = self._number(made, key)
                return self._said(made, statements.format(key=self._numbers[key], begin=_begin(made)))[place]
            except BaseException as e:
                if sqlstate(e) != WAITED:
                    self._let_go()
                if is_lost(e):
                    one_was_lost(self._engine)
                raise

    def _asked(self, statement: str, values: dict[str, int]) -> object:
        try:
            made = self._made()
            if not self.stays:
                return made.exec_driver_sql(statement, values).scalar()
            found = self._said(made, _READ.format(read=statement % values if values else statement))
            return None if found[0] == "None" else found[0]
        except BaseException:
            self._let_go()  # one that was lost, or interrupted half-way, answers nothing any more
            raise

    def _said(self, made: Connection, statements: str) -> list[str]:
        raw: Any = made.connection.dbapi_connection
        with driver_errors(made, statements), raw.cursor() as cursor:
            cursor.execute(statements)
            return _values(cursor)

    def _number(self, made: Connection, key: int) -> int:
        return int(made.exec_driver_sql(f"SELECT {_KEY}", {"key": key}).scalar_one())

    def _made(self) -> Connection:
        if self._ended:
            raise StoreClosed("The store was closed meanwhile. Open it again with MemoryStore.open.")
        if self._connection is None:
            made = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            made.detach()  # its locks must not go into the pool
            self._connection = made  # from here on it is closed if anything fails
            self._numbers.clear()
            if self.stays:
                made.exec_driver_sql(_begin(made))
                if self._shares is not None:
                    self._said(made, f"SELECT pg_advisory_xact_lock_shared({self._number(made, self._shares)})")
                return made
            if not is_pooled(self._engine):
                made.exec_driver_sql("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")
            if self._shares is not None:
                made.exec_driver_sql(f"SELECT pg_advisory_lock_shared({_KEY})", {"key": self._shares})
                made.exec_driver_sql(f"SET lock_timeout = {LOOK_S * 1e3:.0f}")
        return self._connection

    def end(self) -> None:
        """End the connection, which frees its locks; the next question is asked on a new one."""
        with self._lock:
            self._give_up()

    def close(self) -> None:
        """End the connection for good, which frees its locks: others see at once that they are free."""
        with self._lock, within(CLOSE_S):
            self._ended = True
            self._give_up()

    def _give_up(self) -> None:
        if self._connection is not None:
            with suppress(SQLAlchemyError):  # the server sees to it a moment after a connection has gone
                free = "SELECT 1" if is_pooled(self._engine) else "SELECT pg_advisory_unlock_all()"
                raw: Any = self._connection.connection.dbapi_connection
                self._said(self._connection, free if _is_idle(raw) else f"ROLLBACK; {free}")
        self._let_go()

    def _let_go(self) -> None:
        made, self._connection = self._connection, None
        if made is not None:
            with suppress(SQLAlchemyError):
                made.close()


def _begin(connection: Connection) -> str:
    version = connection.dialect.server_version_info
    return _BEGIN_17 if version is not None and int(version[0]) >= 17 else _BEGIN


def _is_idle(raw: Any) -> bool:
    import psycopg

    return bool(raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE)


def _values(cursor: Any) -> list[str]:
    """Return the first value of each statement of a message that gives any."""
    found = []
    while True:
        if cursor.description is not None:
            found.append(str(cursor.fetchone()[0]))
        if not cursor.nextset():
            return found


class AdvisoryLock:
    """A lock that one node has at a time. Who waits for it stands in a line that the server keeps."""

    def __init__(self, outside: Outside, key: int) -> None:
        self._outside, self._key = outside, key

    def acquire(self, timeout: float) -> bool:
        """Wait at most so many seconds for the lock; say whether this node has it."""
        return self._had(timeout) is not None

    def release(self) -> None:
        """Give the lock back. A connection that was lost has given it back already."""
        with suppress(RecallError):
            self._outside.say("ROLLBACK; SELECT ''", self._key)

    def _had(self, timeout: float, then: str = "SELECT ''") -> str | None:
        """Wait at most `timeout` seconds for the lock; return the answer of `then` once it is had, or `None`."""
        end, lost = time.monotonic() + timeout, False
        while True:
            # Asked again from time to time, so that who closes the store is not kept waiting.
            wait_ms = max(round(min(WAIT_S, end - time.monotonic()) * 1e3), 1)
            had = (
                "{begin}",
                f"SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = {wait_ms}",
                "SELECT pg_advisory_xact_lock({key})",
                f"SET LOCAL lock_timeout = {LOCK_S * 1e3:.0f}; SET LOCAL statement_timeout = DEFAULT",
                _READ.format(read=then),
            )
            try:
                return self._outside.say("; ".join(had), self._key)
            except StoreError as e:
                if lost or not is_lost(e.__cause__):
                    if sqlstate(e.__cause__) != WAITED or waited_s(e.__cause__) > (WAIT_S + LOCK_S) / 2:  # by `then`
                        raise
                    self._outside.say("ROLLBACK; SELECT ''", self._key)  # what was waited for may have come after it
                else:
                    lost = True  # it may have been lost long ago: another one is tried
                    continue
            if time.monotonic() >= end:
                return None


class Flush:
    """The state of a flush: whether the commits of a turn are on disk."""

    def __init__(self) -> None:
        self.done = False
        self.upto = (0, "")
        self.lost: BaseException | None = None

    def wait_later(self, connection: Connection) -> None:
        """Let a transaction return before its commit is on disk: others see the commit at once."""
        send_sql(connection, _LATER, {})


class WriteLock(AdvisoryLock):
    """The lock with which the writes of all nodes take turns. What was committed last is said with it."""

    def __init__(self, outside: Outside) -> None:
        super().__init__(outside, WRITING)
        self._said, self._held, self._made = "", False, False
        self._flushes: list[Flush] = []  # of this turn

    def acquire(self, timeout: float) -> bool:
        self._held = True  # an interrupt may come at any place
        # In a snapshot of its own, taken when the lock was had. Before the first turn is over there may be no tables.
        said = self._had(timeout, _COMMITTED) if self._made else self._had(timeout)
        self._said, self._held = said or "", said is not None
        return self._held

    def release(self) -> None:
        """Give the lock back, if `give_back` has not."""
        if self._held:
            self._held = False
            self._flushes.clear()
            super().release()

    def flush_later(self) -> Flush:
        """Have the disk waited for when this turn is over, not at its commit; to be called in a turn."""
        self._flushes.append(later := Flush())
        return later

    def begun(self) -> Reached | None:
        """Return what was committed when the lock was had; once, and `None` afterwards."""
        said, self._said = self._said, ""
        return Reached.read(said) if said else None

    def give_back(self) -> Reached | None:
        """Free the lock, and return what was committed while it was held; `None` = it was not held."""
        if not self._held:
            return None
        # The next one begins as soon as it is unlocked. Who asked waits for the disk, which keeps in order.
        statements = [_COMMITTED, "COMMIT", *([FLUSH] if self._flushes else [])]
        try:
            said = self._outside.say("; ".join(statements), WRITING, place=0)
        except RecallError as e:
            for later in self._flushes:
                later.lost = e.__cause__
            raise
        self._held, self._made = False, True
        while self._flushes:
            self._flushes.pop().done = True
        return Reached.read(said)


class Lease:
    """A lock that one node has for as long as there is work: asked for again before each part of it."""

    def __init__(self, outside: Outside, key: int) -> None:
        self._outside, self._key = outside, key
        self._had = False

    def mine(self) -> bool:
        """Say whether this node has the lock, or gets it now. A node whose connection was lost may have lost it."""
        held = f"SELECT count(*) {LOCKS} AND pid = pg_backend_pid()"
        with within(CLOSE_S):
            if self._outside.stays:
                return self._is_mine(held)
            if self._outside.ask(held, key=self._key):
                return True
            self._had = bool(self._outside.ask(f"SELECT pg_try_advisory_lock({_KEY})", key=self._key))
        return self._had

    def _is_mine(self, held: str) -> bool:
        """Do as `mine` does behind a pooler, where the connection is kept only as long as the lock is held."""
        if self._had and self._outside.ask(held, key=self._key) not in (None, "0"):
            return True
        self._had = self._outside.say("SELECT pg_try_advisory_xact_lock({key})", self._key) == "True"
        if not self._had:
            self._outside.end()
        return self._had

    def give_back(self) -> None:
        """Let another node have the lock."""
        had, self._had = self._had, False
        if not had:
            return
        with suppress(RecallError), within(CLOSE_S):
            self._outside.end()

    def close(self) -> None:
        self._outside.close()


class Committed:
    """A watch on the store, which tells whether any node has written to it."""

    def __init__(self, outside: Outside, lock: WriteLock) -> None:
        self._outside, self._lock = outside, lock

    def now(self) -> Reached:
        """Return another version than before if any node has written anything meanwhile."""
        return Reached.read(str(self._outside.ask(_COMMITTED)))

    def turn_began(self) -> Reached:
        return self._lock.begun() or self.now()

    def turn_ends(self) -> Reached:
        """Return what is committed at the end of a turn to write. Others write from here on."""
        return self._lock.give_back() or self.now()

    def close(self) -> None:
        self._outside.close()
