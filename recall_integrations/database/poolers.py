"""Whether there is a pooler between this process and PostgreSQL, which may give each transaction another connection.

PgBouncer with `pool_mode = transaction`, and others like it, do. What belongs to a session is nobody's then: a lock, a
setting, a prepared statement. So behind any pooler locks are those of a transaction that is left open, and nothing is
prepared. That is right for `pool_mode = session`, too: in which mode a pooler is, it does not say.

A pooler is known by the number of the server's process: the one that it was given when it connected is the pooler's
invention. Where one hands on the true number, the address has to say so: `?pool_mode=transaction`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine

from recall_integrations.errors import StoreError

POOL_MODE = "pool_mode"  # of an address
TRANSACTION = "transaction"
_POOLED = "recall_pooled"  # option of an engine


class Pooler:
    """What is known of it; of one engine.

    Args:
        pooled: whether there is one.
    """

    def __init__(self, *, pooled: bool = False) -> None:
        self.pooled = pooled


def said_by(address: URL) -> Pooler:
    """What an address says of it.

    Raises:
        StoreError: it says something else than `pool_mode=transaction`.
    """
    said = address.query.get(POOL_MODE)
    if said not in (None, TRANSACTION):
        raise StoreError(
            f"pool_mode={said} is not known. Write ?pool_mode=transaction where a pooler gives each transaction "
            "another connection, and leave it out otherwise."
        )
    return Pooler(pooled=said is not None)


def look_for(engine: Engine, connection: Connection, pooler: Pooler, where: str) -> None:
    """Find out whether there is one, before anything else is asked.

    Args:
        engine: of the connection.
        connection: the first one.
        pooler: is told.
        where: the server is, for messages.

    Raises:
        StoreError: there is one, and the address has options that it would not hand on.
    """
    raw: Any = connection.connection.dbapi_connection
    if not pooler.pooled:
        told = int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
        pooler.pooled = told != raw.info.backend_pid
    engine.update_execution_options(**{_POOLED: pooler})
    if not pooler.pooled:
        return
    raw.prepare_threshold = None
    if "options" in engine.url.query:
        raise StoreError(
            f"{where} is behind a pooler, which hands on no `options` of an address. Leave them out and let the "
            "role have them (ALTER ROLE … SET search_path = …), or give the server's own address. Nothing was changed."
        )


def is_pooled(engine: Engine) -> bool:
    """Whether a pooler may give each transaction of an engine another connection."""
    pooler = engine.get_execution_options().get(_POOLED)
    return isinstance(pooler, Pooler) and pooler.pooled
