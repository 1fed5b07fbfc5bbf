"""Connections of the driver for what every recall reads, one statement by itself and outside of any transaction.

To take one from the pool and to give it back costs as much as reading ten memories does, so one or two of each engine
are kept beside it. They are closed with it (`Engine.dispose`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, PoolProxiedConnection, event

from recall_integrations.database.postgres_errors import is_lost

KEPT = 2  # connections of an engine; whoever finds none takes one from the pool

_kept: WeakKeyDictionary[Engine, list[PoolProxiedConnection]] = WeakKeyDictionary()


def read(engine: Engine, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the rows of a SELECT in the driver's own syntax; its errors, too, are the driver's."""
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


def _end(engine: Engine, connection: PoolProxiedConnection) -> None:
    """End the transaction; from now on each statement is one, as in SQLite: PostgreSQL would keep one open."""
    raw = connection.dbapi_connection
    if engine.dialect.name == "postgresql" and raw is not None:
        raw.rollback()
        engine.dialect.set_isolation_level(raw, "AUTOCOMMIT")


def _keeping(engine: Engine) -> list[PoolProxiedConnection]:
    """Keep connections of the engine from now on, until it is disposed of; return the list of them."""
    if not event.contains(engine, "engine_disposed", _disposed):
        event.listen(engine, "engine_disposed", _disposed)
    return _kept.setdefault(engine, [])


def _disposed(engine: Engine) -> None:
    _close_all(_kept.pop(engine, []))


def _close_all(connections: list[PoolProxiedConnection]) -> None:
    while connections:
        connections.pop().close()
