"""Filling with memories that pass a filter and that no arm has found: k hits are due where k memories pass.

Without a filter the semantic arm finds k wherever there are so many. With a selective one, and an arm or two that fail,
the others may find fewer than there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recall_integrations.arms.base import ArmRequest, ArmResult

FILTERS = "filters"


def filled(results: Sequence[ArmResult], request: ArmRequest, k: int) -> ArmResult | None:
    """Return more candidates, behind those of the arms; `None` where there are k, or no more."""
    if request.allowed is None or any(len(result.rows) >= k for result in results):
        return None
    found = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(result.rows for result in results)]))
    if len(found) >= k:
        return None
    left = request.allowed & request.view.alive
    left[found] = False
    rows = np.flatnonzero(left)
    if not len(rows):
        return None
    scores = np.asarray(0.5 * request.closeness(rows), dtype=np.float32)
    rows, scores = request.view.top(rows, scores, k - len(found))
    # Where places count, what was found stands before what was not.
    first = dict.fromkeys(row for result in results for row in result.rows.tolist())
    ahead = np.linspace(1, 0.5, len(first), dtype=np.float32)
    own = np.fromiter(first, dtype=np.int64, count=len(first))
    return ArmResult(arm=FILTERS, rows=np.concatenate([own, rows]), scores=np.concatenate([ahead, scores]))
