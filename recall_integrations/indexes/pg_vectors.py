"""Nearest neighbours of large scopes in the store's own PostgreSQL, with the extension pgvector (HNSW).

The record is the truth; these tables can be dropped. Connections are of a pool of its own: with one pool for both,
recalls that hold all of the store's would wait for each other. Every setting is one of its transaction, for poolers.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.sql.elements import TextClause

from recall_integrations.config import VectorsConfig
from recall_integrations.database.connections import given_up_when, one_was_lost, within
from recall_integrations.database.postgres import open_postgres, parsed
from recall_integrations.database.postgres_errors import is_lost, is_ours, shown, sqlstate, words_of
from recall_integrations.database.tenants import role_under_policies
from recall_integrations.errors import ConfigError, IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.indexes.pg_tables import (
    CATALOGUE,
    NO_ROOM,
    PREFIX,
    Extension,
    build,
    has_catalogue,
    is_free,
    make_table,
    see_catalogue,
    table_of,
)
from recall_integrations.indexes.vectors import (
    FETCH_MAX,
    HNSW,
    CollectionBusy,
    CollectionLost,
    CollectionServer,
    Loaded,
    Seen,
    VectorsLate,
)

T = TypeVar("T")
EXTENSION = "vector"  # which is what pgvector is called in a database
DIMENSIONS_MAX = 4_000  # that pgvector indexes of halfvec
LEAST = (0, 7)  # of the extension: halfvec
ITERATIVE = (0, 8)  # from which a search goes on beyond hnsw.ef_search
EF, EF_MAX = int(str(HNSW["ef_search"])), 1_000  # of hnsw.ef_search
CONNECTIONS = 8
CONNECT_S = 2  # the least that the driver takes
BATCH = 50  # vectors of a transaction: putting one into a large graph takes milliseconds
LOADED_NUMBERS = 128_000  # of all vectors in a transaction that puts them into a table without a graph
DELETED_AT_ONCE = 1_000
LISTED_AT_ONCE = 50_000  # numbers of a request
SERVER_SHARE = 0.9  # of the time: then the server stops by itself, and the connection is kept
_NO_RIGHT = "42501"
_REFUSED = frozenset({_NO_RIGHT, "42704", "42883", "3F000", "54000", "58P01"})  # no type, no schema, too long, no file
_RIGHTS = (
    f"The user of a node makes tables in the schema of the store, uses that of the extension, and owns {CATALOGUE} and "
    f"{PREFIX}…: give all nodes the same user."
)
_LOST = frozenset({"42P01", "42703", "22000", "XX001", "XX002"})  # no table, another dimension, damaged
_LATE = frozenset({"57014", "55P03"})
_RACED = frozenset({"23505", "42710", "42P07"})  # another process made the same at the same time
_SETTINGS = "SELECT set_config('statement_timeout', :ms, true), set_config('lock_timeout', :ms, true)"


class PgVectors(CollectionServer):
    """pgvector in the database of a store; it connects at the first request, and makes the extension where it may."""

    own = True  # the tables are in the schema of the store, and a copy of the database has its own

    def __init__(self, address: str, settings: VectorsConfig, *, failures_max: int = 3) -> None:
        self._url = parsed(address)
        name, limit_s = shown(self._url), settings.timeout_ms / 1e3
        super().__init__(name, f"pgvector in {name}", limit_s=limit_s, failures_max=failures_max)
        self.loading = self
        self._engine: Engine | None = None
        self._closed = False
        self._extension: Extension | None = None
        self._free = threading.BoundedSemaphore(CONNECTIONS)

    def park(self) -> list[object]:
        return [] if self._engine is None else [self._engine]

    @property
    def opened(self) -> bool:
        return self._engine is not None

    def check(self, seconds: float = math.inf) -> None:
        """Check that the server can be used; make a missing extension if allowed."""
        tenant = self._asked(role_under_policies, seconds)
        if tenant is not None:
            raise ConfigError(
                f"{self.name} is opened as the role of a tenant, and the tables of pgvector hold vectors of all of "
                "them: leave out `vectors.address`."
            )
        found = self._asked(_extension, seconds)
        if found is None:
            self._make_extension(seconds)
            found = self._asked(_extension, seconds)
        if found is None or found.version < LEAST:
            raise VectorsRefused(
                f"{self.called} is of version {'.'.join(map(str, found.version)) if found else 'none'}, and "
                f"{'.'.join(map(str, LEAST))} or later is needed. Install a newer one on the server, and run ALTER "
                "EXTENSION vector UPDATE there as a superuser."
            )
        self._extension = found

    def _make_extension(self, seconds: float) -> None:
        there = f"SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = '{EXTENSION}')"
        if not self._asked(lambda connection: connection.execute(text(there)).scalar(), seconds):
            raise VectorsRefused(
                f"The server of {self.name} has no pgvector. Install it there (on Debian the package "
                "postgresql-NN-pgvector), then run CREATE EXTENSION vector in that database as a superuser."
            )
        try:
            self._asked(_create_extension, seconds)
        except VectorsRefused as e:
            raise VectorsRefused(
                f"pgvector is not in {self.name} yet, and this user may not put it there. Run CREATE EXTENSION vector "
                "in that database as a superuser, once."
            ) from e

    # -- collections -----------------------------------------------------------------------------------------------

    def make(self, home: str, store: str) -> None:
        def made(connection: Connection) -> None:
            see_catalogue(connection)
            put = f"INSERT INTO {CATALOGUE} (home, store, indexed) VALUES (:home, :store, false) ON CONFLICT DO NOTHING"
            connection.execute(text(put), {"home": home, "store": store})

        self._asked(made)

    def homes(self) -> list[str]:
        def listed(connection: Connection) -> list[str]:
            if not has_catalogue(connection):
                return []
            return [
                str(home) for home in connection.execute(text(f"SELECT home FROM {CATALOGUE} ORDER BY 1")).scalars()
            ]

        return self._asked(listed)

    def look(self, home: str, seconds: float = math.inf) -> Seen:
        table = table_of(home)

        def looked(connection: Connection) -> Seen:
            row = connection.execute(
                text(
                    f"SELECT c.dimension, c.seq, c.digest, c.indexed, (SELECT a.atttypmod FROM pg_attribute a "
                    f"WHERE a.attrelid = to_regclass('{table}') AND a.attname = 'vector' AND NOT a.attisdropped), "
                    f"EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass('{table}_i') AND i.indisvalid) "
                    f"FROM {CATALOGUE} c WHERE c.home = :home"
                ),
                {"home": home},
            ).first()
            if row is None:
                if connection.execute(text(f"SELECT row_security_active('{CATALOGUE}')")).scalar():
                    raise VectorsRefused(f"{self.called} shows this user nothing of its collections. {_RIGHTS}")
                raise CollectionLost(f"{self.called} has no collection {home}.")
            noted, seq, digest, indexed, width, there = row
            if noted is not None and (width is None or (indexed and not there)):
                raise CollectionLost(f"{self.called} lacks the table of the collection {home}, or the index of that.")
            return Seen(dimension=width if noted is not None else None, seq=int(seq), digest=str(digest))

        return self._asked(looked, seconds)

    def mark(self, home: str, store: str, seq: int, digest: str) -> None:
        noted = text(f"UPDATE {CATALOGUE} SET store = :store, seq = :seq, digest = :digest WHERE home = :home")
        given = {"home": home, "store": store, "seq": seq, "digest": digest}
        if not self._asked(lambda connection: connection.execute(noted, given).rowcount):
            raise CollectionLost(f"{self.called} has no collection {home}.")

    def drop(self, home: str) -> None:
        def dropped(connection: Connection) -> None:
            connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table_of(home)}")
            if has_catalogue(connection):
                connection.execute(text(f"DELETE FROM {CATALOGUE} WHERE home = :home"), {"home": home})

        self._asked(dropped)

    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        self._apply(home, nums, vectors, deletes, BATCH)

    def _apply(
        self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int], at_once: int
    ) -> None:
        table = table_of(home)
        if len(deletes) and self.look(home).dimension is not None:
            for start in range(0, len(deletes), DELETED_AT_ONCE):
                some = [int(n) for n in deletes[start : start + DELETED_AT_ONCE]]
                self._asked(partial(_delete, table=table, nums=some))
        if not len(nums):
            return
        self._check_width(vectors.shape[1])
        for start in range(0, len(nums), at_once):
            some = [int(n) for n in nums[start : start + at_once]]
            rows = [_written(row) for row in vectors[start : start + at_once]]
            width = None if start else vectors.shape[1]
            self._asked(partial(self._put, home=home, nums=some, rows=rows, width=width))

    # -- the first filling -----------------------------------------------------------------------------------------
    #
    # loaded ─▶ load, note, load, note, … ─▶ index: one over all vectors at once costs less than one that grows. Nobody
    # asks the collection for neighbours before that. A process that follows a killed one goes on where it stopped.

    def loaded(self, home: str) -> Loaded:
        """Return how far the collection is filled."""
        listed = text(f"SELECT loaded, indexed FROM {CATALOGUE} WHERE home = :home")

        def asked(connection: Connection) -> Loaded | None:
            if not has_catalogue(connection):
                return Loaded()
            if not is_free(connection, home):
                return None
            row = connection.execute(listed, {"home": home}).first()
            return Loaded() if row is None else Loaded(upto=int(row[0]), indexed=bool(row[1]))

        found = self._asked(asked)
        if found is None:
            raise CollectionBusy(f"The index of the collection {home} is built by another node.")
        return found

    def load(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        self._apply(home, nums, vectors, deletes, max(BATCH, LOADED_NUMBERS // max(1, vectors.shape[1])))

    def note(self, home: str, upto: int) -> None:
        def noted(connection: Connection) -> int:
            # Not before what was loaded: the log keeps the order, and what is lost of its end is lost of both.
            connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
            put = f"UPDATE {CATALOGUE} SET loaded = :upto WHERE home = :home"
            return connection.execute(text(put), {"home": home, "upto": upto}).rowcount

        if not self._asked(noted):
            raise CollectionLost(f"{self.called} has no collection {home}.")

    def index(self, home: str, given_up: Callable[[], bool]) -> None:
        """Build the index of a collection over all loaded vectors, unless it is there.

        The build has no timeout, and says nothing about whether the server answers: the breaker hears of none of it.
        Where there is no room for it, it is built once more without workers, in the memory that the user has.
        """
        if self.look(home).dimension is None:
            raise CollectionLost(f"The collection {home} is empty.")
        try:
            try:
                built = self._built(home, given_up, frugal=False)
            except SQLAlchemyError as e:
                if sqlstate(e) not in NO_ROOM:
                    raise
                built = self._built(home, given_up, frugal=True)
        except SQLAlchemyError as e:
            raise self._met(e) from None
        if not built:
            raise CollectionBusy(f"The index of the collection {home} is built by another node.")

    def _built(self, home: str, given_up: Callable[[], bool], *, frugal: bool) -> bool:
        with self._free, given_up_when(given_up):
            engine = self._opened()
            try:
                with engine.begin() as connection:
                    return build(connection, home, self._place(connection), frugal=frugal)
            except SQLAlchemyError as e:
                if is_lost(e):
                    one_was_lost(engine)
                raise

    def nearest(
        self, home: str, vector: NDArray[np.float32], limit: int, *, seconds: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return nums and cosines of the approximate nearest neighbours, falling; zero vectors have none."""
        length = float(np.linalg.norm(vector))
        if not math.isfinite(length) or not length:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        query, most, table = _written(vector / np.float32(length)), min(max(1, limit), FETCH_MAX), table_of(home)

        def asked(connection: Connection) -> Sequence[Sequence[float]]:
            place = self._place(connection)
            found = f"(vector OPERATOR({place.schema}.<=>) CAST(:query AS {place.schema}.halfvec))"
            connection.execute(text(_searching(place)), {"ef": str(min(max(EF, most), EF_MAX))})
            # The number of rows stands in the statement: a plan for any number would not take the index.
            return connection.execute(
                text(f"SELECT num, 1 - {found} FROM {table} ORDER BY {found} LIMIT {most}"), {"query": query}
            ).all()

        rows = self._asked(asked, seconds)
        nums = np.asarray([row[0] for row in rows], dtype=np.int64)
        cosines = np.asarray([row[1] for row in rows], dtype=np.float32)
        told = np.isfinite(cosines)  # a table that is small is scanned, with its zero vectors
        nums, cosines = nums[told], cosines[told]
        order = np.lexsort((nums, -cosines))
        return nums[order], cosines[order]

    def count(self, home: str) -> int:
        if self.look(home).dimension is None:
            return 0
        counted = text(f"SELECT count(*) FROM {table_of(home)}")
        return int(self._asked(lambda connection: connection.execute(counted).scalar_one()))

    def nums(self, home: str) -> NDArray[np.int64]:
        if self.look(home).dimension is None:
            return np.empty(0, dtype=np.int64)
        parts, last = list[NDArray[np.int64]](), 0
        listed = text(f"SELECT num FROM {table_of(home)} WHERE num > :last ORDER BY num LIMIT {LISTED_AT_ONCE}")
        while True:
            found = self._asked(partial(_numbers, statement=listed, last=last))
            if not found:
                break
            parts.append(np.asarray(found, dtype=np.int64))
            last = int(found[-1])
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def close(self) -> None:
        with self._lock:
            engine, self._engine, self._closed = self._engine, None, True
        if engine is not None:
            engine.dispose()

    # -- writing ---------------------------------------------------------------------------------------------------

    def _check_width(self, width: int) -> None:
        if width > DIMENSIONS_MAX:
            raise VectorsRefused(
                f"The embedding's vectors have {width:,} numbers, and pgvector indexes {DIMENSIONS_MAX:,} at most. "
                "Take a Chroma server for them (`vectors.address: http://…`), or an embedding with shorter ones."
            )

    def _put(self, connection: Connection, home: str, nums: list[int], rows: list[str], width: int | None) -> None:
        """Add vectors; with a `width`, first make sure of a table for vectors of that length."""
        place, table = self._place(connection), table_of(home)
        # What is lost with the server is what was not noted in the record either: that commits later, and waits.
        connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
        if width is not None:
            self._see_table(connection, home, place, width)
        connection.execute(
            text(
                f"INSERT INTO {table} (num, vector) SELECT given.num, CAST(given.said AS {place.schema}.halfvec) "
                "FROM unnest(CAST(:nums AS bigint[]), CAST(:rows AS text[])) given (num, said) ORDER BY given.num "
                "ON CONFLICT (num) DO UPDATE SET vector = excluded.vector"
            ),
            {"nums": nums, "rows": rows},
        )

    def _see_table(self, connection: Connection, home: str, place: Extension, width: int) -> None:
        table = table_of(home)
        noted = connection.execute(
            text(f"SELECT dimension FROM {CATALOGUE} WHERE home = :home FOR UPDATE"), {"home": home}
        ).first()
        if noted is None:
            raise CollectionLost(f"{self.called} has no collection {home}.")
        if noted[0] is not None:
            if noted[0] != width:
                raise CollectionLost(f"The collection {home} holds vectors of {noted[0]} numbers, not {width}.")
            return
        make_table(connection, table, place, width)
        connection.execute(
            text(f"UPDATE {CATALOGUE} SET dimension = :width WHERE home = :home"), {"width": width, "home": home}
        )

    # -- asking ----------------------------------------------------------------------------------------------------

    def _place(self, connection: Connection) -> Extension:
        """Return the extension; ask for it once."""
        if self._extension is None:
            found = _extension(connection)
            if found is None:
                raise VectorsRefused(
                    f"{self.name} has no pgvector any more. Run CREATE EXTENSION vector there as a superuser."
                )
            self._extension = found
        return self._extension

    def _opened(self) -> Engine:
        with self._lock:
            if self._closed:
                raise VectorsAway(f"{self.called} is not asked any more: it was closed.")
            if self._engine is None:
                self._engine = open_postgres(
                    self._url, pool_size=CONNECTIONS, pool_timeout_s=1.0, connect_timeout_s=CONNECT_S
                )
            return self._engine

    def _asked(self, call: Callable[[Connection], T], seconds: float = math.inf) -> T:
        """Run a call in a transaction and return its result; repeat it once if its connection was lost."""

        def called(limit_s: float) -> T:
            end = time.monotonic() + limit_s
            if not self._free.acquire(timeout=max(0.0, limit_s)):
                raise VectorsLate(f"{self.called} did not answer in time: {CONNECTIONS} requests are under way.")
            try:
                with within(limit_s):
                    engine = self._opened()
                    try:
                        return _in_transaction(engine, call, end)
                    except SQLAlchemyError as e:
                        if not is_lost(e) or time.monotonic() >= end:
                            raise
                        one_was_lost(engine)
                        return _in_transaction(engine, call, end)
            except SQLAlchemyError as e:
                if is_lost(e) and time.monotonic() >= end:
                    raise VectorsLate(f"{self.called} did not answer in time.") from e
                raise
            finally:
                self._free.release()

        return self._ask(called, seconds)

    def _met(self, error: BaseException) -> IndexUnavailable:
        if isinstance(error, VectorsAway | VectorsRefused | CollectionLost):
            return error
        code = sqlstate(error)
        if code in _LATE or isinstance(error, PoolTimeout):
            return VectorsLate(f"{self.called} did not answer in time.")
        said = words_of(error, self._url) if is_ours(error) else str(error)
        if code in _LOST:
            return CollectionLost(f"{self.called} cannot use a collection ({said}).")
        if code in _REFUSED:
            self._extension = None  # it may come back elsewhere
            hint = f" {_RIGHTS}" if code == _NO_RIGHT else ""
            return VectorsRefused(f"{self.called} does not do what it is asked ({said}).{hint}")
        return VectorsAway(f"{self.called} cannot be reached, or fails ({said}).")


def _in_transaction(engine: Engine, call: Callable[[Connection], T], end: float) -> T:
    with engine.begin() as connection:
        left_ms = 1e3 * SERVER_SHARE * (end - time.monotonic())
        if left_ms != math.inf:
            connection.execute(text(_SETTINGS), {"ms": str(max(1, int(left_ms)))})
        return call(connection)


def _extension(connection: Connection) -> Extension | None:
    found = connection.execute(
        text(
            "SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n "
            f"ON n.oid = e.extnamespace WHERE e.extname = '{EXTENSION}'"
        )
    ).first()
    if found is None:
        return None
    numbers = [int(part) for part in str(found[0]).split(".")[:2] if part.isdecimal()]
    return Extension(version=(numbers[0], numbers[1]) if len(numbers) == 2 else (0, 0), schema=str(found[1]))


def _create_extension(connection: Connection) -> None:
    """Create the extension, in `public` if allowed: the schema of one store may be dropped with all in it."""
    public = connection.execute(
        text("SELECT coalesce(has_schema_privilege(to_regnamespace('public'), 'CREATE'), false)")
    ).scalar()
    try:
        with connection.begin_nested():
            where = " SCHEMA public" if public else ""
            connection.exec_driver_sql(f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}{where}")
    except SQLAlchemyError as e:
        if sqlstate(e) not in _RACED:
            raise


def _searching(place: Extension) -> str:
    """Return the statement that sets a search's settings, for one transaction."""
    settings = "SELECT set_config('hnsw.ef_search', :ef, true), set_config('jit', 'off', true)"
    return (
        settings
        if place.version < ITERATIVE
        else f"{settings}, set_config('hnsw.iterative_scan', 'strict_order', true)"
    )


def _numbers(connection: Connection, statement: TextClause, last: int) -> Sequence[int]:
    return connection.execute(statement, {"last": last}).scalars().all()


def _delete(connection: Connection, table: str, nums: list[int]) -> None:
    connection.exec_driver_sql("SET LOCAL synchronous_commit = off")
    connection.execute(text(f"DELETE FROM {table} WHERE num = ANY(CAST(:nums AS bigint[]))"), {"nums": nums})


def _written(vector: NDArray[np.float32]) -> str:
    """Write a vector as text for pgvector, exact to every float16."""
    return f"[{','.join(map(repr, vector.tolist()))}]"
