"""Connections of the driver for what every recall reads, one statement by itself and outside of any transaction.

To take one from the pool and to give it back costs as much as reading ten memories does, so one or two of each engine
are kept beside it. They are closed with it (`Engine.dispose`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, PoolProxiedConnection, event

from recall_integrations.database.postgres_errors import is_lost
from recall_integrations.database.sending import reading
from recall_integrations.records import record

if TYPE_CHECKING:
    from recall_integrations.database.replicas import Replicas

T = TypeVar("T")
REPLICAS = "recall_replicas"  # option of an engine: `database.replicas.Replicas`
KEPT = 2  # connections of an engine; whoever finds none takes one from the pool


@record(frozen=True, slots=True)
class Wanted:
    """What a server must have for its rows to be read.

    Args:
        seq, digest: of the last entry of the journal that this node knows.
        semantic: up to which entry vectors are made, as it knows.
    """

    seq: int
    digest: str
    semantic: int


_kept: WeakKeyDictionary[Engine, list[PoolProxiedConnection]] = WeakKeyDictionary()


def read(engine: Engine, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    """The rows of a SELECT, which is in the driver's own words; its errors, too, are the driver's."""
    kept = _kept.get(engine)
    if kept is None:
        kept = _keeping(engine)
    try:
        connection = kept.pop()
    except IndexError:
        connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(statement, values)
        rows = list(cursor.fetchall())
    except BaseException as e:
        stale = connection.is_detached and is_lost(e)
        if is_lost(e):
            connection.invalidate()  # nothing to be ended in it
        connection.close()  # back to the pool, which ends whatever was begun
        if not stale:
            raise
        _close_all(kept)  # a server that was restarted has ended all of them; the pool looks before it gives one
        return read(engine, statement, values)
    if len(kept) >= KEPT:
        connection.close()
        return rows
    if not connection.is_detached:
        _end(engine, connection)
        connection.detach()  # closing it closes it; a pool that was disposed of would keep it
    kept.append(connection)
    if _kept.get(engine) is not kept:  # disposed of meanwhile
        _close_all(kept)
    return rows


def read_by(engine: Engine, work: Callable[[Engine], T], *, told: bool = True, wanted: Wanted | None = None) -> T:
    """What `work` reads from a replica that has all that this node knows, or else from the primary.

    Args:
        engine: of the store.
        work: reads with the engine that it is given, and may be called again.
        told: whether the journal tells of what it reads, all of it. Otherwise a replica may be older than this node
            knows, and is read only where the primary cannot be reached.
        wanted: what a replica must have; `None` = all that this node knows.
    """
    found: Replicas | None = engine.get_execution_options().get(REPLICAS)
    if found is None:
        return work(engine)
    return found.read(engine, work, wanted) if told else found.read_instead(engine, work)


def read_any(engine: Engine, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    """The same, from a replica if one has all that this node knows (`database.replicas`)."""

    def of_replica(asked: Engine) -> list[Sequence[Any]]:
        if asked is engine:
            return read(engine, statement, values)
        with reading(asked) as connection:  # from the pool, which looks how far the server of a connection is
            return list(map(tuple, connection.exec_driver_sql(statement, tuple(values))))

    return read_by(engine, of_replica)


def _end(engine: Engine, connection: PoolProxiedConnection) -> None:
    """From now on each statement is a transaction, as it is in SQLite: PostgreSQL would keep one open."""
    raw = connection.dbapi_connection
    if engine.dialect.name == "postgresql" and raw is not None:
        raw.rollback()
        engine.dialect.set_isolation_level(raw, "AUTOCOMMIT")


def _keeping(engine: Engine) -> list[PoolProxiedConnection]:
    """From now on connections of the engine are kept, until it is disposed of."""
    if not event.contains(engine, "engine_disposed", _disposed):
        event.listen(engine, "engine_disposed", _disposed)
    return _kept.setdefault(engine, [])


def _disposed(engine: Engine) -> None:
    _close_all(_kept.pop(engine, []))


def _close_all(connections: list[PoolProxiedConnection]) -> None:
    while connections:
        connections.pop().close()
