"""Opening PostgreSQL as the system of record, and transactions that are tried again where PostgreSQL says so.

The tables are those of `schema`, made by `database.upgrading`. What only PostgreSQL understands is here, in
`postgres_errors`, and where rows are copied in (`inserting`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from recall_integrations.database.answering import connection_class
from recall_integrations.database.postgres_errors import is_lost, is_retryable, mapped_error, shown
from recall_integrations.errors import MissingExtra, StoreError, StoreVersionError

T = TypeVar("T")
Isolation = Literal["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]

DRIVER = "postgresql+psycopg"
SCHEMES = ("postgresql", "postgres", DRIVER)
VERSION_LEAST = 13  # of the server
TRIES = 6
WAIT_S, WAIT_MAX_S = 0.02, 1.0  # before the second try at most, before any at most
APPLICATION = "recall-integrations"
# A cable that was cut is noticed in some seconds, and not by the system's own hours: options of libpq.
ALIVE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
_TURN = 0x7265_6361_6C6C  # "recall", the key of the lock under which writes take turns


def require_psycopg() -> Any:
    """The driver: the one gate to the optional package.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import psycopg
    except ImportError as e:  # psycopg says so too where no libpq can be loaded
        raise MissingExtra(
            f"A store in PostgreSQL needs psycopg ({e}). Install it with: pip install 'recall-integrations[postgres]'"
        ) from e
    return psycopg


def is_postgres(given: object) -> bool:
    """Whether the address of a store is that of a PostgreSQL database, and no path."""
    return isinstance(given, str) and given.partition("://")[0] in SCHEMES and "://" in given


def parsed(given: str | URL) -> URL:
    """An address as SQLAlchemy takes it, for the one driver that is used.

    Raises:
        StoreError: it is none of PostgreSQL. The message does not repeat it, as it may hold a password.
    """
    try:
        url = make_url(given)
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


def open_postgres(
    url: str | URL,
    *,
    pool_size: int = 8,
    pool_overflow: int = 8,
    pool_timeout_s: float = 30.0,
    connect_timeout_s: int = 5,
    statement_timeout_ms: int | None = None,
    application: str = APPLICATION,
    prepared: bool = True,
    isolation: Isolation = "READ COMMITTED",
) -> Engine:
    """An engine on a database that is there. Its tables are not looked at.

    Args:
        url: `postgresql://user:password@host:port/database?sslmode=…`, with options of libpq.
        pool_size: connections that are kept open, of this process.
        pool_overflow: more of them, while they are needed.
        pool_timeout_s: seconds that are waited for one of them.
        connect_timeout_s: seconds until a server counts as away; 2 at least.
        statement_timeout_ms: milliseconds that a statement may take; `None` = what the server says.
        application: by which the server's lists of connections name this process.
        isolation: of transactions.
        prepared: whether statements that come again are prepared. Not behind a PgBouncer older than 1.21.

    Raises:
        MissingExtra: psycopg is not installed.
        StoreError: the address is none, or the server cannot be reached or refuses; it never holds the password.
        StoreVersionError: the server is older than PostgreSQL 13, or the database is not in UTF-8.
    """
    require_psycopg()
    wanted = {"connect_timeout": connect_timeout_s, "application_name": application, **ALIVE}
    address, arguments = _arguments(parsed(url), wanted, statement_timeout_ms)
    if not prepared:
        arguments["prepare_threshold"] = None
    engine = create_engine(
        address,
        connect_args=arguments,
        pool_size=pool_size,
        max_overflow=pool_overflow,
        pool_timeout=pool_timeout_s,
        pool_pre_ping=True,  # one that the server or a firewall ended meanwhile is replaced before it is used
        pool_use_lifo=True,  # the others grow idle, and may be ended
        isolation_level=isolation,
        hide_parameters=True,  # an error is logged and shown; what was asked and remembered is not
    )
    event.listen(engine, "do_connect", _connected)
    try:
        with mapped_errors(engine), engine.connect() as connection:
            _check_server(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _arguments(address: URL, wanted: dict[str, Any], statement_timeout_ms: int | None) -> tuple[URL, dict[str, Any]]:
    """What the driver is given beside an address: what is wanted and the address does not say itself."""
    arguments = {name: value for name, value in wanted.items() if name not in address.query}
    if "sslpassword" in address.query:  # out of what an engine shows of itself
        arguments["sslpassword"] = address.query["sslpassword"]
        address = address.difference_update_query(["sslpassword"])
    if statement_timeout_ms is not None:
        given = address.query.get("options", ())
        more = (given,) if isinstance(given, str) else tuple(given)
        arguments["options"] = " ".join([*more, f"-c statement_timeout={int(statement_timeout_ms)}"])
        address = address.difference_update_query(["options"])
    return address, arguments


def _connected(_dialect: object, _record: object, given: Sequence[Any], more: dict[str, Any]) -> Any:
    return connection_class().connect(*given, **more)


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


def transact(
    engine: Engine,
    work: Callable[[Connection], T],
    *,
    isolation: Isolation | None = None,
    tries: int = TRIES,
    again: bool = False,
) -> T:
    """What `work` returns, committed; tried again, a little later each time, where that may help.

    That is after a serialization failure, a deadlock, or a connection that was lost before the commit was sent. Where
    it was lost while committing nobody knows what came of it.

    Args:
        engine: of PostgreSQL.
        work: does all of it on the connection it is given. It may be called several times.
        isolation: of this transaction; `None` = that of the engine. "SERIALIZABLE" where rows that are read decide on
            what is written and no lock guards them.
        tries: in all.
        again: whether doing the work twice does no harm, so that it is tried again after a commit of unknown end too.

    Raises:
        StoreError: it did not work in any try, or it is not known whether it was committed.
        RecallError: as `mapped_error`.
    """
    retrying = Retrying(
        retry=retry_if_exception(is_retryable),
        wait=wait_random_exponential(multiplier=WAIT_S, max=WAIT_MAX_S),
        stop=stop_after_attempt(tries),
        reraise=True,
    )
    with mapped_errors(engine):
        result: T = retrying(_once, engine, work, isolation, again)
        return result


def _once(engine: Engine, work: Callable[[Connection], T], isolation: Isolation | None, again: bool) -> T:
    with engine.connect() as connection:
        if isolation is not None:  # of this connection until it goes back to the pool
            connection.execution_options(isolation_level=isolation)
        transaction = connection.begin()
        try:
            result = work(connection)
        except BaseException:
            transaction.close()
            raise
        try:
            transaction.commit()
        except DBAPIError as e:
            if is_lost(e) and not again:
                raise StoreError(
                    f"The connection to {shown(engine.url)} was lost while writing. Whether it was kept is not known: "
                    "look, or write it again under the same id."
                ) from e
            raise
        return result


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """A connection that reads one state of the database in all its statements, as SQLite's transactions do."""
    with engine.connect() as connection:
        reading = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        with reading.begin():
            yield reading


def take_turn(connection: Connection) -> None:
    """Wait until no other transaction of the store writes; others wait for the end of this one.

    For what counts on from the last number given (`changes.seq`, `scopes.scope_id`). It is held by the transaction, so
    a process that dies holds nobody up.
    """
    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _TURN})
