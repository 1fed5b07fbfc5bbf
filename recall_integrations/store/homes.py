"""Collections of large scopes: their names, what SQL gives them, slice by slice, and whether they hold it.

A name is `<store>.<scope>.<embedding>.<random>`. The last part is random: a collection is never filled a second time
under the same name, so a process that asks for this name knows how it was made. In the name of one in files, `files`
stands for the store.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Row, func, select

from recall_integrations.database import schema
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.database.sending import in_parts
from recall_integrations.errors import VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import (
    NO_HOME,
    CollectionLost,
    CollectionServer,
    CollectionStrange,
    Labels,
    Seen,
    finds_itself,
)
from recall_integrations.records import record
from recall_integrations.store import journal
from recall_integrations.store.journal import SEMANTIC, Point

MEMORY_ID = "memory_id"  # in the metadata of a vector, where every scope is in Chroma
WITH_IDS = " with ids"  # after the fingerprint there: collections that carry ids have names of their own
FILES = "files"
STORE = "vectors_store"  # key in `meta`: the first part of the names
LEFT = "vectors_left"  # key in `meta`: collections that may still be there, and nobody needs any more
PARTS = 4


class Home(NamedTuple):
    """The collection of a scope, as the record has it."""

    name: str  # of the collection
    until: int  # the last change that it holds


NOTHING = Home(NO_HOME, 0)


class RecordLabels(Labels):
    """The scope of a collection and the memories of its vectors, read from the record."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of_collection(self, home: str) -> dict[str, str]:
        s = schema.scopes.c
        with self._engine.connect() as connection:
            query = select(s.user_id, s.agent_id, s.namespace).where(s.scope_id == scope_of(home))
            row = connection.execute(query).mappings().first()
        return {} if row is None else {str(key): str(value) for key, value in row.items()}

    def of_vectors(self, nums: Sequence[int]) -> list[dict[str, str]]:
        m = schema.memories.c
        with self._engine.connect() as connection:
            found = [connection.execute(select(m.num, m.id).where(m.num.in_(part))).all() for part in in_parts(nums)]
        ids = {row.num: row.id for part in found for row in part}
        return [{MEMORY_ID: ids.get(num, "")} for num in nums]  # "": it was removed meanwhile


def store_of(connection: Connection) -> str:
    """Return the name of the store on a server; made now if it has none yet."""
    found = get_meta(connection, STORE)
    if not found:
        found = secrets.token_hex(6)
        put_meta(connection, STORE, found)
    return found


def new(store: str, scope_id: int, fingerprint: str) -> str:
    """Make a name for a collection that does not exist yet."""
    return f"{store}.{scope_id}.{kind_of(fingerprint)}.{secrets.token_hex(3)}"


def kind_of(fingerprint: str) -> str:
    """Return the part of a name that stands for an embedding."""
    return hashlib.blake2b(fingerprint.encode(), digest_size=4).hexdigest()


def in_form(home: str) -> bool:
    """Say whether `home` is such a name; earlier versions called collections in files `scope-17`."""
    return home.count(".") == PARTS - 1


def in_files(home: str) -> bool:
    """Say whether a collection is in files, not on a server."""
    return store_part(home) == FILES


def scope_of(home: str) -> int:
    """Return the scope of a collection."""
    return int(home.split(".")[1])


def store_part(home: str) -> str:
    """Return the store of a collection."""
    return home.split(".", maxsplit=1)[0]


def fits(home: str, fingerprint: str, *, files: bool) -> bool:
    """Say whether a collection is in this place, and holds vectors of an embedding."""
    return in_form(home) and in_files(home) == files and home.split(".")[2] == kind_of(fingerprint)


def noted(connection: Connection, *, files: bool) -> dict[int, Home]:
    """Return the collection, in files or on a server, of each scope that has one, whatever it holds."""
    s = schema.scopes.c
    housed = select(s.scope_id, s.vector_home, s.vector_until).where(s.vector_home != NO_HOME).order_by(s.scope_id)
    found = {int(i): Home(str(home), int(until)) for i, home, until in connection.execute(housed)}
    return {i: home for i, home in found.items() if in_form(home.name) and in_files(home.name) == files}


def left(connection: Connection, *, files: bool) -> list[str]:
    """List the collections to remove, in files or on a server."""
    return [home for home in _left(connection) if in_files(home) == files]


def _left(connection: Connection) -> list[str]:
    try:
        found = json.loads(get_meta(connection, LEFT) or "[]")
    except ValueError:
        return []
    return [home for home in found if isinstance(home, str)] if isinstance(found, list) else []


def leave(connection: Connection, names: Iterable[str]) -> None:
    """Note, in the caller's transaction, that these collections are to be removed."""
    more = [home for home in names if in_form(home)]
    if more:
        put_meta(connection, LEFT, json.dumps(sorted({*_left(connection), *more})))


def removed(connection: Connection, names: Iterable[str]) -> None:
    """Note, in the caller's transaction, that these collections are removed."""
    if gone := set(names):
        put_meta(connection, LEFT, json.dumps(sorted(set(_left(connection)) - gone)))


@record(frozen=True, slots=True, kw_only=True)
class Slice:
    """The next part for a collection."""

    after: int
    upto: int
    nums: list[int]
    vectors: NDArray[np.float32]
    gone: list[int]  # nums to remove
    mark: Point | None  # a point of the journal beyond which the part holds nothing


def next_slice(engine: Engine, scope_id: int, after: int, limit: int) -> Slice | None:
    """Return the next part for the collection of a scope; `None` = it has everything."""
    c, v = schema.changes.c, schema.vectors.c
    with engine.connect() as connection:  # one snapshot
        cursor = upto = journal.cursors(connection).get(SEMANTIC, 0)
        removed: Sequence[Row[int, int]] = ()
        if after:
            query = select(c.seq, c.num).where(c.scope_id == scope_id, c.op == "del", c.seq > after, c.seq <= upto)
            removed = connection.execute(query.order_by(c.seq).limit(limit)).all()
            upto = removed[-1].seq if len(removed) == limit else upto
        new = select(v.num, v.vector).where(v.scope_id == scope_id, v.num > after, v.num <= upto)
        rows = connection.execute(new.order_by(v.num).limit(limit)).all()
        upto = rows[-1].num if len(rows) == limit else upto
        mark = journal.point(connection, cursor)
    gone = [row.num for row in removed if row.seq <= upto]
    if not rows and not gone:
        return None
    nums, vectors = stacked([(row.num, row.vector) for row in rows])
    return Slice(after=after, upto=upto, nums=nums, vectors=vectors, gone=gone, mark=mark)


def stacked(rows: list[tuple[int, bytes]]) -> tuple[list[int], NDArray[np.float32]]:
    """Return numbers and vectors; 0 for an unreadable vector, as in the columns: the doctor finds it."""
    lengths = [len(blob) if isinstance(blob, bytes) else 0 for _, blob in rows]
    width = max(set(lengths), key=lengths.count, default=0) // 2 * 2
    blank = bytes(width)
    joined = b"".join(blob if n == width else blank for (_, blob), n in zip(rows, lengths, strict=True))
    vectors = np.frombuffer(joined, dtype="<f2").reshape(len(rows), width // 2).astype(np.float32)
    vectors[~np.isfinite(vectors).all(axis=1)] = 0
    return [num for num, _ in rows], vectors


def wanted(engine: Engine, scope_id: int, until: int, samples: int) -> tuple[int, list[NDArray[np.float32]]]:
    """Count the vectors that a collection must hold, and read some, spread over the scope, but none of zeros."""
    v = schema.vectors.c
    with engine.connect() as connection:
        mine = (v.scope_id == scope_id) & (v.num <= until)
        low, high = connection.execute(select(func.min(v.num), func.max(v.num)).where(mine)).one()
        blobs: dict[int, bytes] = {}
        for i in range(samples if low is not None else 0):
            start = low + (high - low) * i // samples
            query = select(v.num, v.vector).where(mine, v.num >= start).order_by(v.num).limit(1)
            blobs.update({row[0]: row[1] for row in connection.execute(query)})
        count = int(connection.execute(select(func.count()).select_from(schema.vectors).where(mine)).scalar_one())
    _, vectors = stacked(list(blobs.items()))
    return count, [vector for vector in vectors if vector.any()]


def count_after(connection: Connection, scope_id: int, until: int) -> int:
    """Count the vectors that a collection lacks, which reaches up to a number."""
    v = schema.vectors.c
    query = select(func.count()).select_from(schema.vectors).where(v.scope_id == scope_id, v.num > until)
    return int(connection.execute(query).scalar_one())


SAMPLES = 16  # vectors that a collection has to find, but for an eighth: HNSW misses some


class Checks:
    """Comparisons of collections with the record."""

    def __init__(self, engine: Engine, server: CollectionServer) -> None:
        self._engine, self._server = engine, server
        self.proven: set[str] = set()  # collections of the record's history, since the server was last away

    def prove(self, home: str, seen: Seen, until: int | None = None) -> None:
        """Check that a collection is the one of the record."""
        with self._engine.connect() as connection:
            if until is None:
                noted = select(schema.scopes.c.vector_until).where(schema.scopes.c.vector_home == home)
                until = int(connection.execute(noted).scalar() or 0)
            problem = journal.foreign(connection, until, Point(seen.seq, seen.digest))
        if problem:
            raise CollectionStrange(f"The collection {home} is of another history: {problem}.")
        if until and seen.dimension is None:
            raise CollectionLost(f"The collection {home} is empty.")
        self.proven.add(home)

    def compare(self, scope_id: int, home: Home) -> bool:
        """Compare a collection with the record: history, length, numbers, and a search for its own vectors; say whether
        it holds more than the record."""
        seen = self._server.look(home.name)
        self.prove(home.name, seen)
        count, sample = wanted(self._engine, scope_id, home.until, SAMPLES)
        found, missed = self._server.count(home.name), 0
        if found < count:
            raise CollectionLost(f"The collection {home.name} holds {found:,} vectors, the store {count:,}.")
        for vector in sample:
            if seen.dimension != len(vector):
                raise CollectionLost(
                    f"The collection {home.name} holds vectors of {seen.dimension} numbers, the store of {len(vector)}."
                )
            _, cosines = self._asked_itself(home.name, vector)
            missed += not finds_itself(cosines)
        if missed > len(sample) // 8:
            raise CollectionLost(f"The collection {home.name} does not find {missed} of {len(sample)} of its vectors.")
        return found > count

    def take_out(self, scope_id: int, home: str, until: int) -> None:
        """Remove vectors that the record does not have any more, also where the journal does not tell of that."""
        held, v = self._server.nums(home), schema.vectors.c
        with self._engine.connect() as connection:
            found = connection.execute(select(v.num).where(v.scope_id == scope_id)).scalars().all()
        standing = np.asarray(found, dtype=np.int64)
        lacks = len(np.setdiff1d(standing[standing <= until], held))
        if lacks:
            raise CollectionLost(f"The collection {home} lacks {lacks:,} vectors.")
        gone = np.setdiff1d(held, standing)
        if len(gone):
            self._server.apply(home, [], np.empty((0, 1), dtype=np.float32), gone.tolist())

    def _asked_itself(self, home: str, vector: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Search in a collection; one that fails on a server that works is damaged."""
        try:
            return self._server.nearest(home, vector, 1)
        except VectorsAway as e:
            try:
                self._server.check()
            except (VectorsAway, VectorsRefused):
                raise e from None
            raise CollectionLost(f"The collection {home} cannot be asked: {e}") from e
