"""The indexes derived from the memories of a store: words in tantivy, vectors in SQL and, of large scopes, Chroma.

A rebuild of tantivy fills a new directory beside the old one and switches to it in one SQL transaction, so a crash
leaves the old state in force. A rebuild of collections begins with empty ones, and notes how far each has come.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, func, select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.connections import translated
from recall_integrations.database.meta import get_meta, tenant_of
from recall_integrations.database.portable import in_parts
from recall_integrations.database.sending import insert_rows
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, IndexUnavailable, RecallError, StoreClosed
from recall_integrations.indexes import word_rows
from recall_integrations.indexes.words import LexicalIndex, Put, WordIndex, damaged
from recall_integrations.privacy.door import told
from recall_integrations.resilience.failures import failures
from recall_integrations.store import index_files, journal
from recall_integrations.store.asking import NotYet, Vectors
from recall_integrations.store.collections import Collections, Progress
from recall_integrations.store.directory import Held
from recall_integrations.store.filling import Filling
from recall_integrations.store.journal import LEXICAL, SEMANTIC, Change
from recall_integrations.store.record_words import RecordWords
from recall_integrations.store.rows import count_all
from recall_integrations.text import language_of
from recall_integrations.types import indexed_text

logger = logging.getLogger("recall_integrations")

BATCH = 2_000
OWED_MAX = 20_000  # changes from which on a write brings them to the lexical index itself
OWED_S = 3.0  # since the first of them, for which their thread waits for quiet
CLOSE_S = 0.05  # for the turn to write: a store that nobody closed may go while another one of this process opens
PROBE = "Is the embedding there?"
Note = Callable[[str], None]
_Row: TypeAlias = "Row[Any, Any, Any, Any]"


class Indexes:
    """Lexical and semantic index of one store directory. Writes are serialised by the store's write lock.

    `collections`: makes the collections of large scopes, given the receiver of notices. `state`: another number when
    anything was committed.
    """

    def __init__(
        self,
        held: Held,
        embedding: Embedding,
        *,
        collections: Callable[[Note], Collections],
        state: Callable[[], int] = lambda: 0,
    ) -> None:
        self._held, self._engine, self._directory, self._write_lock = held, held.engine, held.path, held.turn
        self._keeps, self._state = held.keeps, state
        self.embedding = embedding
        self.notices: list[str] = []
        self._read: tuple[int, WordIndex] | None = None  # what is asked where another process keeps the index
        self.collections = collections(self.note)
        self.home_of, self.home_until = self.collections.home_of, self.collections.home_until
        self.settle, self.ready = self.collections.settle, self.collections.ready
        self._lexical: LexicalIndex | None = None
        self._open_lock = threading.RLock()  # taken after the store's write lock
        self._written = False  # whether the lexical index was written since it was opened
        self._sealed: dict[str, index_files.Entry] = {}
        self.lag: dict[str, int] = {LEXICAL: 0, SEMANTIC: 0}
        self._embedded: set[int] = set()
        self._closed = False
        self.owed = 0  # changes that the lexical index lacks: memories are found in columns, so they may wait
        self.owner: Callable[[], object | None] | None = None  # the store; without one, no change waits
        self._later = Filling(self._apply_later, self._could_not, most_s=OWED_S)
        self._replaying = True  # until the journal was followed to its end: changes may be applied already
        self._replay = True

    # -- opening ---------------------------------------------------------------------------------------------------

    def open(self, vectors: Vectors | None = None) -> None:
        """Open the quick parts, catch up with the journal (`vectors`: see `catch_up`), and repair damage."""
        if not self._keeps():
            self._replaying = False
            self.lag = self._behind()
            if self.collections.shared:
                self.collections.open()
            return
        self._read = None
        self._sweep()
        brought = not self._path(LEXICAL).exists() and self._just_moved()
        count = self._memory_count()
        behind = self._behind()
        try:
            self._check_seal()
            index = self._lexical = LexicalIndex(self._path(LEXICAL))
            applied = count if not behind[LEXICAL] else self._applied()
            if index.count < applied or (index.count != count and not behind[LEXICAL]):
                raise IndexUnavailable(f"The lexical index holds {index.count:,} memories, the store {count:,}.")
            self._check_history()
        except IndexUnavailable as e:
            if not brought:
                self.note(f"{e} It is rebuilt from the store.")
            self._lexical = None
            try:
                self.rebuild(LEXICAL)
            except (IndexUnavailable, OSError) as failure:  # no space, say: recall goes on without this arm
                self._lexical = None
                self.note(f"The lexical index could not be rebuilt: {failure}")
        if self.collections.shared:  # files from before there was a server
            index_files.sweep_epochs(self._directory, SEMANTIC, [])
        self.collections.open()
        if any(behind.values()):
            self.catch_up(vectors=vectors)
        else:
            self._replaying = False

    @property
    def lexical(self) -> WordIndex:
        """The lexical index, with all earlier commits; where another process keeps it, it is a moment behind."""
        if self._keeps():
            self.apply_owed()
            return self._open_lexical()
        with self._open_lock:
            state, known = self._state(), self._read
            if known is None or known[0] != state:
                self._read = known = state, self._of_another()
            return known[1]

    def _of_another(self) -> WordIndex:
        """Read the index of the process that keeps it again; in PostgreSQL there is none, and the record is read."""
        if self._held.own_indexes:
            return RecordWords(self._engine)
        path = self._path(LEXICAL)
        if self._lexical is None or self._lexical.path != path:
            self._lexical = LexicalIndex(path)
        else:
            self._lexical.refresh()
        return self._lexical

    def _open_lexical(self) -> LexicalIndex:
        if self._lexical is None:
            raise IndexUnavailable("The lexical index is not open. Run `recall reindex STORE`.")
        return self._lexical

    @property
    def neighbours(self) -> Collections:
        """The collections of large scopes. Files are checked first: damage shows before how far they reach is asked."""
        self.collections.look()
        return self.collections

    def _just_moved(self) -> bool:
        """Say whether the rows were brought here from another place (`store/moving.py`), and none was written since."""
        with self._engine.connect() as connection:
            noted = get_meta(connection, journal.MOVED)
            return noted is not None and bool(json.loads(noted)["at"] == journal.last_seq(connection))

    def _check_seal(self) -> None:
        path = self._path(LEXICAL)
        problem, self._sealed = index_files.broken_seal(path)
        if problem is None and not self._sealed and path.is_dir():
            problem = damaged(path) and damaged(path) if any(path.glob("*.idx")) else None  # seen twice
        if problem is not None:
            raise IndexUnavailable(f"The lexical index is damaged: {problem}.")

    def _check_history(self) -> None:
        """Raise `IndexUnavailable` unless the index was made from this database in its present history."""
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(LEXICAL, 0)
            problem = journal.foreign(connection, cursor, journal.noted_point(self._path(LEXICAL)))
        if problem is not None:
            raise IndexUnavailable(f"The lexical index is of another history: {problem}.")

    def _applied(self) -> int:
        """Count the memories that the lexical index must hold: those at or before its cursor."""
        m = schema.memories.c
        with self._engine.connect() as connection:
            query = select(func.count(m.num)).where(m.num <= journal.cursors(connection).get(LEXICAL, 0))
            return int(connection.execute(query).scalar_one())

    def close(self, *, sealed: bool = True) -> None:
        """Release both indexes, and seal those that were closed in order."""
        self._later.stop(0.0)
        if sealed and self.owed and self._write_lock.acquire(timeout=CLOSE_S):
            try:
                self.apply_owed()
            except RecallError as e:
                logger.warning("The lexical index could not be brought up to date before the end: %s", told(e))
            finally:
                self._write_lock.release()
        self._closed = True
        self.collections.close(sealed=sealed)
        with self._open_lock:
            if self._lexical is not None and _closed(self._lexical) and sealed and self._keeps():
                try:
                    index_files.seal(self._path(LEXICAL), self._sealed)
                except (OSError, SQLAlchemyError) as e:
                    logger.warning("The lexical index could not be sealed: %s", told(e))
            self._lexical = None

    # -- following the journal -------------------------------------------------------------------------------------

    @property
    def may_wait(self) -> bool:
        """True if the lexical index need not have a commit, with its vectors, when its write returns."""
        if not self._keeps():
            return not self.lag[SEMANTIC]
        waits = self.owner is not None and not self._later.halted
        return waits and self._lexical is not None and not any(self.lag.values())

    def owe(self, changes: int) -> None:
        """Apply so many changes to the lexical index later. `may_wait` is true; the caller holds the write lock."""
        if not self._keeps():
            return
        self.owed += changes
        self._later.wake()
        if self.owed > OWED_MAX:
            self.catch_up()

    def others_wrote(self, scopes: Iterable[int], changes: int, lag: int) -> None:
        """Register the commits of other processes: how many changes, and how many of all lack their vectors."""
        self.lag = {**self.lag, SEMANTIC: lag}
        written = set(scopes)
        if not written:
            return
        self.vectors_written(written)
        if self._keeps():
            self.owed += changes
            self._later.wake()

    def keep(self, vectors: Vectors | None = None) -> None:
        """Keep the indexes from now on, since the process that kept them is gone; under the write lock."""
        self.let_go()
        self._replaying = self._replay = True
        self.open(vectors)

    def let_go(self) -> None:
        """Leave the indexes to another process: this one could not open them."""
        self._lexical = self._read = None
        self._replaying = False

    def apply_owed(self) -> None:
        """Apply owed changes to the lexical index. Callers of the index call this first."""
        if not self.owed or self._closed:
            return
        with self._write_lock:
            if self.owed and not self._closed:
                with translated(self._held.mapped):
                    self.catch_up()

    def _apply_later(self) -> bool:
        owner = None if self.owner is None else self.owner()
        if owner is not None:  # kept alive meanwhile; releasing it may close the store, so no lock may be held
            self.apply_owed()
        return False

    @staticmethod
    def _could_not(error: BaseException) -> None:
        if not isinstance(error, StoreClosed):  # closing the store applied the changes, or the next open does
            logger.warning("The lexical index could not be brought up to date, and will be later: %s", told(error))

    def catch_up(self, progress: Progress | None = None, vectors: Vectors | None = None) -> set[int]:
        """Apply the journal beyond each cursor. An index that fails stays behind and is named in `lag`.

        With `vectors` the embedding is not asked: the semantic index comes as far as they reach.

        Return the scopes that got vectors.
        """
        self._embedded = set()
        failed = False
        # Until the end is reached, a change may be applied without its cursor having moved, whatever interrupts this.
        self._replay, self._replaying = self._replaying, True
        for name, apply in ((LEXICAL, self._apply_lexical), (SEMANTIC, partial(self._apply_semantic, vectors))):
            if name == LEXICAL and not self._keeps():
                continue
            try:
                self._follow(name, apply, progress)
            except NotYet:
                failed = True
            except (IndexUnavailable, EmbeddingError, SQLAlchemyError, OSError) as e:
                failed = True
                self.note(f"The {name} index is behind and will be caught up at the next write or open: {e}")
        self._replaying = failed
        self.lag = self._behind()
        self.owed = 0
        return self._embedded

    def _follow(self, name: str, apply: Callable[[list[Change]], None], progress: Progress | None) -> None:
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(name, 0)
            total = journal.last_seq(connection) - cursor
        done = 0
        while batch := journal.pending(self._engine, cursor, BATCH):
            cursor = batch[-1].seq
            apply(batch)
            done += len(batch)
            if progress is not None:
                progress(name, done, total)

    def _apply_lexical(self, batch: list[Change]) -> None:
        journal.note_point(self._path(LEXICAL), journal.Point(batch[-1].seq, batch[-1].digest))
        written: dict[int, list[int]] = {}
        for c in batch:
            if c.text is not None:
                written.setdefault(c.scope_id, []).append(c.num)
        stems: dict[int, list[str]] = {}
        with self._engine.connect() as connection:
            for scope_id, nums in written.items():
                stems |= word_rows.stems_in(connection, scope_id, nums)
        puts = [Put(c.scope_id, c.num, c.content, c.language, stems.get(c.num)) for c in batch if c.text is not None]
        if not self._written:
            index_files.unseal(self._path(LEXICAL))
            self._written = True
        index = self._open_lexical()
        index.apply(puts, [c.num for c in batch if c.op == "del"], replay=self._replay)
        with self._engine.begin() as connection:
            journal.move(connection, LEXICAL, batch[-1].seq)

    def unembedded(self) -> list[str]:
        """List the texts of the next changes that the semantic index has not applied."""
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(SEMANTIC, 0)
        return [c.content for c in journal.pending(self._engine, cursor, BATCH) if c.content is not None]

    def _apply_semantic(self, given: Vectors | None, batch: list[Change]) -> None:
        puts = [c for c in batch if c.content is not None]
        if tenant_of(self._engine) is not None:  # another tenant's missing vector may hold its cursor back
            with self._engine.connect() as connection:
                there = journal.embedded(connection, puts)
            puts = [c for c in puts if c.num not in there]
        texts = [c.content or "" for c in puts]
        vectors = self.embed(texts) if given is None else given.of(texts)
        with self._engine.begin() as connection:
            v = schema.vectors
            for part in in_parts(puts):
                mine = v.c.scope_id.in_({c.scope_id for c in part})
                connection.execute(v.delete().where(mine, v.c.num.in_([c.num for c in part])))
            insert_rows(connection, schema.vectors, vector_rows(puts, vectors))
            journal.move(connection, SEMANTIC, batch[-1].seq)
        self._embedded.update(c.scope_id for c in puts)
        self.vectors_written({c.scope_id for c in batch})

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

    def rebuild(self, name: str, *, embed: bool = False, progress: Progress | None = None) -> None:
        """Make an index anew from the store. `embed=True` also makes every vector anew (another embedding)."""
        self.apply_owed()  # else the index would count as behind
        with self._open_lock:
            if name == LEXICAL:
                self._rebuild_lexical(progress)
            else:
                self._rebuild_semantic(embed, progress)
            self.lag = self._behind()
            self._sweep()

    def _rebuild_lexical(self, progress: Progress | None) -> None:
        with self._engine.connect() as connection:
            head = journal.last_seq(connection)
            reached = journal.point(connection, head)
            path = self._directory / f"{LEXICAL}.{index_files.epoch_of(connection, LEXICAL) + 1}"
        index_files.remove_path(path)
        fresh = LexicalIndex(path)
        for rows in self._memories(LEXICAL, progress):
            fresh.apply([Put(r.scope_id, r.num, indexed_text(r.text, r.actor), language_of(r.text)) for r in rows], [])
        old, self._lexical = self._lexical, fresh
        if old is not None:
            _closed(old)
        self._sealed = {}
        if reached is not None:
            journal.note_point(path, reached)
        with self._engine.begin() as connection:
            index_files.next_epoch(connection, LEXICAL)
            journal.move(connection, LEXICAL, head)

    def _rebuild_semantic(self, embed: bool, progress: Progress | None) -> None:
        if embed:
            self._embed_all(progress)
        with self._engine.begin() as connection:
            vectors = connection.execute(select(func.count()).select_from(schema.vectors)).scalar_one()
            if embed or vectors >= count_all(connection):
                journal.move(connection, SEMANTIC, journal.last_seq(connection))
        self.collections.rebuild(progress)

    def _memories(self, what: str, progress: Progress | None) -> Iterator[Sequence[_Row]]:
        m = schema.memories.c
        last, done, total = 0, 0, self._memory_count()
        while True:
            query = select(m.num, m.scope_id, m.text, m.actor).where(m.num > last).order_by(m.num).limit(BATCH)
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            yield rows
            last = rows[-1].num
            done += len(rows)
            if progress is not None:
                progress(what, done, total)

    def _embed_all(self, progress: Progress | None) -> None:
        v = schema.vectors
        for rows in self._memories("embedding", progress):
            found = self.embed([indexed_text(r.text, r.actor) for r in rows])
            with self._engine.begin() as connection:
                for row in rows:
                    connection.execute(v.delete().where(v.c.scope_id == row.scope_id, v.c.num == row.num))
                insert_rows(connection, v, vector_rows(rows, found))

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    def _path(self, name: str) -> Path:
        with self._engine.connect() as connection:
            return self._directory / f"{name}.{index_files.epoch_of(connection, name)}"

    def _sweep(self) -> None:
        """Remove directories of other epochs: replaced indexes and rebuilds that did not finish."""
        index_files.sweep_epochs(self._directory, LEXICAL, [self._path(LEXICAL)])

    def _memory_count(self) -> int:
        with self._engine.connect() as connection:
            return count_all(connection)

    def behind(self, scope_id: int) -> dict[str, int]:
        """Count the changes of a scope that each index lacks; only indexes that lack some."""
        lags = [name for name, lag in self.lag.items() if lag]
        if not lags:
            return {}
        with self._engine.connect() as connection:
            at = journal.cursors(connection)
            pending = {name: journal.count_after(connection, at.get(name, 0), scope_id) for name in lags}
            if tenant_of(connection) is not None and pending.get(SEMANTIC):
                pending[SEMANTIC] = journal.unembedded(connection, at.get(SEMANTIC, 0), scope_id)
        return {name: count for name, count in pending.items() if count}

    def _behind(self) -> dict[str, int]:
        with self._engine.connect() as connection:
            head, at = journal.last_seq(connection), journal.cursors(connection)
        lag = {name: head - at.get(name, 0) for name in (LEXICAL, SEMANTIC)}
        return lag if self._keeps() else {**lag, LEXICAL: 0}  # it may be a moment behind

    def note(self, message: str) -> None:
        message = told(message)
        logger.warning(message)
        self.notices.append(message)
        del self.notices[:-100]


def _closed(index: LexicalIndex) -> bool:
    """Close an index; say whether that worked."""
    try:
        index.close()
    except IndexUnavailable as e:
        logger.warning(told(e))
        return False
    return True


def vector_rows(
    puts: Iterable[Change | _Row], vectors: Iterable[NDArray[np.float32] | None]
) -> list[dict[str, object]]:
    """Make rows of the table `vectors`; none for a memory without a vector."""
    return [
        {"scope_id": put.scope_id, "num": put.num, "vector": vector.astype("<f2").tobytes()}
        for put, vector in zip(puts, vectors, strict=True)
        if vector is not None
    ]
