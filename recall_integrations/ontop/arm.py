"""The user's vector store in a recall: the arm that asks it, and its vectors as the embedding of our store.

Where its vectors are in our columns as well, the arm takes the place of `semantic`: the store names candidates, our
columns score them. Where they cannot be read, it is an arm of its own, and its order is the evidence. Its texts are not
embedded again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from cachetools import FIFOCache
from numpy.typing import NDArray

from recall_integrations.adapters.sources import Source
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.errors import EmbeddingError, IndexUnavailable
from recall_integrations.indexes.scope_view import Mask, Rows
from recall_integrations.indexes.vectors import OVERFETCH
from recall_integrations.store import rows as records
from recall_integrations.store.memory_store import MemoryStore
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
        self._given: FIFOCache[bytes, Vector] = FIFOCache(_KEPT)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Borrowed({self._source.name})"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the vectors' length alone: the vector store is responsible for their content."""
        return f"borrowed:{self.dimensions}"

    @property
    def dimensions(self) -> int:
        if self._length is None:
            assert self._model is not None
            self._length = self._model.dimensions
        return self._length

    @property
    def remote(self) -> bool:
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
        if self._model is None:
            return np.zeros(self.dimensions, dtype=np.float32)
        given = self._checked(self._source.as_given(text))
        made = unit(given)
        with self._lock:
            self._given[made.tobytes()] = given
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


SEMANTIC, ALONE = "semantic", "their_store"
FETCH_MAX = 2_000  # ids asked for, where filters leave few of them
NEW = 10  # asked for besides, where we know few: what came to them since is to be named
_FALL = 10.0  # of the score by places: the tenth is worth half of the first


class TheirArm:
    """Candidates from the user's vector store, in its order. `unknown` is called with ids that our copy lacks."""

    def __init__(
        self,
        name: str,
        source: Source,
        borrowed: Borrowed,
        store: MemoryStore,
        unknown: Callable[[Sequence[str]], None],
    ) -> None:
        self.name = name
        self._source, self._borrowed, self._store, self._unknown = source, borrowed, store, unknown

    def search(self, request: ArmRequest) -> ArmResult:
        view = request.view
        if not view.size:
            return ArmResult.empty(self.name)
        scored: dict[int, float] = {}
        fetch = self._fetched(request)
        vectors = [None] if not self._source.readable else [*(request.vectors if request.vectors is not None else ())]
        if not vectors:
            raise IndexUnavailable("The query has no vector: the embedding failed.")
        for vector in vectors:
            request.check_time()
            given = None if vector is None else self._borrowed.as_given(vector)
            ids = list(dict.fromkeys(self._source.nearest(request.parsed.original, given, fetch)))
            for row, score in self._living(request, ids):
                scored[row] = max(score, scored.get(row, 0.0))
        if request.allowed is not None and request.similarities is not None:  # so few may be left that none was named
            best, _ = request.similarities.top(_allowed(request), request.limit)
            for place, row in enumerate(best.tolist()):
                scored.setdefault(row, _by_place(place))
        rows: Rows = np.fromiter(sorted(scored), dtype=np.int64, count=len(scored))
        scores = np.asarray([scored[row] for row in rows.tolist()], dtype=np.float32)
        if request.similarities is not None and self._source.metric == "cosine":
            scores = np.asarray(request.similarities.of(rows), dtype=np.float32)
        return request.result(self.name, rows, scores, note=f"asked {self._source.name}")

    def _fetched(self, request: ArmRequest) -> int:
        wanted = min(request.limit, FETCH_MAX)
        allowed = request.view.count if request.allowed is None else int(np.count_nonzero(_allowed(request)))
        share = max(allowed, 1) / max(request.view.count, 1)
        most = wanted if share >= 1 else int(min(FETCH_MAX, OVERFETCH * wanted / share))
        return max(1, min(most, request.view.count + NEW))

    def _living(self, request: ArmRequest, ids: Sequence[str]) -> list[tuple[int, float]]:
        """Return the rows of ids, each with a score by its place; report unknown ids."""
        with self._store.engine.connect() as connection:
            found = records.find(connection, request.view.scope_id, ids)
        if len(found) < len(ids):
            self._unknown([i for i in ids if i not in found])
        placed = [(found[i].num, _by_place(place)) for place, i in enumerate(ids) if i in found]
        nums = np.asarray([num for num, _ in placed], dtype=np.int64)
        rows, scores = request.living(nums, np.asarray([score for _, score in placed], dtype=np.float32))
        return list(zip(rows.tolist(), scores.tolist(), strict=True))


def _by_place(place: int) -> float:
    return 1 / (1 + place / _FALL)


def _allowed(request: ArmRequest) -> Mask:
    view = request.view
    return view.alive if request.allowed is None else view.alive & request.allowed


def spec_of(source: Source, borrowed: Borrowed, unknown: Callable[[Sequence[str]], None]) -> ArmSpec:
    """Return the arm of a source."""
    name = SEMANTIC if source.readable else ALONE
    return ArmSpec(
        name=name,
        make=lambda store, _config: lambda: TheirArm(name, source, borrowed, store, unknown),
        by_vector=source.readable,
        reason=f"near by {source.name}",
    )
