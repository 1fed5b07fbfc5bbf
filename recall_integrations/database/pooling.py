"""Connections of a pool that were lost are replaced before they are used; most of the time, without asking them.

Who waits for one waits no longer than it would wait for the server.
"""

from __future__ import annotations

import math
import time
from functools import partial

from sqlalchemy import Connection, Dialect, Engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DisconnectionError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.util.queue import Queue

from recall_integrations.database.answering import remaining

FRESH_S = 1.0  # since a connection was used, while it is taken to be there
_LAST, _POOL = "recall_used", "recall_pool"


class _Line(Queue[ConnectionPoolEntry]):
    """Connections that nobody uses at the moment."""

    def get(self, block: bool = True, timeout: float | None = None) -> ConnectionPoolEntry:
        """Return the next connection, waited for no longer than `answering.within` allows this thread."""
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
