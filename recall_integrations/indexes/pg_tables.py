"""Tables of pgvector, and building the index of a collection over all of its vectors at once.

recall_collections      home, store, dimension, seq, digest, loaded, indexed: a row for each collection
recall_nearest_<home>   num, vector halfvec(d), and an HNSW index of it

Not `CONCURRENTLY`: that waits for every older transaction of the database, and cannot be told anything in its own
transaction, as it has to be behind a pooler.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

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


LOCK_S = 30  # for the table: autovacuum leaves it when it is waited for a second
LOOK_S = 2  # until the server notices that who asked is gone, and stops; from PostgreSQL 14 on
# Of a vector in memory beside its numbers: its places in the graph, 16 bytes for each neighbour, and what goes with it.
BESIDE = 16 * (2 * int(str(HNSW["max_neighbors"])) + 8) + 384
NO_ROOM = frozenset({"53100", "53200", "53400"})  # disk, which shared memory counts as, too; memory; a limit
# A table is not indexed by two: the name of the index would be waited for, in a request that has no time for it.
_TAKE = "SELECT pg_try_advisory_xact_lock(hashtextextended(:table, 0))"
_SETTINGS = (
    "SELECT set_config(name, value, true) FROM (VALUES ('statement_timeout', '0'), ('transaction_timeout', '0'), "
    f"('lock_timeout', '{LOCK_S}s')) given (name, value) JOIN pg_settings USING (name)"
)
_MEMORY = (
    "SELECT pg_size_bytes(current_setting('maintenance_work_mem')), pg_size_bytes(current_setting('shared_buffers'))"
)


def is_free(connection: Connection, home: str) -> bool:
    """Say whether nobody builds the index of a collection; if so, lock it until the end of this transaction."""
    return bool(connection.execute(text(_TAKE), {"table": table_of(home)}).scalar())


def build(connection: Connection, home: str, place: Extension, *, frugal: bool) -> bool:
    """Build the index in this transaction; return false where another process does it.

    Args:
        frugal: without workers beside, which share memory, of which a container has little (64 MB in `/dev/shm`), and
            without more memory than the user has; else with as much as the graph needs, up to `shared_buffers`.
    """
    connection.execute(text(_SETTINGS))
    _notice_who_went(connection)
    if not is_free(connection, home):
        return False
    table = table_of(home)
    if frugal:
        connection.exec_driver_sql("SET LOCAL max_parallel_maintenance_workers = 0")
    else:
        noted = text(f"SELECT dimension FROM {CATALOGUE} WHERE home = :home")
        width = int(connection.execute(noted, {"home": home}).scalar() or 0)
        rows = int(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())
        own, shared = connection.execute(text(_MEMORY)).one()
        needed = rows * (2 * width + BESIDE) + (8 << 20)  # with the little that pgvector takes for itself
        connection.exec_driver_sql(f"SET LOCAL maintenance_work_mem = {max(own, min(needed, shared)) // 1024}")
    make_index(connection, table, place)
    connection.execute(text(f"UPDATE {CATALOGUE} SET indexed = true WHERE home = :home"), {"home": home})
    return True


def _notice_who_went(connection: Connection) -> None:
    """Have the server stop for a client that is gone; else it builds to the end and throws the index away."""
    known = "SELECT count(*) FROM pg_settings WHERE name = 'client_connection_check_interval'"
    if connection.execute(text(known)).scalar():
        with suppress(SQLAlchemyError), connection.begin_nested():  # there are systems that cannot tell
            connection.exec_driver_sql(f"SET LOCAL client_connection_check_interval = '{LOOK_S}s'")
