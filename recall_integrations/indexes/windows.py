"""Windows of time as masks over a scope's columns."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.told import WORTH


def window_mask(view: ScopeView, start: datetime | None, end: datetime | None) -> Mask:
    """Flag the rows whose time lies in `[start, end)`; `None` = open."""
    mask = np.ones(view.size, dtype=np.bool_)
    if start is not None:
        mask &= view.at >= to_micros(start)
    if end is not None:
        mask &= view.at < to_micros(end)
    return mask


def told_shares(view: ScopeView, start: datetime | None, end: datetime | None) -> NDArray[np.float32]:
    """Compute for each row the share of a told time that lies in the window, in [0, 1] (`Told.shares`)."""
    return view.told.shares(None if start is None else to_micros(start), None if end is None else to_micros(end))


def asked_mask(view: ScopeView, start: datetime | None, end: datetime | None) -> Mask:
    """Flag the rows whose own time lies in the window of a query; rows of unknown time (`dated`) lie in none.

    Filters go by `window_mask`: there, the time of storing stands for an unknown one.
    """
    return window_mask(view, start, end) & view.dated


def asked_shares(view: ScopeView, start: datetime | None, end: datetime | None) -> NDArray[np.float32]:
    """Compute each row's share in the window of a query, in [0, 1]: 1 for a row of that time, less for one that only
    tells of it (`told.WORTH`).
    """
    told = told_shares(view, start, end)
    told *= np.float32(WORTH)
    told[asked_mask(view, start, end)] = 1
    return told
