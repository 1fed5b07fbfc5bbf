"""Work of a write before it takes the write lock: vectors, names, the worth of a cosine, the words of the texts.

An embedding or an extractor may take long, or never return. No lock is held meanwhile: other writes, reads and
`close` go on. Journal entries without a vector (the embedding was down when they were written) are embedded first,
a batch at a time, since the semantic index follows the journal in order.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import EmbeddingError
from recall_integrations.facts.rows import NOTHING, Derived, derived
from recall_integrations.facts.slots import Slots
from recall_integrations.indexes.word_rows import Cut, cut_row
from recall_integrations.records import record
from recall_integrations.types import Memory, indexed_text

if TYPE_CHECKING:
    from recall_integrations.store.parts import StoreParts

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
        """Return the vectors in the order of the texts."""
        if all(text in self.made for text in texts):
            return [self.made[text] for text in texts]
        raise self.error if self.error is not None else NotYet


@record(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Facts about memories, found before they are written."""

    vectors: Vectors | None  # of the texts; `None` = vectors are made while indexing
    found: Mapping[str, tuple[str, ...]]  # the names that the extractor gave, by text
    worth: Mapping[str, float]  # the worth of a cosine, by language, where it was measured now
    cut: Mapping[tuple[str, str | None], Cut] = field(default_factory=dict)
    derived: Mapping[int, tuple[Memory, Derived]] = field(default_factory=dict)

    def vectors_of(self, memories: Sequence[Memory]) -> list[Vector] | None:
        """Return a vector for each memory; `None` where a memory has none."""
        made = {} if self.vectors is None else self.vectors.made
        found = [made.get(indexed_text(memory.text, memory.actor)) for memory in memories]
        whole = [vector for vector in found if vector is not None]
        return whole if len(whole) == len(found) else None

    def words_of(self, memory: Memory) -> Cut:
        """Return the words of the text of a memory."""
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
    worth = parts.worth.measured(scope_id, [memory.text for memory in memories])
    found = parts.catalog.extracted(memory.text for memory in memories)
    texts = list(dict.fromkeys(indexed_text(memory.text, memory.actor) for memory in memories))
    with _Embedding(parts, texts) as embedding:
        cut = {(memory.text, memory.actor): cut_row(memory.text, memory.actor) for memory in memories}
        told = {}
        if now is not None and parts.slots is not None:
            told = {id(memory): (memory, derived_from(memory, now, parts.slots)) for memory in memories}
    return Ahead(vectors=embedding.vectors, found=found, worth=worth, cut=cut, derived=told)


class _Embedding:
    """Makes vectors while the caller does something else: the bundled model releases the interpreter meanwhile."""

    def __init__(self, parts: StoreParts, texts: Sequence[str]) -> None:
        self.vectors = Vectors()
        self._parts, self._texts = parts, list(texts)
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> _Embedding:
        if self._parts.asking.here and len(self._texts) >= BESIDE_MIN:
            thread = threading.Thread(target=self._run, name="recall-embedding", daemon=True)
            try:
                thread.start()
                self._thread = thread
            except RuntimeError:  # the process can start none
                pass
        if self._thread is None:
            self._run()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            if not self._parts.asking.here:
                self._parts.settle()
            made = self._parts.indexes.embed(self._texts)
            self.vectors = Vectors(made=dict(zip(self._texts, made, strict=True)))
        except EmbeddingError as e:
            self.vectors = Vectors(error=e)
        except BaseException as e:  # noqa: BLE001 - handed to the caller
            self._failed = e
