"""The tables of a store in a directory: make them in a new one, and refuse those of another version."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Connection, Engine, create_mock_engine, inspect, select
from sqlalchemy.dialects import sqlite

from recall_integrations.database import schema
from recall_integrations.database.meta import check_version, put_meta
from recall_integrations.errors import StoreVersionError
from recall_integrations.store import entity_keys


def make_ready(engine: Engine) -> None:
    """Make the tables in an empty database; leave existing ones as they are."""
    version = version_of(engine)
    if version:
        check_version(version, f"The store {engine.url.database}")
        return
    with engine.begin() as connection:  # in one transaction: each statement by itself would wait for the disk
        _make(connection)


def version_of(engine: Engine) -> int:
    """Read the version of the tables; 0 for an empty database."""
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        if not tables:
            return 0
        row = None
        if {schema.meta.name, schema.memories.name} <= tables:
            row = connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == "schema_version")).first()
    if row is None or not str(row[0]).isdecimal():
        raise StoreVersionError(
            f"{engine.url.database} is a database, but not one of recall-integrations. Give another directory. "
            "Nothing was changed."
        )
    return int(row[0])


def _make(connection: Connection) -> None:
    for statement in _statements():
        connection.exec_driver_sql(statement)
    entity_keys.make(connection)
    put_meta(connection, "schema_version", str(schema.SCHEMA_VERSION))


@cache
def _statements() -> tuple[str, ...]:
    """Return the statements that make all tables and indexes in SQLite; rendering takes longer than they do."""
    made: list[str] = []
    dialect = sqlite.dialect()
    engine = create_mock_engine("sqlite://", lambda statement, *_: made.append(str(statement.compile(dialect=dialect))))
    schema.metadata.create_all(engine, checkfirst=False)
    return tuple(made)
