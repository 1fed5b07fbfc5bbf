"""The arguments of a recall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.types import Filters, Scope, TemporalWindow

Window = TemporalWindow | Literal[False] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """The checked arguments of `QueryOptimizer.recall`, which says what they mean."""

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
