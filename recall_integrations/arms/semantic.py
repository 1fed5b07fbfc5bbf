"""The semantic arm: a scan where the scope's vectors are in memory, HNSW for what does not fit.

Above `retrieval.exact_max`, or where codes of the vectors do not fit into memory, HNSW is over-fetched by
`OVERFETCH / selectivity` and filtered by the rows the store allows, never by a Chroma `where`, which costs a hundred
times as much. What HNSW does not hold yet (`home_until`: the newest rows, or all of a scope that has just grown large)
is scanned exactly.

HNSW may be on a server, which is waited for no longer than half of the time that there is. Where it is away, all is
scanned that is in memory, or else the newest, and `degraded` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import SUBSET_MAX, ArmRequest, ArmResult
from recall_integrations.errors import IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.indexes.scope_view import Mask, Rows
from recall_integrations.indexes.vectors import FETCH_MAX, OVERFETCH, CollectionLost, Neighbours

SCANNED_AT_ONCE = 20_000  # rows; between them the time is looked at
SERVER_SHARE = 0.5  # of the time that is left
AWAY = "vectors.away"


class SemanticRetriever:
    """The semantic arm: cosine similarity, the best over the query and its rewrites."""

    name = "semantic"

    def __init__(
        self,
        index: Callable[[], Neighbours],
        home_of: Callable[[int], str],
        home_until: Callable[[int], int],
    ) -> None:
        self._index = index
        self._home_of = home_of
        self._home_until = home_until

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates by cosine, in [-1, 1]."""
        if request.vectors is None or not len(request.vectors):
            raise IndexUnavailable("The query has no vector: the embedding failed.")
        view = request.view
        if not view.size:
            return ArmResult.empty(self.name)
        if request.similarities is not None:
            best, scores = request.similarities.top(_allowed(request), request.limit)
            return ArmResult(arm=self.name, rows=best, scores=scores, note="exact")
        rows = np.flatnonzero(view.alive if request.allowed is None else view.alive & request.allowed)
        share = len(rows) / max(1, view.size)
        # What HNSW may be asked for has to hold enough.
        if len(rows) <= SUBSET_MAX or not self._home_until(view.scope_id) or share * FETCH_MAX < request.limit:
            return request.result(self.name, rows, self._scanned(request, rows), note="exact subset")
        try:
            found = self._approximate(request, rows, share)
        except (VectorsAway, VectorsRefused, CollectionLost) as e:
            return self._without(request, rows, str(e))
        few = len(found.rows) < min(request.limit, len(rows))
        if few and view.vectors is not None:
            # What is allowed, or still there, lies apart from what is near: of it all, the nearest, where that is no
            # reading of files.
            return request.result(self.name, rows, self._scanned(request, rows), note="exact subset")
        return found

    def _without(self, request: ArmRequest, rows: Rows, why: str) -> ArmResult:
        """Search without the server: all rows where vectors are in memory, else the newest."""
        view = request.view
        if view.vectors is None:
            rows = rows[np.searchsorted(view.nums[rows], self._home_until(view.scope_id), side="right") :]
            rows = rows[-SCANNED_AT_ONCE:]
        found = request.result(self.name, rows, self._scanned(request, rows), note="exact")
        return replace(found, without=(AWAY, why))

    def _scanned(self, request: ArmRequest, rows: Rows) -> NDArray[np.float32]:
        """Compute the cosine of each row from the vectors themselves."""
        assert request.vectors is not None
        best = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), SCANNED_AT_ONCE):
            request.check_time()
            matrix = request.view.vectors_of(rows[start : start + SCANNED_AT_ONCE])
            if matrix is None:
                raise IndexUnavailable("The vectors of the scope are not at hand.")
            found = [np.vecdot(matrix, vector) for vector in request.vectors]
            best[start : start + SCANNED_AT_ONCE] = np.max(found, axis=0)
        return best

    def _approximate(self, request: ArmRequest, rows: Rows, selectivity: float) -> ArmResult:
        assert request.vectors is not None
        view = request.view
        fetch = request.limit if selectivity > 0.999 else int(OVERFETCH * request.limit / max(selectivity, 1e-3))
        fetch = min(max(fetch, request.limit), FETCH_MAX, view.size)
        index = self._index()  # which makes a damaged one anew, so how far it reaches is asked after that
        home = self._home_of(view.scope_id)
        until = self._home_until(view.scope_id)
        if self._home_of(view.scope_id) != home:  # it got another one at this moment: how far that reaches says nothing
            home, until = self._home_of(view.scope_id), 0
        newest = rows[np.searchsorted(view.nums[rows], until, side="right") :]
        scored = dict(zip(newest.tolist(), self._scanned(request, newest).tolist(), strict=True))

        def nearest(vector: NDArray[np.float32], limit: int) -> tuple[int, Rows, NDArray[np.float32]]:
            """Return the number of neighbours found, and rows and scores of the valid ones."""
            request.check_time()
            seconds = request.deadline.remaining() * SERVER_SHARE
            nums, scores = index.nearest(home, vector, limit, seconds=seconds)
            held = nums <= until  # what lies behind was scanned
            return len(nums), *request.living(nums[held], scores[held])

        for vector in request.vectors if until else ():
            near, found, scores = nearest(vector, fetch)
            most = fetch if request.allowed is not None else min(FETCH_MAX, view.size)
            if fetch < most and len(found) < min(request.limit, near):
                # Much of what is near has ended or was forgotten, and Chroma does not know of it yet.
                _, found, scores = nearest(vector, most)
            for row, score in zip(found.tolist(), scores.tolist(), strict=True):
                scored[row] = max(score, scored.get(row, -1.0))
        ordered = np.fromiter(sorted(scored), dtype=np.int64, count=len(scored))
        values = np.asarray([scored[r] for r in ordered.tolist()], dtype=np.float32)
        return request.result(self.name, ordered, values, note="hnsw")


def _allowed(request: ArmRequest) -> Mask | None:
    """Return living rows that may be returned; `None` = all."""
    view = request.view
    if view.count == view.size:
        return request.allowed
    return view.alive if request.allowed is None else view.alive & request.allowed
