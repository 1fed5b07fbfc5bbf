"""Statements that SQLite and PostgreSQL write differently, and texts that not both keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, Select, Text, cast, func

from recall_integrations.database.schema import SQL_VARIABLES
from recall_integrations.database.sending import send_sql
from recall_integrations.errors import InvalidMemory

T = TypeVar("T")
Query = TypeVar("Query", bound=Select[Any])
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
