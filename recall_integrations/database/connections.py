"""Connections to a database: how long a thread waits for one, and which are replaced before they are used.

PostgreSQL's own timeouts are kept by the server, which may be what hangs: a disk that does not answer, a firewall.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection, Dialect, Engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.util.queue import Queue

LOCK_S = 10.0  # longest wait for a lock of another session, which may be idle in its transaction for hours
WAITED_S = "waited_s"  # attribute of the driver's errors
_answered_by: ContextVar[float] = ContextVar("recall_answered_by", default=math.inf)  # monotonic seconds
_given_up: ContextVar[Callable[[], bool] | None] = ContextVar("recall_given_up", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let no statement of this thread wait longer than so many seconds inside the block, all of them together."""
    token = _answered_by.set(min(_answered_by.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _answered_by.reset(token)


@contextmanager
def given_up_when(over: Callable[[], bool]) -> Iterator[None]:
    """Stop waiting for statements of this thread inside the block once `over` says so, asked ten times a second."""
    token = _given_up.set(over)
    try:
        yield
    finally:
        _given_up.reset(token)


def remaining() -> float:
    """Return the seconds that this thread still waits for all statements together; infinite without a bound."""
    return max(_answered_by.get() - time.monotonic(), 0.0)


@cache
def connection_class() -> Any:
    """Return the class of the driver's connections, which end themselves when their time is over."""
    import psycopg

    class Prompt(psycopg.Cursor[Any]):
        """A cursor whose statements are answered before they return, also where others go together (`sending`)."""

        def execute(self, *given: Any, **more: Any) -> Any:
            """Execute as the driver does, and wait for the answer."""
            super().execute(*given, **more)
            self._answered()
            return self

        def executemany(self, *given: Any, **more: Any) -> None:
            super().executemany(*given, **more)
            self._answered()

        def _answered(self) -> None:
            together = getattr(self.connection, "together", None)
            if together is not None:
                together.sync()

    class Waiting(psycopg.Connection[Any]):
        """A connection that waits as long as `within` says."""

        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.cursor_factory = Prompt
            self.together: Any = None

        def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
            """Wait as the driver does; end the connection when the time is over."""
            end, over, began = _answered_by.get(), _given_up.get(), time.monotonic()
            try:
                if end == math.inf and over is None:
                    return super().wait(gen, *given, **more)
                return super().wait(_until(gen, end, over), *given, **more)
            except _Over:
                self.pgconn.finish()  # what it was doing is not known
                waited = time.monotonic() - began
                raise psycopg.OperationalError(f"the server did not answer within {waited:.1f} s") from None
            except psycopg.errors.LockNotAvailable as e:
                setattr(e, WAITED_S, time.monotonic() - began)
                raise

        @classmethod
        def connect(cls, *given: Any, **more: Any) -> Any:
            """Connect as the driver does; raise where no time is left."""
            if time.monotonic() >= _answered_by.get():
                raise psycopg.OperationalError("no time is left to connect")
            return super().connect(*given, **more)

    return Waiting


@contextmanager
def translated(mapped: Callable[[BaseException], BaseException | None]) -> Iterator[None]:
    """Raise what `mapped` makes of an error inside the block, with the error as cause; `None` leaves it as it is."""
    try:
        yield
    except BaseException as e:
        made = mapped(e)
        if made is None:
            raise
        raise made from e


class _Over(Exception):
    """The time is over."""


def _until(
    gen: Generator[Any, Any, Any], end: float, over: Callable[[], bool] | None = None
) -> Generator[Any, Any, Any]:
    """Pass on what the driver waits for, ten times a second or more; raise `_Over` at `end`, or once `over` says so."""
    answer = None
    while True:
        try:
            state = next(gen) if answer is None else gen.send(answer)
        except StopIteration as done:
            return done.value
        answer = yield state
        if not answer and (time.monotonic() >= end or (over is not None and over())):
            raise _Over


FRESH_S = 1.0  # since a connection was used, while it is taken to be there
_LAST, _POOL = "recall_used", "recall_pool"


class _Line(Queue[ConnectionPoolEntry]):
    """Connections that nobody uses at the moment."""

    def get(self, block: bool = True, timeout: float | None = None) -> ConnectionPoolEntry:
        """Return the next connection, waited for no longer than `connections.within` allows this thread."""
        return super().get(block, timeout if timeout is None else min(timeout, remaining()))


class Pool(QueuePool):
    """A pool whose waiting threads wait no longer than they have time for."""

    _queue_class = _Line


class Connections:
    """The connections of an engine: one that was ended meanwhile is replaced before it is used.

    Only connections that were used a while ago, or last before any connection turned out to be lost, are asked: each
    question is a way to the server.
    """

    def __init__(self) -> None:
        self.lost_at = -math.inf

    def used(self, _raw: object, record: ConnectionPoolEntry) -> None:
        """Note when a connection was made, or given back."""
        record.info[_LAST] = time.monotonic()

    def looked_at(self, dialect: Dialect, raw: DBAPIConnection, record: ConnectionPoolEntry, _proxy: object) -> None:
        """Check a connection before it is used, unless it was used a moment ago; refuse one that was lost."""
        if raw.autocommit or getattr(raw, "together", None) is not None:
            raise DisconnectionError("It was given back in the middle of something.")  # by an interrupt
        last = record.info[_LAST]
        if last > self.lost_at and time.monotonic() - last < FRESH_S:
            return
        try:
            dialect.do_ping(raw)
        except dialect.loaded_dbapi.Error as e:
            if not dialect.is_disconnect(e, raw, None):
                raise
            raise InvalidatePoolError from e  # the others are as old


def one_was_lost(of: Engine | Connection) -> None:
    """Note that a connection to the server was lost: others may be, too, and are asked before they are used."""
    pool = of.get_execution_options().get(_POOL)
    if pool is not None:
        pool.lost_at = time.monotonic()


def look_after(engine: Engine) -> None:
    """Check from now on that connections of an engine are alive before they are used."""
    pool = Connections()
    event.listen(engine, "connect", pool.used)
    event.listen(engine, "checkin", pool.used)
    event.listen(engine, "checkout", partial(pool.looked_at, engine.dialect))
    engine.update_execution_options(**{_POOL: pool})
