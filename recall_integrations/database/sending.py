"""Statements that go to the database together or are written differently for each, and many rows into one table.

Over a network each statement costs a way to the server and back. In a transaction of `begun`, PostgreSQL gets those of
`send`, rows of `insert_rows` and the commit in one message (pipeline mode of libpq, version 14 on).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, Dialect, Engine, Table, Text, cast, func, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Delete, Select, Update
from sqlalchemy.sql.elements import TextClause

from recall_integrations.database.connections import LOCK_S, one_was_lost, remaining
from recall_integrations.database.schema import SQL_VARIABLES, tenant_of
from recall_integrations.errors import InvalidMemory
from recall_integrations.records import record

FEW = 4  # memories whose rows go in one message
T = TypeVar("T")
Query = TypeVar("Query", bound=Select[Any])
Rows = Sequence[Sequence[Any]]
Statement = Select[Any] | Update | Delete | TextClause


@record(frozen=True, slots=True)
class Sent:
    """A statement that was sent. Its answer is waited for when it is asked for."""

    rows: Callable[[], Rows]  # returns the rows that the statement selected; once
    count: Callable[[], int]  # returns the number of rows that the statement changed

    def value(self) -> Any:
        """Return the first value of the first row, or `None` if there is none; once."""
        found = self.rows()
        return found[0][0] if found else None


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes, in SQLite at once: one that read before cannot wait for another program."""
    with engine.connect() as connection, connection.execution_options(writes=True).begin():
        yield connection


@contextmanager
def begun(engine: Engine, memories: int = 0, *, writes: bool = False) -> Iterator[Connection]:
    """Open a transaction in which statements go together; what was sent may be read after the block as well."""
    with engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        if memories > FEW or not can_send_together(connection.dialect):
            with connection.execution_options(writes=writes).begin():
                yield connection
            return
        together = Together(connection, raw)
        transaction = connection.begin()
        try:
            together.begin()
            yield connection
            together.commit()
        except BaseException:  # an interrupt may come at any place
            together.give_up()
            transaction.close()
            raise
        else:
            transaction.commit()  # as it is
        finally:
            together.leave()


class Together:
    """The pipeline of a connection, from `begin` on."""

    def __init__(self, connection: Connection, raw: Any) -> None:
        self._connection, self._raw = connection, raw
        self._context = raw.pipeline()

    def begin(self) -> None:
        """Send the begin of a transaction."""
        self._raw.autocommit = True  # the driver waits for an answer where it begins a transaction by itself
        self._raw.together = self._context.__enter__()
        level = self._raw.isolation_level
        with driver_errors(self._connection, None):
            self._run("BEGIN" if level is None else f"BEGIN ISOLATION LEVEL {level.name.replace('_', ' ')}")
            if remaining() < LOCK_S:  # the server says that it is a lock, just before the caller's time is over
                self._run(f"SET LOCAL lock_timeout = {max(remaining() * 900, 1):.0f}")

    def commit(self) -> None:
        """Send what is left and the commit, and read the answers."""
        with driver_errors(self._connection, None):
            self._run("COMMIT")
            self._end()

    def give_up(self) -> None:
        """Read the remaining answers after an error: the server skipped each statement behind it."""
        import psycopg

        for _ in range(2):  # the first may be cut short by the error itself
            if self._raw.together is not None and not self._raw.closed:
                with suppress(psycopg.Error):
                    self._raw.together.sync()
        if self._raw.together is not None:
            with suppress(psycopg.Error):  # the error that is known
                self._end()
        if not self._raw.closed and self._raw.pgconn.pipeline_status:
            self._connection.invalidate()  # an interrupt came where nothing can be put in order any more

    def leave(self) -> None:
        """Set the connection back to what it was before."""
        if not self._raw.closed:
            self._raw.autocommit = False

    def _run(self, statement: str) -> None:
        _cursor()(self._raw).execute(statement, prepare=False)

    def _end(self) -> None:
        import psycopg

        self._raw.together = None
        try:
            self._context.__exit__(None, None, None)
        except psycopg.Error as e:
            met = e.__context__
            of_one_before = isinstance(e, psycopg.errors.PipelineAborted) and isinstance(met, psycopg.Error)
            if met is not None and (of_one_before or not isinstance(met, Exception)):  # or an interrupt
                raise met from None
            raise


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Yield a connection for one statement that reads: PostgreSQL is asked without a transaction around it."""
    with engine.connect() as connection:
        together = can_send_together(connection.dialect)
        yield connection.execution_options(isolation_level="AUTOCOMMIT") if together else connection


def read(engine: Engine, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    """Return the rows of a SELECT in the driver's own syntax: half of the time is the statement's own."""
    try:
        return _read(engine, statement, values)
    except DBAPIError as e:
        if not e.connection_invalidated or not remaining():
            raise
        return _read(engine, statement, values)  # the pool looks at a connection before it gives one now


def _read(engine: Engine, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    with reading(engine) as connection, driver_errors(connection, statement):
        cursor = connection.connection.cursor()
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def send(connection: Connection, statement: Statement, values: Mapping[str, Any] | None = None) -> Sent:
    """Send a statement of SQLAlchemy whose values are numbers and texts, in the caller's transaction."""
    if not is_together(connection):
        result = connection.execute(statement, values)
        rows: Rows = [tuple(row) for row in result] if result.returns_rows else []
        count = result.rowcount
        return Sent(lambda: rows, lambda: count)
    sql, given = _compiled(statement, connection.dialect)
    return send_sql(connection, sql, {**given, **(values or {})})


def send_sql(connection: Connection, sql: str, values: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Sent:
    """Send a statement of the driver where statements go together: once, or for each of several rows."""
    raw: Any = connection.connection.dbapi_connection
    together = raw.together

    def answered() -> None:
        # Behind the block the connection may be somebody else's.
        if together is not None and raw.together is together and cursor.pgresult is None:
            together.sync()

    def rows() -> Rows:
        with driver_errors(connection, sql):
            answered()
            found: Rows = cursor.fetchall()
        return found

    def count() -> int:
        with driver_errors(connection, sql):
            answered()
        return int(cursor.rowcount)

    with driver_errors(connection, sql):
        for one in [values] if isinstance(values, Mapping) else values:
            cursor = _cursor()(raw)
            cursor.execute(sql, one)
    return Sent(rows, count)


def is_together(connection: Connection) -> bool:
    """Say whether statements of a connection go to the server together."""
    if connection.dialect.driver != "psycopg":
        return False
    return getattr(connection.connection.dbapi_connection, "together", None) is not None


@contextmanager
def driver_errors(connection: Connection, sql: str | None) -> Iterator[None]:
    """Raise errors of the driver as SQLAlchemy does; `sql` is `None` at a commit."""
    dialect = connection.dialect
    base = dialect.loaded_dbapi.Error
    try:
        yield
    except base as e:
        lost = not connection.invalidated and dialect.is_disconnect(e, connection.connection, None)
        if lost:
            one_was_lost(connection)
            connection.invalidate(e)
        raise DBAPIError.instance(
            sql, None, e, base, hide_parameters=True, connection_invalidated=lost, dialect=dialect
        ) from e


@lru_cache(maxsize=256)
def _compiled(statement: Statement, dialect: Dialect) -> tuple[str, Mapping[str, Any]]:
    compiled = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    return str(compiled), compiled.params


@lru_cache(maxsize=1)
def _cursor() -> Any:
    import psycopg

    return psycopg.Cursor


@lru_cache(maxsize=8)
def can_send_together(dialect: Dialect) -> bool:
    """Say whether the driver can send several statements to the server together."""
    if dialect.driver != "psycopg":
        return False
    import psycopg

    return bool(psycopg.Pipeline.is_supported())


Written = Callable[[Any], Any]
COPIED = 4  # rows from which on a copy is faster than an insert


class _Statement(NamedTuple):
    """An insert into all columns of a table."""

    sql: str  # of the driver
    names: tuple[str, ...]  # of its parameters, in order
    positional: bool  # whether the driver takes them by place
    # how values of a column are written, by place, where it is not as they are
    written: tuple[tuple[int, Written], ...]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows in the caller's transaction; each has a value for every column of the table, `None` for none."""
    if not rows:
        return
    statement = _statement(table, connection.dialect)
    pick = itemgetter(*statement.names)
    made: list[Any] = [pick(row) for row in rows]
    if statement.written:
        made = [list(values) for values in made]
        for place, written in statement.written:
            for values in made:
                values[place] = written(values[place])
        made = [tuple(values) for values in made]
    together = is_together(connection)
    copies = connection.dialect.driver == "psycopg" and tenant_of(connection) is None and not together
    if copies and len(made) >= COPIED:
        _copy(connection, table, statement.names, made)
        return
    if not statement.positional:
        made = [dict(zip(statement.names, values, strict=True)) for values in made]
    if together:
        send_sql(connection, statement.sql, made)
        return
    connection.exec_driver_sql(statement.sql, made)


def _copy(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    if not connection.in_transaction():
        connection.begin()
    quoted = connection.dialect.identifier_preparer.quote
    sql = f"COPY {quoted(table.name)} ({', '.join(map(quoted, names))}) FROM STDIN"
    cursor: Any = connection.connection.cursor()
    with driver_errors(connection, sql), closing(cursor), cursor.copy(sql) as copy:
        for row in rows:
            copy.write_row(row)


@lru_cache(maxsize=64)
def _statement(table: Table, dialect: Dialect) -> _Statement:
    compiled = insert(table).compile(dialect=dialect, column_keys=[column.name for column in table.columns])
    names = tuple(compiled.positiontup or compiled.params)
    kinds = [table.columns[name].type.dialect_impl(dialect) for name in names]
    written = [(place, kind.bind_processor(dialect)) for place, kind in enumerate(kinds)]
    special = tuple((place, how) for place, how in written if how is not None)
    return _Statement(str(compiled), names, bool(compiled.positional), special)


NUL = "\x00"
_LIMIT_MAX_MS = 2**31 - 1


def numbers_joined(column: ColumnElement[Any]) -> ColumnElement[str]:
    """Join the numbers of a column with commas, in any order: drivers read one text far faster than as many rows."""
    return func.aggregate_strings(cast(column, Text), ",")


def streamed(query: Query, rows: int) -> Query:
    """Return a query whose rows come so many at a time; PostgreSQL's driver would hold all of them in memory first.

    For what may be large: a small result takes two more ways to the server and back.
    """
    return query.execution_options(stream_results=True, max_row_buffer=rows)


def bounded(connection: Connection, milliseconds: float) -> Connection:
    """Bound, in PostgreSQL, the time of each later statement of the transaction; return the connection."""
    if connection.dialect.name == "postgresql":
        limit = int(min(max(milliseconds, 1.0), _LIMIT_MAX_MS))
        send_sql(connection, f"SET LOCAL statement_timeout = {limit}", {})
    return connection


def check_texts(engine: Engine, texts: Iterable[str], what: str = "A memory") -> None:
    """Refuse texts that the database of the engine cannot keep, before anything is written; SQLite keeps all."""
    if engine.dialect.name == "postgresql" and any(NUL in one for one in texts):
        raise InvalidMemory(
            f"{what} holds a NUL character (U+0000), which PostgreSQL cannot keep. Remove it, for example with "
            '`text.replace("\\x00", "")`.'
        )


def in_parts(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the values in parts that fit into one statement."""
    for start in range(0, len(values), SQL_VARIABLES):
        yield values[start : start + SQL_VARIABLES]
