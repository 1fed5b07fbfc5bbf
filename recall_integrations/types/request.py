"""The arguments of a recall."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.types import Filters, Scope, TemporalWindow
from recall_integrations.types.watching import Step

Window = TemporalWindow | Literal[False] | None


@record(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """The checked arguments of `QueryOptimizer.recall`, whose docstring says what they mean.

    `load_wait_ms` says how long it may wait beyond its time until what it needs is in memory; 0 where the caller
    says what time there is.

    A recall of several `scopes` is one recall of each, as a `part` of it: the whole applies what holds for all hits.
    """

    text: str
    k: int
    scope: Scope
    filters: Filters
    now: datetime
    time_budget_ms: float
    tokens_max: int | None
    privacy: str
    window: Window
    zone: ZoneInfo | None
    context: int
    vector: NDArray[np.float32] | None
    score_min: float | None = None
    watch: Step | None = None
    scopes: tuple[Scope, ...] = ()
    part: bool = False
    as_of: datetime | None = None
    load_wait_ms: float = 0.0
