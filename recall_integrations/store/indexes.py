"""The semantic index: the vectors of memories, in SQL and, of large scopes, in collections.

Most writes commit memories with their vectors. The journal tells which memories lack theirs: those written while the
embedding failed. A rebuild of collections begins with empty ones, and notes how far each has come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, func, select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.schema import tenant_of
from recall_integrations.database.sending import in_parts, insert_rows, writing
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, IndexUnavailable
from recall_integrations.privacy.door import told
from recall_integrations.resilience.failures import failures
from recall_integrations.store import chroma_files, journal
from recall_integrations.store.asking import NotYet, Vectors
from recall_integrations.store.collections import Collections, Progress
from recall_integrations.store.directory import Held
from recall_integrations.store.journal import SEMANTIC, Change
from recall_integrations.store.rows import count_all
from recall_integrations.types import indexed_text

logger = logging.getLogger("recall_integrations")

BATCH = 2_000
PROBE = "Is the embedding there?"
Note = Callable[[str], None]
_Row: TypeAlias = "Row[Any, Any, Any, Any]"


class Indexes:
    """The semantic index of one store. Writes are serialised by the store's write lock.

    `collections`: makes the collections of large scopes, given the receiver of notices.
    """

    def __init__(self, held: Held, embedding: Embedding, *, collections: Callable[[Note], Collections]) -> None:
        self._engine, self._directory, self._keeps = held.engine, held.path, held.keeps
        self.embedding = embedding
        self.notices: list[str] = []
        self.collections = collections(self.note)
        self.home_of, self.home_until = self.collections.home_of, self.collections.home_until
        self.settle, self.ready = self.collections.settle, self.collections.ready
        self.close = self.collections.close
        self.lag: dict[str, int] = {SEMANTIC: 0}  # changes whose vectors are not made, by the name of the index

    def open(self, vectors: Vectors | None = None) -> None:
        """Open the collections, and catch up with the journal (`vectors`: see `catch_up`) if nobody else does."""
        self.lag = self._behind()
        keeps = self._keeps()
        if keeps:
            chroma_files.sweep_epochs(self._directory, chroma_files.FORMER, [])
            if self.collections.shared:  # files from before there was a server
                chroma_files.sweep_epochs(self._directory, SEMANTIC, [])
        if keeps or self.collections.shared:
            self.collections.open()
        if keeps and self.lag[SEMANTIC]:
            self.catch_up(vectors)

    @property
    def neighbours(self) -> Collections:
        """The collections of large scopes. Files are checked first: damage shows before how far they reach is asked."""
        self.collections.look()
        return self.collections

    # -- following the journal -------------------------------------------------------------------------------------

    def others_wrote(self, scopes: Iterable[int], lag: int) -> None:
        """Register the commits of other processes: the scopes, and how many changes of all lack their vectors."""
        self.lag = {SEMANTIC: lag}
        if written := set(scopes):
            self.vectors_written(written)

    def catch_up(self, vectors: Vectors | None = None) -> set[int]:
        """Make the vectors of the changes that lack them. Where that fails, `lag` counts them, and a notice tells.

        With `vectors` the embedding is not asked: the index comes as far as they reach.

        Return the scopes that got vectors.
        """
        embedded = set[int]()
        try:
            with self._engine.connect() as connection:
                cursor = journal.cursors(connection).get(SEMANTIC, 0)
            while batch := journal.pending(self._engine, cursor, BATCH):
                cursor = batch[-1].seq
                embedded |= self._apply(vectors, batch)
        except NotYet:
            pass
        except (IndexUnavailable, EmbeddingError, SQLAlchemyError, OSError) as e:
            self.note(f"The {SEMANTIC} index is behind and will be caught up at the next write or open: {e}")
        self.lag = self._behind()
        return embedded

    def unembedded(self) -> list[str]:
        """List the texts of the next changes that the semantic index has not applied."""
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(SEMANTIC, 0)
        return [c.content for c in journal.pending(self._engine, cursor, BATCH) if c.content is not None]

    def _apply(self, given: Vectors | None, batch: list[Change]) -> set[int]:
        puts = [c for c in batch if c.content is not None]
        if tenant_of(self._engine) is not None:  # another tenant's missing vector may hold its cursor back
            with self._engine.connect() as connection:
                there = journal.embedded(connection, puts)
            puts = [c for c in puts if c.num not in there]
        texts = [c.content or "" for c in puts]
        vectors = self.embed(texts) if given is None else given.of(texts)
        with writing(self._engine) as connection:
            v = schema.vectors
            for part in in_parts(puts):
                mine = v.c.scope_id.in_({c.scope_id for c in part})
                connection.execute(v.delete().where(mine, v.c.num.in_([c.num for c in part])))
            insert_rows(connection, schema.vectors, vector_rows(puts, vectors))
            journal.move(connection, SEMANTIC, batch[-1].seq)
        self.vectors_written({c.scope_id for c in batch})
        return {c.scope_id for c in puts}

    def vectors_written(self, scope_ids: set[int]) -> None:
        """Tell the collections of written vectors and removed memories, where this process may fill them."""
        if self.collections.shared or self._keeps():
            self.collections.follow(scope_ids)

    def embed(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        """Make a vector per text. A text that fails where others succeed gets none, and does not block the rest."""
        if not texts:
            return []
        try:
            return list(self._vectors(texts))
        except EmbeddingError:
            if len(texts) == 1:
                raise
        self._vectors([PROBE])  # if nothing works, raise here instead of once per text
        vectors: list[NDArray[np.float32] | None] = []
        failed: EmbeddingError | None = None
        for text in texts:
            try:
                vectors.append(self._vectors([text])[0])
            except EmbeddingError as e:  # noqa: PERF203 - each text is a call of a model
                failed = e
                vectors.append(None)
        if all(v is None for v in vectors):
            assert failed is not None
            raise failed
        if failed is not None:  # else the embedding recovered midway
            self.note(f"{sum(v is None for v in vectors)} of {len(texts)} texts could not be embedded: {failed}")
        return vectors

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Make vectors, and check them: the embedding may be any object, and raise or return anything."""
        try:
            matrix = np.asarray(self.embedding.embed_documents(texts), dtype=np.float32)
        except EmbeddingError:
            raise
        except failures() as e:
            raise EmbeddingError(f"The embedding raised {type(e).__name__}: {e}") from e
        if matrix.shape != (len(texts), self.embedding.dimensions) or not np.isfinite(matrix).all():
            raise EmbeddingError(
                f"The embedding must return finite numbers of shape ({len(texts)}, {self.embedding.dimensions}), "
                f"but returned shape {matrix.shape}."
            )
        return matrix

    # -- rebuilding ------------------------------------------------------------------------------------------------

    def rebuild(self, *, embed: bool = False, progress: Progress | None = None) -> None:
        """Make the collections anew from the store. `embed=True` also makes every vector anew (another embedding)."""
        if embed:
            self._embed_all(progress)
        with writing(self._engine) as connection:
            vectors = connection.execute(select(func.count()).select_from(schema.vectors)).scalar_one()
            if embed or vectors >= count_all(connection):
                journal.move(connection, SEMANTIC, journal.last_seq(connection))
        self.collections.rebuild(progress)
        self.lag = self._behind()

    def _embed_all(self, progress: Progress | None) -> None:
        m, v = schema.memories.c, schema.vectors
        last, done = 0, 0
        with self._engine.connect() as connection:
            total = count_all(connection)
        query = select(m.num, m.scope_id, m.text, m.actor).order_by(m.num).limit(BATCH)
        while True:
            with self._engine.connect() as connection:
                rows = connection.execute(query.where(m.num > last)).all()
            if not rows:
                return
            found = self.embed([indexed_text(r.text, r.actor) for r in rows])
            with writing(self._engine) as connection:
                for row in rows:
                    connection.execute(v.delete().where(v.c.scope_id == row.scope_id, v.c.num == row.num))
                insert_rows(connection, v, vector_rows(rows, found))
            last = rows[-1].num
            done += len(rows)
            if progress is not None:
                progress("embedding", done, total)

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    def behind(self, scope_id: int) -> dict[str, int]:
        """Count the changes of a scope that the index lacks, under its name; empty if it lacks none."""
        if not self.lag[SEMANTIC]:
            return {}
        with self._engine.connect() as connection:
            at = journal.cursors(connection).get(SEMANTIC, 0)
            pending = journal.count_after(connection, at, scope_id)
            if tenant_of(connection) is not None and pending:
                pending = journal.unembedded(connection, at, scope_id)
        return {SEMANTIC: pending} if pending else {}

    def _behind(self) -> dict[str, int]:
        with self._engine.connect() as connection:
            return {SEMANTIC: journal.last_seq(connection) - journal.cursors(connection).get(SEMANTIC, 0)}

    def note(self, message: str) -> None:
        message = told(message)
        logger.warning(message)
        self.notices.append(message)
        del self.notices[:-100]


def vector_rows(
    puts: Iterable[Change | _Row], vectors: Iterable[NDArray[np.float32] | None]
) -> list[dict[str, object]]:
    """Make rows of the table `vectors`; none for a memory without a vector."""
    return [
        {"scope_id": put.scope_id, "num": put.num, "vector": vector.astype("<f2").tobytes()}
        for put, vector in zip(puts, vectors, strict=True)
        if vector is not None
    ]
