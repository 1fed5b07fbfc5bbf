"""Checks the arguments of a recall before anything is searched."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import LimitsConfig
from recall_integrations.errors import InvalidArgument, InvalidFilter
from recall_integrations.privacy import redactor as privacy
from recall_integrations.query.parser import clean
from recall_integrations.resilience.failures import time_of
from recall_integrations.types import Filters, Scope, TemporalWindow, checked_scope, checked_time
from recall_integrations.types.numbers import is_number, is_whole, real, shown, whole
from recall_integrations.types.request import RecallRequest, Window

K_MAX = 2**31 - 1  # what arrays are indexed by; a scope of more memories gives them all in several recalls
CONTEXT_MAX = 50  # memories before and after a hit


def checked_request(
    limits: LimitsConfig,
    clock: Callable[[], datetime],
    dimensions: Callable[[], int],
    *,
    query: str,
    k: int,
    scope: Scope | None,
    filters: Filters | None,
    now: datetime | None,
    time_budget_ms: float | None,
    tokens_max: int | None,
    mode: str,
    window: Window,
    timezone: str | None,
    context: int,
    vector: Any,
) -> RecallRequest:
    """From what a caller gave.

    Args:
        limits: defaults and bounds.
        clock: what `now` is where it is not given.
        dimensions: of the store's embedding; asked only where a vector is given.

    Raises:
        InvalidQuery, InvalidArgument, InvalidScope, InvalidFilter: what is wrong with the first bad argument.
    """
    text = clean(query, limits.query_chars_max)
    places, around, tokens = whole(k), whole(context), whole(tokens_max)
    if not is_whole(places) or not 1 <= places <= K_MAX:
        raise InvalidArgument(f"k must be a whole number from 1 to {K_MAX:,}, not {shown(k)}.")
    if filters is not None and not isinstance(filters, Filters):
        raise InvalidFilter(
            f"filters must be a Filters object, not {type(filters).__name__}. Write Filters(types=[...])."
        )
    if not is_whole(around) or not 0 <= around <= CONTEXT_MAX:
        raise InvalidArgument(f"context must be a whole number from 0 to {CONTEXT_MAX}, not {shown(context)}.")
    budget = limits.time_budget_ms if time_budget_ms is None else real(time_budget_ms)
    if not is_number(budget) or not 0 < budget < math.inf:
        raise InvalidArgument(f"time_budget_ms must be a positive number, not {shown(time_budget_ms)}.")
    if tokens is not None and (not is_whole(tokens) or tokens < 1):
        raise InvalidArgument(f"tokens_max must be a whole number from 1 on, not {shown(tokens_max)}.")
    return RecallRequest(
        text=text,
        k=places,
        scope=checked_scope(scope),
        filters=filters or Filters(),
        now=time_of(clock) if now is None else checked_time(now, "now", InvalidArgument),
        time_budget_ms=float(budget),
        tokens_max=tokens,
        privacy=privacy.check_mode(mode),
        window=checked_window(window),
        zone=checked_zone(timezone),
        context=around,
        vector=None if vector is None else checked_vector(vector, dimensions()),
    )


def checked_window(window: object) -> Window:
    """A window that may be given to a recall.

    Raises:
        InvalidArgument: something else.
    """
    if window is None or window is False:
        return window
    if not isinstance(window, TemporalWindow):
        raise InvalidArgument(
            f"window must be a TemporalWindow, False or None, not {type(window).__name__}. "
            "Write TemporalWindow(start=..., end=...)."
        )
    return window


def checked_zone(name: str | None) -> ZoneInfo | None:
    """The time zone of a name.

    Raises:
        InvalidArgument: there is none of that name.
    """
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except Exception as e:  # zoneinfo raises several unrelated kinds for bad names
        raise InvalidArgument(f"Unknown time zone {name!r}. Use an IANA name such as 'Europe/Berlin'.") from e


def checked_vector(vector: Any, dimensions: int) -> NDArray[np.float32]:
    """A query's embedding as a unit vector.

    Raises:
        InvalidArgument: no list of `dimensions` finite numbers.
    """
    try:
        array = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as e:
        raise InvalidArgument(f"query_vector must be a list of numbers: {e}.") from e
    if array.shape != (dimensions,) or not np.isfinite(array).all():
        raise InvalidArgument(f"query_vector must be {dimensions} finite numbers, not an array of shape {array.shape}.")
    unit: NDArray[np.float32] = array / max(float(np.linalg.norm(array)), 1e-12)
    return unit
