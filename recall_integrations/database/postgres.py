"""Opening PostgreSQL as the system of record.

The tables are those of `schema`, made by `database.tables`. What only PostgreSQL understands is here, in
`postgres_errors`, and where rows are copied in (`inserting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urlencode

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database.answering import connection_class
from recall_integrations.database.pooling import Pool, look_after
from recall_integrations.database.postgres_errors import mapped_error, shown
from recall_integrations.errors import MissingExtra, StoreError, StoreVersionError, installing
from recall_integrations.patterns import regex

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


def open_postgres(
    url: str | URL,
    *,
    pool_size: int = 8,
    pool_timeout_s: float = 30.0,
    connect_timeout_s: int = 5,
    application: str = APPLICATION,
    isolation: Isolation = "READ COMMITTED",
) -> Engine:
    """Return an engine on a database that exists; its tables are not looked at."""
    require_psycopg()
    wanted = {"connect_timeout": connect_timeout_s, "application_name": application, **ALIVE}
    address, arguments = _arguments(parsed(url), wanted)
    engine = create_engine(
        address,
        connect_args=arguments,
        poolclass=Pool,
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=pool_timeout_s,
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
    """Find out whether a pooler such as PgBouncer may give each transaction another connection of the server.

    A pooler invents the process number that it gives to a client. It does not say in which mode it is.
    """
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


@contextmanager
def mapped_errors(engine: Engine) -> Iterator[None]:
    """Turn errors of SQLAlchemy and of the driver into ours."""
    try:
        yield
    except BaseException as e:
        mapped = mapped_error(e, engine.url)
        if mapped is None:
            raise
        raise mapped from e
