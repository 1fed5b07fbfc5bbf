"""Tables of pgvector: their names, their readers, and how far a collection is filled.

recall_collections      home, store, dimension, seq, digest, loaded, indexed: a row for each collection
recall_nearest_<home>   num, vector halfvec(d), and an HNSW index of it
"""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, text

from recall_integrations.indexes.vectors import HNSW
from recall_integrations.patterns import regex
from recall_integrations.records import record

CATALOGUE = "recall_collections"
PREFIX = "recall_nearest_"
SAFE_HOME = regex(r"[0-9a-z]+(?:\.[0-9a-z]+)*")
HOME_CHARS_MAX = 40


@record(frozen=True, slots=True, kw_only=True)
class Extension:
    """The extension in a database."""

    version: tuple[int, int]  # major and minor
    schema: str  # schema of its types, as written in statements


def table_of(home: str) -> str:
    """Return the table of a collection: a name without quotes, of 63 letters at most, two of them for its index."""
    if SAFE_HOME.fullmatch(home) and len(home) <= HOME_CHARS_MAX:
        return PREFIX + home.replace(".", "_")
    return PREFIX + hashlib.blake2b(home.encode(), digest_size=16).hexdigest()


def has_catalogue(connection: Connection) -> bool:
    """Say whether there is a list of collections."""
    return connection.execute(text(f"SELECT to_regclass('{CATALOGUE}')")).scalar() is not None


def see_catalogue(connection: Connection) -> None:
    """Make the list of collections, unless it is there."""
    if not has_catalogue(connection):
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS {CATALOGUE} (home text PRIMARY KEY, store text NOT NULL, "
            "dimension integer, seq bigint NOT NULL DEFAULT 0, digest text NOT NULL DEFAULT '', "
            "loaded bigint NOT NULL DEFAULT 0, indexed boolean NOT NULL DEFAULT true)"
        )
        wall(connection, CATALOGUE)


def make_table(connection: Connection, table: str, place: Extension, width: int) -> None:
    """Make the table of a collection, without its index."""
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")  # which nobody noted
    connection.exec_driver_sql(
        f"CREATE TABLE {table} (num bigint PRIMARY KEY, vector {place.schema}.halfvec({width}) NOT NULL)"
    )
    # Beside the number: long vectors would be kept apart otherwise, and the table taken for a small one.
    connection.exec_driver_sql(f"ALTER TABLE {table} ALTER COLUMN vector SET STORAGE PLAIN")
    wall(connection, table)


def make_index(connection: Connection, table: str, place: Extension) -> None:
    """Make the index of a collection, unless it is there."""
    connection.exec_driver_sql(
        f"CREATE INDEX IF NOT EXISTS {table}_i ON {table} USING hnsw (vector {place.schema}.halfvec_cosine_ops) "
        f"WITH (m = {HNSW['max_neighbors']}, ef_construction = {HNSW['ef_construction']})"
    )


def wall(connection: Connection, table: str) -> None:
    """Hide a table's rows from all but its owner, whatever is granted by default: tenants have roles there."""
    connection.exec_driver_sql(f"REVOKE ALL ON {table} FROM PUBLIC")
    connection.exec_driver_sql(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
