"""The lexical arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, and_, select

from recall_integrations.arms.base import SUBSET_MAX, ArmRequest, ArmResult
from recall_integrations.database import schema
from recall_integrations.database.connections import within
from recall_integrations.database.sending import begun, bounded
from recall_integrations.errors import IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.indexes.bm25 import Bm25, frequency_of
from recall_integrations.indexes.kernels import distinct
from recall_integrations.indexes.scope_view import Mask, Rows, of_types
from recall_integrations.indexes.vectors import FETCH_MAX, OVERFETCH, CollectionLost, Neighbours
from recall_integrations.indexes.windows import asked_mask, in_micros, told_shares
from recall_integrations.indexes.words import WordIndex, ceiling
from recall_integrations.types import MemoryType


class LexicalRetriever:
    """The lexical arm: BM25 of the query's stems, with the statistics of the scope alone."""

    name = "lexical"

    def __init__(self, index: Callable[[], WordIndex]) -> None:
        self._index = index

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates that share a stem with the query. Scores are BM25, unbounded above."""
        view = request.view
        if not request.terms or not view.count:
            return ArmResult.empty(self.name)
        request.check_time()
        frequency = request.frequency or frequency_of(view, self._index)
        bm25 = Bm25(view, request.terms, request.parsed.weaker_terms, frequency, self._index)
        rows, scores = bm25.search(request.limit, request.allowed, request.check_time)
        return request.result(self.name, rows, scores, ceiling=ceiling(request.terms, frequency, view.count))


SCANNED_AT_ONCE = 20_000  # rows; between them the time is looked at
SERVER_SHARE = 0.5  # of the time that is left
AWAY = "vectors.away"


class SemanticRetriever:
    """The semantic arm: cosine similarity, the best over the query and its rewrites.

    With `ready`, a scope's collection is asked also where its vectors can be scanned, but for what a filter leaves: as
    soon as it can be, which is waited for so many seconds.
    """

    name = "semantic"

    def __init__(
        self,
        index: Callable[[], Neighbours],
        home_of: Callable[[int], str],
        home_until: Callable[[int], int],
        *,
        ready: Callable[[float], bool] | None = None,
    ) -> None:
        self._index = index
        self._home_of = home_of
        self._home_until = home_until
        self._ready = ready

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates by cosine, in [-1, 1]."""
        if request.vectors is None or not len(request.vectors):
            raise IndexUnavailable("The query has no vector: the embedding failed.")
        view = request.view
        if not view.size:
            return ArmResult.empty(self.name)
        if request.similarities is not None and not (self._ready and self._home_until(view.scope_id)):
            best, scores = request.similarities.top(_allowed(request), request.limit)
            return ArmResult(arm=self.name, rows=best, scores=scores, note="exact")
        rows = np.flatnonzero(view.alive if request.allowed is None else view.alive & request.allowed)
        share = len(rows) / max(1, view.size)
        # What HNSW may be asked for has to hold enough.
        few = len(rows) <= SUBSET_MAX and not (self._ready and request.allowed is None)
        if few or not self._home_until(view.scope_id) or share * FETCH_MAX < request.limit:
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
        if request.similarities is not None:
            return request.similarities.of(rows)
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
        if self._ready is not None and not self._ready(request.deadline.remaining() * SERVER_SHARE):
            raise VectorsAway("Chroma is not loaded yet.")
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


SCAN_MAX = 1_000  # newest memories of a window that are considered
COLUMN_MAX = 200_000  # memories whose times are looked through one by one: some tenths of a millisecond


def _window(request: ArmRequest) -> Mask:
    window = request.parsed.temporal_window
    assert window is not None
    return asked_mask(request.view, window)


def _told(request: ArmRequest) -> NDArray[np.float32]:
    """Return how much each row tells of the window."""
    window = request.parsed.temporal_window
    assert window is not None
    return told_shares(request.view.told, window)


def _most(told: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the rows that tell of the window, the best `SCAN_MAX` of them."""
    rows = np.flatnonzero(told)
    if len(rows) > SCAN_MAX:
        rows = np.sort(rows[np.argsort(told[rows], kind="stable")[-SCAN_MAX:]])
    return rows


class TemporalRetriever:
    """Memories inside the query's window, or of the session that it asks for."""

    name = "temporal"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates with a score in [0, 1]: half for being inside, half by similarity (or recency)."""
        window = request.parsed.temporal_window
        view = request.view
        if (window is None and request.asked is None) or not view.size:
            return ArmResult.empty(self.name, "no window")
        told: NDArray[np.float32] | None = None
        own: Mask | None = None
        if window is not None and request.asked is None and request.allowed is None and view.size > COLUMN_MAX:
            with within(request.deadline.remaining_ms() / 1e3), begun(self._engine) as connection:
                bounded(connection, request.deadline.remaining_ms())
                nums = [num for each in in_micros(window) for num in self._scan(connection, view.scope_id, *each)]
            rows = view.rows_of(sorted(nums))
            told = _told(request)
            rows = np.union1d(rows, _most(told))
        else:  # where there is a filter, also of large scopes: it may leave out all of the newest
            own = _window(request) if request.asked is None else request.asked
            inside = view.alive & own
            if request.allowed is not None:
                inside &= request.allowed
            rows = np.flatnonzero(inside)
            if len(rows) > SCAN_MAX:
                newest = np.argsort(view.at[rows], kind="stable")[-SCAN_MAX:]
                rows = np.sort(rows[newest])
            if request.asked is None:
                told = _told(request)
                if request.allowed is not None:
                    told *= request.allowed
                rows = distinct(np.concatenate([rows, _most(told)]))
        if not len(rows):
            return ArmResult.empty(self.name, "nothing in the window")
        note = f"{len(rows)} in the window"
        if told is None or not told.any():
            return request.nearest(self.name, rows, 0.5, 0.5, note=note)
        own = (_window(request) if own is None else own)[rows]
        base = np.where(own, 0.5, 0.5 * told[rows]).astype(np.float32)
        return request.nearest(self.name, rows, base, 0.5, note=note + f", {int((~own).sum())} by what they tell")

    @staticmethod
    def _scan(connection: Any, scope_id: int, start: int | None, end: int | None) -> list[int]:
        """Scan two ranges of one index `(scope_id, event_at, created_at, num)`."""
        m = schema.memories
        found: list[int] = []
        told = and_(m.c.event_at.is_(None), m.c.type != MemoryType.CHUNK.value)
        for column, only in ((m.c.event_at, m.c.event_at.is_not(None)), (m.c.created_at, told)):
            bounds = [m.c.scope_id == scope_id, only]
            if start is not None:
                bounds.append(column >= start)
            if end is not None:
                bounds.append(column < end)
            order = (m.c.event_at.desc(), m.c.created_at.desc(), m.c.num.desc())  # the index read backwards: no sort
            found.extend(
                connection.execute(select(m.c.num).where(and_(*bounds)).order_by(*order).limit(SCAN_MAX)).scalars()
            )
        return found


class TypeFilterRetriever:
    """Memories of the hinted types."""

    name = "type_filter"

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates with a score in [0, 1]: half for the type, half by similarity (or recency)."""
        hints, view = request.plan.type_hints, request.view
        if not hints or not view.size:
            return ArmResult.empty(self.name, "no type hint")
        mask = view.alive & of_types(view, hints)
        if request.allowed is not None:
            mask &= request.allowed
        rows = np.flatnonzero(mask)
        if not len(rows):
            return ArmResult.empty(self.name, "no memory of that type")
        return request.nearest(self.name, rows, 0.5, 0.5, note=f"{len(rows)} of type {', '.join(hints)}")
