"""`MemoryStore`: the write side, and the reads that the arms are built on.

    remember   Memory -> validate -> entities -> one SQL transaction (memory, mentions, edges, change row,
               scope version + 1) -> pending changes applied to tantivy and Chroma, cursors moved

The SQL database is the truth. A memory is acknowledged when its transaction has committed; what comes after can fail
without losing it, is caught up at the next write or open, and is named in `recall`'s result until then.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.adapters.extractor import resolve_extractor
from recall_integrations.config import RecallConfig
from recall_integrations.database import schema
from recall_integrations.database.engine import mapped_errors, open_sqlite
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.embeddings import probe
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import (
    EmbeddingMismatch,
    IndexUnavailable,
    InvalidArgument,
    InvalidMemory,
    StoreClosed,
    StoreLocked,
    StorePathError,
)
from recall_integrations.extraction import Extractor
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.bm25 import Bm25, frequency_of
from recall_integrations.indexes.scope_view import Mask, ScopeView, ScopeViews
from recall_integrations.indexes.times import to_row
from recall_integrations.indexes.vectors import SHARED, SemanticIndex
from recall_integrations.indexes.words import LexicalIndex
from recall_integrations.languages import READ
from recall_integrations.observability.progress import progress_bar
from recall_integrations.query import warming
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.spelling import Speller
from recall_integrations.store import fetching, histories, journal, languages
from recall_integrations.store.directory import DATABASE, check_directory, size_of
from recall_integrations.store.entity_catalog import EntityCatalog, ScopeEntities
from recall_integrations.store.filtering import filter_mask
from recall_integrations.store.histories import Remembered
from recall_integrations.store.indexes import Indexes, Progress
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.migrations import migrate
from recall_integrations.store.spellers import Spellers
from recall_integrations.store.worth import CosineWorth
from recall_integrations.text import ANALYSER_VERSION, stems
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import Filters, Memory, Scope, checked_id, checked_scope, indexed_text, says_the_same
from recall_integrations.types.messages import Message, fields_of, is_message, spoken
from recall_integrations.types.numbers import is_whole

logger = logging.getLogger("recall_integrations")
REEMBEDDING = "reembedding"  # key in `meta`: the embedding that vectors are being made anew with
ANALYSER = "analyser"  # key in `meta`: the version of the analyser that cut all words
RECUT_SHOWN = 5_000  # memories from which cutting their words anew shows a bar: a second or two
SCOPES_KEPT = 4_096  # whose languages are in memory
BATCH = 1_000
BACKFILL_MAX = 1_000  # earlier memories that a newly declared name is looked up in

_COUNTED = (schema.entities, schema.aliases, schema.mentions, schema.edges, schema.vectors, schema.corrections)

Clock = Callable[[], datetime]
_OPEN: weakref.WeakValueDictionary[str, MemoryStore] = weakref.WeakValueDictionary()  # of this process, for `attach`


def utc_now() -> datetime:
    """The wall clock, timezone-aware."""
    return datetime.now(timezone.utc)


class MemoryStore:
    """Memories of many scopes in one directory. Make one with `MemoryStore.open`.

    One process at a time may have a directory open; threads of it share the object. It is a context manager.
    """

    def __init__(
        self,
        directory: Path,
        engine: Engine,
        lock: FileLock,
        embedding: Embedding,
        config: RecallConfig,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        extractor: Extractor | None = None,
    ) -> None:
        self.path = directory
        self.config = config
        self.embedding = embedding
        self.embedding_source: Any = None
        self._engine = engine
        self._file_lock = lock
        self._clock = clock
        self._new_id = new_id
        self._write_lock = threading.RLock()
        self._pid = os.getpid()
        self._closed = False
        self._scopes: dict[Scope, int] = {}
        # Of each scope its version and the last change that may be shown: one that is whole, its vectors included.
        shown: dict[int, tuple[int, int]] = {}
        self._shown = shown
        self._languages: dict[int, tuple[int, Spoken]] = {}  # of each scope the version, and what was read at it
        self._written_in: Iterable[str] = ()  # languages of the memories when it was opened
        self._next_seq = 1
        self._stamped = False
        self._worth = CosineWorth(self.embedding, config.retrieval.semantic_remote)
        self._catalog = EntityCatalog(engine, extractor)
        self._spellers = spellers = Spellers(
            engine,
            lexical=lambda: indexes.lexical,
            write_lock=self._write_lock,
            threshold=config.query.spelling_threshold,
            learned_max=config.query.spelling_learned_max,
        )
        self._indexes = indexes = Indexes(
            engine,
            directory,
            embedding,
            exact_max=config.retrieval.exact_max,
            write_lock=self._write_lock,
            applied=spellers.applied,
        )
        self._views = ScopeViews(
            engine,
            shown=lambda scope_id: shown.get(scope_id, (0, 0)),  # not through self: a cycle would keep the lock
            dimensions=lambda: embedding.dimensions,
            exact_max=config.retrieval.exact_max,
            budget_bytes=config.retrieval.cache_mb * 1_000_000,
            texts=config.ranking.features,
        )

    # -- opening and closing ---------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        embedding: Any = None,
        config: RecallConfig | None = None,
        reindex: bool = False,
        clock: Clock = utc_now,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        extractor: Any = False,
    ) -> MemoryStore:
        """Open a store directory, made if absent.

        Args:
            path: the directory; `None` = a temporary one that is removed at `close` (or when the process ends).
            embedding: `None` (the bundled static model), a LangChain `Embeddings`, a LlamaIndex `BaseEmbedding`, a
                sentence-transformers name or path, or `Callable[[list[str]], array (n, d)]`. One of your own embeds 80
                short texts more, once for a store, at its first write: what a cosine counts in the ranking is measured
                by them. `retrieval.semantic_remote` does without, and cosines count as those of the bundled model.
            config: its `retrieval` section sets the layout of vectors and the memory for them.
            reindex: make every vector anew if the store was made by another embedding.
            clock: where `created_at` comes from.
            new_id: where ids come from.
            extractor: finds names and relations in what is remembered: `False` (declared ones only, the default),
                `None` (built-in rules, no model), a spaCy `Language`, a GLiNER model, or `Callable[[str], names]`.

        Raises:
            StorePathError: the path is a file, not accessible, or a directory that holds other things.
            StoreLocked: another process, or another object of this one, has it open.
            StoreCorrupt: the database is damaged or missing; nothing was touched.
            StoreVersionError: a newer version wrote it; nothing was touched.
            EmbeddingMismatch: another embedding made it, and `reindex` is false.
        """
        resolved = resolve_embedding(embedding)
        finder = resolve_extractor(extractor)
        directory, temporary = (Path(tempfile.mkdtemp(prefix="recall-")), True) if path is None else (Path(path), False)
        if not temporary:
            check_directory(directory)
        lock = FileLock(str(directory / "LOCK"), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise StoreLocked(
                f"The store {directory} is open in another process (or another MemoryStore of this one). Close that, "
                "or share one MemoryStore between threads, or give each process a path of its own."
            ) from None
        except OSError as e:
            raise StorePathError(f"Cannot write to {directory}: {e.strerror or e}. Check its permissions.") from e
        engine: Engine | None = None
        store: MemoryStore | None = None
        try:
            engine = open_sqlite(directory / DATABASE)
            store = cls(
                directory,
                engine,
                lock,
                resolved,
                config or RecallConfig(),
                clock=clock,
                new_id=new_id,
                extractor=finder,
            )
            with mapped_errors(directory / DATABASE):
                migrate(engine)
                store._start(reindex)
        except BaseException:
            if store is not None:
                store._indexes.close(sealed=False)
            if engine is not None:
                engine.dispose()
            lock.release()
            if temporary:
                shutil.rmtree(directory, ignore_errors=True)
            raise
        store.embedding_source = embedding
        _OPEN[str(directory.resolve())] = store
        store._finalizer = weakref.finalize(
            store,
            _release,
            os.getpid(),
            engine,
            lock,
            store._indexes,
            store._spellers,
            directory if temporary else None,
        )
        if store.config.query.spelling:
            store._spellers.prepare()
        warming.warm(store._written_in)
        return store

    @classmethod
    def attach(
        cls, path: str | os.PathLike[str], *, embedding: Any = None, config: RecallConfig | None = None
    ) -> MemoryStore:
        """The store of this directory that is open in this process, or else `open` it. For copies made by pickle.

        Raises:
            StorePathError: there is no such directory: a temporary store does not outlive its process.
        """
        directory = Path(path).resolve()
        found = _OPEN.get(str(directory))
        if found is not None and not found._closed and found._pid == os.getpid():
            return found
        if not directory.is_dir():
            raise StorePathError(
                f"There is no store at {directory} (any more). Pickle a retriever over a lasting directory."
            )
        return cls.open(directory, embedding=embedding, config=config)

    _finalizer: weakref.finalize[..., Any]

    def _start(self, reindex: bool) -> None:
        s = schema.scopes
        with self._engine.connect() as connection:
            for row in connection.execute(select(s)):
                self._scopes[Scope(row.user_id, row.agent_id, row.namespace)] = row.scope_id
                self._shown[row.scope_id] = (row.version, journal.last_seq(connection))
            self._next_seq = journal.last_seq(connection) + 1
            made_by = get_meta(connection, "embedding")
            half_way = get_meta(connection, REEMBEDDING)
            self._worth.load(connection, made_by)
        self._stamped = made_by is not None
        changed = made_by is not None and made_by != self.embedding.fingerprint
        if changed and not reindex and half_way != self.embedding.fingerprint:
            raise EmbeddingMismatch(
                f"This store was made with the embedding {made_by!r} and is opened with "
                f"{self.embedding.fingerprint!r}. Open it with the one that made it, or pass `reindex=True` "
                "(`recall reindex STORE`) to make every vector anew."
            )
        if changed or half_way is not None:
            self._reembed(None, changing=True)
        self._indexes.open()
        self._recut()
        with self._engine.begin() as connection:  # nothing reads along with the journal yet
            journal.prune_applied(connection)
            self._written_in = languages.kept_in(connection)
        if self._stamped and not self.embedding.remote:
            self._measure_late()

    def _measure_late(self) -> None:
        """Measure what cosines are worth for a store that was made before it was measured, and may only be read.

        Not of an embedding that is called over a network: opening a store is no reason for that, its next write is.
        """
        measured = self._worth.measured()
        if not measured:
            self._worth.again()  # what failed now may work at the next write
            return
        try:
            with self._engine.begin() as connection:
                self._worth.note(connection, measured)
        except SQLAlchemyError as e:  # a full disk or a file that may not be written: known for this process
            logger.warning("What the embedding is worth to the ranking could not be noted: %s", e)

    def _recut(self) -> None:
        """Cut all words anew where another analyser cut them. What it did is noted last, so a crash costs only time."""
        with self._engine.connect() as connection:
            made_by = get_meta(connection, ANALYSER)
            count = connection.execute(select(func.coalesce(func.sum(schema.scopes.c.memories), 0))).scalar_one()
        if made_by == str(ANALYSER_VERSION):
            return
        if count:
            logger.info("The words of %d memories are cut anew: this version reads them by their language.", count)
            with progress_bar("Reading words", 2 * count, shown=count >= RECUT_SHOWN) as advance:
                with self._engine.begin() as connection:
                    languages.recount(connection)
                    words.refill(connection, advance)
                done = 0

                def indexed(_what: str, at: int, _total: int) -> None:
                    nonlocal done
                    advance(at - done)
                    done = at

                try:
                    self._indexes.rebuild(LEXICAL, progress=indexed)
                except (IndexUnavailable, OSError) as e:  # no space, say: the store opens, and tries again next time
                    logger.warning("The lexical index could not be made anew: %s", e)
                    return
        with self._engine.begin() as connection:
            put_meta(connection, ANALYSER, str(ANALYSER_VERSION))

    def _reembed(self, progress: Progress | None, *, changing: bool) -> None:
        """Make every vector anew; with another embedding, a mark says until then that they may be of two kinds."""
        if changing:
            with self._engine.begin() as connection:
                put_meta(connection, REEMBEDDING, self.embedding.fingerprint)
        self._indexes.rebuild(SEMANTIC, embed=True, progress=progress)
        self._worth.anew()
        measured = self._worth.measured()
        with self._engine.begin() as connection:
            self._stamp(connection)
            self._worth.note(connection, measured)
            connection.execute(delete(schema.meta).where(schema.meta.c.key == REEMBEDDING))
        self._stamped = True

    def close(self) -> None:
        """Release files and locks; a temporary store is removed. Closing twice, or in a forked child, is harmless."""
        if os.getpid() != self._pid:
            return  # all of it belongs to the parent, which may even have been forked while it held the lock below
        with self._write_lock:
            if self._closed:
                return
            self._closed = True
            self._views.drop()
            self._finalizer()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MemoryStore({str(self.path)!r}, {'closed' if self._closed else f'{len(self._scopes)} scopes'})"

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(f"The store {self.path} is closed. Open it again with MemoryStore.open.")
        if os.getpid() != self._pid:
            raise StoreClosed(
                f"The store {self.path} was opened in process {self._pid} and is used in its child {os.getpid()}. "
                "Open it after the fork."
            )

    # -- writing ---------------------------------------------------------------------------------------------------

    def remember(self, memory: Memory | str | Message, *, scope: Scope | None = None) -> str:
        """Store one memory and return its id. It is durable and can be recalled when this returns.

        Args:
            memory: a `Memory`, a plain text, or a chat message (`Memory.from_message`).
            scope: the tenant; default `Scope()`.

        Raises:
            InvalidMemory, InvalidScope: nothing was changed.
            EmbeddingError: the embedding has never worked with this store; nothing was changed.
        """
        if is_message(memory):  # one without text is an error here: there is nothing else to store
            fields_of(memory)
        return self.remember_many([memory], scope=scope)[0]

    def remember_many(
        self,
        memories: Iterable[Memory | str | Message],
        *,
        scope: Scope | None = None,
        progress: bool = False,
        batch_size: int = BATCH,
        thread: str | None = None,
    ) -> Remembered:
        """Store memories in batches, one transaction each, and return their ids in order.

        A list, and whatever is given with a thread, is checked whole before anything is changed; of any other iterable,
        the batches before a bad item stand. An id that is already there is replaced; the same id twice in one call is
        an error.

        The messages of a chat may be given as they are, and again when it has grown, whole or only the last ones: what
        is there already is left alone. A message keeps its own id. One without is told by its place: the messages given
        are laid beside the end of what the thread holds (`store.histories`), so an "ok" that was said again is stored
        again. Windows of a chat must overlap by something that is said once, or begin with something new. Without a
        thread, messages that have no id are new each time.

        Messages without text (empty, or only images) are left out, as if they had not been given; their places are in
        `skipped` of what is returned.

        Args:
            memories: `Memory` objects, plain texts, and chat messages of LangChain, LlamaIndex, OpenAI or Anthropic.
            scope: the tenant; default `Scope()`.
            progress: show a bar on standard error.
            batch_size: memories per transaction.
            thread: the conversation of the messages and plain texts, which get their places in order of arrival.

        Raises:
            InvalidMemory: an item is not a memory, or its id occurs twice; the error gives its position.
        """
        self._check_open()
        where = checked_scope(scope)
        if isinstance(memories, str | bytes | Memory | Mapping) or is_message(memories):
            raise InvalidMemory("remember_many takes an iterable of memories. Use `remember` for a single one.")
        if not is_whole(batch_size) or batch_size < 1:
            raise InvalidArgument(f"batch_size must be at least 1, not {batch_size!r}.")
        if thread is not None:
            checked_id(thread, "thread", InvalidMemory)
        chat = _Chat()
        source: Iterator[Memory] = _checked(memories, thread, chat)
        if thread is not None:
            return self._remember_chat(where, thread, list(source), chat, progress, batch_size)
        total = len(memories) if isinstance(memories, Sequence) else None
        if total is not None:
            source = iter(list(source))
        ids = self._write_all(where, source, chat, progress, batch_size, total)
        return Remembered(ids, chat.skipped)

    def _remember_chat(
        self, scope: Scope, thread: str, given: list[Memory], chat: _Chat, progress: bool, batch_size: int
    ) -> Remembered:
        """Store what is said in a conversation; nothing else is written to it meanwhile."""
        with self._write_lock, mapped_errors(self.path / DATABASE):
            if any(given[place].id is None for place in chat.places):
                with self._engine.connect() as connection:
                    given = histories.with_ids(connection, self._scopes.get(scope), thread, given, chat.places)
                chat.ids.update(given[place].id or "" for place in chat.places)
            ids = self._write_all(scope, iter(given), chat, progress, batch_size, len(given))
        return Remembered(ids, chat.skipped)

    def _write_all(
        self, scope: Scope, source: Iterator[Memory], chat: _Chat, progress: bool, batch_size: int, total: int | None
    ) -> list[str]:
        ids: list[str] = []
        with progress_bar("Remembering", total, shown=progress) as advance:
            while batch := list(itertools.islice(source, batch_size)):
                ids.extend(self._write(scope, batch, chat.ids))
                advance(len(batch))
        return ids

    def _write(self, scope: Scope, batch: Sequence[Memory], messages: Set[str]) -> list[str]:
        """Store a batch; of the ids `messages`, only what is not there or says something else."""
        now = self._clock()
        with self._write_lock, mapped_errors(self.path / DATABASE):
            self._check_open()
            if not self._stamped:
                _ = self.embedding.dimensions  # an embedding that never worked is an error before anything is stored
            scope_id = self._scopes.get(scope)
            all_ids = ids = [m.id if m.id is not None else self._new_id() for m in batch]
            if scope_id is not None and messages:
                there = self.fetch_ids(scope_id, [i for i in ids if i in messages])
                batch = [m for m in batch if m.id not in there or not says_the_same(there[m.id], m)]
                if not batch:
                    return all_ids
                if len(batch) < len(ids):
                    kept = {m.id for m in batch}
                    ids = [i for i in ids if i in kept or i not in there]
            measured = self._measured_worth(scope_id, batch)
            try:
                with self._engine.begin() as connection:
                    if not self._stamped:
                        self._stamp(connection)
                    if scope_id is None:
                        scope_id = self._add_scope(connection, scope)
                    self._worth.note(connection, measured, scope_id)
                    last, version, entity_rows, spoke = self._write_rows(connection, scope_id, batch, ids, now)
                    self._next_seq = last + 1  # before the commit: numbers may be skipped, never given twice
            except BaseException:
                if scope_id is not None:
                    self._catalog.drop(scope_id)
                self._worth.forget(measured)
                raise
            self._stamped = True
            self._scopes[scope] = scope_id
            self._catalog.committed(scope_id, entity_rows)
            try:
                self._catch_up(scope_id)
            finally:  # vectors are written while indexing: show the memories when they are whole
                self._shown[scope_id] = (version, last)
            if not all(map(warming.is_warm, spoke)):
                warming.warm(self.languages(scope_id).kept_in)
        return all_ids

    def _catch_up(self, writing: int) -> None:
        """Bring the indexes up to date; columns of scopes that only now got their vectors are loaded anew."""
        was_behind = self._indexes.lag[SEMANTIC] > 0
        for scope_id in self._indexes.catch_up():
            if scope_id != writing or was_behind:
                self._views.drop(scope_id)

    def _write_rows(
        self, connection: Connection, scope_id: int, batch: Sequence[Memory], ids: Sequence[str], now: datetime
    ) -> tuple[int, int, Any, Set[str]]:
        """The last change, the version, rows of entities, and languages with tables that the texts speak for."""
        replaced = self._find(connection, scope_id, ids)
        seq = self._next_seq
        entries: list[dict[str, Any]] = []
        for num in sorted(num for num, _, _ in replaced.values()):
            entries.append({"seq": seq, "scope_id": scope_id, "op": "del", "num": num})
            seq += 1
        nums = list(range(seq, seq + len(batch)))
        entries.extend({"seq": num, "scope_id": scope_id, "op": "put", "num": num} for num in nums)
        positions = self._positions(connection, scope_id, batch, ids, replaced)
        self._remove_rows(connection, scope_id, [num for num, _, _ in replaced.values()])
        rows = [
            to_row(m, scope_id=scope_id, num=num, memory_id=i, created_at=m.created_at or now, position=position)
            for m, num, i, position in zip(batch, nums, ids, positions, strict=True)
        ]
        connection.execute(insert(schema.memories), rows)
        words.write(connection, scope_id, ((num, m.text, m.actor) for num, m in zip(nums, batch, strict=True)))
        spoke = languages.write(connection, scope_id, (m.text for m in batch)).intersection(READ)
        entity_rows = self._catalog.rows_for(scope_id, list(zip(nums, batch, strict=True)))
        entity_rows.write(connection)
        contents = {num: indexed_text(m.text, m.actor) for num, m in zip(nums, batch, strict=True)}
        journal.append(connection, entries, contents)
        version = self._bump_row(connection, scope_id, len(batch) - len(replaced))
        return nums[-1], version, entity_rows, spoke

    def _positions(
        self,
        connection: Connection,
        scope_id: int,
        batch: Sequence[Memory],
        ids: Sequence[str],
        replaced: dict[str, tuple[int, str | None, int | None]],
    ) -> list[int | None]:
        """Places in their threads: as given, else that of the memory it replaces, else the next one."""
        m = schema.memories
        following: dict[str, int] = {}  # next place, of threads whose last one is known
        given: dict[str, int] = {}  # behind the places that this batch names itself
        positions: list[int | None] = []
        for memory, memory_id in zip(batch, ids, strict=True):
            thread, position = memory.thread, memory.position
            if thread is not None and position is None:
                old = replaced.get(memory_id)
                if old is not None and old[1] == thread:
                    position = old[2]
                else:
                    if thread not in following:
                        query = select(func.max(m.c.position)).where(m.c.scope_id == scope_id, m.c.thread == thread)
                        newest = connection.execute(query).scalar()
                        following[thread] = max(0 if newest is None else newest + 1, given.get(thread, 0))
                    position = following[thread]
            if thread is not None and position is not None:
                places = following if thread in following else given
                places[thread] = max(places.get(thread, 0), position + 1)
            positions.append(position)
        return positions

    def forget(self, memory_id: str, *, scope: Scope | None = None) -> bool:
        """Remove a memory everywhere. Returns whether it was there."""
        self._check_open()
        where = checked_scope(scope)
        checked_id(memory_id, "memory_id", InvalidArgument)
        with self._write_lock, mapped_errors(self.path / DATABASE):
            scope_id = self._scopes.get(where)
            if scope_id is None:
                return False
            with self._engine.begin() as connection:
                found = self._find(connection, scope_id, [memory_id])
                if not found:
                    return False
                num = found[memory_id][0]
                self._remove_rows(connection, scope_id, [num])
                seq, self._next_seq = self._next_seq, self._next_seq + 1
                journal.append(connection, [{"seq": seq, "scope_id": scope_id, "op": "del", "num": num}])
                version = self._bump_row(connection, scope_id, -1)
            self._shown[scope_id] = (version, seq)
            self._catch_up(scope_id)
        return True

    def add_entity(self, name: str, *, aliases: Iterable[str] = (), scope: Scope | None = None) -> str:
        """Declare an entity and other names for it; returns its id. Declaring it again adds aliases.

        An alias that so far was only seen as a name in memories is taken over with its mentions. Earlier memories that
        say one of the names are found through the lexical index and linked (the best 1,000 per name).
        """
        self._check_open()
        where = checked_scope(scope)
        checked_id(name, "The name of an entity", InvalidArgument)
        if isinstance(aliases, str):
            raise InvalidArgument(f"aliases must be a list of names. Write [{aliases!r}] for a single one.")
        others = [checked_id(alias, "An alias", InvalidArgument) for alias in aliases]
        with self._write_lock, mapped_errors(self.path / DATABASE):
            scope_id = self._scopes.get(where)
            try:
                with self._engine.begin() as connection:
                    if scope_id is None:
                        scope_id = self._add_scope(connection, where)
                    ent, _ = self._catalog.declare(connection, scope_id, name, others)
                    version = self._bump_row(connection, scope_id, 0)
            finally:
                if scope_id is not None:
                    self._catalog.drop(scope_id)
            self._scopes[where] = scope_id
            try:
                self._backfill(scope_id, ent, [name, *others])
            finally:
                self._shown[scope_id] = (version, self._shown.get(scope_id, (0, 0))[1])
                self._catalog.drop(scope_id)  # mentions that were read meanwhile are out of date
            return self._catalog.of(scope_id).id_of[ent]

    def _backfill(self, scope_id: int, ent: int, names: Sequence[str]) -> None:
        """Link earlier memories that say one of an entity's names."""
        count = self.count_of(scope_id)
        if not count:
            return
        nums: set[int] = set()
        for name in names:
            nums.update(self._saying(scope_id, name, count))
        gazetteer = EntityIndex()
        gazetteer.add("it", names[0], tuple(names[1:]))
        n, m = schema.mentions, schema.memories
        with self._engine.begin() as connection:
            for part in _parts(sorted(nums)):
                rows = connection.execute(
                    select(m.c.num, m.c.text).where(m.c.scope_id == scope_id, m.c.num.in_(part))
                ).all()
                linked = set(
                    connection.execute(
                        select(n.c.num).where(n.c.scope_id == scope_id, n.c.ent == ent, n.c.num.in_(part))
                    ).scalars()
                )
                fresh = [num for num, text in rows if num not in linked and gazetteer.mentions(text)]
                if fresh:
                    connection.execute(
                        insert(n), [{"scope_id": scope_id, "ent": ent, "num": num, "role": "text"} for num in fresh]
                    )

    def _saying(self, scope_id: int, name: str, count: int) -> list[int]:
        """Nums of memories that may say a name: by the lexical index, or by the text where that cannot be asked."""
        words = stems(name)
        if words and not self.behind(scope_id):
            try:
                view = self.view(scope_id)
                bm25 = Bm25(view, words, (), frequency_of(view, lambda: self._indexes.lexical), lambda: self.lexical)
                return view.nums[view.top(*bm25.search(min(count, BACKFILL_MAX)), BACKFILL_MAX)[0]].tolist()  # type: ignore[no-any-return]
            except IndexUnavailable:
                pass  # named at the next write
        m = schema.memories
        query = select(m.c.num).where(m.c.scope_id == scope_id, m.c.text.icontains(name, autoescape=True))
        with self._engine.connect() as connection:
            return list(connection.execute(query.order_by(m.c.num.desc()).limit(BACKFILL_MAX)).scalars())

    def reindex(self, *, progress: Progress | None = None) -> None:
        """Make both indexes and all words anew from the store, and every vector with the embedding it is open with."""
        self._check_open()
        with self._write_lock, mapped_errors(self.path / DATABASE):
            with self._engine.begin() as connection:
                languages.recount(connection)
                words.refill(connection)
            self._indexes.rebuild(LEXICAL, progress=progress)
            try:
                self._reembed(progress, changing=False)
            finally:
                self._views.drop()

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, memory_id: str, *, scope: Scope | None = None) -> Memory | None:
        """The memory with this id, or `None`."""
        self._check_open()
        scope_id = self._scopes.get(checked_scope(scope))
        checked_id(memory_id, "memory_id", InvalidArgument)
        if scope_id is None:
            return None
        return self.fetch_ids(scope_id, [memory_id]).get(memory_id)

    def count(self, *, scope: Scope | None = None) -> int:
        """How many memories the scope holds; 0 for a scope never seen."""
        self._check_open()
        scope_id = self._scopes.get(checked_scope(scope))
        return 0 if scope_id is None else self.count_of(scope_id)

    def count_of(self, scope_id: int) -> int:
        """How many memories the scope with this number holds."""
        s = schema.scopes
        with mapped_errors(self.path / DATABASE), self._engine.connect() as connection:
            return int(connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar_one())

    def scopes(self) -> list[tuple[Scope, int]]:
        """All scopes with their number of memories, in the order they were made."""
        self._check_open()
        s = schema.scopes
        with mapped_errors(self.path / DATABASE), self._engine.connect() as connection:
            rows = connection.execute(select(s).order_by(s.c.scope_id)).all()
        return [(Scope(r.user_id, r.agent_id, r.namespace), int(r.memories)) for r in rows]

    def stats(self) -> dict[str, Any]:
        """Sizes, per scope and in all, the embedding, how far each index is behind, and notices of repairs."""
        self._check_open()
        m = schema.memories
        with mapped_errors(self.path / DATABASE), self._engine.connect() as connection:
            counted = connection.execute(select(m.c.type, func.count()).group_by(m.c.type))
            by_type = {str(kind): int(count) for kind, count in counted}
            span = connection.execute(select(func.min(m.c.event_at), func.max(m.c.event_at))).one()
            sizes = {
                table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for table in _COUNTED
            }
        scopes = self.scopes()
        return {
            "path": str(self.path),
            "schema_version": schema.SCHEMA_VERSION,
            "embedding": self.embedding.fingerprint,
            "memories": sum(n for _, n in scopes),
            "scopes": [{"scope": str(s), "memories": n} for s, n in scopes],
            "types": by_type,
            "event_at": [None if t is None else int(t) for t in span],
            **sizes,
            "index_lag": dict(self._indexes.lag),
            "bytes": size_of(self.path),
            "notices": list(self._indexes.notices),
        }

    # -- what the arms are built on (internal) ---------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The SQL engine."""
        return self._engine

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical index."""
        return self._indexes.lexical

    @property
    def semantic(self) -> SemanticIndex:
        """The semantic index; opened on first use."""
        return self._indexes.semantic

    @property
    def indexes(self) -> Indexes:
        """Both indexes and their state."""
        return self._indexes

    def scope_id(self, scope: Scope) -> int | None:
        """The scope's number, or `None` for a scope never seen."""
        self._check_open()
        return self._scopes.get(scope)

    def behind(self, scope_id: int) -> dict[str, int]:
        """Of each index that lacks changes of the scope, how many."""
        with mapped_errors(self.path / DATABASE):
            return self._indexes.behind(scope_id)

    def version(self, scope_id: int) -> int:
        """Bumped by every write to the scope."""
        return self._shown.get(scope_id, (0, 0))[0]

    def view(self, scope_id: int) -> ScopeView:
        """The scope's columns, up to date."""
        with mapped_errors(self.path / DATABASE):
            return self._views.get(scope_id)

    def languages(self, scope_id: int) -> Spoken:
        """In which languages the scope is written; read once after each write to it."""
        version = self.version(scope_id)
        kept = self._languages.get(scope_id)
        if kept is None or kept[0] != version:
            if len(self._languages) >= SCOPES_KEPT:
                self._languages.clear()
            with mapped_errors(self.path / DATABASE), self._engine.connect() as connection:
                kept = self._languages[scope_id] = version, languages.read(connection, scope_id)
        return kept[1]

    def entities(self, scope_id: int) -> ScopeEntities:
        """The scope's entities."""
        return self._catalog.of(scope_id)

    def speller(
        self,
        scope_id: int,
        *,
        wait: bool = False,
        validate: Callable[[str], str] | None = None,
        submit: Callable[[Callable[[], None]], Any] | None = None,
    ) -> Speller | None:
        """The scope's corrections; `None` while a large scope's vocabulary is built, unless `wait`. See `Spellers`."""
        with mapped_errors(self.path / DATABASE):
            return self._spellers.of(scope_id, wait=wait, validate=validate, submit=submit)

    def filter_mask(self, view: ScopeView, filters: Filters, now: datetime) -> Mask | None:
        """Rows that meet the filters, or `None` for all."""
        with mapped_errors(self.path / DATABASE):
            return filter_mask(self._engine, view, filters, now, self._catalog)

    def fetch(self, scope_id: int, nums: Sequence[int]) -> dict[int, Memory]:
        """Memories by num; those that are gone are left out."""
        with mapped_errors(self.path / DATABASE):
            return fetching.by_num(self._engine, scope_id, nums)

    def fetch_ids(self, scope_id: int, ids: Sequence[str]) -> dict[str, Memory]:
        """Memories by id; those that are gone are left out."""
        with mapped_errors(self.path / DATABASE):
            return fetching.by_id(self._engine, scope_id, ids)

    def warm(self, *, scope: Scope | None = None) -> None:
        """Load what the first recalls of a scope would load: columns, names, vocabulary, tables of its languages.

        And Chroma if it is large.
        """
        scope_id = self.scope_id(checked_scope(scope))
        if scope_id is None:
            return
        view = self.view(scope_id)
        self.entities(scope_id)
        if view.size and not view.exact:
            query = np.zeros(self.embedding.dimensions, dtype=np.float32)
            query[0] = 1.0
            self.semantic.nearest(self._indexes.home_of(scope_id), query, 1)
        for code in self.languages(scope_id).kept_in:
            warming.warm([code])
            warming.settle(code, whole=True)
        if self.config.query.spelling:
            with contextlib.suppress(IndexUnavailable):  # named by the recall, which goes on without it
                self.speller(scope_id, wait=True)

    # -- rows ------------------------------------------------------------------------------------------------------

    @property
    def cosine_worth(self) -> float:
        """What a cosine of the store's embedding is worth to the ranker in English, 1 = as one of the bundled model.

        Measured (`embeddings.probe`) at the first write, when all vectors are made anew, and when a store that lacks it
        is opened with an embedding on this machine. Until then, where that failed, and where
        `retrieval.semantic_remote` declares that a call costs, 1.
        """
        return self.cosine_worth_in(probe.ENGLISH, "")

    def cosine_worth_in(self, language: str, text: str, scope_id: int | None = None) -> float:
        """The same for a query in another language, which is measured once a scope has ten memories written in it.

        Args:
            language: ISO 639-1, as in `ParsedQuery.language`.
            text: the query; its script stands in for a language that was not measured.
            scope_id: whose query: what only other scopes are written in counts as not measured. `None` = anybody's.
        """
        return self._worth.of(language, text, scope_id)

    def _measured_worth(self, scope_id: int | None, batch: Sequence[Memory]) -> Mapping[str, float]:
        """What a cosine is worth in the languages of a batch, as far as it is due and was not known."""
        if not self._worth.measures:
            return {}
        self._worth.read_written(scope_id, (memory.text for memory in batch))
        return self._worth.measured()

    def _stamp(self, connection: Connection) -> None:
        put_meta(connection, "embedding", self.embedding.fingerprint)

    def _add_scope(self, connection: Connection, scope: Scope) -> int:
        s = schema.scopes
        same = [getattr(s.c, part) == getattr(scope, part) for part in ("user_id", "agent_id", "namespace")]
        known = connection.execute(select(s.c.scope_id).where(*same)).scalar()
        if known is not None:  # committed by a call that was interrupted before it could say so
            return int(known)
        scope_id = (connection.execute(select(func.max(s.c.scope_id))).scalar() or 0) + 1
        connection.execute(
            insert(s).values(
                scope_id=scope_id,
                user_id=scope.user_id,
                agent_id=scope.agent_id,
                namespace=scope.namespace,
                version=0,
                memories=0,
                vector_home=SHARED,
            )
        )
        return scope_id

    @staticmethod
    def _find(
        connection: Connection, scope_id: int, ids: Sequence[str]
    ) -> dict[str, tuple[int, str | None, int | None]]:
        m = schema.memories
        found: dict[str, tuple[int, str | None, int | None]] = {}
        for part in _parts(ids):
            query = select(m.c.id, m.c.num, m.c.thread, m.c.position).where(m.c.scope_id == scope_id, m.c.id.in_(part))
            found.update({i: (num, thread, position) for i, num, thread, position in connection.execute(query)})
        return found

    def _remove_rows(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        self._spellers.leaving(connection, scope_id, nums)
        languages.remove(connection, scope_id, nums)
        for part in _parts(nums):
            for table in (schema.memories, schema.words, schema.vectors, schema.mentions, schema.edges):
                connection.execute(delete(table).where(table.c.scope_id == scope_id, table.c.num.in_(part)))

    def _bump_row(self, connection: Connection, scope_id: int, added: int) -> int:
        s = schema.scopes
        connection.execute(
            update(s).where(s.c.scope_id == scope_id).values(version=s.c.version + 1, memories=s.c.memories + added)
        )
        return int(connection.execute(select(s.c.version).where(s.c.scope_id == scope_id)).scalar_one())


@dataclass(slots=True)
class _Chat:
    """What is known of the chat messages among what was given.

    Args:
        ids: of messages; what is there already under them is left alone.
        places: of messages among what is to be stored.
        skipped: places of messages without text among what was given.
    """

    ids: set[str] = field(default_factory=set)
    places: list[int] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)


def _checked(memories: Iterable[Any], thread: str | None, chat: _Chat) -> Iterator[Memory]:
    """Items as memories, without messages that have no text; `chat` is told of the messages."""
    if not isinstance(memories, Iterable):
        raise InvalidMemory(f"remember_many takes an iterable of memories, not {type(memories).__name__}.")
    seen: set[str] = set()
    for position, item in enumerate(memories):
        is_chat = not isinstance(item, Memory | str)
        if is_chat and not is_message(item):
            kind = type(item).__name__
            raise InvalidMemory(f"Item {position} is {kind}. Give Memory objects, texts or chat messages.")
        try:
            memory = _said(item, thread) if is_chat else _memory_of(item, thread)
        except InvalidMemory as e:
            raise InvalidMemory(f"Item {position}: {e}") from None
        if memory is None:
            chat.skipped.append(position)
            continue
        if memory.id is not None:
            if memory.id in seen:
                raise InvalidMemory(
                    f"Item {position} repeats the id {memory.id[:80]!r} of an earlier one. Give each its own."
                )
            seen.add(memory.id)
        if is_chat:
            chat.places.append(position - len(chat.skipped))
            if memory.id is not None:
                chat.ids.add(memory.id)
        yield memory


def _said(message: object, thread: str | None) -> Memory | None:
    fields = spoken(message, thread=thread)
    return None if fields is None else Memory(**fields)


def _memory_of(item: Memory | str, thread: str | None) -> Memory:
    return item if isinstance(item, Memory) else Memory(item, thread=thread)


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), schema.SQL_VARIABLES):
        yield values[start : start + schema.SQL_VARIABLES]


def _release(
    pid: int, engine: Engine, lock: FileLock, indexes: Indexes, spellers: Spellers, temporary: Path | None
) -> None:
    if os.getpid() != pid:
        return  # a forked child that ends must not unlock, or remove, what its parent uses
    try:
        spellers.close()
        indexes.close(sealed=temporary is None)
    finally:
        engine.dispose()
        lock.release()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
