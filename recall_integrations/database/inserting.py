"""Many rows into one table, at the price that the driver asks.

An `insert` of SQLAlchemy makes a dictionary of bound parameters for every row, which for a batch of memories costs more
than the database does. Here it says once what the statement is and how values of each column are written, and the rows
go to the driver as they are. What is stored is the same. PostgreSQL is given more than a few of them as a copy, in a
third of the time; not from a tenant, as PostgreSQL copies nothing in under row-level security, and not where statements
go together (`sending`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import JSON, Connection, Dialect, Table, insert

from recall_integrations.database.meta import tenant_of
from recall_integrations.database.sending import driver_errors, is_together, send_sql

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
    """Copy rows in, in the caller's transaction."""
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
    written = [(place, _written(table, name, dialect)) for place, name in enumerate(names)]
    special = tuple((place, how) for place, how in written if how is not None)
    return _Statement(str(compiled), names, bool(compiled.positional), special)


def _written(table: Table, name: str, dialect: Dialect) -> Written | None:
    kind = table.columns[name].type
    how: Written | None = kind.dialect_impl(dialect).bind_processor(dialect)
    if how is None or not isinstance(kind, JSON):
        return how
    empty: list[tuple[Any, Any]] = [([], how([])), ({}, how({}))]  # nearly all are

    def json_of(value: Any) -> Any:
        if not value:
            for nothing, text in empty:
                if value == nothing and type(value) is type(nothing):
                    return text
        return how(value)

    return json_of
