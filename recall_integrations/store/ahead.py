"""What a write asks of the user's components before it takes the write lock: vectors, names, what a cosine is worth.

An embedding or an extractor may take long, or never come back. Nothing is held meanwhile: other writes, reads and
`close` go on. What is in the journal without a vector (the embedding was down when it was written) is embedded first,
a batch at a time, since the semantic index follows the journal in order.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import EmbeddingError
from recall_integrations.extraction import Extracted
from recall_integrations.types import Memory, indexed_text

if TYPE_CHECKING:
    from recall_integrations.store.parts import StoreParts

Vector = NDArray[np.float32]


class NotYet(Exception):
    """A text has no vector yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Vectors made ahead.

    Args:
        made: by text; `None` = the text cannot be embedded.
        error: why there are no more of them; `None` = nothing failed.
    """

    made: Mapping[str, Vector | None] = field(default_factory=dict)
    error: EmbeddingError | None = None

    def of(self, texts: Sequence[str]) -> list[Vector | None]:
        """In the order of the texts.

        Raises:
            EmbeddingError: why one of them has none.
            NotYet: one of them was not to be made.
        """
        if all(text in self.made for text in texts):
            return [self.made[text] for text in texts]
        raise self.error if self.error is not None else NotYet


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What is known of memories before they are written.

    Args:
        vectors: of their texts; `None` = they are made while indexing, which for the bundled model takes no time.
        found: what the extractor found, by `extracted_from`.
        worth: what a cosine is worth, by language, where it was measured now.
    """

    vectors: Vectors | None
    found: Mapping[Hashable, Extracted]
    worth: Mapping[str, float]


def extracted_from(memory: Memory) -> Hashable:
    """What an extractor looks at, as a key."""
    return memory.text, memory.actor, memory.role, memory.channel, memory.entities, memory.relations, memory.thread


def look_ahead(parts: StoreParts, scope_id: int | None, memories: Sequence[Memory]) -> Ahead:
    """Ask the user's components about memories. No lock of the store may be held.

    Raises:
        EmbeddingError: the embedding never worked with this store, so nothing is to be stored.
    """
    if not parts.stamped:
        _ = parts.asking.dimensions
    worth = parts.worth.measured(scope_id, [memory.text for memory in memories])
    found = parts.catalog.extracted(memories)
    if parts.asking.here:
        return Ahead(vectors=None, found=found, worth=worth)
    try:
        parts.settle()
        texts = list(dict.fromkeys(indexed_text(memory.text, memory.actor) for memory in memories))
        made = dict(zip(texts, parts.indexes.embed(texts), strict=True))
    except EmbeddingError as e:
        return Ahead(vectors=Vectors(error=e), found=found, worth=worth)
    return Ahead(vectors=Vectors(made=made), found=found, worth=worth)
