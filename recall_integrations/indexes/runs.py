"""Runs of equal numbers in arrays of a few hundred, where `numpy.unique` and `numpy.diff` cost more than the work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def changes(values: NDArray[Any]) -> Mask:
    """Flag each value that differs from the one before it, and the first value."""
    new = np.empty(len(values), dtype=np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def heads(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place where each run of equal values begins."""
    return changes(values).nonzero()[0]


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct values, rising."""
    rising = np.sort(values)
    return rising[changes(rising)]
