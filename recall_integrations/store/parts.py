"""The parts of an open store, and the state in memory that its reading and its writing side share."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.config import RecallConfig
from recall_integrations.database.connections import within
from recall_integrations.database.postgres_errors import is_crowded, tried_again
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import IndexUnavailable, RecallError, StoreClosed, StoreError, StoreLocked
from recall_integrations.facts.slots import Slots
from recall_integrations.indexes.damage import Damage
from recall_integrations.indexes.scope_views import ScopeViews
from recall_integrations.privacy.door import told
from recall_integrations.resilience import forking
from recall_integrations.store import journal
from recall_integrations.store.asking import AskedEmbedding, CosineWorth, Vectors
from recall_integrations.store.column_files import BUILT_MAX, ColumnFiles
from recall_integrations.store.directory import Held
from recall_integrations.store.entities import EntityCatalog, Extractor
from recall_integrations.store.fact_tables import FactTables
from recall_integrations.store.following import Followed
from recall_integrations.store.indexes import Indexes, Note
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.store.revisions import Expiry
from recall_integrations.store.spellers import Spellers
from recall_integrations.store.turns import InUse
from recall_integrations.types import Clock, Scope

if TYPE_CHECKING:
    from recall_integrations.store.collections import Collections

LOOK_MAX_S = 2.0  # for one row
# When calls look again for a database that could not be reached, if nothing beside them has found it before: so many
# seconds later, and so many times as long as the try took.
AWAY_S, AWAY_TIMES = 2.0, 10
T = TypeVar("T")
CLOSE_S = 10.0  # for what is written when a store is closed
_AT_EASE = contextlib.nullcontext()
# Makes the collections: (where the store is, its embedding, memories up to which scopes are scanned, note).
Made = Callable[[Held, AskedEmbedding, Callable[[], int], Note], "Collections"]
KEPT_ENTRIES = 100_000  # of a journal that nodes read; one that lags further behind reads its scopes anew

logger = logging.getLogger("recall_integrations")


class StoreParts:
    """The parts of a `MemoryStore`. None of them holds the store, so that an unused store is closed at once."""

    def __init__(
        self,
        directory: Held,
        embedding: Embedding,
        config: RecallConfig,
        *,
        clock: Clock,
        new_id: Callable[[], str],
        extractor: Extractor | None = None,
        collections: Made,
    ) -> None:
        self.directory = directory
        self.path = directory.path
        self.engine = directory.engine
        self.embedding = embedding
        self.config = config
        self.slots = Slots.of(config.facts.slots) if config.facts.keep else None
        self.clock = clock
        self.new_id = new_id
        self.write_lock = directory.turn
        self.followed = Followed(directory.watch)
        self.reading_facts = threading.Lock()  # for reads by a language model: no memory is asked about twice
        self.pid = os.getpid()
        self._depth = forking.depth()
        self.closed = False
        self.in_use = InUse()
        self.damage = Damage()
        self.scopes: dict[Scope, int] = {}
        # By scope, its version and the last change to show: one that is complete, with its vectors.
        self.shown: dict[int, tuple[int, int]] = {}
        self.expiry = Expiry(self.engine, clock, self.scopes)
        self.revisions = self.expiry.revisions
        self.next_seq = 1
        self._prune_at = 0  # next entry at which the journal is shortened; only where nodes read it, not indexes
        # Called when everything read before is invalid. Weak: the receivers hold this object.
        self.forgets: list[weakref.WeakMethod[Callable[[], None]]] = []
        self.stamped = False  # whether the store notes which embedding made it
        self._make(extractor, collections)

    def _make(self, extractor: Extractor | None, collections: Made) -> None:
        """Make the parts that need the directory and the embedding. None holds this object: a cycle would keep it."""
        engine, config, directory, embedding = self.engine, self.config, self.directory, self.embedding
        shown = self.shown
        self.asking = asking = AskedEmbedding(embedding)
        self.worth = CosineWorth(embedding if asking.here else asking, config.retrieval.semantic_remote)
        self.catalog = catalog = EntityCatalog(engine, extractor)
        self.facts = FactTables(engine, self.slots, lambda scope_id: catalog.of(scope_id).index)
        self.spellers = spellers = Spellers(threshold=config.query.spelling_threshold)
        self.indexes = indexes = Indexes(
            directory,
            embedding if asking.here else asking,
            collections=lambda note: collections(directory, asking, lambda: views.scan_max, note),
        )
        self.column_files = ColumnFiles(
            directory, embedding=lambda: asking.fingerprint, whole=lambda: not indexes.lag[SEMANTIC]
        )
        self.opened_at: dict[int, int] = {}  # the version of each scope when the store was opened
        self.views = views = ScopeViews(
            engine,
            shown=lambda scope_id: shown.get(scope_id, (0, 0)),  # not through self: a cycle would keep the columns
            dimensions=lambda: asking.dimensions,
            exact_max=config.retrieval.exact_max,
            budget_bytes=config.retrieval.cache_mb * 1_000_000,
            met=self.damage,
            files=self.column_files,
            ended=self.expiry.ended,
            scratch=self.path,
            left=(self.catalog.left, self.facts.drop, spellers.forget),
        )

    @contextlib.contextmanager
    def last_turn(self) -> Iterator[None]:
        """Hold the write lock, or nothing where its database is away: the store is released all the same."""
        with within(CLOSE_S) if self.directory.own_indexes else _AT_EASE:
            try:
                self.write_lock.acquire()
            except StoreLocked:
                raise
            except StoreError as e:
                logger.warning("The store is closed without its database: %s", told(e))
                yield
                return
            try:
                yield
            finally:
                self.write_lock.release()

    def let_go(self) -> None:
        """Write due columns to disk, and drop them from memory; under the write lock, before all is closed."""
        written = [scope_id for scope_id, (version, _) in self.shown.items() if self.opened_at.get(scope_id) != version]
        self.column_files.stop()
        try:
            self.views.close(written, BUILT_MAX)
        except (RecallError, SQLAlchemyError, OSError) as e:
            logger.warning("The columns could not be kept on disk: %s", told(e))

    @property
    def usable(self) -> bool:
        """True if the store is open, and was opened in this process."""
        return not self.closed and forking.depth() == self._depth

    def check_open(self) -> None:
        """Raise `StoreClosed` unless it is `usable`."""
        if self.closed:
            raise StoreClosed(f"The store {self.directory.name} is closed. Open it again with MemoryStore.open.")
        if forking.depth() != self._depth:
            raise StoreClosed(
                f"The store {self.directory.name} was opened in process {self.pid} and is used in its child "
                f"{os.getpid()}. Open it after the fork."
            )

    def up_to_date(self, *, again: bool = False) -> None:
        """Check that the store is open, and follow the writes of other processes before this call.

        If they cannot be read, the known state stays in use: calls that need the database for more raise the error.
        """
        self.check_open()
        followed = self.followed
        if followed.watch is None or (followed.failed and not again and time.monotonic() < followed.again_at):
            return
        began = time.monotonic()
        try:
            with self.errors(), within(LOOK_MAX_S) if self.directory.own_indexes else _AT_EASE:
                followed.look(self)
            followed.failed = ""
        except StoreClosed:
            raise
        except StoreError as e:
            now = time.monotonic()
            # If all connections were in use, the server's state is unknown: the next call looks again.
            followed.again_at = now if is_crowded(e) else now + max(AWAY_S, AWAY_TIMES * (now - began))
            if followed.failed != str(e):
                followed.failed = str(e)
                logger.warning("What other processes wrote could not be read: %s", told(e))

    def about_to_write(self, *, asks: bool) -> None:
        """Check that the store is open before a write; the writes of others are followed when the turn begins."""
        if asks or not self.directory.own_indexes:
            self.up_to_date()
        else:
            self.check_open()

    def turn_begins(self) -> None:
        """Follow the writes of others: see `WriteTurn.begun`. A store that is being closed does not."""
        if self.closed:
            return
        try:
            with self.errors():
                self.followed.begin(self)
            self.followed.failed = ""
            if not self.directory.keeps() and self.directory.try_to_keep():
                self._take_over()
        except BaseException:
            self.followed.mine = False  # the turn is given back
            raise

    def _take_over(self) -> None:
        """Keep the indexes, since the process that kept them is gone; if that fails, try at the next turn."""
        down = self.asking.down
        try:
            self.indexes.open(None if down is None else Vectors(error=down))
            with self.engine.connect() as connection:
                self.column_files.sweep(connection)
        except BaseException as e:
            self.directory.keep_no_longer()
            if not isinstance(e, RecallError | SQLAlchemyError | OSError):
                raise
            logger.warning(
                "The indexes of %s could not be taken over, and it is tried again: %s", self.directory.name, told(e)
            )
        else:
            logger.info("The indexes of %s are kept by this process from now on.", self.directory.name)

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the database into those of `recall_integrations.errors`, with the file's name.

        Once the store is closed, every error is `StoreClosed`.
        """
        try:
            yield
        except BaseException as e:
            mapped = self.directory.mapped(e)
            met = e if mapped is None else mapped
            closing = isinstance(met, StoreError | IndexUnavailable | OSError) and not isinstance(met, StoreClosed)
            if self.closed and closing:
                raise StoreClosed(f"The store {self.directory.name} was closed meanwhile.") from met
            if met is e:  # already an error of this package
                raise
            raise met from e

    def retried(self, write: Callable[[], T], *, twice: bool) -> T:
        """Run a write and return its result; for a record on a server, retry for some seconds where that may help."""
        return tried_again(write, twice=twice) if self.directory.own_indexes else write()

    @contextlib.contextmanager
    def reading(self, seconds: float = math.inf) -> Iterator[None]:
        """Guard a recall: see `MemoryStore.reading`."""
        bounded = seconds != math.inf and self.directory.own_indexes
        with self.in_use, within(seconds) if bounded else _AT_EASE:
            self.up_to_date()
            with self.errors():
                yield

    def version(self, scope_id: int) -> int:
        """Return the version of a scope, which every write raises; 0 for an unknown scope."""
        return self.shown.get(scope_id, (0, 0))[0]

    def catch_up(self, writing: int | None = None, vectors: Vectors | None = None) -> None:
        """Bring the indexes up to date after a write to a scope, under the write lock.

        Columns of other scopes whose vectors are only made now are loaded anew.
        """
        was_behind = self.indexes.lag[SEMANTIC] > 0
        with self.revisions.writing(None) if was_behind else contextlib.nullcontext():
            for scope_id in self.indexes.catch_up(vectors=vectors):
                if scope_id != writing or was_behind:
                    self.views.drop(scope_id)
        if self.directory.own_indexes and not self.directory.tenant and self.next_seq >= self._prune_at:
            self._prune_at = self.next_seq + KEPT_ENTRIES // 10
            with self.engine.begin() as connection:
                journal.prune_old(connection, KEPT_ENTRIES)

    def settle(self) -> None:
        """Embed the journal entries without vectors. The write lock is held only to store them."""
        while lag := self.indexes.lag[SEMANTIC]:
            texts = list(dict.fromkeys(self.indexes.unembedded()))
            made = dict(zip(texts, self.indexes.embed(texts), strict=True))
            with self.write_lock:
                self.check_open()
                self.catch_up(vectors=Vectors(made=made))
            if self.indexes.lag[SEMANTIC] >= lag:
                return  # the index itself does not work, and reports that
