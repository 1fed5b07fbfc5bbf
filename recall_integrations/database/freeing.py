"""What was deleted from PostgreSQL's tables, made free for what comes."""

from __future__ import annotations

from sqlalchemy import Engine

from recall_integrations.database import schema


def free_rows(engine: Engine) -> None:
    """Make the room of deleted rows free, and count anew what queries are planned by. Others read and write meanwhile.

    The server does both by itself after many changes; the files do not grow smaller.
    """
    with engine.connect() as connection:
        outside = connection.execution_options(isolation_level="AUTOCOMMIT")  # it may not be part of a transaction
        quoted = engine.dialect.identifier_preparer.quote
        names = ", ".join(quoted(table.name) for table in schema.metadata.sorted_tables)
        outside.exec_driver_sql(f"VACUUM (ANALYZE) {names}")
