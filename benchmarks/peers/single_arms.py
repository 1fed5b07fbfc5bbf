"""What peers have in common, and the peers that are one arm alone: exact vectors, and BM25 in three settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.shared.extras import require
from recall_integrations import text as analyser
from recall_integrations import types
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Memory


class Peer(Protocol):
    """A retriever that can be compared: filled once, then asked."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def build(self, memories: Sequence[Memory]) -> None:
        """Index the memories, all with an id. Replaces what was indexed before.

        Raises:
            MissingExtra: its packages are not installed.
        """
        ...

    def search(self, query: str, k: int) -> list[str]:
        """At most `k` ids, best first."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


def indexed_text(memory: Memory) -> str:
    """What every system indexes: "Speaker: text", or the text alone where there is no actor."""
    return types.indexed_text(memory.text, memory.actor)


def checked_ids(memories: Sequence[Memory]) -> list[str]:
    """The ids, one for each memory.

    Raises:
        InvalidArgument: there are no memories, or one has no id of its own.
    """
    ids = [m.id for m in memories if m.id is not None]
    if not memories or len(set(ids)) != len(memories):
        raise InvalidArgument("A peer needs at least one memory, and every memory an id of its own.")
    return ids


def top(ids: Sequence[str], scores: NDArray[np.floating[Any]], k: int) -> list[str]:
    """The ids of the `k` highest scores, ties by id."""
    count = min(k, len(ids))
    floor = np.partition(scores, len(ids) - count)[len(ids) - count]
    best = sorted((-float(scores[i]), ids[i]) for i in np.flatnonzero(scores >= floor).tolist())
    return [doc for _, doc in best[:count]]


class DenseOnly:
    """One arm alone: exact cosine over all vectors."""

    name = "dense only"

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._ids: list[str] = []
        self._vectors: NDArray[np.float32] = np.zeros((0, embedding.dimensions), np.float32)

    def build(self, memories: Sequence[Memory]) -> None:
        """Embed every memory and keep the matrix."""
        self._ids = checked_ids(memories)
        self._vectors = self._embedding.embed_documents([indexed_text(m) for m in memories])

    def search(self, query: str, k: int) -> list[str]:
        """The `k` nearest."""
        cosines = self._vectors @ self._embedding.embed_query(query)
        # Equal rows may differ in the last bit, by their place in the matrix; rounded, they are ties.
        return top(self._ids, np.round(cosines, 6), k)

    def close(self) -> None:
        """Drop the matrix."""
        self._ids, self._vectors = [], self._vectors[:0]


class StemmedBM25:
    """One arm alone: BM25 by `bm25s` (Lucene variant, k1 1.5, b 0.75, its defaults).

    With `stemmed`, over our own stems, without stop words: its README's quick start (an English stemmer and
    `stopwords="en"`) with the analyser that our side uses. Without, over the words that `bm25s.tokenize` gives by
    default: lower case, English stop words left out, no stemmer.
    """

    def __init__(self, *, stemmed: bool = True) -> None:
        self.name = "BM25 only" if stemmed else "BM25, unstemmed"
        self._stemmed = stemmed
        self._ids: list[str] = []
        self._index: Any = None

    def build(self, memories: Sequence[Memory]) -> None:
        """Index the words of every memory."""
        bm25s = require("bm25s")
        self._ids = checked_ids(memories)
        corpus = self._words([indexed_text(m) for m in memories])
        self._index = None
        if any(corpus):
            self._index = bm25s.BM25()
            self._index.index(corpus, show_progress=False)

    def search(self, query: str, k: int) -> list[str]:
        """The `k` best; none where no word of the query is known."""
        if self._index is None:
            return []
        known = [s for s in self._words([query])[0] if s in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        matching = np.flatnonzero(scores > 0)
        return top([self._ids[i] for i in matching.tolist()], scores[matching], k) if len(matching) else []

    def close(self) -> None:
        """Drop the index."""
        self._ids, self._index = [], None

    def _words(self, texts: list[str]) -> list[list[str]]:
        if self._stemmed:
            return [analyser.stems(text) for text in texts]
        words: list[list[str]] = require("bm25s").tokenize(texts, return_ids=False, show_progress=False)
        return words
