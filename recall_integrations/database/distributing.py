"""The tables of a store on Citus: which are shared out over its workers by `scope_id`, and what has to hold for that.

    by scope   memories and all that hangs on them: a scope's rows of all tables are in one shard, beside each other
    local      on the coordinator, as PostgreSQL made them: what is of the store as a whole, and what is in one order

It was written from Citus's documentation and never run on Citus (docs/postgres.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, Engine, Table, UniqueConstraint, text

from recall_integrations.database import schema, tables, tenants
from recall_integrations.database.meta import check_version
from recall_integrations.database.postgres import mapped_errors
from recall_integrations.database.postgres_errors import shown
from recall_integrations.database.turns import OPENED, PLACE
from recall_integrations.errors import StoreError, StoreLocked, StoreVersionError
from recall_integrations.patterns import regex
from recall_integrations.records import record

COLUMN = "scope_id"
VERSION_LEAST = 12  # of Citus
# Why a table is left on the coordinator. None could be a reference table: every write writes to three of them, and one
# of those is written on all workers at once.
LOCAL = {
    "meta": "notes of the store as a whole",
    "cursors": "one row for each index of the store",
    "changes": "its numbers are in one order for all scopes, and its key is the number alone",
    "scopes": "a scope is found by its three names, which are a key without the number; every write counts in it",
}
_NUMBER = regex(r"\d+")


@record(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a table is.

    Args:
        table: its name.
        by_scope: whether it is to be shared out.
        done: whether it is; `False` = it is a table of PostgreSQL.
        otherwise: how it is managed by Citus in another way than it is to be; empty = it is not.
    """

    table: str
    by_scope: bool
    done: bool
    otherwise: str = ""


def by_scope() -> tuple[Table, ...]:
    """Tables that are shared out, `memories` first: the others go where its rows go."""
    found = [table for table in schema.metadata.sorted_tables if table.name not in LOCAL]
    return tuple(sorted(found, key=lambda table: (table.name != schema.memories.name, table.name)))


def keys_without(table: Table) -> list[str]:
    """Unique keys of a table, as this package has it, that do not hold the column by which it is shared out."""
    keys = [table.primary_key.columns, *(c.columns for c in table.constraints if isinstance(c, UniqueConstraint))]
    keys += [index.columns for index in table.indexes if index.unique]
    return [", ".join(c.name for c in key) for key in keys if COLUMN not in {c.name for c in key}]


def statements(placed: Sequence[Placed] = ()) -> list[str]:
    """What is to be run, each by itself, for the tables that are not shared out yet."""
    done = {one.table for one in placed if one.done}
    found = []
    for table in by_scope():
        if table.name in done:
            continue
        beside = "none" if table is schema.memories else schema.memories.name
        found.append(f"SELECT create_distributed_table('{table.name}', '{COLUMN}', colocate_with => '{beside}')")
        # Rows were copied to the workers; what is left of them here nobody sees any more, and it takes disk.
        found.append(f"SELECT truncate_local_data_after_distributing_table('{table.name}')")
    return found


def version_of_citus(connection: Connection) -> str:
    """The version of the extension in a database; empty = it has none."""
    found = connection.execute(text("SELECT extversion FROM pg_extension WHERE extname = 'citus'")).scalar()
    return str(found or "")


def placed(connection: Connection) -> list[Placed]:
    """Where each table is, of a database with the extension."""
    rows = connection.execute(
        text(
            "SELECT c.relname, t.citus_table_type, t.distribution_column FROM citus_tables t "
            "JOIN pg_class c ON c.oid = t.table_name WHERE c.relnamespace = "
            "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('memories'))"
        )
    )
    known = {str(name): (str(kind), str(column)) for name, kind, column in rows}
    found = []
    for table in schema.metadata.sorted_tables:
        kind, column = known.get(table.name, ("", ""))
        wanted = table.name not in LOCAL
        done = kind == "distributed" and column == COLUMN
        other = kind and not (done if wanted else kind == "local")
        by = f" by {column}" if kind == "distributed" else ""
        found.append(Placed(table=table.name, by_scope=wanted, done=done, otherwise=f"{kind}{by}" if other else ""))
    return found


def distribute(engine: Engine) -> list[str]:
    """Share out the tables that are not yet; the statements that were run. Asked again after an error, it goes on.

    Args:
        engine: of `open_postgres`, of the coordinator, as the owner of the tables. No store may be open on it.

    Raises:
        StoreVersionError: the extension is not there or too old, or the tables are not of this version.
        StoreLocked: the store is open somewhere.
        StoreError: something stands in the way, which the message names; nothing was changed. Or a statement failed:
            what was shared out before it stays.
    """
    with mapped_errors(engine):
        todo = checked(engine)
        for statement in todo:
            with engine.begin() as connection:  # each by itself: Citus copies rows over several connections
                connection.exec_driver_sql(statement)
    return todo


def checked(engine: Engine) -> list[str]:
    """What `distribute` would run. Nothing is changed; raises as it does."""
    with mapped_errors(engine), engine.connect() as connection:
        where = shown(engine.url)
        _check_citus(connection, where)
        version = tables.version_of(connection)
        if not version:
            raise StoreVersionError(
                f"{where} has no tables of a store. Make one there first: `recall add ADDRESS TEXT`."
            )
        check_version(version, f"The store {where}")
        problems = list(_problems(connection))
        if problems:
            raise StoreError(f"{where} cannot be shared out: {'; '.join(problems)}. Nothing was changed.")
        todo = statements(placed(connection))
        if todo and connection.exec_driver_sql(_OTHERS, {"key": OPENED}).scalar():
            raise StoreLocked(f"The store {where} is open, and nobody may have it while its tables are shared out.")
        return todo


_OTHERS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = %(key)s "
    f"AND classid = {PLACE} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def _check_citus(connection: Connection, where: str) -> None:
    version = version_of_citus(connection)
    if not version:
        raise StoreVersionError(
            f"{where} has not the extension `citus`. Run CREATE EXTENSION citus there, and on workers."
        )
    number = _NUMBER.match(version)
    if number is None or int(number.group()) < VERSION_LEAST:
        raise StoreVersionError(f"{where} has Citus {version}; {VERSION_LEAST} or later is needed.")
    if not connection.execute(text("SELECT citus_is_coordinator()")).scalar():
        raise StoreError(f"{where} is a worker of Citus. Give the address of the coordinator, to which all nodes go.")


def _problems(connection: Connection) -> Iterator[str]:
    """What Citus would refuse, or what would not hold any more, in words."""
    names = [table.name for table in by_scope()]
    for name, index in connection.execute(_KEYS, {"tables": names, "column": COLUMN}):
        yield f"the unique key {index} of {name} does not hold {COLUMN}"
    for name, constraint in connection.execute(_FOREIGN, {"tables": [*names, *LOCAL]}):
        yield f"the foreign key {constraint} of {name} is not of this package, which has none"
    for name, trigger in connection.execute(_TRIGGERS, {"tables": names}):
        yield f"{name} has the trigger {trigger}"
    for tenant in tenants.tenants(connection):
        yield f"role {tenant.role} was isolated, and its policies look into a table that stays on the coordinator"
    for one in placed(connection):
        if one.otherwise:
            yield f"{one.table} is {one.otherwise} already"


_OURS = (
    "FROM pg_class t JOIN {of} ON {link} = t.oid WHERE t.relname = ANY(:tables) "
    "AND t.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('memories'))"
)
_KEYS = text(
    "SELECT t.relname, x.indexrelid::regclass::text "
    + _OURS.format(of="pg_index x", link="x.indrelid")
    + " AND x.indisunique AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = t.oid "
    "AND a.attnum = ANY(x.indkey) AND a.attname = :column) ORDER BY 1, 2"
)
_FOREIGN = text(
    "SELECT t.relname, x.conname "
    + _OURS.format(of="pg_constraint x", link="x.conrelid")
    + " AND x.contype = 'f' ORDER BY 1, 2"
)
_TRIGGERS = text(
    "SELECT t.relname, x.tgname "
    + _OURS.format(of="pg_trigger x", link="x.tgrelid")
    + " AND NOT x.tgisinternal ORDER BY 1, 2"
)
