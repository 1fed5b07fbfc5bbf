"""Windows of time as masks over a scope's columns."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.told import WORTH


def window_mask(view: ScopeView, start: datetime | None, end: datetime | None) -> Mask:
    """Rows whose time lies in `[start, end)`; `None` = open."""
    mask = np.ones(view.size, dtype=np.bool_)
    if start is not None:
        mask &= view.at >= to_micros(start)
    if end is not None:
        mask &= view.at < to_micros(end)
    return mask


def told_shares(view: ScopeView, start: datetime | None, end: datetime | None) -> NDArray[np.float32]:
    """Of each row, how much of a time that it tells lies in the window, in [0, 1] (`Told.shares`)."""
    return view.told.shares(None if start is None else to_micros(start), None if end is None else to_micros(end))


def asked_mask(view: ScopeView, start: datetime | None, end: datetime | None) -> Mask:
    """Rows whose own time lies in the window of a query: those of which no time is known (`dated`) lie in none.

    Filters go by `window_mask`: there, the time of storing stands for it.
    """
    return window_mask(view, start, end) & view.dated


def asked_shares(view: ScopeView, start: datetime | None, end: datetime | None) -> NDArray[np.float32]:
    """Of each row, how much it has to do with the window of a query, in [0, 1]: 1 where it is of it, less where it only
    tells of it (`told.WORTH`)."""
    told = told_shares(view, start, end)
    told *= np.float32(WORTH)
    told[asked_mask(view, start, end)] = 1
    return told
