"""The tables of a PostgreSQL database: making them in an empty one, and comparing them with `schema`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, Table, UniqueConstraint, inspect, text
from sqlalchemy.engine import Inspector

from recall_integrations.database import schema
from recall_integrations.database.meta import check_version, get_meta, put_meta
from recall_integrations.database.postgres import mapped_errors
from recall_integrations.database.postgres_errors import shown
from recall_integrations.errors import StoreVersionError
from recall_integrations.records import record

_TURN = 0x7570_6772  # the key of the lock under which one process makes them
_NAMES = {"FLOAT": "DOUBLE PRECISION"}  # of types, as PostgreSQL says them


@record(frozen=True, slots=True, kw_only=True)
class Checked:
    """The version of the tables of a database, and their differences from `schema`."""

    version: int  # of the database; 0 = it is empty
    # between the tables and this package's; looked for where the version is this package's
    differences: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Say whether a store can be opened on the database."""
        return self.version == schema.SCHEMA_VERSION and not self.differences


def make_ready(engine: Engine) -> None:
    """Make the tables in an empty database; leave those that are there as they are. Several processes may ask at once."""
    with mapped_errors(engine):
        with engine.connect() as connection:
            version = version_of(connection)
        if not version:
            with engine.connect() as connection, _alone(connection):
                version = version_of(connection) or _make(connection)
    check_version(version, f"The store {shown(engine.url)}")


def version_of(connection: Connection) -> int:
    """Return the version of the tables; 0 for a database without any."""
    there = set(inspect(connection).get_table_names()) & set(schema.metadata.tables)
    if not there:
        return 0
    found = get_meta(connection, "schema_version") if {schema.meta.name, schema.memories.name} <= there else None
    if found is None or not found.isdecimal():
        raise StoreVersionError(
            f"{shown(connection.engine.url)} has tables of the same names that are not those of recall-integrations. "
            "Give a database, or a schema by `options=-csearch_path=…`, of its own. Nothing was changed."
        )
    return int(found)


def check(engine: Engine) -> Checked:
    """Compare the tables with `schema`. Nothing is changed."""
    with mapped_errors(engine), engine.connect() as connection:
        version = version_of(connection)
        differences = tuple(_differences(connection)) if version == schema.SCHEMA_VERSION else ()
    return Checked(version=version, differences=differences)


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Hold a transaction open inside the block, in which no other process makes the tables."""
    # The lock is of the transaction, which a pooler leaves on its connection, and which sees what others did before.
    with connection.execution_options(isolation_level="READ COMMITTED").begin():
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _TURN})
        yield


def _make(connection: Connection) -> int:
    schema.metadata.create_all(connection, checkfirst=False)
    put_meta(connection, "schema_version", str(schema.SCHEMA_VERSION))
    return schema.SCHEMA_VERSION


def _differences(connection: Connection) -> Iterator[str]:
    found = inspect(connection)
    there = set(found.get_table_names())  # others may live in the same database
    for table in schema.metadata.sorted_tables:
        if table.name not in there:
            yield f"the table {table.name} is missing"
            continue
        yield from _of_columns(found, table)
        yield from _of_keys(found, table)


def _of_columns(found: Inspector, table: Table) -> Iterator[str]:
    dialect = found.dialect
    there = {column["name"]: column for column in found.get_columns(table.name)}
    for name in there.keys() - table.columns.keys():
        yield f"{table.name} has the column {name}, which is not of this package"
    for column in table.columns:
        one = there.get(column.name)
        if one is None:
            yield f"{table.name} lacks the column {column.name}"
            continue
        wanted = column.type.compile(dialect).partition(" COLLATE ")[0]
        wanted, kept = _NAMES.get(wanted, wanted), one["type"].compile(dialect).partition(" COLLATE ")[0]
        if kept != wanted:
            yield f"{table.name}.{column.name} is {kept}, not {wanted}"
        if one["nullable"] != column.nullable:
            yield f"{table.name}.{column.name} {'may' if one['nullable'] else 'may not'} be null"


def _of_keys(found: Inspector, table: Table) -> Iterator[str]:
    """Yield a sentence for each key and index that is missing, by its columns or its name."""
    primary = [column.name for column in table.primary_key.columns]
    if found.get_pk_constraint(table.name)["constrained_columns"] != primary:
        yield f"the primary key of {table.name} is not ({', '.join(primary)})"
    unique = {tuple(one["column_names"]) for one in found.get_unique_constraints(table.name)}
    for key in table.constraints:
        if isinstance(key, UniqueConstraint) and (columns := tuple(one.name for one in key.columns)) not in unique:
            yield f"{table.name} lacks the unique key ({', '.join(columns)})"
    indexes = {one["name"]: one["column_names"] for one in found.get_indexes(table.name)}
    for index in sorted(table.indexes, key=lambda one: str(one.name)):
        if indexes.get(str(index.name)) != [column.name for column in index.columns]:
            yield f"{table.name} lacks the index {index.name}"
