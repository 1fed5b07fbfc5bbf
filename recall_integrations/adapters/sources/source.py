"""Interface of an existing vector store. Every method reads."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.embedding import Adapter, resolve_embedding
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import EmbeddingError, InvalidArgument
from recall_integrations.records import record

COSINE, L2, IP, UNKNOWN = "cosine", "l2", "ip", ""
Vector = NDArray[np.float32]


@record(frozen=True, slots=True, kw_only=True)
class Row:
    """A document of the vector store."""

    id: str
    text: str  # may be empty
    metadata: Mapping[str, Any]  # of the user
    besides: Mapping[str, Any] = field(default_factory=dict)  # other fields of a node, kept under keys of ours
    document: str | None = None  # id of the document of a LlamaIndex node; `None` = unknown


class Source(ABC):
    """A user's vector store, read only. Its `name` recognises it when a kept copy is opened again."""

    def __init__(
        self,
        name: str,
        kind: str,
        *,
        metric: str = UNKNOWN,  # of its order
        embedding: Any = None,  # of its vectors; without one the store is asked by text
        readable: bool = True,  # whether its vectors can be read
        listed: bool = True,  # whether its ids can be listed
    ) -> None:
        self.name, self.kind, self.metric = name, kind, metric
        self.embedding: Embedding | None = None if embedding is None else resolve_embedding(embedding)
        self.readable = readable and self.embedding is not None
        self.listed = listed

    @property
    def title(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    def count(self) -> int:
        """Return the number of documents."""
        return len(self.ids())

    @abstractmethod
    def ids(self) -> list[str]:
        """Return the ids of all documents, in the source's order."""

    @abstractmethod
    def read(self, ids: Sequence[str]) -> list[Row]:
        """Read documents by id; unknown ids are left out."""

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Read vectors by id, where they can be read; documents without a vector are left out."""
        return {}

    @abstractmethod
    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        """Return the ids of the nearest documents, best first; without a vector the store embeds the text."""

    def take(self, documents: Iterable[Any]) -> None:
        """Take the documents of a store that cannot be listed."""
        raise InvalidArgument(f"{self.title} says itself what is in it. Leave documents out.")

    def let_go(self) -> None:
        """Drop the documents that were given: they are kept elsewhere now."""
        return

    def as_given(self, text: str) -> Vector:
        """Embed a query with the embedding's own vector length: `l2` depends on it."""
        if self.embedding is None:
            raise EmbeddingError(
                f"{self.name} says nothing of its embedding. Pass embedding=…, the one that filled it."
            )
        if isinstance(self.embedding, Adapter):
            return self.embedding.query_as_given(text)
        return self.embedding.embed_query(text)


def plain(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata as JSON types; other types (dates, ids of a library) become text."""
    given = dict(metadata or {})
    if all(type(value) in (str, int, bool, type(None)) for value in given.values()):
        return given
    known: dict[str, Any] = json.loads(json.dumps(given, default=_text, skipkeys=True))
    return known


def _text(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


def in_pages(ids: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    """Yield `size` ids at a time."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
