"""`MemoryStore`: the write side, and the reads that the arms are built on.

    remember   Memory -> validate -> entities, words, vector -> one SQL transaction (memory, words, vector, mentions,
               edges, change row, scope version + 1); Chroma, where a scope is too large for an exact scan, follows
               in the background

The SQL database is the truth. A memory is acknowledged when its transaction has committed; later steps can fail
without losing it, are caught up at the next write or open, and are named in `recall`'s result until then.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal

from recall_integrations.collector import paused
from recall_integrations.errors import IndexUnavailable, InvalidArgument, StorePathError, refusing_unknown
from recall_integrations.store.given import BATCH, Chat, check_many, checked, checked_filters, checked_wish
from recall_integrations.types import Clock, Memory, MemoryType, Scope, checked_id, checked_scope, utc_now
from recall_integrations.types.messages import Message, fields_of, is_message
from recall_integrations.types.numbers import is_whole

if TYPE_CHECKING:  # what a store is made of is loaded when one is opened
    from recall_integrations.adapters.filters import FiltersLike
    from recall_integrations.config import RecallConfig
    from recall_integrations.indexes.scope_view import ScopeView
    from recall_integrations.observability.progress import Told
    from recall_integrations.query.spelling import Speller
    from recall_integrations.resilience.guard import Health
    from recall_integrations.store.duplicates import Remembered
    from recall_integrations.store.fact_reading import FactFilling, FactReader, FactsRead
    from recall_integrations.store.fact_tables import ScopeFacts
    from recall_integrations.store.importing import Importable, ImportReport
    from recall_integrations.store.judgements import Judgements, LearnedRows
    from recall_integrations.store.parts import StoreParts
    from recall_integrations.store.reader import Listed
    from recall_integrations.store.renewal import Compacted
    from recall_integrations.types.facts import Fact, History

FEW_CHANGES = 500  # are brought into memory in milliseconds
OnDuplicate = Literal["keep", "replace", "skip"]
LIST_MAX = 10_000  # memories that one call of `list` gives
CLOSE_S = 10.0  # recalls have time limits far below
MEANT = {  # methods of vector stores and other memories
    "as_retriever": "OptimizedRecallRetriever(optimizer=QueryOptimizer(store), k=5)",
    **dict.fromkeys("search similarity_search query recall".split(), "QueryOptimizer(store).recall(query, k=5)"),
    **dict.fromkeys("add add_texts add_documents save put".split(), "remember or remember_many"),
    **dict.fromkeys("delete remove".split(), "forget"),
    "get_all": "list",
}
_OPEN: weakref.WeakValueDictionary[str, MemoryStore] = weakref.WeakValueDictionary()  # of this process, for `attach`


class MemoryStore:
    """Memories of many scopes in one directory. Make one with `MemoryStore.open`.

    Any number of processes may have a directory open; threads of one share the object. All of them find each write from
    the next call on. It is a context manager.
    """

    def __init__(
        self,
        parts: StoreParts,
        source: Any = None,
        extractor: Callable[[str], Sequence[str]] | None = None,
        facts_llm: Callable[[str], str] | None = None,
    ) -> None:
        with paused():
            from recall_integrations.store import opening
            from recall_integrations.store.reader import Reader
            from recall_integrations.store.removing import Forgetting
            from recall_integrations.store.writer import Writer

        self.path = parts.path
        self.config = parts.config
        self.embedding = parts.embedding
        self.embedding_source = source
        self.slots = parts.slots
        self._parts = parts
        self._closing = threading.RLock()
        self.extractor_source = extractor
        self._spellers = parts.spellers
        self._views = parts.views
        self.reader = Reader(parts)
        # What the arms are built on: see below, and `StoreParts`.
        self.engine, self.indexes, self.revisions = parts.engine, parts.indexes, parts.revisions
        self.clock, self.new_id = parts.clock, parts.new_id
        self.entity_key, self.entities = parts.catalog.key, parts.catalog.of
        self.known = parts.scopes.get  # as far as this process has followed writes: `scope_id` looks for more
        self.version, self.fetch, self.damaged = parts.version, self.reader.fetch, parts.damage.of
        self._writer = Writer(parts, self.reader)
        self._forgetting = Forgetting(parts, self.reader)
        self._fact_reader: FactReader | None = None
        self._fact_filling: FactFilling | None = None
        if facts_llm is not None:
            from recall_integrations.store.fact_reading import FactFilling, FactReader

            self._fact_reader = FactReader(parts, facts_llm)
            self._fact_filling = FactFilling(self._fact_reader)
        sealing = partial(parts.indexes.close, sealed=not parts.directory.temporary)
        closing = [] if self._fact_filling is None else [self._fact_filling.stop]
        closing += [parts.column_files.close, parts.spellers.close, sealing]
        self._finalizer = weakref.finalize(self, opening.release, parts.pid, parts.directory, closing)
        _OPEN[parts.directory.address] = self

    # -- opening and closing ---------------------------------------------------------------------------------------

    @classmethod
    @refusing_unknown
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        embedding: Any = None,
        config: RecallConfig | None = None,
        reindex: bool = False,
        clock: Clock = utc_now,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        extractor: Callable[[str], Sequence[str]] | None = None,
        facts_llm: Any = None,
        directory: str | os.PathLike[str] | None = None,
        vectors: str | None = None,
    ) -> MemoryStore:
        """Open a store: a directory, made if absent, or a PostgreSQL database, whose tables are made if it has none.

        Args:
            path: the directory; `None` = a temporary one that is removed at `close` (or when the process ends). Or the
                address of a database, `postgresql://user:password@host:5432/name` (extra `postgres`).
            directory: with a database: for the columns of this process, and no other; `None` = a temporary one.
            vectors: a Chroma server for large scopes, `http://host:8000`; or `pgvector`. As `vectors.address`.
            embedding: `None` (the bundled static model), a LangChain `Embeddings`, a LlamaIndex `BaseEmbedding`, a
                sentence-transformers name or path, or `Callable[[list[str]], array (n, d)]`. One of your own embeds 80
                more short texts, once for a store, at its first write: they measure the weight of a cosine in the
                ranking. `retrieval.semantic_remote` skips that, and cosines count as those of the bundled model.
            config: its `retrieval` section sets the layout of vectors and the memory for them.
            reindex: make every vector anew if the store was made by another embedding.
            clock: gives `created_at`, and the time at which memories end (`Memory.expires_at`).
            new_id: makes ids.
            extractor: a function of yours from a text to a list of the names in it, called for each memory; `None` =
                declared names only.
            facts_llm: as `QueryOptimizer(llm=...)`; reads facts in the background, within the limits of the settings
                `facts.llm_*` (docs/facts.md). `None` = only rules read them.

        Raises:
            StorePathError: the path is a file, not accessible, or a directory that holds other things.
            StoreLocked: another process writes to the store for more than a minute; or it has the store open, and a
                part is to be made anew alone (vectors of another embedding, say).
            StoreCorrupt, StoreVersionError: it is damaged or missing; another version wrote it; nothing was touched.
            EmbeddingMismatch: another embedding made the store, and `reindex` is false.
            VectorsRefused: the Chroma server or pgvector cannot be used. One that is away is no error.
        """
        with paused():
            from recall_integrations.adapters.embedding import resolve_embedding
            from recall_integrations.config import checked_config
            from recall_integrations.query import warming
            from recall_integrations.store import opening

        settings = _with_vectors(checked_config(config), vectors)
        _check_functions(extractor, clock=clock, new_id=new_id)
        model = _facts_model(facts_llm, settings)
        made = resolve_embedding(embedding)
        parts, written_in = opening.open_parts(
            path, made, settings, local=directory, reindex=reindex, clock=clock, new_id=new_id, extractor=extractor
        )
        store = cls(parts, embedding, extractor, model)
        store._wake_facts()
        warming.warm(written_in)
        return store

    @classmethod
    def attach(
        cls,
        path: str | os.PathLike[str],
        *,
        embedding: Any = None,
        config: RecallConfig | None = None,
        extractor: Callable[[str], Sequence[str]] | None = None,
    ) -> MemoryStore:
        """Return the open store of this directory in this process, or else `open` it. For copies made by pickle.

        Raises:
            StorePathError: there is no such directory: a temporary store does not outlive its process.
        """
        from recall_integrations.store.opening import is_address

        known = isinstance(path, str) and is_address(path)
        directory = path if known else Path(path).resolve()
        found = _OPEN.get(str(directory))
        if found is not None and found._parts.usable:
            return found
        if isinstance(directory, Path) and not directory.is_dir():
            raise StorePathError(
                f"There is no store at {directory} (any more). Pickle a retriever over a lasting directory."
            )
        return cls.open(directory, embedding=embedding, config=config, extractor=extractor)

    def close(self) -> None:
        """Release files and locks; a temporary store is removed. Closing twice, or in a forked child, is harmless.

        Recalls under way may end first, for up to `CLOSE_S` seconds; new calls raise `StoreClosed` at once.
        """
        parts = self._parts
        if os.getpid() != parts.pid:
            return  # the parent owns all of it, and may have forked while it held a lock below
        parts.closed = True
        with self._closing:
            if not self._finalizer.alive:
                return
            if self._fact_filling is not None:  # without the write lock, which it may wait for
                self._fact_filling.stop()
            parts.in_use.wait(CLOSE_S)  # without the write lock: a recall may need it to open an index
            with parts.last_turn():
                parts.let_go()
                self._finalizer()

    @refusing_unknown
    def facts(
        self,
        scope: Scope | None = None,
        *,
        subject: str | None = None,
        slot: str | None = None,
        as_of: datetime | None = None,
        history: bool = False,
    ) -> list[Fact]:
        """List the facts that hold in a scope, ordered by subject (the user first), slot and start.

        Args:
            scope: the tenant; default `Scope()`.
            subject: only facts of this subject: a name or an alias; "me" = the user.
            slot: only facts of this slot: its name, or what people call it.
            as_of: the time at which the facts hold; default now, by the store's clock.
            history: also facts that held before, will hold, or were corrected, whatever the time.

        Raises:
            InvalidArgument, InvalidScope: an argument cannot be used.
        """
        from recall_integrations.store.listing import facts_of

        self._parts.up_to_date()
        return facts_of(self._parts, scope, subject=subject, slot=slot, as_of=as_of, history=history)

    def facts_in(self, view: ScopeView) -> ScopeFacts | None:
        """Return the facts of a scope; `None` where no facts are kept (`facts.keep`)."""
        with self._parts.errors():
            return self._parts.facts.get(view)

    def reading(self, seconds: float = math.inf) -> AbstractContextManager[None]:
        """Guard a recall: `close` lets it end. An error because the store was closed becomes `StoreClosed`.

        Args:
            seconds: limit of waiting for a database's server, by all statements of this thread together.
        """
        return self._parts.reading(seconds)

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        scopes = len(self._parts.scopes)
        state = "closed" if self._parts.closed else "1 scope" if scopes == 1 else f"{scopes} scopes"
        return f"MemoryStore({self._parts.directory.name!r}, {state})"

    if not TYPE_CHECKING:  # a type checker shall know what there is

        def __getattr__(self, name: str) -> Any:
            hint = f" Did you mean {MEANT[name]}?" if name in MEANT else ""
            raise AttributeError(f"A MemoryStore has no {name!r}.{hint}", name=name, obj=self)

    @property
    def address(self) -> str:
        """The argument of `open` and `attach` for this store: path of its directory, or address of its database."""
        return self._parts.directory.address

    # -- writing ---------------------------------------------------------------------------------------------------

    @refusing_unknown
    def remember(
        self, memory: Memory | str | Message, *, scope: Scope | None = None, on_duplicate: OnDuplicate = "keep"
    ) -> str:
        """Store one memory and return its id. It is durable and can be recalled when this returns.

        Args:
            memory: a `Memory`, a plain text, or a chat message (`Memory.from_message`).
            scope: the tenant; default `Scope()`.
            on_duplicate: as for `remember_many`.

        Raises:
            InvalidMemory, InvalidScope: nothing was changed.
            EmbeddingError: the embedding has never worked with this store; nothing was changed.
        """
        if is_message(memory):  # one without text is an error here: there is nothing else to store
            fields_of(memory)
        return self.remember_many([memory], scope=scope, on_duplicate=on_duplicate)[0]

    @refusing_unknown
    def remember_many(
        self,
        memories: Iterable[Memory | str | Message],
        *,
        scope: Scope | None = None,
        progress: bool | Told = False,
        batch_size: int = BATCH,
        thread: str | None = None,
        on_duplicate: OnDuplicate = "keep",
    ) -> Remembered:
        """Store memories in batches, one transaction each, and return their ids in order.

        A list, and any iterable given with a thread, is checked whole before anything is changed; of other iterables,
        the batches before a bad item are stored. A memory with a known id replaces the old one; the same id twice in
        one call is an error.

        The messages of a chat may be given as they are, and again when it has grown, whole or only the last ones:
        stored messages are left alone. A message keeps its own id. One without is known by its place: the given
        messages are aligned with the end of the thread (`store.duplicates`), so an "ok" that was said again is stored
        again. Windows of a chat must overlap by a message that occurs once, or begin with a new one. Without a thread,
        messages that have no id are new each time.

        Messages without text (empty, or only images) are left out, as if they had not been given; `skipped` of the
        result holds their places.

        Args:
            memories: `Memory` objects, plain texts, and chat messages of LangChain, LlamaIndex, OpenAI or Anthropic.
            scope: the tenant; default `Scope()`.
            progress: show it on standard error; or an object that is told of it (`observability.progress.Told`).
            batch_size: memories per transaction; fewer where their texts have more than 250,000 characters together.
            thread: the conversation of the messages and plain texts, which get their places in order of arrival.
            on_duplicate: the wish for a memory that says the same as another one of the scope, whatever their ids: the
                same text, type, actor, `event_at` and thread, there or earlier in the same call. "keep" stores both
                (the default). "skip" leaves it out, also where only its id is known. "replace" stores it in the place
                of the other, under the other's id if it has none of its own. The result has the ids under which the
                memories are then stored.

        Raises:
            InvalidMemory: an item is not a memory, or its id occurs twice; the error gives its position.
        """
        from recall_integrations.store.duplicates import Remembered

        self._parts.about_to_write(asks=thread is not None)
        where = checked_scope(scope)
        check_many(memories, batch_size, thread)
        chat = Chat(on_duplicate=checked_wish(on_duplicate))
        source: Iterable[Memory] = checked(memories, thread, chat, self._parts.clock)
        if thread is not None:
            ids = self._writer.write_chat(where, thread, list(source), chat, progress=progress, batch_size=batch_size)
            self._wake_facts()
            return Remembered(ids, chat.skipped)
        total = len(memories) if isinstance(memories, Sequence) else None
        if total is not None:
            source = list(source)
        ids = self._writer.write_all(where, source, chat, progress=progress, batch_size=batch_size, total=total)
        self._wake_facts()
        return Remembered(ids, chat.skipped)

    @refusing_unknown
    def import_from(
        self,
        source: Importable,
        *,
        format: str | None = None,
        scope: Scope | None = None,
        dry_run: bool = False,
        skip_bad: bool = False,
        forget_gone: bool = False,
        progress: bool | Told = False,
    ) -> ImportReport:
        """Store what people have elsewhere, and return what was stored and what was left out.

        Formats: ChatGPT, Claude, Slack, Discord, WhatsApp, mem0, Markdown notes, mbox, CSV, and JSON Lines as `export`
        writes them. Times, roles and threads are kept. Run again, it stores nothing twice, and forgets sections that
        left their note.

        Args:
            source: a file, a folder or a zip archive; or parsed JSON, such as mem0's `get_all` returns.
            format: such as "chatgpt"; default: found out by the content.
            scope: of entries that do not name theirs; default `Scope()`.
            dry_run: only report what would be stored.
            skip_bad: leave out bad rows of JSON Lines, as bad entries of other formats are; default: one ends the
                import before anything is stored.
            forget_gone: forget notes that left the folder, if every entry could be read.
            progress: as for `remember_many`.

        Raises:
            InvalidArgument: the path cannot be read, or is in no known format.
            InvalidMemory: a row of JSON Lines is bad.
        """
        from zoneinfo import ZoneInfo

        from recall_integrations.observability.progress import counted
        from recall_integrations.store.importing import Importer

        with counted("Importing", None, progress) as advance:
            return Importer(self, dry_run=dry_run).read(
                source, checked_scope(scope), format=format, zone=ZoneInfo(self.config.timezone), skip_bad=skip_bad,
                forget_gone=forget_gone, advance=advance,
            )  # fmt: skip

    @refusing_unknown
    def forget(
        self,
        ids: str | Iterable[str] | None = None,
        *,
        scope: Scope | None = None,
        filters: FiltersLike = None,
        user_id: str | None = None,
    ) -> int:
        """Remove memories everywhere, and return how many there were. Asking again removes nothing more.

        `forget("m1")`, `forget(["m1", "m2"], scope=s)`: by id. `forget(filters=f, scope=s)`: memories that meet them.
        `forget(scope=s)`: all of a scope. `forget(user_id="u1")`: all scopes of a user. With a scope or a user, and no
        filters, the names declared there go as well.

        No recall finds them when this returns. One transaction removes 1,000 of them; after an interruption call it
        again. In files of the indexes their words may remain until `compact`.

        Args:
            ids: of memories of the scope; unknown ones are passed over.
            scope: the tenant. With ids or filters, default `Scope()`.
            filters: as for recalls.
            user_id: of all scopes of this user, whatever their agent and namespace.

        Raises:
            InvalidArgument: no argument says what to forget, or two arguments exclude each other.
        """
        self._parts.up_to_date()
        return self._forgetting.forget(ids, scope, filters, user_id)

    def compact(self, *, progress: bool | Told | None = None) -> Compacted:
        """Remove forgotten and ended memories for good: after this, no file of the store holds any of them.

        Indexes and database are made anew from the living memories, if anything was forgotten since the last time,
        which takes some minutes and as much disk again for a million memories. Recalls go on beside it, writes wait. A
        killed process loses nothing; call it again. Chroma is emptied, and filled when the store is next opened: do
        that in a new process, for this one may still hold vectors in memory that Chroma would write to its files.

        Names that occur only in forgotten memories go as well, and empty scopes. `left` of the result lists files that
        may still hold forgotten memories, and that only you may remove.

        Args:
            progress: as for `remember_many`.

        Raises:
            StoreError: the disk is full; nothing is lost.
        """
        from recall_integrations.observability.progress import telling
        from recall_integrations.store import renewal

        self._parts.up_to_date()
        try:
            with telling(progress or False) as tell:
                return renewal.compact(self._parts, tell)
        finally:
            self.reader.let_go()

    def add_entity(self, name: str, *, aliases: Iterable[str] = (), scope: Scope | None = None) -> str:
        """Declare an entity and other names for it; return its id. Declaring it again adds aliases.

        An ordinary word is a name once it is declared: "billing", "the chief". "Will" and "May" in lower case are names
        only if they were declared in lower case. A `UserWarning` names a name that no query can mean ("it", "us"). An
        alias that so far was only seen as a name in memories is taken over with its mentions. Earlier memories with one
        of the names are found by their words and linked (the best 1,000 per name).
        """
        from recall_integrations.store.writer import declare

        self._parts.up_to_date()
        where = checked_scope(scope)
        checked_id(name, "The name of an entity", InvalidArgument)
        if isinstance(aliases, str):
            raise InvalidArgument(f"aliases must be a list of names. Write [{aliases!r}] for a single one.")
        others = [checked_id(alias, "An alias", InvalidArgument) for alias in aliases]
        return declare(self._parts, name, others, where)

    def read_facts(
        self, llm: Any = None, *, scope: Scope | None = None, budget: int | None = None, progress: bool | Told = False
    ) -> FactsRead:
        """Read facts with a language model from the memories that none has read yet, and return the result.

        It goes batch by batch, oldest first. After an interruption call it again: no memory is read twice. The answers
        of the model are checked against the text of the memory (docs/facts.md).

        Args:
            llm: as `QueryOptimizer(llm=...)`; default the one that the store was opened with.
            scope: the tenant; `None` = all of them.
            budget: maximum number of calls; `None` = the rest of the hour's (`facts.llm_calls_per_hour`).
            progress: as for `remember_many`.

        Raises:
            InvalidArgument: `llm` is no language model, or the store keeps no facts.
        """
        from recall_integrations.adapters.llm import resolve_llm
        from recall_integrations.observability.progress import counted
        from recall_integrations.store.fact_reading import FactReader

        parts = self._parts
        parts.up_to_date()
        if budget is not None and (not is_whole(budget) or budget < 0):
            raise InvalidArgument(f"budget must be a whole number of calls, 0 or more, not {budget!r}.")
        where = None if scope is None else checked_scope(scope)
        model = resolve_llm(llm)
        reader = self._fact_reader if model is None else FactReader(parts, model)
        if reader is None:
            raise InvalidArgument("read_facts needs a language model: give it one, or open the store with facts_llm.")
        with counted("Reading facts", None if progress is False else reader.left(where), progress) as advance:
            return reader.read(where, budget, advance)

    def health(self) -> tuple[Health, ...]:
        """Return the health of the language model for facts and the Chroma server, as `QueryOptimizer.health`.

        Absent or unused ones are left out.
        """
        reader = () if self._fact_reader is None else (self._fact_reader.health(),)
        return (*reader, *self._parts.indexes.collections.health())

    def _wake_facts(self) -> None:
        if self._fact_filling is not None:
            self._fact_filling.wake()

    def reindex(self, *, progress: bool | Told | None = None) -> None:
        """Make all words and indexes anew, and every vector with the embedding of the open store."""
        from recall_integrations.observability.progress import telling
        from recall_integrations.store import renewal

        self._parts.up_to_date()
        with telling(progress or False) as tell:
            renewal.reindex(self._parts, tell)

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, memory_id: str, *, scope: Scope | None = None) -> Memory | None:
        """Return the memory with this id, or `None`."""
        self._parts.up_to_date()
        scope_id = self._parts.scopes.get(checked_scope(scope))
        checked_id(memory_id, "memory_id", InvalidArgument)
        if scope_id is None:
            return None
        return self.reader.fetch_ids(scope_id, [memory_id]).get(memory_id)

    @refusing_unknown
    def history(self, memory_id: str, *, scope: Scope | None = None) -> History:
        """Return what became of a memory: the turns it was read in, what it replaced, what replaced it, and when.

        Changes are those that an LLM named (`QueryOptimizer.remember_conversation`), and those of `facts`.

        Raises:
            NotFound: no such memory is in the scope.
        """
        from recall_integrations.store.listing import history_of

        self._parts.up_to_date()
        return history_of(self._parts, self.reader, memory_id, scope)

    @refusing_unknown
    def list(
        self, *, scope: Scope | None = None, filters: FiltersLike = None, limit: int = 100, after: str | None = None
    ) -> Listed:
        """List memories of a scope in the order in which they were written; a replaced one stands at the end.

        Args:
            scope: the tenant; default `Scope()`.
            filters: as for recalls.
            limit: maximum number of memories.
            after: `.after` of the last page, for the next one. It stays valid while others write and forget.
        """
        self._parts.up_to_date()
        if not is_whole(limit) or not 1 <= limit <= LIST_MAX:
            raise InvalidArgument(f"limit must be a whole number from 1 to {LIST_MAX:,}, not {limit!r}. See `iterate`.")
        return self.reader.page(checked_scope(scope), checked_filters(filters), limit, after)

    @refusing_unknown
    def iterate(self, *, scope: Scope | None = None, filters: FiltersLike = None) -> Iterator[Memory]:
        """Yield all memories of a scope in the order in which they were written, read a few hundred at a time.

        Memories that are written or forgotten meanwhile may be among them or not.
        """
        self._parts.up_to_date()
        return self.reader.all_of(checked_scope(scope), checked_filters(filters))

    @refusing_unknown
    def export(
        self,
        target: str | os.PathLike[str] | IO[str] | IO[bytes],
        *,
        scope: Scope | Literal["all"] | None = "all",
        filters: FiltersLike = None,
        progress: bool | Told = False,
    ) -> int:
        """Write memories as JSON Lines, one a line with its scope, and return their number.

        `recall import FILE STORE --format jsonl` reads the same memories back. Names declared with `add_entity` are not
        in the file, vectors are made anew.

        Args:
            target: a path, or an open file. An existing file is replaced when all is written; a pipe or a device is
                written to.
            scope: a scope, or "all" of them (the default).
            filters: as for recalls.
            progress: as for `remember_many`.
        """
        from recall_integrations.observability.progress import counted
        from recall_integrations.store import listing

        self._parts.up_to_date()
        wanted = checked_filters(filters)
        scopes = [found for found, _ in self.scopes()] if scope == "all" else [checked_scope(scope)]
        total = None if wanted or progress is False else sum(self.count(scope=found) for found in scopes)
        with counted("Exporting", total, progress) as advance:
            return listing.export(self.reader, target, scopes, wanted, self.path, advance)

    @refusing_unknown
    def count(self, *, scope: Scope | None = None, filters: FiltersLike = None) -> int:
        """Count the memories of the scope, or those that meet filters; 0 for an unknown scope."""
        self._parts.up_to_date()
        wanted = checked_filters(filters)
        if wanted:
            return len(self.reader.nums(checked_scope(scope), wanted, 0, None))
        scope_id = self._parts.scopes.get(checked_scope(scope))
        return 0 if scope_id is None else self.reader.count_of(scope_id)

    def counts(self) -> dict[Scope, dict[MemoryType, int]]:
        """Count the memories of each type in every scope."""
        self._parts.up_to_date()
        return self.reader.counts()

    def scopes(self) -> Sequence[tuple[Scope, int]]:
        """List all scopes with their number of memories, in the order they were made."""
        self._parts.up_to_date()
        return self.reader.scopes()

    def stats(self) -> dict[str, Any]:
        """Return sizes, per scope and in all, the embedding, the lag of each index, and notices of repairs.

        `collections_lack`: of each large scope, by its number, the count of vectors that are in no index yet, and
        scanned.
        """
        self._parts.up_to_date()
        return self.reader.stats()

    def figures(self) -> dict[str, Any]:
        """Return the few numbers of `stats` that are cheap enough to be read every few seconds.

        `memories`, `scopes`, `bytes` on disk, `index_lag`, `hydration`, and `changes`: memories written and removed
        since the store was made. Memories that have ended count until they are removed.
        """
        self._parts.up_to_date()
        return self.reader.figures()

    # -- what the arms are built on (internal), besides `reader` -----------------------------------------------------

    def scope_id(self, scope: Scope) -> int | None:
        """Return the scope's number, or `None` for an unknown scope."""
        if self._parts.in_use.mine:  # a recall has followed others at its beginning
            self._parts.check_open()
        else:
            self._parts.up_to_date()
        return self._parts.scopes.get(scope)

    @property
    def judgements(self) -> Judgements:
        """Judgements of recalls."""
        from recall_integrations.store.judgements import Judgements

        return Judgements(self._parts)

    @property
    def away(self) -> str:
        """Why what others have written could not be read when it was looked for last; empty = it was read."""
        return self._parts.followed.failed

    @property
    def learned(self) -> LearnedRows:
        """Weights learned from feedback, as they are kept: `recall_integrations.learning` reads and writes them."""
        from recall_integrations.store.judgements import LearnedRows

        return LearnedRows(self._parts.directory)

    def behind(self, scope_id: int) -> dict[str, int]:
        """Count the changes of the scope that each index lacks; only indexes that lack some."""
        with self._parts.errors():
            return self._parts.indexes.behind(scope_id)

    def view(self, scope_id: int) -> ScopeView:
        """Return the scope's columns, up to date."""
        with self._parts.errors():
            return self._views.get(scope_id)

    def in_memory(self, scope_id: int) -> bool:
        """Say whether the data for a recall of the scope is in memory, but for a few changes."""
        return self._views.near(scope_id, FEW_CHANGES) and self._parts.catalog.has(scope_id)

    def speller(self, scope_id: int, *, wait: bool = False) -> Speller | None:
        """The scope's corrections; `None` while a large scope's vocabulary is built, unless `wait`. See `Spellers`."""
        with self._parts.errors():
            return self._spellers.of(self._views.get(scope_id), wait=wait)

    def speller_of(self, scope_id: int) -> Callable[[], Speller | None]:
        """Return a function that returns `speller`; a large scope's vocabulary is begun at once."""
        if self._spellers.is_small(self.view(scope_id).count):
            return lambda: self.speller(scope_id)
        found = self.speller(scope_id)
        return lambda: found

    def numbers(self, scope: Scope, ids: Sequence[str]) -> dict[str, int]:
        """Return the numbers of memories of a scope, by id; absent ones are left out."""
        from recall_integrations.store import rows

        scope_id = self.scope_id(scope)
        if scope_id is None or not ids:
            return {}
        with self._parts.errors(), self._parts.engine.connect() as connection:
            return {one: place.num for one, place in rows.find(connection, scope_id, ids).items()}

    def add_refs(self, refs: Mapping[str, Sequence[str]], scope: Scope) -> set[str]:
        """Add pointers to sources of memories, by id; return the ids of those that are there."""
        from recall_integrations.store.listing import add_refs

        self._parts.up_to_date()
        return add_refs(self._parts, scope, refs)

    def warm(self, *, scope: Scope | None = None) -> None:
        """Load the data for the first recalls of a scope: columns, names, vocabulary, tables of its languages.

        Chroma is loaded as well if the scope is large.
        """
        import numpy as np

        from recall_integrations.query import warming

        scope_id = self.scope_id(checked_scope(scope))
        if scope_id is None:
            return
        view = self.view(scope_id)
        self.entities(scope_id)
        always = self.config.vectors.all_in_chroma
        if view.size and (always or not view.exact) and self._parts.indexes.home_until(scope_id):
            query = np.zeros(self.embedding.dimensions, dtype=np.float32)
            query[0] = 1.0
            with contextlib.suppress(IndexUnavailable):  # reported by the recall, which goes on without it
                self._parts.indexes.neighbours.nearest(self._parts.indexes.home_of(scope_id), query, 1)
        for code in self.reader.languages(scope_id).kept_in:
            warming.warm([code])
            warming.settle(code)
        if self.config.query.spelling:
            with contextlib.suppress(OSError):  # reported by the next recall, which corrects nothing
                self.speller(scope_id, wait=True)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedding that made the vectors; known also while it cannot be reached."""
        return self._parts.asking.fingerprint

    @property
    def dimensions(self) -> int:
        """Length of a vector; known also while the embedding cannot be reached."""
        return self._parts.asking.dimensions

    @property
    def cosine_spread(self) -> float:
        """The spread of cosines of the store's embedding, 1 = that of the bundled model.

        Measured together with the worth in English (`cosine_worth_in`).
        """
        return self._parts.worth.spread

    def cosine_worth_in(self, language: str, text: str, scope_id: int | None = None) -> float:
        """Return the worth of a cosine of the store's embedding to the ranker, 1 = as one of the bundled model.

        In English measured (`embeddings.probe`) at the first write, when all vectors are made anew, and when a store
        that lacks it is opened with an embedding on this machine; in another language once a scope has ten memories
        written in it. It is 1 until then, where that failed, and where `retrieval.semantic_remote` declares that a call
        costs.

        `scope_id`: scope of the query; languages of other scopes only count as not measured. `None` = all languages
        count.
        """
        worth = self._parts.worth
        told = None if scope_id is None or worth.bundled else self.reader.languages(scope_id).told
        return worth.of(language, text, told)


def _with_vectors(settings: RecallConfig, address: str | None) -> RecallConfig:
    if address is None:
        return settings
    if not isinstance(address, str):
        raise InvalidArgument(
            f"vectors must be the address of a Chroma server or 'pgvector', not {type(address).__name__}."
        )
    return replace(settings, vectors=replace(settings.vectors, address=address))


def _check_functions(extractor: object, **given: object) -> None:
    for name, function in given.items():
        if not callable(function):
            raise InvalidArgument(f"{name} must be a function without arguments, not {type(function).__name__}.")
    if extractor is not None and not callable(extractor):
        what = type(extractor).__name__
        raise InvalidArgument(f"extractor must be a function from a text to a list of names, not {what}.")


def _facts_model(source: object, settings: RecallConfig) -> Callable[[str], str] | None:
    """Return the language model that reads facts; `None` stays `None`."""
    if source is None:
        return None
    from recall_integrations.adapters.llm import resolve_llm

    if not settings.facts.keep:
        raise InvalidArgument("facts_llm reads facts, which facts.keep: false does not keep. Leave one of them out.")
    return resolve_llm(source)
