"""What is asked of a vector store that somebody has already. Every method reads."""

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
    """A document of theirs.

    Args:
        id: by which their store knows it.
        text: of it; may be empty.
        metadata: the user's.
        besides: what a node is besides (`adapters.nodes`), kept under keys of ours.
        document: the document that a LlamaIndex node is of; `None` = it is not known.
    """

    id: str
    text: str
    metadata: Mapping[str, Any]
    besides: Mapping[str, Any] = field(default_factory=dict)
    document: str | None = None


class Source(ABC):
    """Somebody's vector store, read only.

    Args:
        name: for messages, and to tell it from others when a kept copy is opened again.
        metric: by which it orders: `cosine`, `l2`, `ip`; empty = not known.
        embedding: what made its vectors; `None` = it says nothing of it, so it is asked by text.
        readable: whether its vectors can be read.
        listed: whether its ids can.
    """

    def __init__(
        self, name: str, *, metric: str = UNKNOWN, embedding: Any = None, readable: bool = True, listed: bool = True
    ) -> None:
        self.name, self.metric = name, metric
        self.embedding: Embedding | None = None if embedding is None else resolve_embedding(embedding)
        self.readable = readable and self.embedding is not None
        self.listed = listed

    @property
    def title(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[:1].upper() + self.name[1:]

    def count(self) -> int:
        """How many documents it holds."""
        return len(self.ids())

    @abstractmethod
    def ids(self) -> list[str]:
        """Of all its documents, in its order."""

    @abstractmethod
    def read(self, ids: Sequence[str]) -> list[Row]:
        """Documents by id; those that are not there are left out."""

    def vectors(self, ids: Sequence[str]) -> Mapping[str, Any]:
        """Their vectors, where they can be read; those that have none are left out."""
        return {}

    @abstractmethod
    def nearest(self, text: str, vector: Vector | None, limit: int) -> list[str]:
        """Ids of the nearest, best first.

        Args:
            text: the query.
            vector: of it, as its embedding gives it; `None` = the store makes it.
            limit: how many.
        """

    def take(self, documents: Iterable[Any]) -> None:
        """What is in a store that cannot be listed.

        Raises:
            InvalidArgument: it can be listed, so it says itself what is in it.
        """
        raise InvalidArgument(f"{self.title} says itself what is in it. Leave documents out.")

    def let_go(self) -> None:
        """What was given to be read is kept now, and not needed here any more."""
        return

    def as_given(self, text: str) -> Vector:
        """The vector of a query as the embedding gives it: `l2` looks at its length as well.

        Raises:
            EmbeddingError: there is no embedding, or it failed.
        """
        if self.embedding is None:
            raise EmbeddingError(
                f"{self.name} says nothing of its embedding. Pass embedding=…, the one that filled it."
            )
        if isinstance(self.embedding, Adapter):
            return self.embedding.query_as_given(text)
        return self.embedding.embed_query(text)


def plain(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metadata as JSON has it: what it does not know (dates, ids of a library) as text."""
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
    """So many ids at a time."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
