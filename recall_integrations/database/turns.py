"""Locks of a PostgreSQL server, held by a connection: they go with the process that has them, however it ends."""

from __future__ import annotations

import hashlib
import threading
import time
from contextlib import suppress

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database.answering import within
from recall_integrations.database.postgres import mapped_errors
from recall_integrations.database.postgres_errors import is_lost
from recall_integrations.errors import RecallError, StoreClosed

# Keys: of who writes, of everybody who has the store open, of who learns, of who fills a server of vectors.
WRITING, OPENED, LEARNING, FILLING = 0x7265_6301, 0x7265_6302, 0x7265_6303, 0x7265_6304
POLL_S = 0.005
CLOSE_S = 2.0  # that the server is waited for
# The schema of the store's tables, or the one that they will be made in: stores of one database do not share locks.
PLACE = (
    "coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('changes')), "
    "to_regnamespace(quote_ident(current_schema()))::oid, 0::oid)"
)
_KEY = f"(({PLACE})::bigint << 32) | CAST(%(key)s AS bigint)"


class Outside:
    """A connection outside of the pool, which is asked in turns and made anew when it was lost.

    Args:
        engine: of the store.
        shares: the key of a lock that it has together with others for as long as it is there.
    """

    def __init__(self, engine: Engine, shares: int | None = None) -> None:
        self._engine, self._shares = engine, shares
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._ended = False

    def ask(self, statement: str, **values: object) -> object:
        """The first value of what a statement gives; on another connection if this one was lost.

        Raises:
            StoreError: the server cannot be reached, or refuses.
        """
        with self._lock, mapped_errors(self._engine):
            try:
                return self._asked(statement, values)
            except SQLAlchemyError as e:
                if not is_lost(e):
                    raise
                return self._asked(statement, values)

    def _asked(self, statement: str, values: dict[str, object]) -> object:
        try:
            return self._made().exec_driver_sql(statement, values).scalar()
        except BaseException:
            self._let_go()  # one that was lost, or interrupted half-way, answers nothing any more
            raise

    def _made(self) -> Connection:
        if self._ended:
            raise StoreClosed("The store was closed meanwhile. Open it again with MemoryStore.open.")
        if self._connection is None:
            made = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            made.detach()  # its locks must not go into the pool
            self._connection = made  # from here on it is closed if anything fails
            if self._shares is not None:
                made.exec_driver_sql(f"SELECT pg_advisory_lock_shared({_KEY})", {"key": self._shares})
        return self._connection

    def close(self) -> None:
        """Let it go for good, and the locks that it holds: others see at once that they are free."""
        with self._lock, within(CLOSE_S):
            self._ended = True
            if self._connection is not None:
                with suppress(SQLAlchemyError):  # the server sees to it a moment after a connection has gone
                    self._connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
            self._let_go()

    def _let_go(self) -> None:
        made, self._connection = self._connection, None
        if made is not None:
            with suppress(SQLAlchemyError):
                made.close()


class AdvisoryLock:
    """A lock that one node has at a time: the one with which writes take turns, if no other is named.

    Args:
        outside: the connection that holds it, and nothing else does.
        key: which lock.
    """

    def __init__(self, outside: Outside, key: int = WRITING) -> None:
        self._outside, self._key = outside, key

    def acquire(self, timeout: float) -> bool:
        """Whether it was had within so many seconds."""
        end = time.monotonic() + timeout
        while not self._outside.ask(f"SELECT pg_try_advisory_lock({_KEY})", key=self._key):
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_S)
        return True

    def release(self) -> None:
        """Give it back. A connection that was lost has given it back already."""
        with suppress(RecallError):
            self._outside.ask(f"SELECT pg_advisory_unlock({_KEY})", key=self._key)


class Lease:
    """A lock that one node has for as long as there is work: asked for again before each part of it.

    Args:
        outside: the connection that holds it, and nothing else does: who waits for it holds nobody else.
        key: which lock.
    """

    def __init__(self, outside: Outside, key: int) -> None:
        self._outside, self._key = outside, key
        self._had = False

    def mine(self) -> bool:
        """Whether this node has it, or has it from now on. One whose connection was lost may have lost it, too.

        Raises:
            StoreError: the server cannot be reached.
        """
        held = (
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() "
            f"AND objid = %(key)s AND classid = {PLACE} "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        with within(CLOSE_S):
            if self._outside.ask(held, key=self._key):
                return True
            self._had = bool(self._outside.ask(f"SELECT pg_try_advisory_lock({_KEY})", key=self._key))
        return self._had

    def give_back(self) -> None:
        """Let another node have it."""
        had, self._had = self._had, False
        if not had:
            return
        with suppress(RecallError), within(CLOSE_S):
            self._outside.ask(f"SELECT pg_advisory_unlock({_KEY})", key=self._key)

    def close(self) -> None:
        """Let the connection go, and the lock with it."""
        self._outside.close()


class Committed:
    """Whether anybody has written to the store since one last looked: one row.

    Args:
        outside: a connection for it.
    """

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    def version(self) -> int:
        """Another number than before if anything was written meanwhile, by whatever node.

        Raises:
            StoreError: the server cannot be reached.
        """
        found = self._outside.ask(
            "SELECT concat((SELECT concat(seq, ' ', digest) FROM changes ORDER BY seq DESC LIMIT 1), ' ', "
            "(SELECT sum(seq) FROM cursors))"
        )
        # With the digest: a replica that took over may have given the same numbers to other memories.
        return int.from_bytes(hashlib.blake2b(str(found).encode(), digest_size=8).digest(), "big")

    def close(self) -> None:
        """Let the connection go."""
        self._outside.close()
