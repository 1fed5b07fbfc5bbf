"""A store of ours that follows a user's vector store: it is read once in pages, then kept in step by ids and digests.

    their ids ─ pages ─▶ rows ─ fields ─▶ memories ─ remember_many ─▶ words, names, times, threads, vectors of theirs
    refresh   ids that are new, digests that differ, ids that are gone
    a recall  names an id that we do not know ─▶ that one document is read

The vector store is only read. Each memory keeps the digest of its document in its metadata, so that a copy is
consistent after any crash: missing documents are read again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Text, select, type_coerce

from recall_integrations.adapters.shapes import DIGEST, own
from recall_integrations.adapters.sources import Row, Source, in_pages
from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.database.sending import in_parts
from recall_integrations.errors import InvalidArgument, InvalidMemory, StorePathError
from recall_integrations.observability.progress import counted
from recall_integrations.ontop.arm import Borrowed, Vector, unit
from recall_integrations.ontop.fields import FIELDS, checked, read, said, zone_of
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.store.given import BATCH
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, MemoryType, Scope
from recall_integrations.types.memory import indexed_text

NOTED = "on top of "  # key in `meta`, before the scope
SAMPLE = 1_000  # documents that the fields are guessed from
SHOWN_FROM = 5_000  # documents that take long enough to say how far it is
logger = logging.getLogger("recall_integrations")


@record(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """The changes that brought a copy in step, in numbers of documents."""

    added: int = 0
    replaced: int = 0
    forgotten: int = 0
    left_out: int = 0  # without a text that can be kept

    def __str__(self) -> str:
        said = f"{self.added:,} added, {self.replaced:,} replaced, {self.forgotten:,} forgotten"
        return f"{said}, {self.left_out:,} left out" if self.left_out else said


class Following:
    """The memories of a scope, kept in step with a source. Threads share it."""

    def __init__(self, store: MemoryStore, source: Source, borrowed: Borrowed, scope: Scope, fields: Any) -> None:
        self.store, self.source, self.scope = store, source, scope
        self._borrowed, self._said = borrowed, checked(fields)
        self._zone = zone_of(store.config.timezone)
        self.fields: dict[str, str | None] = dict.fromkeys(FIELDS)
        self.noticed = 0  # grows when a recall names what we do not know
        self._unknown: set[str] = set()
        self._refused: set[str] = set()
        self._lock, self._noting = threading.Lock(), threading.Lock()

    # -- opening ---------------------------------------------------------------------------------------------------

    def start(self, progress: bool | None) -> Refreshed | None:
        """Read documents that are not kept yet. `None` where ids cannot be listed: the copy stays as it is."""
        noted, kept = self._noted(), self.store.count(scope=self.scope)
        if noted is None and kept:
            raise StorePathError(
                f"{self.store.path} holds memories that are not from {self.source.name}. Give another path."
            )
        if noted is None:
            return self.refresh(progress=progress)
        if noted["of"] != self.source.name:
            raise StorePathError(
                f"{self.store.path} holds a copy of {noted['of']}, not of {self.source.name}. Give another path."
            )
        self.fields = noted["fields"]
        others = any(self.fields.get(name) != key for name, key in self._said.items())
        whole = others or not noted["done"]
        if kept and not whole and not self.source.listed:
            return None
        with self._lock:
            return self._in_step(progress, whole=whole, settled=not others)

    def _key(self) -> str:
        return NOTED + json.dumps([self.scope.user_id, self.scope.agent_id, self.scope.namespace])

    def _noted(self) -> dict[str, Any] | None:
        with self.store.engine.connect() as connection:
            text = get_meta(connection, self._key())
        return None if text is None else json.loads(text)

    def _note(self, *, done: bool) -> None:
        noted = {"of": self.source.name, "fields": self.fields, "done": done}
        with self.store.engine.begin() as connection:
            put_meta(connection, self._key(), json.dumps(noted))

    @property
    def started(self) -> bool:
        return self.store.scope_id(self.scope) is not None

    def begin(self) -> None:
        """Read the source if it was empty so far: no arm is asked over an empty scope, so new documents show here."""
        if not self.started and self.source.listed and self.source.count():
            self.refresh(progress=False)

    # -- in step ---------------------------------------------------------------------------------------------------

    def refresh(self, *, progress: bool | None = None, documents: Iterable[Any] | None = None) -> Refreshed:
        with self._lock:
            if documents is not None:
                self.source.take(documents)
            return self._in_step(progress, whole=True)

    def _in_step(self, progress: bool | None, *, whole: bool, settled: bool = True) -> Refreshed:
        """Bring the copy in step, by ids and digests (`whole`) or by ids alone; settled fields stay."""
        ids = [str(i) for i in self.source.ids()]
        known = self._digests()
        if not known or not settled:
            self._settle_fields(ids)
        self._note(done=False)  # before the first is written: it says whose they are
        self._refused.clear()
        wanted = ids if whole else [i for i in ids if i not in known]
        counts = {"added": 0, "replaced": 0}
        self._write(self._changed(wanted, known, counts), len(wanted), progress)
        there = set(ids) if len(wanted) < BATCH else set(map(str, self.source.ids()))  # as it is now
        gone = [i for i in known if i not in there]
        if gone:
            self.store.forget(gone, scope=self.scope)
        self.source.let_go()
        if sum(counts.values()) >= BATCH:  # so many are not brought into memory in the time of a recall
            self.store.warm(scope=self.scope)
        self._note(done=True)
        if self._refused:
            logger.warning("%d documents have no text that can be kept, and were left out.", len(self._refused))
        return Refreshed(**counts, forgotten=len(gone), left_out=len(self._refused))

    def learn(self, wait_s: float) -> bool:
        """Read the documents that recalls have named and we lack; say whether they are there now."""
        done: list[bool] = []

        def read_them() -> None:
            try:
                done.append(self._learn())
            except failures() as e:  # the next recall that names them tries again
                logger.warning("What %s has named could not be read: %s", self.source.name, e)

        thread = threading.Thread(target=read_them, name="recall-reading", daemon=True)
        thread.start()
        thread.join(max(wait_s, 0.0))
        return any(done)

    def _learn(self) -> bool:
        with self._lock:
            with self._noting:
                wanted, self._unknown = sorted(self._unknown), set()
            if not wanted:  # another one has read it
                return True
            if not self.store.count(scope=self.scope):
                self._settle_fields(wanted)
                self._note(done=True)
            before = self.store.count(scope=self.scope)
            self._write(self._changed(wanted, {}, {"added": 0, "replaced": 0}), len(wanted), False)
            there = self._digests(wanted)
            self._refused.update(i for i in wanted if i not in there)
            return self.store.count(scope=self.scope) > before

    def unknown(self, ids: Sequence[str]) -> None:
        """Note ids that a recall was given and we lack."""
        with self._noting:
            new = [i for i in ids if i not in self._refused]
            if new:
                self._unknown.update(new)
                self.noticed += 1

    # -- reading and writing ---------------------------------------------------------------------------------------

    def _settle_fields(self, ids: Sequence[str]) -> None:
        step = max(1, len(ids) // SAMPLE)
        half = SAMPLE // 2
        spread = dict.fromkeys([*ids[:half], *ids[::step][:half]])  # together, for threads; and from everywhere
        self.fields = said(self._said, self.source.read(list(spread)), self._zone)

    def _digests(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        scope_id = self.store.scope_id(self.scope)
        if scope_id is None:
            return {}
        m = schema.memories
        # Read here: a database that looks into JSON refuses all of it for one value that it cannot hold.
        query = select(m.c.id, type_coerce(m.c.metadata, Text)).where(m.c.scope_id == scope_id)
        queries = [query] if ids is None else [query.where(m.c.id.in_(part)) for part in in_parts(ids)]
        with self.store.engine.connect() as connection:
            return {
                memory_id: _digest_in(metadata) for part in queries for memory_id, metadata in connection.execute(part)
            }

    def _changed(
        self, wanted: Sequence[str], known: Mapping[str, str], counts: dict[str, int]
    ) -> Iterator[tuple[int, Sequence[Memory]]]:
        """Yield, for each page of ids, its size and the memories that are new or differ from ours."""
        for page in in_pages(wanted, BATCH):
            memories = []
            for row in self.source.read(page):
                digest = digest_of(row, self.fields)
                if known.get(row.id) == digest:
                    continue
                memory = self._memory(row, digest)
                if memory is None:
                    self._refused.add(row.id)
                    continue
                memories.append(memory)
                counts["replaced" if row.id in known else "added"] += 1
            yield len(page), memories

    def _memory(self, row: Row, digest: str) -> Memory | None:
        if not row.text.strip():
            return None
        metadata = {**own(row.metadata), **row.besides, DIGEST: digest}
        about = {"thread": row.document, **read(row, self.fields, self._zone)}
        try:
            return Memory(row.text, id=row.id, type=MemoryType.CHUNK, metadata=metadata, **about)
        except InvalidMemory as e:
            logger.warning("A document cannot be kept: %s", e)
            return None

    def _write(self, pages: Iterator[tuple[int, Sequence[Memory]]], total: int, progress: bool | None) -> None:
        shown = sys.stderr.isatty() and total >= SHOWN_FROM if progress is None else progress
        with (
            counted(f"Reading {self.source.name}", total, shown) as advance,
            self._borrowed.lending() as lent,
        ):
            self.store.remember_many(self._lent(pages, lent, advance), scope=self.scope)

    def _lent(
        self, pages: Iterator[tuple[int, Sequence[Memory]]], lent: dict[str, Vector], advance: Callable[[int], None]
    ) -> Iterator[Memory]:
        """Yield memories one by one; the vectors of a batch's texts are lent before it is embedded."""
        nothing = np.zeros(self._borrowed.dimensions, dtype=np.float32)  # of what has no vector there
        for size, memories in pages:
            texts = {memory.id or "": indexed_text(memory.text, memory.actor) for memory in memories}
            vectors = self.source.vectors(list(texts)) if self.source.readable else {}
            for memory_id, text in texts.items():
                found = vectors.get(memory_id)
                lent.pop(text, None)
                lent[text] = nothing if found is None else unit(found)
            for text in list(lent)[: -2 * BATCH]:  # a batch may be made of many pages, and ends within one
                del lent[text]
            yield from memories
            advance(size)


def digest_of(row: Row, fields: Mapping[str, str | None]) -> str:
    """Return the digest of a memory's document: text, metadata, other fields of a node, and the keys of fields."""
    made_of = [row.text, row.metadata, row.besides, row.document, sorted(fields.items())]
    text = json.dumps(made_of, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _digest_in(metadata: str) -> str:
    """Return the digest in a copy's metadata, given as text; empty where they hold none, or are damaged."""
    try:
        return str(json.loads(metadata)[DIGEST])
    except (KeyError, TypeError, ValueError):
        return ""


def stored_dimensions(source: Source) -> int | None:
    """Return the length of the vectors of a source; `None` where it has none, or they cannot be read."""
    if not source.readable or not source.count():
        return None
    first = source.ids()[:1]
    found = source.vectors(first)
    if not found:
        raise InvalidArgument(f"{source.title} has no vectors for its documents.")
    return len(next(iter(found.values())))
