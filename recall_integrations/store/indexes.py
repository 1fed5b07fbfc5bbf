"""The two derived indexes of a store: kept in step with the journal, rebuilt when they are damaged.

Each index lives in a directory named after its epoch (`lexical.3`). A rebuild fills a new directory beside the old one
and switches to it in one SQL transaction, so a crash during a rebuild leaves the old state in force.
"""

from __future__ import annotations

import logging
import shutil
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, Table, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.database.meta import put_meta
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, IndexUnavailable
from recall_integrations.indexes.vectors import SHARED, SemanticIndex, torn
from recall_integrations.indexes.words import LexicalIndex, Put, damaged
from recall_integrations.privacy.logs import told
from recall_integrations.resilience.failures import failures
from recall_integrations.store import history, journal, seal
from recall_integrations.store.ahead import NotYet, Vectors
from recall_integrations.store.journal import LEXICAL, SEMANTIC, Change
from recall_integrations.text import language_of
from recall_integrations.types import indexed_text

logger = logging.getLogger("recall_integrations")

BATCH = 2_000
PROBE = "Is the embedding there?"
SAMPLES = 16  # vectors of a large scope that are looked for when its index is opened
SELF_COSINE = 0.98  # float16 and HNSW cost little; what is found below is another memory
Progress = Callable[[str, int, int], None]  # (what, done, total)
Applied = Callable[[Sequence[Change] | None, int], None]  # (changes, commit of the lexical index)


class Indexes:
    """Lexical and semantic index of one store directory. Writes are serialised by the store's write lock.

    Args:
        applied: told what the lexical index has applied, each change once; `None` where that cannot be promised.
    """

    def __init__(
        self,
        engine: Engine,
        directory: Path,
        embedding: Embedding,
        *,
        exact_max: int,
        write_lock: threading.RLock,
        applied: Applied,
    ) -> None:
        self._engine = engine
        self._directory = directory
        self.embedding = embedding
        self.exact_max = exact_max
        self.notices: list[str] = []
        self._lexical: LexicalIndex | None = None
        self._semantic: SemanticIndex | None = None
        self._semantic_checked = False
        self._applied_lexical = applied
        self._write_lock = write_lock  # the store's: taken before `_open_lock`, by whoever may rebuild
        self._open_lock = threading.RLock()
        self._closed = False  # a late reader must not make an index anew where the store was
        self._written = False  # whether the lexical index was, since it was opened
        self._seals: dict[str, dict[str, seal.Entry]] = {}
        self.lag: dict[str, int] = {LEXICAL: 0, SEMANTIC: 0}
        self._homes: dict[int, str] = {}
        self._embedded: set[int] = set()
        self._replaying = True  # until the journal was followed to its end once: changes may have been applied before
        self._replay = True

    # -- opening ---------------------------------------------------------------------------------------------------

    def open(self, vectors: Vectors | None = None) -> None:
        """Open what is cheap to open, catch up with the journal (`vectors` as there), and repair what is damaged."""
        self._load_homes()
        self._sweep()
        count = self._memory_count()
        behind = self._behind()
        try:
            self._check_seal(LEXICAL)
            index = self._lexical = LexicalIndex(self._path(LEXICAL))
            applied = count if not behind[LEXICAL] else self._applied(schema.memories, LEXICAL)
            if index.count < applied or (index.count != count and not behind[LEXICAL]):
                raise IndexUnavailable(f"The lexical index holds {index.count:,} memories, the store {count:,}.")
            self._check_history(LEXICAL)
        except IndexUnavailable as e:
            self._note(f"{e} It is rebuilt from the store.")
            self._lexical = None
            try:
                self.rebuild(LEXICAL)
            except (IndexUnavailable, OSError) as failure:  # no space, say: recall goes on without this arm
                self._lexical = None
                self._note(f"The lexical index could not be rebuilt: {failure}")
        self._look_at_semantic()
        if any(behind.values()):
            self.catch_up(vectors=vectors)
        else:
            self._replaying = False

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical index."""
        if self._lexical is None:
            raise IndexUnavailable("The lexical index is not open. Run `recall reindex STORE`.")
        return self._lexical

    @property
    def semantic(self) -> SemanticIndex:
        """The semantic index, opened and checked on first use."""
        if self._closed:
            raise IndexUnavailable("The semantic index is closed.")
        if not self._semantic_checked or self._semantic is None:
            with self._write_lock, self._open_lock:  # a rebuild writes, so no writer may be half-way
                if not self._closed and (not self._semantic_checked or self._semantic is None):
                    self._open_semantic()
        index = self._semantic
        if index is None:
            raise IndexUnavailable("The semantic index is not open. Run `recall reindex STORE`.")
        return index

    def _open_semantic(self) -> None:
        path = self._path(SEMANTIC)
        try:
            seal.trying(path, True)
            seal.unseal(path)
            if (problem := torn(path)) is not None:
                raise IndexUnavailable(f"The semantic index is damaged: {problem}.")
            index = self._semantic = SemanticIndex(path)
            self._check_semantic(index)
            seal.trying(path, False)
        except (IndexUnavailable, OSError) as e:
            self._note(f"{e} It is rebuilt from the store.")
            if self._semantic is not None:
                self._quiet_close(self._semantic)
                self._semantic = None
            self.rebuild(SEMANTIC)
        self._semantic_checked = True

    def _look_at_semantic(self) -> None:
        """Notice at open what can be seen without loading Chroma."""
        applied = self._applied(schema.vectors, SEMANTIC)
        try:
            self._check_seal(SEMANTIC)
            if applied and not (self._path(SEMANTIC) / "chroma.sqlite3").is_file():
                raise IndexUnavailable(f"The semantic index is missing, the store holds {applied:,} vectors.")
            self._check_history(SEMANTIC)
        except IndexUnavailable as e:
            self._note(f"{e} It is rebuilt from the store.")
            try:
                self.rebuild(SEMANTIC)
            except (IndexUnavailable, OSError) as failure:
                self._note(f"The semantic index could not be rebuilt: {failure}")

    def _check_seal(self, name: str) -> None:
        problem, self._seals[name] = seal.broken(self._path(name))
        if name == LEXICAL and problem is None and not self._seals[name] and self._path(name).is_dir():
            problem = damaged(self._path(name)) if any(self._path(name).glob("*.idx")) else None
        if problem is not None:
            raise IndexUnavailable(f"The {name} index is damaged: {problem}.")

    def _check_history(self, name: str) -> None:
        """Whether it is this database that the index was made from, and not one that was there before or after it."""
        with self._engine.connect() as connection:
            problem = journal.foreign(connection, name, history.noted(self._path(name)))
        if problem is not None:
            raise IndexUnavailable(f"The {name} index is of another history: {problem}.")

    def _check_semantic(self, index: SemanticIndex) -> None:
        """Compare numbers, and let large scopes find some of their own vectors: Chroma counts lost ones too."""
        applied = self._applied(schema.vectors, SEMANTIC)
        found = index.count()
        if found < applied:
            raise IndexUnavailable(f"The semantic index holds {found:,} vectors, the store {applied:,}.")
        for scope_id, home in sorted(self._homes.items()):
            sample = self._sample(scope_id)
            missed = 0
            for vector in sample:
                _, cosines = index.nearest(home, vector, 1)
                missed += not len(cosines) or float(cosines[0]) < SELF_COSINE
            if missed > len(sample) // 8:
                raise IndexUnavailable(
                    f"The semantic index does not find {missed} of {len(sample)} of its own vectors."
                )

    def _sample(self, scope_id: int) -> list[NDArray[np.float32]]:
        """Some vectors that the index must hold, spread over the scope."""
        v = schema.vectors
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(SEMANTIC, 0)
            mine = (v.c.scope_id == scope_id) & (v.c.num <= cursor)
            low, high = connection.execute(select(func.min(v.c.num), func.max(v.c.num)).where(mine)).one()
            blobs: dict[int, bytes] = {}
            for i in range(SAMPLES if low is not None else 0):
                start = low + (high - low) * i // SAMPLES
                query = select(v.c.num, v.c.vector).where(mine, v.c.num >= start).order_by(v.c.num).limit(1)
                blobs.update({row[0]: row[1] for row in connection.execute(query)})
        vectors = [np.frombuffer(blob, dtype="<f2").astype(np.float32) for blob in blobs.values()]
        return [vector for vector in vectors if vector.any()]

    def _applied(self, table: Table, name: str) -> int:
        """Rows that the index must hold: those at or before its cursor."""
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(name, 0)
            query = select(func.count()).select_from(table).where(table.c.num <= cursor)
            return int(connection.execute(query).scalar_one())

    @property
    def loaded(self) -> bool:
        """Whether Chroma has been loaded."""
        return self._semantic is not None and self._semantic.opened

    def home_of(self, scope_id: int) -> str:
        """The Chroma collection that holds a scope's vectors."""
        return self._homes.get(scope_id, SHARED)

    def close(self, *, sealed: bool = True) -> None:
        """Release both indexes, and seal what was closed in order."""
        with self._open_lock:
            self._closed = True
            if self._lexical is not None and self._quiet_close(self._lexical) and sealed:
                self._seal(LEXICAL)
            checked = self._semantic is not None and self._semantic_checked
            if self._semantic is not None and self._quiet_close(self._semantic) and checked and sealed:
                self._seal(SEMANTIC)
            self._lexical = self._semantic = None

    def _seal(self, name: str) -> None:
        try:
            seal.seal(self._path(name), self._seals.get(name, {}))
        except (OSError, SQLAlchemyError) as e:
            logger.warning("The %s index could not be sealed: %s", name, told(e))

    @staticmethod
    def _quiet_close(index: LexicalIndex | SemanticIndex) -> bool:
        try:
            index.close()
        except IndexUnavailable as e:
            logger.warning(told(e))
            return False
        return True

    # -- following the journal -------------------------------------------------------------------------------------

    def catch_up(self, progress: Progress | None = None, vectors: Vectors | None = None) -> set[int]:
        """Apply what the journal holds beyond each cursor. An index that fails stays behind and is named in `lag`.

        With `vectors` the embedding is not asked: the semantic index is brought as far as they reach.

        Returns the scopes that got vectors.
        """
        self._embedded = set()
        failed = False
        # Until the end is reached, a change may be applied without its cursor having moved, whatever interrupts this.
        self._replay, self._replaying = self._replaying, True
        semantic = partial(self._apply_semantic, vectors)
        for name, apply in ((LEXICAL, self._apply_lexical), (SEMANTIC, semantic)):
            try:
                self._follow(name, apply, progress)
            except NotYet:  # noqa: PERF203 - two of them
                failed = True
            except (IndexUnavailable, EmbeddingError, SQLAlchemyError, OSError) as e:
                failed = True
                self._note(f"The {name} index is behind and will be caught up at the next write or open: {e}")
        self._replaying = failed
        self.lag = self._behind()
        return self._embedded

    def _follow(self, name: str, apply: Callable[[list[Change]], None], progress: Progress | None) -> None:
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(name, 0)
            total = journal.last_seq(connection) - cursor
        done = 0
        while batch := journal.pending(self._engine, cursor, BATCH):
            cursor = batch[-1].seq
            history.note(self._path(name), history.Point(cursor, batch[-1].digest))
            apply(batch)
            with self._engine.begin() as connection:
                journal.move(connection, name, cursor)
            done += len(batch)
            if progress is not None:
                progress(name, done, total)

    def _apply_lexical(self, batch: list[Change]) -> None:
        puts = [Put(c.scope_id, c.num, c.content, c.language) for c in batch if c.content is not None]
        if not self._written:
            seal.unseal(self._path(LEXICAL))
            self._written = True
        self.lexical.apply(puts, [c.num for c in batch if c.op == "del"], replay=self._replay)
        self._applied_lexical(None if self._replay else batch, self.lexical.commits)

    def unembedded(self) -> list[str]:
        """Texts of the next changes that the semantic index has not applied."""
        with self._engine.connect() as connection:
            cursor = journal.cursors(connection).get(SEMANTIC, 0)
        return [c.content for c in journal.pending(self._engine, cursor, BATCH) if c.content is not None]

    def _apply_semantic(self, given: Vectors | None, batch: list[Change]) -> None:
        puts = [c for c in batch if c.content is not None]
        texts = [c.content or "" for c in puts]
        vectors = self.embed(texts) if given is None else given.of(texts)
        rows = [
            {"scope_id": c.scope_id, "num": c.num, "vector": v.astype("<f2").tobytes()}
            for c, v in zip(puts, vectors, strict=True)
            if v is not None
        ]
        with self._engine.begin() as connection:
            replaced = [c.num for c in puts]
            for start in range(0, len(replaced), 500):
                part = replaced[start : start + 500]
                scope_ids = {c.scope_id for c in puts}
                connection.execute(
                    schema.vectors.delete().where(
                        schema.vectors.c.scope_id.in_(scope_ids), schema.vectors.c.num.in_(part)
                    )
                )
            if rows:
                connection.execute(insert(schema.vectors), rows)
        self._embedded.update(c.scope_id for c in puts)
        by_home: dict[str, tuple[list[int], list[NDArray[np.float32]], list[int]]] = defaultdict(lambda: ([], [], []))
        for change, vector in zip(puts, vectors, strict=True):
            if vector is not None:
                nums, arrays, _ = by_home[self.home_of(change.scope_id)]
                nums.append(change.num)
                arrays.append(vector)
        for change in batch:
            if change.op == "del":
                by_home[self.home_of(change.scope_id)][2].append(change.num)
        semantic = self.semantic
        for home, (nums, arrays, deletes) in sorted(by_home.items()):
            stacked = np.stack(arrays) if arrays else np.empty((0, self.embedding.dimensions), dtype=np.float32)
            semantic.apply(home, nums, stacked, deletes)
        self._promote({c.scope_id for c in batch})

    def embed(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        """A vector per text. A text that fails where others succeed gets none, so that it cannot block the rest."""
        if not texts:
            return []
        try:
            return list(self._vectors(texts))
        except EmbeddingError:
            if len(texts) == 1:
                raise
        self._vectors([PROBE])  # is it the texts, or does nothing work? Then do not ask once per text
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
        if failed is not None:  # else it came back midway
            self._note(f"{sum(v is None for v in vectors)} of {len(texts)} texts could not be embedded: {failed}")
        return vectors

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        """Vectors, checked: any object with the protocol may be the embedding, and raise or return what it likes."""
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

    def _promote(self, scope_ids: set[int]) -> None:
        """Give scopes that outgrew the shared collection one of their own."""
        for scope_id in sorted(scope_ids):
            if self.home_of(scope_id) != SHARED:
                continue
            with self._engine.connect() as connection:
                count = connection.execute(
                    select(schema.scopes.c.memories).where(schema.scopes.c.scope_id == scope_id)
                ).scalar()
            if (count or 0) <= self.exact_max:
                continue
            home = f"scope-{scope_id}"
            self.semantic.move(home, SHARED, self._vector_batches(scope_id))
            with self._engine.begin() as connection:
                connection.execute(
                    update(schema.scopes).where(schema.scopes.c.scope_id == scope_id).values(vector_home=home)
                )
            self._homes[scope_id] = home

    def _vector_batches(self, scope_id: int | None = None) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        v = schema.vectors
        last = 0
        while True:
            query = select(v.c.num, v.c.vector).where(v.c.num > last).order_by(v.c.num).limit(BATCH)
            if scope_id is not None:
                query = query.where(v.c.scope_id == scope_id)
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            last = rows[-1][0]
            array = np.frombuffer(b"".join(r[1] for r in rows), dtype="<f2").reshape(len(rows), -1)
            yield [r[0] for r in rows], array.astype(np.float32)

    # -- rebuilding ------------------------------------------------------------------------------------------------

    def rebuild(self, name: str, *, embed: bool = False, progress: Progress | None = None) -> None:
        """Make an index anew from the store. `embed=True` also makes every vector anew (another embedding)."""
        with self._open_lock:
            self._load_homes()
            epoch = self._epoch(name) + 1
            path = self._directory / f"{name}.{epoch}"
            _remove(path)
            with self._engine.connect() as connection:
                head = journal.last_seq(connection)
                reached = journal.point(connection, head)
            if name == LEXICAL:
                fresh = LexicalIndex(path)
                self._fill_lexical(fresh, progress)
                old_lexical, self._lexical = self._lexical, fresh
                if old_lexical is not None:
                    self._quiet_close(old_lexical)
                self._applied_lexical(None, fresh.commits)
            else:
                if embed:
                    self._embed_all(progress)
                built = SemanticIndex(path)
                self._fill_semantic(built, progress)
                old_semantic, self._semantic, self._semantic_checked = self._semantic, built, True
                if old_semantic is not None:
                    self._quiet_close(old_semantic)
            self._seals[name] = {}
            if reached is not None:
                history.note(path, reached)
            with self._engine.begin() as connection:
                put_meta(connection, f"{name}_epoch", str(epoch))
                if name == LEXICAL or embed or self._all_embedded():
                    journal.move(connection, name, head)
            self.lag = self._behind()
            self._sweep()

    def _fill_lexical(self, index: LexicalIndex, progress: Progress | None) -> None:
        m = schema.memories
        last, done, total = 0, 0, self._memory_count()
        while True:
            query = (
                select(m.c.num, m.c.scope_id, m.c.text, m.c.actor).where(m.c.num > last).order_by(m.c.num).limit(BATCH)
            )
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            last = rows[-1][0]
            index.apply([Put(r.scope_id, r.num, indexed_text(r.text, r.actor), language_of(r.text)) for r in rows], [])
            done += len(rows)
            if progress is not None:
                progress(LEXICAL, done, total)

    def _embed_all(self, progress: Progress | None) -> None:
        m, v = schema.memories, schema.vectors
        last, done, total = 0, 0, self._memory_count()
        while True:
            query = (
                select(m.c.num, m.c.scope_id, m.c.text, m.c.actor).where(m.c.num > last).order_by(m.c.num).limit(BATCH)
            )
            with self._engine.connect() as connection:
                rows = connection.execute(query).all()
            if not rows:
                return
            last = rows[-1][0]
            found = self.embed([indexed_text(r.text, r.actor) for r in rows])
            with self._engine.begin() as connection:
                for row, vector in zip(rows, found, strict=True):
                    connection.execute(v.delete().where(v.c.scope_id == row.scope_id, v.c.num == row.num))
                    if vector is not None:
                        blob = vector.astype("<f2").tobytes()
                        connection.execute(insert(v).values(scope_id=row.scope_id, num=row.num, vector=blob))
            done += len(rows)
            if progress is not None:
                progress("embedding", done, total)

    def embed_missing(self, missing: Sequence[tuple[int, int]], progress: Progress | None = None) -> int:
        """Make the vectors of memories that have none, given as scope and num; returns how many were made.

        The index gets them when it is rebuilt.

        Raises:
            EmbeddingError: none of them could be embedded.
        """
        m, made = schema.memories, 0
        for start in range(0, len(missing), BATCH):
            part = missing[start : start + BATCH]
            with self._engine.begin() as connection:
                query = select(m.c.scope_id, m.c.num, m.c.text, m.c.actor)
                rows = [
                    connection.execute(query.where(m.c.scope_id == scope_id, m.c.num == num)).one()
                    for scope_id, num in part
                ]
                for row, vector in zip(rows, self.embed([indexed_text(r.text, r.actor) for r in rows]), strict=True):
                    if vector is not None:
                        blob = vector.astype("<f2").tobytes()
                        values = {"scope_id": row.scope_id, "num": row.num, "vector": blob}
                        connection.execute(insert(schema.vectors).values(**values))
                        made += 1
            if progress is not None:
                progress("embedding", start + len(part), len(missing))
        return made

    def _fill_semantic(self, index: SemanticIndex, progress: Progress | None) -> None:
        with self._engine.connect() as connection:
            scope_ids = (
                connection.execute(select(schema.scopes.c.scope_id).order_by(schema.scopes.c.scope_id)).scalars().all()
            )
            total = connection.execute(select(func.count()).select_from(schema.vectors)).scalar_one()
        done = 0
        for scope_id in scope_ids:
            for nums, vectors in self._vector_batches(scope_id):
                index.apply(self.home_of(scope_id), nums, vectors, [])
                done += len(nums)
                if progress is not None:
                    progress(SEMANTIC, done, total)
        if not done:
            index.count()  # opens it, so that an empty index is a sound one

    # -- bookkeeping -----------------------------------------------------------------------------------------------

    def _epoch(self, name: str) -> int:
        with self._engine.connect() as connection:
            value = connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == f"{name}_epoch")).scalar()
        return int(value or 0)

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.{self._epoch(name)}"

    def _sweep(self) -> None:
        """Remove directories of other epochs: replaced indexes and rebuilds that did not finish."""
        for name in (LEXICAL, SEMANTIC):
            current = self._path(name)
            for path in self._directory.glob(f"{name}.*"):
                if path != current:
                    _remove(path)

    def _load_homes(self) -> None:
        with self._engine.connect() as connection:
            rows = connection.execute(
                select(schema.scopes.c.scope_id, schema.scopes.c.vector_home).where(
                    schema.scopes.c.vector_home != SHARED
                )
            )
            self._homes = {int(scope_id): str(home) for scope_id, home in rows}

    def _memory_count(self) -> int:
        with self._engine.connect() as connection:
            return int(connection.execute(select(func.coalesce(func.sum(schema.scopes.c.memories), 0))).scalar_one())

    def _all_embedded(self) -> bool:
        with self._engine.connect() as connection:
            vectors = connection.execute(select(func.count()).select_from(schema.vectors)).scalar_one()
        return int(vectors) >= self._memory_count()

    def behind(self, scope_id: int) -> dict[str, int]:
        """Of each index that lacks changes of a scope, how many."""
        if not any(self.lag.values()):
            return {}
        with self._engine.connect() as connection:
            at = journal.cursors(connection)
            pending = {name: journal.count_after(connection, at.get(name, 0), scope_id) for name in self.lag}
        return {name: count for name, count in pending.items() if count}

    def _behind(self) -> dict[str, int]:
        with self._engine.connect() as connection:
            head, at = journal.last_seq(connection), journal.cursors(connection)
        return {name: head - at.get(name, 0) for name in (LEXICAL, SEMANTIC)}

    def _note(self, message: str) -> None:
        message = told(message)
        logger.warning(message)
        self.notices.append(message)
        del self.notices[:-100]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
