"""Facts about the store itself, as keys and values in one table."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from recall_integrations.database import schema

PRUNED = "pruned"  # number and digest of the last entry that was dropped from the journal


def get_meta(connection: Connection, key: str) -> str | None:
    """The value, or `None`."""
    return connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == key)).scalar()


def pruned_upto(connection: Connection) -> int:
    """The number of the last entry that was dropped from the journal."""
    return int((get_meta(connection, PRUNED) or "0").partition(" ")[0])


def put_meta(connection: Connection, key: str, value: str) -> None:
    """Set a value, in the caller's transaction."""
    row = update(schema.meta).where(schema.meta.c.key == key).values(value=value)
    if not connection.execute(row).rowcount:
        connection.execute(insert(schema.meta).values(key=key, value=value))
