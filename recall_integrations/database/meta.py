"""Facts about the store itself, as keys and values in one table."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from sqlalchemy import Connection, Dialect, Engine, insert, select, update
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from recall_integrations.database import schema
from recall_integrations.errors import StoreVersionError

EMBEDDING = "embedding"  # the fingerprint of what made the vectors
LAST = "last_seq"  # the highest number of an entry of the journal, as it was pruned last
PRUNED = "pruned"  # number and digest of the last entry that was dropped from the journal
OWED = "compacting"  # not empty while something stands in files yet whose removal no change tells
SPENT = "facts_llm_spent"  # what a language model was asked in this hour
OTHER_VERSION = (  # what is to be done about a store of one
    "Run `recall export STORE FILE` with the version of recall-integrations that wrote it, and `recall import FILE NEW "
    "--format jsonl` with this one."
)
TENANT = "recall_tenant"  # option of a connection: the role of the tenant whose it is


def tenant_of(connection: Connection | Engine) -> str | None:
    """Return the role of the connections if row-level security shows it only a part of the rows; else `None`."""
    role = connection.get_execution_options().get(TENANT)
    return None if role is None else str(role)


def spent_by(role: str) -> str:
    """Return the key that counts calls of a language model by a tenant, which has a budget of its own."""
    return f"{SPENT} {role}"


def spent_key(connection: Connection) -> str:
    """Return the key that counts calls of a language model."""
    role = tenant_of(connection)
    return SPENT if role is None else spent_by(role)


def get_meta(connection: Connection, key: str) -> str | None:
    """Return the value of a key, or `None`."""
    return connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == key)).scalar()


def pruned_upto(connection: Connection) -> int:
    """Return the number of the last entry that was dropped from the journal."""
    return int((get_meta(connection, PRUNED) or "0").partition(" ")[0])


def put_meta(connection: Connection, key: str, value: str) -> None:
    """Set a value, in the caller's transaction. What only the owner of a store notes, a tenant leaves alone."""
    role = tenant_of(connection)
    if role is not None and key not in (OWED, spent_by(role)):
        return
    row = update(schema.meta).where(schema.meta.c.key == key).values(value=value)
    if not connection.execute(row).rowcount:
        connection.execute(insert(schema.meta).values(key=key, value=value))


def version_in(connection: Connection, tables: Set[str], refusal: str) -> int:
    """Return the version of the tables; 0 = there are none. Raise with `refusal` where they are somebody else's."""
    if not tables:
        return 0
    found = get_meta(connection, "schema_version") if {schema.meta.name, schema.memories.name} <= tables else None
    if found is None or not str(found).isdecimal():
        raise StoreVersionError(refusal)
    return int(found)


def make_tables(connection: Connection) -> int:
    """Make the tables in an empty database, in the caller's transaction; return their version."""
    for statement in _making(connection.dialect):
        connection.exec_driver_sql(statement)
    put_meta(connection, "schema_version", str(schema.SCHEMA_VERSION))
    return schema.SCHEMA_VERSION


@lru_cache(maxsize=2)  # compiling takes longer than SQLite takes to run them
def _making(dialect: Dialect) -> tuple[str, ...]:
    tables = schema.metadata.sorted_tables
    made: list[ExecutableDDLElement] = [CreateTable(table) for table in tables]
    made += [CreateIndex(index) for table in tables for index in table.indexes]
    return tuple(str(part.compile(dialect=dialect)) for part in made)


def check_version(version: str | int | None, store: str) -> None:
    """Raise unless tables are of the version that this package reads."""
    if str(version) != str(schema.SCHEMA_VERSION):
        raise StoreVersionError(
            f"{store} has schema version {version or 'none'}, and this package reads {schema.SCHEMA_VERSION}. "
            f"{OTHER_VERSION} Nothing was changed."
        )
