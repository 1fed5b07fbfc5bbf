"""`MemoryStore`: the write side, and the reads that the arms are built on.

    remember   Memory -> validate -> entities -> one SQL transaction (memory, mentions, edges, change row,
               scope version + 1) -> pending changes applied to tantivy and Chroma, cursors moved

The SQL database is the truth. A memory is acknowledged when its transaction has committed; what comes after can fail
without losing it, is caught up at the next write or open, and is named in `recall`'s result until then.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from sqlalchemy import Engine

from recall_integrations.adapters.embedding import resolve_embedding
from recall_integrations.adapters.extractor import resolve_extractor
from recall_integrations.config import RecallConfig
from recall_integrations.embeddings import probe
from recall_integrations.errors import IndexUnavailable, InvalidArgument, InvalidMemory, StorePathError
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.vectors import SemanticIndex
from recall_integrations.indexes.words import LexicalIndex
from recall_integrations.query import warming
from recall_integrations.query.spelling import Speller
from recall_integrations.store import opening, renewal
from recall_integrations.store.declaring import Declarations
from recall_integrations.store.filtering import filter_mask
from recall_integrations.store.given import Chat, checked
from recall_integrations.store.histories import Remembered
from recall_integrations.store.indexes import Indexes, Progress
from recall_integrations.store.parts import Clock, StoreParts, utc_now
from recall_integrations.store.reader import Reader
from recall_integrations.store.revisions import Revisions
from recall_integrations.store.scope_entities import ScopeEntities
from recall_integrations.store.writer import BATCH, Writer
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import Filters, Memory, Scope, checked_id, checked_scope
from recall_integrations.types.messages import Message, fields_of, is_message
from recall_integrations.types.numbers import is_whole

FEW_CHANGES = 500  # are brought into memory in milliseconds
CLOSE_S = 10.0  # recalls have time limits far below
_OPEN: weakref.WeakValueDictionary[str, MemoryStore] = weakref.WeakValueDictionary()  # of this process, for `attach`


class MemoryStore:
    """Memories of many scopes in one directory. Make one with `MemoryStore.open`.

    One process at a time may have a directory open; threads of it share the object. It is a context manager.
    """

    def __init__(self, parts: StoreParts, source: Any = None, extractor: Any = False) -> None:
        self.path = parts.path
        self.config = parts.config
        self.embedding = parts.embedding
        self.embedding_source = source
        self._parts = parts
        self._write_lock = parts.write_lock
        self._closing = threading.RLock()
        self.extractor_source = extractor
        self._spellers = parts.spellers
        self._views = parts.views
        self._reader = Reader(parts)
        self._writer = Writer(parts, self._reader)
        self._declarations = Declarations(parts, self._reader)
        self._finalizer = weakref.finalize(
            self, opening.release, parts.pid, parts.directory, parts.indexes, parts.spellers
        )
        _OPEN[str(self.path.resolve())] = self

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
        parts, written_in = opening.open_parts(
            path,
            resolve_embedding(embedding),
            config or RecallConfig(),
            reindex=reindex,
            clock=clock,
            new_id=new_id,
            extractor=resolve_extractor(extractor),
        )
        store = cls(parts, embedding, extractor)
        if parts.config.query.spelling:
            parts.spellers.prepare()
        warming.warm(written_in)
        return store

    @classmethod
    def attach(
        cls,
        path: str | os.PathLike[str],
        *,
        embedding: Any = None,
        config: RecallConfig | None = None,
        extractor: Any = False,
    ) -> MemoryStore:
        """The store of this directory that is open in this process, or else `open` it. For copies made by pickle.

        Raises:
            StorePathError: there is no such directory: a temporary store does not outlive its process.
        """
        directory = Path(path).resolve()
        found = _OPEN.get(str(directory))
        if found is not None and found._parts.usable:
            return found
        if not directory.is_dir():
            raise StorePathError(
                f"There is no store at {directory} (any more). Pickle a retriever over a lasting directory."
            )
        return cls.open(directory, embedding=embedding, config=config, extractor=extractor)

    def close(self) -> None:
        """Release files and locks; a temporary store is removed. Closing twice, or in a forked child, is harmless.

        Recalls that are under way may end first, for up to `CLOSE_S` seconds; new calls raise `StoreClosed` at once.
        """
        parts = self._parts
        if os.getpid() != parts.pid:
            return  # all of it belongs to the parent, which may even have been forked while it held a lock below
        parts.closed = True
        with self._closing:
            if not self._finalizer.alive:
                return
            parts.in_use.wait(CLOSE_S)  # without the write lock: a recall may need it to open an index
            with self._write_lock:
                self._views.drop()
                self._finalizer()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Around a recall: `close` lets it end. What goes wrong because the store was closed is `StoreClosed`."""
        with self._parts.in_use.held(), self._parts.errors():
            self._parts.check_open()
            yield

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._parts.closed else f"{len(self._parts.scopes)} scopes"
        return f"MemoryStore({str(self.path)!r}, {state})"

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
        self._parts.check_open()
        where = checked_scope(scope)
        if isinstance(memories, str | bytes | Memory | Mapping) or is_message(memories):
            raise InvalidMemory("remember_many takes an iterable of memories. Use `remember` for a single one.")
        if not is_whole(batch_size) or batch_size < 1:
            raise InvalidArgument(f"batch_size must be at least 1, not {batch_size!r}.")
        if thread is not None:
            checked_id(thread, "thread", InvalidMemory)
        chat = Chat()
        source: Iterable[Memory] = checked(memories, thread, chat)
        if thread is not None:
            ids = self._writer.write_chat(where, thread, list(source), chat, progress=progress, batch_size=batch_size)
            return Remembered(ids, chat.skipped)
        total = len(memories) if isinstance(memories, Sequence) else None
        if total is not None:
            source = list(source)
        ids = self._writer.write_all(where, source, chat, progress=progress, batch_size=batch_size, total=total)
        return Remembered(ids, chat.skipped)

    def forget(self, memory_id: str, *, scope: Scope | None = None) -> bool:
        """Remove a memory everywhere. Returns whether it was there."""
        self._parts.check_open()
        where = checked_scope(scope)
        checked_id(memory_id, "memory_id", InvalidArgument)
        return self._writer.forget(where, memory_id)

    def add_entity(self, name: str, *, aliases: Iterable[str] = (), scope: Scope | None = None) -> str:
        """Declare an entity and other names for it; returns its id. Declaring it again adds aliases.

        An alias that so far was only seen as a name in memories is taken over with its mentions. Earlier memories that
        say one of the names are found through the lexical index and linked (the best 1,000 per name).
        """
        self._parts.check_open()
        where = checked_scope(scope)
        checked_id(name, "The name of an entity", InvalidArgument)
        if isinstance(aliases, str):
            raise InvalidArgument(f"aliases must be a list of names. Write [{aliases!r}] for a single one.")
        others = [checked_id(alias, "An alias", InvalidArgument) for alias in aliases]
        return self._declarations.declare(name, others, where)

    def reindex(self, *, progress: Progress | None = None) -> None:
        """Make both indexes and all words anew from the store, and every vector with the embedding it is open with."""
        self._parts.check_open()
        renewal.reindex(self._parts, progress)

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, memory_id: str, *, scope: Scope | None = None) -> Memory | None:
        """The memory with this id, or `None`."""
        self._parts.check_open()
        scope_id = self._parts.scopes.get(checked_scope(scope))
        checked_id(memory_id, "memory_id", InvalidArgument)
        if scope_id is None:
            return None
        return self.fetch_ids(scope_id, [memory_id]).get(memory_id)

    def count(self, *, scope: Scope | None = None) -> int:
        """How many memories the scope holds; 0 for a scope never seen."""
        self._parts.check_open()
        scope_id = self._parts.scopes.get(checked_scope(scope))
        return 0 if scope_id is None else self.count_of(scope_id)

    def count_of(self, scope_id: int) -> int:
        """How many memories the scope with this number holds."""
        return self._reader.count_of(scope_id)

    def scopes(self) -> list[tuple[Scope, int]]:
        """All scopes with their number of memories, in the order they were made."""
        self._parts.check_open()
        return self._reader.scopes()

    def stats(self) -> dict[str, Any]:
        """Sizes, per scope and in all, the embedding, how far each index is behind, and notices of repairs."""
        self._parts.check_open()
        return self._reader.stats()

    # -- what the arms are built on (internal) ---------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """The SQL engine."""
        return self._parts.engine

    @property
    def lexical(self) -> LexicalIndex:
        """The lexical index."""
        return self._parts.indexes.lexical

    @property
    def semantic(self) -> SemanticIndex:
        """The semantic index; opened on first use."""
        return self._parts.indexes.semantic

    @property
    def indexes(self) -> Indexes:
        """Both indexes and their state."""
        return self._parts.indexes

    def scope_id(self, scope: Scope) -> int | None:
        """The scope's number, or `None` for a scope never seen."""
        self._parts.check_open()
        return self._parts.scopes.get(scope)

    def version(self, scope_id: int) -> int:
        """Bumped by every write to the scope."""
        return self._parts.version(scope_id)

    @property
    def revisions(self) -> Revisions:
        """What tells whether a scope is still what it was."""
        return self._parts.revisions

    def behind(self, scope_id: int) -> dict[str, int]:
        """Of each index that lacks changes of the scope, how many."""
        with self._parts.errors():
            return self._parts.indexes.behind(scope_id)

    def view(self, scope_id: int) -> ScopeView:
        """The scope's columns, up to date."""
        with self._parts.errors():
            return self._views.get(scope_id)

    def in_memory(self, scope_id: int) -> bool:
        """Whether what a recall of the scope needs is in memory, but for a few changes: else loading it takes time."""
        return self._views.near(scope_id, FEW_CHANGES) and self._parts.catalog.has(scope_id)

    def languages(self, scope_id: int) -> Spoken:
        """In which languages the scope is written; read once after each write to it."""
        return self._reader.languages(scope_id)

    @property
    def entity_key(self) -> bytes:
        """What the ids of this store's entities are made with."""
        return self._parts.catalog.key

    def entities(self, scope_id: int) -> ScopeEntities:
        """The scope's entities."""
        return self._parts.catalog.of(scope_id)

    def speller(
        self,
        scope_id: int,
        *,
        wait: bool = False,
        validate: Callable[[str], str] | None = None,
        submit: Callable[[Callable[[], None]], Any] | None = None,
    ) -> Speller | None:
        """The scope's corrections; `None` while a large scope's vocabulary is built, unless `wait`. See `Spellers`."""
        with self._parts.errors():
            return self._spellers.of(scope_id, wait=wait, validate=validate, submit=submit)

    def filter_mask(self, view: ScopeView, filters: Filters, now: datetime) -> Mask | None:
        """Rows that meet the filters, or `None` for all."""
        with self._parts.errors():
            return filter_mask(self._parts.engine, view, filters, now, self._parts.catalog)

    def fetch(self, scope_id: int, nums: Sequence[int]) -> dict[int, Memory]:
        """Memories by num; those that are gone are left out."""
        return self._reader.fetch(scope_id, nums)

    def fetch_ids(self, scope_id: int, ids: Sequence[str]) -> dict[str, Memory]:
        """Memories by id; those that are gone are left out."""
        return self._reader.fetch_ids(scope_id, ids)

    def damaged(self, scope_id: int) -> str:
        """Memories of a scope that were found damaged, in words; empty where none were."""
        return self._parts.damage.of(scope_id)

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
            self.semantic.nearest(self._parts.indexes.home_of(scope_id), query, 1)
        for code in self.languages(scope_id).kept_in:
            warming.warm([code])
            warming.settle(code, whole=True)
        if self.config.query.spelling:
            with contextlib.suppress(IndexUnavailable):  # named by the recall, which goes on without it
                self.speller(scope_id, wait=True)

    @property
    def fingerprint(self) -> str:
        """Of the embedding that made the vectors; known also while it cannot be reached."""
        return self._parts.asking.fingerprint

    @property
    def dimensions(self) -> int:
        """Length of a vector; known also while the embedding cannot be reached."""
        return self._parts.asking.dimensions

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
        return self._parts.worth.of(language, text, scope_id)
