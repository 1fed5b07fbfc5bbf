"""Whether a collection holds what the record says of it: history, numbers, and what a search finds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from recall_integrations.database import schema
from recall_integrations.errors import VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import CollectionLost, CollectionServer, CollectionStrange, Seen, finds_itself
from recall_integrations.store import journal
from recall_integrations.store.homes import Home
from recall_integrations.store.journal import Point
from recall_integrations.store.slices import wanted

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
