"""Vectors and embedding of the user's vector store as the embedding of our store: its texts are not embedded again."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.sources import Source
from recall_integrations.errors import EmbeddingError
from recall_integrations.types.numbers import shown

NONE = 8  # dimensions of the zeros that stand for vectors that cannot be read
_KEPT = 256  # queries
Vector = NDArray[np.float32]


class Borrowed:
    """An `Embedding`. `lent` texts have their vector from the vector store, its model embeds others."""

    def __init__(self, source: Source, dimensions: int | None) -> None:
        self._source = source
        self._model = source.embedding if source.readable else None
        self._length = dimensions if source.readable else NONE
        self._lent: dict[str, Vector] = {}
        self._given: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Borrowed({self._source.name})"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the vectors' length alone: the vector store is responsible for their content."""
        return f"borrowed:{self.dimensions}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        if self._length is None:
            assert self._model is not None
            self._length = self._model.dimensions
        return self._length

    @property
    def remote(self) -> bool:
        """True if a call leaves the machine."""
        return self._model is not None and self._model.remote

    @contextlib.contextmanager
    def lending(self) -> Iterator[dict[str, Vector]]:
        """Yield a mapping from texts (`indexed_text`) to their vectors, unit or 0, which holds inside of the block."""
        self._lent = {}
        try:
            yield self._lent
        finally:
            self._lent = {}

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        """Embed texts as unit rows; lent ones as they are."""
        lent = self._lent
        made = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        others = []
        for place, text in enumerate(texts):
            vector = lent.get(text)
            if vector is None:
                others.append(place)
            else:
                made[place] = vector
        if others and self._model is not None:
            made[others] = self._checked(self._model.embed_documents([texts[place] for place in others]))
        return made

    def embed_query(self, text: str) -> Vector:
        """Embed a query as a unit vector."""
        if self._model is None:
            return np.zeros(self.dimensions, dtype=np.float32)
        given = self._checked(self._source.as_given(text))
        made = unit(given)
        with self._lock:
            self._given[made.tobytes()] = given
            while len(self._given) > _KEPT:
                self._given.popitem(last=False)
        return made

    def as_given(self, vector: Vector) -> Vector:
        """Return the vector of a query with the model's own length; another vector as it is."""
        with self._lock:
            return self._given.get(vector.tobytes(), vector)

    def _checked(self, made: Vector) -> Vector:
        if made.shape[-1] != self.dimensions:
            raise EmbeddingError(
                f"The vectors of {self._source.name} have {self.dimensions} numbers, those of its embedding "
                f"{made.shape[-1]}. Pass embedding=…, the one that filled it."
            )
        return made


def unit(vector: Any) -> Vector:
    """Scale a vector to length 1; a zero vector stays 0."""
    made = np.asarray(vector, dtype=np.float64)
    if made.ndim != 1 or not np.isfinite(made).all():
        raise EmbeddingError(f"A vector of theirs is no row of finite numbers: {shown(vector)}.")
    length = float(np.linalg.norm(made))
    return np.asarray(made / length if length else made, dtype=np.float32)


def units(vectors: Mapping[str, Any]) -> dict[str, Vector]:
    """Scale several vectors to length 1."""
    return {name: unit(vector) for name, vector in vectors.items()}
