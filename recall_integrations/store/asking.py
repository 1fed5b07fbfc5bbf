"""The embedding of a store, asked before a write takes its lock; and the worth of its cosines to the ranking.

An embedding may take long, or never return: it is asked in a thread, under a time limit, and no lock is held meanwhile.
The store notes which embedding made its vectors, so it can be opened while that cannot be reached. Worth is measured in
English at the first write, in another language when a scope has so many memories in it that they are no accident.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select
from tenacity import Retrying

from recall_integrations.database import schema
from recall_integrations.database.schema import put_meta
from recall_integrations.embeddings import base
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.errors import EmbeddingError, EmbeddingMismatch, RecallError
from recall_integrations.facts.rows import NOTHING, Derived, derived
from recall_integrations.facts.slots import Slots
from recall_integrations.indexes.word_rows import Cut, cut_row
from recall_integrations.privacy.door import told
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import AGAIN_S, TRIES, failures, policy
from recall_integrations.resilience.guard import Bulkhead, Busy
from recall_integrations.store import languages
from recall_integrations.text import language_of
from recall_integrations.types import Memory, indexed_text

if TYPE_CHECKING:
    from recall_integrations.store.parts import StoreParts

T = TypeVar("T")
LIMIT_S = 120.0  # for `PIECE` texts: a large model on a small machine takes seconds for each
HUNG_S = 1.0  # while an earlier call has not returned: whoever writes now need not find that out again
OPEN_S = 20.0  # for its name and dimensions, where the store knows them: a model may have to be loaded for that
PIECE = 100


class AskedEmbedding:
    """Wraps the user's `Embedding`. Every failure is an `EmbeddingError`, and comes in time. Threads share it."""

    def __init__(self, source: Embedding, limit_s: float = LIMIT_S) -> None:
        self.source, self._limit_s = source, limit_s
        self.here = isinstance(source, StaticEmbedding)
        self._threads = Bulkhead("embedding")
        self._fingerprint: str | None = None
        self._dimensions: int | None = None
        self._noted: tuple[str, int] | None = None
        self.down: EmbeddingError | None = None

    def identify(self, made_by: str, length: int | None) -> str:
        """Return the fingerprint of the embedding, or `made_by` where the embedding cannot be reached."""
        try:
            self._fingerprint = self._asked(lambda: self.source.fingerprint, limit_s=min(OPEN_S, self._limit_s))
        except EmbeddingError as e:
            named = getattr(self.source, "may_be", None)
            if named is not None and not named(made_by):
                raise EmbeddingMismatch(
                    f"This store was made with the embedding {made_by!r} and is opened with {self.source!r}, which "
                    "cannot be reached. Open it with the one that made it."
                ) from e
            if length is None:
                raise
            self._noted, self.down = (made_by, length), e
            return made_by
        return self._fingerprint

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedding; the one that the store notes while the embedding cannot be reached."""
        if self._fingerprint is None:
            if self._noted is not None:
                return self._noted[0]
            self._fingerprint = self._asked(lambda: self.source.fingerprint)
        return self._fingerprint

    @property
    def dimensions(self) -> int:
        """Dimensions of the embedding; those that the store notes while the embedding cannot be reached."""
        if self._dimensions is None:
            if self._noted is not None:
                return self._noted[1]
            self._dimensions = self._asked(lambda: self.source.dimensions)
        return self._dimensions

    @property
    def remote(self) -> bool:
        return self.source.remote

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) <= PIECE or self.here:
            return self._asked(partial(self._embedded, texts))
        pieces = [texts[i : i + PIECE] for i in range(0, len(texts), PIECE)]
        found = [self._asked(partial(self._embedded, piece)) for piece in pieces]
        try:
            return np.concatenate([np.asarray(part) for part in found])
        except ValueError as e:
            raise EmbeddingError(f"The embedding must return vectors of equal length: {e}.") from e

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._asked(lambda: self.source.embed_query(text))

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, once more where that failed and may pass, while somebody waits."""
        until = time.monotonic() + min(self._limit_s, AGAIN_S)
        return Retrying(**policy(TRIES, until=until))(self.source.embed_documents, texts)

    def _asked(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        if self.here:
            return call()
        limit_s = self._limit_s if limit_s is None else limit_s
        seconds = min(limit_s, HUNG_S) if self._threads.hanging else limit_s
        future = self._threads.submit(call)
        try:
            Deadline.after(seconds * 1e3).wait_for(future)
        finally:  # Ctrl-C, too: the thread may go on, nobody waits for it
            if not future.done():
                self._threads.give_up(future)
        if not future.done() or future.cancelled():
            raise EmbeddingError(f"The embedding did not answer within {seconds:g} s.")
        error = future.exception()
        if isinstance(error, RecallError):
            raise error
        if isinstance(error, Busy):
            raise EmbeddingError(f"The embedding is not asked: {error}") from error
        if error is not None:
            raise EmbeddingError(f"The embedding raised {type(error).__name__}: {error}") from error
        self.down = None
        return future.result()


COSINE_WORTH = "cosine worth of "  # key in `meta`, before the fingerprint of an embedding
IN = " in "  # and before a language that is not English
SPREAD = "spread"  # stands where a language does: how far apart cosines are, measured with English
MEMORIES_MIN = 10  # of a scope in a language, before eighty texts are embedded to measure it

logger = logging.getLogger(__name__)


class CosineWorth:
    """Factors by language, and when to measure them. Threads share it.

    `measure` calls the embedding and holds no lock meanwhile; `note` is called under the store's write lock.
    """

    def __init__(self, embedding: Embedding, costly: bool) -> None:
        self._embedding = embedding
        self.bundled = isinstance(embedding, StaticEmbedding)
        self.measures = not (self.bundled or costly)
        self._known: dict[str, float] = {}
        self._owed: dict[str, float] = {}  # measured here, and not noted in the store yet
        self._under_way: set[str] = set()
        self._lock = threading.Lock()  # only one of two writers measures

    @property
    def spread(self) -> float:
        """The spread of cosines, as a multiple of that of the bundled embedding; 1 = not measured."""
        return 1.0 if self.bundled else self._known.get(SPREAD, 1.0)

    def of(self, language: str, text: str, told: Mapping[str, int] | None = None) -> float:
        """Return the worth of a cosine with a text in this language, 1 = that of the bundled model in English.

        A language that was not measured gets the least of those in its script; else at most 1.

        `told`: memories of the scope by language; rare ones count as not measured. `None` = all measured ones count.
        """
        if self.bundled:
            return bundled_worth(language, text)
        known, english = dict(self._known), self._known.get(base.ENGLISH, 1.0)
        if told is not None:
            known = {code: value for code, value in known.items() if told.get(code, 0) >= MEMORIES_MIN}
        found = base.worth_in(language, text, {**known, base.ENGLISH: english})
        return min(english, 1.0) if found is None else found

    def load(self, connection: Connection, made_by: str | None) -> None:
        """Read the notes about the embedding that made the store."""
        if made_by is None or self.bundled:
            return
        key, m = f"{COSINE_WORTH}{made_by}", schema.meta
        noted = select(m.c.key, m.c.value).where(m.c.key.startswith(key, autoescape=True))
        for name, value in connection.execute(noted):
            language = name[len(key) :].removeprefix(IN) or base.ENGLISH
            if language in base.LANGUAGES or language == SPREAD:
                self._known[language] = float(value)

    def lacks(self, language: str) -> bool:
        """Say whether a language can be measured, and is not."""
        return language in base.LANGUAGES and language not in self._known

    def measure(self, languages: Iterable[str] = ()) -> bool:
        """Measure English and these languages where that lacks; say whether any was. A failure fails no write."""
        if not self.measures:
            return False
        with self._lock:
            due = [base.ENGLISH] if SPREAD not in self._known or self.lacks(base.ENGLISH) else []
            due = [one for one in dict.fromkeys((*due, *filter(self.lacks, languages))) if one not in self._under_way]
            self._under_way.update(due)
        try:
            for language in due:
                reached, spread = base.measured(self._embedding, language)
                self._owed[language] = self._known[language] = base.worth(reached)
                if language == base.ENGLISH:
                    self._owed[SPREAD] = self._known[SPREAD] = spread
        except failures() as e:  # the memory is stored without it, and the next write may succeed
            logger.warning("What the embedding is worth to the ranking could not be measured: %s", told(e))
        finally:
            self._under_way.difference_update(due)
        return bool(due)

    def note(self, connection: Connection) -> list[str]:
        """Note what was measured, in the caller's transaction; return it for `noted`."""
        owed = dict(self._owed)
        for language, value in owed.items():
            suffix = "" if language == base.ENGLISH else f"{IN}{language}"
            put_meta(connection, f"{COSINE_WORTH}{self._embedding.fingerprint}{suffix}", repr(value))
        return list(owed)

    def noted(self, languages: Iterable[str]) -> None:
        """Take notice that what `note` returned is committed."""
        for language in languages:
            self._owed.pop(language, None)

    def anew(self) -> None:
        """Forget all factors, since all vectors are made anew, maybe by another embedding."""
        self._known.clear()
        self._owed.clear()


def measure_all(parts: StoreParts) -> bool:
    """Measure the languages in which any scope has enough memories; say whether any was."""
    if not parts.worth.measures:
        return False
    with parts.engine.connect() as connection:
        common = languages.common(connection, MEMORIES_MIN)
    return parts.worth.measure(common)


def _measure(parts: StoreParts, scope_id: int | None, memories: Sequence[Memory]) -> None:
    """Measure the languages in which a scope has enough memories together with those that are about to be written."""
    if not parts.worth.measures:
        return
    new = Counter(filter(None, (language_of(memory.text) for memory in memories)))
    lacking = [code for code in new if parts.worth.lacks(code)]
    there: Mapping[str, int] = {}
    if lacking and scope_id is not None:
        with parts.engine.connect() as connection:
            there = languages.read(connection, scope_id).told
    if parts.worth.measure(code for code in lacking if new[code] + there.get(code, 0) >= MEMORIES_MIN):
        with parts.revisions.writing(None):  # no answer is kept that was made without it
            pass


def bundled_worth(language: str, text: str) -> float:
    """Return the worth of the bundled vectors of words and texts, in [0, 1]: they were made from English."""
    if language == base.ENGLISH:  # or unknown
        return 1.0 if base.script(text) == "LATIN" else 0.0
    return base.bundled_worth(language) if language in base.LANGUAGES else 0.0


Vector = NDArray[np.float32]
BESIDE_MIN = 64  # texts from which a thread is worth starting for their vectors


class NotYet(Exception):
    """A text has no vector yet."""


@record(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Vectors made ahead."""

    made: Mapping[str, Vector | None] = field(default_factory=dict)  # by text; `None` = the text cannot be embedded
    error: EmbeddingError | None = None  # the reason why vectors are missing; `None` = nothing failed

    def of(self, texts: Sequence[str]) -> list[Vector | None]:
        if all(text in self.made for text in texts):
            return [self.made[text] for text in texts]
        raise self.error if self.error is not None else NotYet


@record(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Facts about memories, found before they are written."""

    vectors: Vectors | None  # of the texts; `None` = vectors are made while indexing
    found: Mapping[str, tuple[str, ...]]  # the names that the extractor gave, by text
    cut: Mapping[tuple[str, str | None], Cut] = field(default_factory=dict)
    derived: Mapping[int, tuple[Memory, Derived]] = field(default_factory=dict)

    def vectors_of(self, memories: Sequence[Memory]) -> list[Vector] | None:
        made = {} if self.vectors is None else self.vectors.made
        found = [made.get(indexed_text(memory.text, memory.actor)) for memory in memories]
        whole = [vector for vector in found if vector is not None]
        return whole if len(whole) == len(found) else None

    def words_of(self, memory: Memory) -> Cut:
        return self.cut.get((memory.text, memory.actor)) or cut_row(memory.text, memory.actor)

    def derived_of(self, memory: Memory, now: datetime, slots: Slots | None) -> Derived:
        """Return the columns derived from a memory; empty without a schema."""
        made = self.derived.get(id(memory))
        return made[1] if made is not None and made[0] is memory else derived_from(memory, now, slots)


def derived_from(memory: Memory, now: datetime, slots: Slots | None) -> Derived:
    """Derive the facts of a memory and the times of its events; nothing without a schema."""
    if slots is None:
        return NOTHING
    at = memory.event_at or memory.created_at or now
    return derived(memory.text, at, memory.actor, memory.role, memory.relations, memory.metadata, slots)


def look_ahead(
    parts: StoreParts, scope_id: int | None, memories: Sequence[Memory], now: datetime | None = None
) -> Ahead:
    """Ask the user's components about memories. The caller holds no lock of the store.

    `scope_id`: of the scope; `None` = it is new. `now`: the time of memories without one; `None` = unknown yet, and
    nothing that depends on it is derived.
    """
    if not parts.stamped:
        _ = parts.asking.dimensions
    _measure(parts, scope_id, memories)
    found = parts.catalog.extracted(memory.text for memory in memories)
    texts = list(dict.fromkeys(indexed_text(memory.text, memory.actor) for memory in memories))
    beside: Future[Vectors] | None = None
    with ThreadPoolExecutor(1, "recall-embedding") as threads:  # the bundled model releases the interpreter meanwhile
        if parts.asking.here and len(texts) >= BESIDE_MIN:
            with suppress(RuntimeError):  # the process can start none
                beside = threads.submit(_embedded, parts, texts)
        cut = {(memory.text, memory.actor): cut_row(memory.text, memory.actor) for memory in memories}
        told = {}
        if now is not None and parts.slots is not None:
            told = {id(memory): (memory, derived_from(memory, now, parts.slots)) for memory in memories}
    vectors = _embedded(parts, texts) if beside is None else beside.result()
    return Ahead(vectors=vectors, found=found, cut=cut, derived=told)


def _embedded(parts: StoreParts, texts: list[str]) -> Vectors:
    try:
        if not parts.asking.here:
            parts.settle()
        return Vectors(made=dict(zip(texts, parts.indexes.embed(texts), strict=True)))
    except EmbeddingError as e:
        return Vectors(error=e)
