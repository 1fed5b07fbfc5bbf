"""The semantic arm: HNSW for large scopes, an exact scan for small or filtered sets.

A scope's vectors that are in memory are scanned exactly; above that, HNSW is over-fetched by `overfetch / selectivity`
and filtered by the rows the store allows, never by a Chroma `where`, which costs a hundred times as much.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recall_integrations.arms.base import SUBSET_MAX, ArmRequest, ArmResult
from recall_integrations.errors import IndexUnavailable
from recall_integrations.indexes.vectors import FETCH_MAX, SHARED, SemanticIndex


class SemanticRetriever:
    """The semantic arm: cosine similarity, the best over the query and its rewrites."""

    name = "semantic"

    def __init__(self, index: Callable[[], SemanticIndex], home_of: Callable[[int], str], *, overfetch: float) -> None:
        self._index = index
        self._home_of = home_of
        self._overfetch = overfetch

    def search(self, request: ArmRequest) -> ArmResult:
        """Candidates by cosine, in [-1, 1].

        Raises:
            IndexUnavailable: there is no query vector, or Chroma failed.
        """
        if request.vectors is None or not len(request.vectors):
            raise IndexUnavailable("The query has no vector: the embedding failed.")
        view = request.view
        if not view.size:
            return ArmResult.empty(self.name)
        allowed = view.alive if request.allowed is None else view.alive & request.allowed
        rows = np.flatnonzero(allowed)
        if request.similarities is not None:
            return request.result(self.name, rows, request.similarities[rows], note="exact")
        share = len(rows) / max(1, view.size)
        # In the shared collection most neighbours are other scopes'; and what HNSW may be asked for has to hold enough.
        shared = self._home_of(view.scope_id) == SHARED
        if len(rows) <= SUBSET_MAX or shared or share * FETCH_MAX < request.limit:
            matrix = view.vectors_of(rows)
            if matrix is not None:
                found = [np.vecdot(matrix, vector) for vector in request.vectors]
                return request.result(self.name, rows, np.max(found, axis=0), note="exact subset")
        return self._approximate(request, share)

    def _approximate(self, request: ArmRequest, selectivity: float) -> ArmResult:
        assert request.vectors is not None
        view = request.view
        fetch = request.limit if selectivity > 0.999 else int(self._overfetch * request.limit / max(selectivity, 1e-3))
        fetch = min(max(fetch, request.limit), FETCH_MAX, view.size)
        scored: dict[int, float] = {}
        for vector in request.vectors:
            request.check_time()
            rows, scores = request.living(*self._index().nearest(self._home_of(view.scope_id), vector, fetch))
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
                scored[row] = max(score, scored.get(row, -1.0))
        ordered = np.fromiter(sorted(scored), dtype=np.int64, count=len(scored))
        values = np.asarray([scored[r] for r in ordered.tolist()], dtype=np.float32)
        return request.result(self.name, ordered, values, note="hnsw")
