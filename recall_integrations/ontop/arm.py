"""The arm that asks the user's vector store for near documents.

Where its vectors are in our columns as well, it takes the place of `semantic`: the store names candidates, our columns
score them. Where they cannot be read, it is an arm of its own, and its order is the evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from recall_integrations.adapters.sources import Source
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.registry import ArmSpec
from recall_integrations.errors import IndexUnavailable
from recall_integrations.indexes.scope_view import Mask, Rows
from recall_integrations.indexes.vectors import OVERFETCH
from recall_integrations.ontop.borrowed import Borrowed
from recall_integrations.store import rows as records
from recall_integrations.store.memory_store import MemoryStore

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
        """Return the nearest memories by the vector store."""
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
