"""The temporal arm: memories in the query's window, by `event_at` (by `created_at` for memories without one).

A memory of another time that tells of the window ("last month") is found as well, after those: its score is lower by
the share of the told time that lies outside.

A `chunk` without `event_at` lies in no window: the time of storing a document says nothing about its own time.

The arm makes a pass over the times in memory, or above `COLUMN_MAX` memories a range scan of the B-tree over the same
times. It orders memories in the window by similarity to the query, or by recency where no vectors are at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, and_, select

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.database import schema
from recall_integrations.database.connections import within
from recall_integrations.database.portable import bounded
from recall_integrations.database.sending import begun
from recall_integrations.indexes.scope_view import Mask
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import asked_mask, told_shares
from recall_integrations.types import MemoryType

SCAN_MAX = 1_000  # newest memories of a window that are considered
COLUMN_MAX = 200_000  # memories whose times are looked through one by one: some tenths of a millisecond


def _window(request: ArmRequest) -> Mask:
    window = request.parsed.temporal_window
    assert window is not None
    return asked_mask(request.view, window.start, window.end)


def _told(request: ArmRequest) -> NDArray[np.float32]:
    """Return how much each row tells of the window."""
    window = request.parsed.temporal_window
    assert window is not None
    return told_shares(request.view, window.start, window.end)


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
        if window is not None and request.asked is None and request.allowed is None and view.size > COLUMN_MAX:
            start = None if window.start is None else to_micros(window.start)
            end = None if window.end is None else to_micros(window.end)
            with within(request.deadline.remaining_ms() / 1e3), begun(self._engine) as connection:
                bounded(connection, request.deadline.remaining_ms())
                nums = self._scan(connection, view.scope_id, start, end)
            rows = view.rows_of(sorted(nums))
            told = _told(request)
            rows = np.union1d(rows, _most(told))
        else:  # where there is a filter, also of large scopes: it may leave out all of the newest
            inside = view.alive & (_window(request) if request.asked is None else request.asked)
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
                rows = np.union1d(rows, _most(told))
        if not len(rows):
            return ArmResult.empty(self.name, "nothing in the window")
        note = f"{len(rows)} in the window"
        if told is None or not told.any():
            return request.nearest(self.name, rows, 0.5, 0.5, note=note)
        own = _window(request)[rows]
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
