"""Opening PostgreSQL as the system of record, making its tables, and comparing them with `schema`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Literal
from urllib.parse import urlencode

from sqlalchemy import (
    URL,
    Connection,
    Dialect,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.connections import LOCK_S, Pool, connection_class, look_after, translated
from recall_integrations.database.postgres_errors import mapped_error, shown
from recall_integrations.database.schema import check_version, make_tables, version_in
from recall_integrations.errors import MissingExtra, StoreError, StoreVersionError, installing
from recall_integrations.patterns import regex
from recall_integrations.records import record

Isolation = Literal["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]

DRIVER = "postgresql+psycopg"
SCHEMES = ("postgresql", "postgres", DRIVER)
VERSION_LEAST = 13  # of the server
APPLICATION = "recall-integrations"
POOLED = "recall_pooled"  # option of an engine
_SEVERAL = regex(r"(?P<before>[\w+]+://(?:[^@?]*@)?)(?P<hosts>[^@/?]*,[^@/?]*)(?P<rest>[/?].*)?")
_HOST = regex(r"(?P<name>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>\d*))?")
# A cable that was cut is noticed in some seconds, and not by the system's own hours: options of libpq.
ALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}


def require_psycopg() -> Any:
    """Import and return the driver: the one gate to the optional package."""
    try:
        import psycopg
    except ImportError as e:  # psycopg says so too where no libpq can be loaded
        raise MissingExtra(
            f"A store in PostgreSQL needs psycopg ({e}). Install it with: {installing('postgres')}"
        ) from e
    return psycopg


def parsed(given: str | URL) -> URL:
    """Parse an address as SQLAlchemy takes it, for the one driver that is used."""
    try:
        url = make_url(_hosts_apart(given) if isinstance(given, str) else given)
    except (SQLAlchemyError, ValueError):  # whose message may hold the whole of it
        url = None
    if url is None or url.drivername not in SCHEMES or not url.database:
        raise StoreError(
            "This is no address of a PostgreSQL database. Write postgresql://user:password@host:5432/database, with "
            "special characters of the password as %XX."
        ) from None
    password = url.query.get("password")
    if password is not None and not url.password:  # where SQLAlchemy knows not to show it
        url = url.set(password=password if isinstance(password, str) else password[-1])
    return url.set(drivername=DRIVER).difference_update_query(["password"])


def _hosts_apart(given: str) -> str:
    """Rewrite several servers of libpq, `host:port,host:port`, as SQLAlchemy takes them: `?host=…&port=…`."""
    found = _SEVERAL.fullmatch(given)
    named = [] if found is None else [_HOST.fullmatch(one) for one in found["hosts"].split(",")]
    each = [one for one in named if one is not None]
    if found is None or len(each) < len(named) or not any(one["port"] for one in each):
        return given
    path, _, query = (found["rest"] or "").partition("?")
    names, ports = [one["name"].strip("[]") for one in each], [one["port"] or "" for one in each]
    hosts = {"host": ",".join(names), "port": ",".join(ports)}
    return "?".join([found["before"] + path, "&".join(filter(None, [urlencode(hosts), query]))])


POOL_TIMEOUT_S = 30.0  # longest wait for a connection while all are in use


def open_postgres(
    url: str | URL,
    *,
    pool_size: int = 8,
    pool_timeout_s: float | None = None,
    connect_timeout_s: int = 5,
    isolation: Isolation = "READ COMMITTED",
) -> Engine:
    """Return an engine on a database that exists; its tables are not looked at."""
    require_psycopg()
    wanted = {"connect_timeout": connect_timeout_s, "application_name": APPLICATION, **ALIVE}
    address, arguments = _arguments(parsed(url), wanted)
    engine = create_engine(
        address,
        connect_args=arguments,
        poolclass=Pool,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=POOL_TIMEOUT_S if pool_timeout_s is None else pool_timeout_s,
        pool_use_lifo=True,  # the others grow idle, and may be ended
        isolation_level=isolation,
        hide_parameters=True,  # an error is logged and shown; what was asked and remembered is not
    )
    event.listen(engine, "do_connect", _connected)
    look_after(engine)
    try:
        with mapped_errors(engine), engine.connect() as connection:
            _look_for_a_pooler(engine, connection)
            _check_server(connection)
            if not is_pooled(engine):  # where a setting would go to whoever has the connection next
                connection.exec_driver_sql(_bounding_locks())
                connection.commit()
                event.listen(engine, "connect", _bound_locks)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _arguments(address: URL, wanted: dict[str, Any]) -> tuple[URL, dict[str, Any]]:
    """Return the address and the driver's arguments beside it: wanted ones that the address does not set itself."""
    arguments = {name: value for name, value in wanted.items() if name not in address.query}
    if "sslpassword" in address.query:  # out of what an engine shows of itself
        arguments["sslpassword"] = address.query["sslpassword"]
        address = address.difference_update_query(["sslpassword"])
    return address, arguments


def _connected(_dialect: object, _record: object, given: Sequence[Any], more: dict[str, Any]) -> Any:
    return connection_class().connect(*given, **more)


def _look_for_a_pooler(engine: Engine, connection: Connection) -> None:
    """Find out whether a pooler (PgBouncer) stands before the server: it invents the process number for a client."""
    raw: Any = connection.connection.dbapi_connection
    if int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()) == raw.info.backend_pid:
        return
    if "options" in engine.url.query:  # one that ignores them would lead to the tables of another schema
        raise StoreError(
            f"{shown(engine.url)} is behind a pooler, which hands on no `options` of an address. Leave them out and "
            "let the role have them (ALTER ROLE … SET search_path = …), or give the server's own address."
        )
    engine.update_execution_options(**{POOLED: True})
    event.listen(engine, "connect", _prepare_nothing)
    _prepare_nothing(raw)


def _bounding_locks() -> str:
    """Return a statement that bounds the wait for a lock on a connection, unless the user has."""
    bound = f"set_config('lock_timeout', '{LOCK_S * 1e3:.0f}', false)"
    return f"SELECT {bound} WHERE current_setting('lock_timeout') = '0'"


def _bound_locks(raw: Any, _record: object) -> None:
    raw.autocommit = True
    raw.execute(_bounding_locks())
    raw.autocommit = False


def _prepare_nothing(raw: Any, _record: object = None) -> None:
    raw.prepare_threshold = None  # a statement would be prepared on one connection and asked for on another


def is_pooled(engine: Engine) -> bool:
    """Say whether a pooler may give each transaction another connection: locks and settings last a transaction."""
    return bool(engine.get_execution_options().get(POOLED))


def _check_server(connection: Connection) -> None:
    where = shown(connection.engine.url)
    number = int(connection.execute(text("SHOW server_version_num")).scalar_one())
    if number < VERSION_LEAST * 10_000:
        raise StoreVersionError(f"{where} is PostgreSQL {number // 10_000}; {VERSION_LEAST} or later is needed.")
    encoding = connection.execute(text("SHOW server_encoding")).scalar_one()
    if encoding != "UTF8":
        raise StoreVersionError(f"{where} keeps texts in {encoding}. Create the database with ENCODING 'UTF8'.")


def mapped_errors(engine: Engine) -> AbstractContextManager[None]:
    """Turn errors of SQLAlchemy and of the driver into ours."""
    return translated(partial(mapped_error, url=engine.url))


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
    """Make the tables in an empty database; leave existing ones. Several processes may ask at once."""
    with mapped_errors(engine):
        with engine.connect() as connection:
            version = version_of(connection)
        if not version:
            with engine.connect() as connection, _alone(connection):
                version = version_of(connection) or make_tables(connection)
    check_version(version, f"The store {shown(engine.url)}")


def version_of(connection: Connection) -> int:
    """Return the version of the tables; 0 for a database without any."""
    there = set(inspect(connection).get_table_names()) & set(schema.metadata.tables)
    return version_in(
        connection,
        there,
        f"{shown(connection.engine.url)} has tables of the same names that are not those of recall-integrations. "
        "Give a database, or a schema by `options=-csearch_path=…`, of its own. Nothing was changed.",
    )


def check_tables(engine: Engine) -> Checked:
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


def _differences(connection: Connection) -> Iterator[str]:
    there = set(inspect(connection).get_table_names())  # others may live in the same database
    for table in schema.metadata.sorted_tables:
        if table.name not in there:
            yield f"the table {table.name} is missing"
            continue
        found = Table(table.name, MetaData(), autoload_with=connection)
        kept = set(_parts_of(found, connection.dialect))
        yield from (f"{table.name} lacks {one}" for one in _parts_of(table, connection.dialect) if one not in kept)
        more = sorted(set(found.columns.keys()) - set(table.columns.keys()))
        yield from (f"{table.name} has the column {name}, which is not of this package" for name in more)


def _parts_of(table: Table, dialect: Dialect) -> Iterator[str]:
    """Yield a name of each column, key and index of a table, with all that has to agree."""
    for column in table.columns:
        kind = column.type.compile(dialect).partition(" COLLATE ")[0]
        yield f"the column {column.name} {_NAMES.get(kind, kind)}{'' if column.nullable else ' NOT NULL'}"
    for what, keys in (("primary", PrimaryKeyConstraint), ("unique", UniqueConstraint)):
        found = (key for key in table.constraints if isinstance(key, keys))
        yield from sorted(f"the {what} key ({', '.join(key.columns.keys())})" for key in found)
    yield from sorted(f"the index {one.name} ({', '.join(one.columns.keys())})" for one in table.indexes)
