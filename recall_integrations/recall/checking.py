"""Check the arguments of a recall before anything is searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.filters import FiltersLike, as_filters
from recall_integrations.config import LimitsConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.privacy.door import check_mode
from recall_integrations.query.parser import clean
from recall_integrations.resilience.failures import time_of
from recall_integrations.types import (
    Filters,
    ScopeLike,
    TemporalWindow,
    checked_scope,
    checked_scopes,
    checked_time,
)
from recall_integrations.types.numbers import is_number, is_whole, real, shown, whole
from recall_integrations.types.observing import RecallRequest, Step, Window

K_MAX = 2**31 - 1  # the highest index of an array; a scope of more memories gives them all in several recalls
NO_FILTERS = Filters()
CONTEXT_MAX = 50  # number of memories before and after a hit


def checked_request(
    limits: LimitsConfig,
    clock: Callable[[], datetime],
    dimensions: Callable[[], int],
    *,
    query: str,
    k: int = 5,
    scope: ScopeLike | None = None,
    scopes: Sequence[ScopeLike] | None = None,
    filters: FiltersLike = None,
    now: datetime | None = None,
    time_budget_ms: float | None = None,
    tokens_max: int | None = None,
    mode: str = "allow",
    window: Window = None,
    timezone: str | None = None,
    context: int = 0,
    vector: Any = None,
    score_min: float | None = None,
    watch: Step | None = None,
    as_of: datetime | None = None,
) -> RecallRequest:
    """Check the arguments of a caller and return the request."""
    text = clean(query)
    places, around, tokens = whole(k), whole(context), whole(tokens_max)
    if not is_whole(places) or not 1 <= places <= K_MAX:
        raise InvalidArgument(f"k must be a whole number from 1 to {K_MAX:,}, not {shown(k)}.")
    if not is_whole(around) or not 0 <= around <= CONTEXT_MAX:
        raise InvalidArgument(f"context must be a whole number from 0 to {CONTEXT_MAX}, not {shown(context)}.")
    if tokens is not None and (not is_whole(tokens) or tokens < 1):
        raise InvalidArgument(f"tokens_max must be a whole number from 1 on, not {shown(tokens_max)}.")
    if vector is not None and check_mode(mode) != "allow":
        raise InvalidArgument(
            f"query_vector cannot be given under privacy={mode!r}: scores would tell vectors of memories. Ask in text."
        )
    if scope is not None and scopes is not None:
        raise InvalidArgument("scope and scopes were given together. Put all of them into scopes.")
    where = (checked_scope(scope),) if scopes is None else checked_scopes(scopes)
    return RecallRequest(
        text=text,
        k=places,
        scope=where[0],
        filters=NO_FILTERS if filters is None else as_filters(filters),
        now=time_of(clock) if now is None else checked_time(now, "now", InvalidArgument),
        time_budget_ms=limits.time_budget_ms if time_budget_ms is None else checked_budget(time_budget_ms),
        load_wait_ms=limits.load_wait_ms if time_budget_ms is None else 0.0,
        tokens_max=tokens,
        privacy=check_mode(mode),
        window=checked_window(window),
        zone=checked_zone(timezone),
        context=around,
        vector=None if vector is None else checked_vector(vector, dimensions()),
        score_min=checked_score(score_min),
        watch=watch,
        scopes=where if len(where) > 1 else (),
        as_of=None if as_of is None else checked_time(as_of, "as_of", InvalidArgument),
    )


def checked_budget(time_budget_ms: object) -> float:
    """Return a recall's time budget, in milliseconds."""
    budget = real(time_budget_ms)
    if not is_number(budget) or not 0 < budget < math.inf:
        raise InvalidArgument(f"time_budget_ms must be a positive number, not {shown(time_budget_ms)}.")
    return float(budget)


def checked_score(score: object) -> float | None:
    """Return the score that hits must have; `None` = the one of the settings."""
    least = real(score)
    if least is not None and (not is_number(least) or not 0 <= least <= 1):
        raise InvalidArgument(f"score_min must be a number from 0 to 1, not {shown(score)}.")
    return None if least is None else float(least)


def checked_window(window: object) -> Window:
    """Return a window that may be given to a recall."""
    if window is None or window is False:
        return window
    if not isinstance(window, TemporalWindow):
        raise InvalidArgument(
            f"window must be a TemporalWindow, False or None, not {type(window).__name__}. "
            "Write TemporalWindow(start=..., end=...)."
        )
    return window


def checked_zone(name: str | None) -> ZoneInfo | None:
    """Return the time zone of a name; `None` without a name."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except Exception as e:  # zoneinfo raises several unrelated kinds for bad names
        raise InvalidArgument(f"Unknown time zone {name!r}. Use an IANA name such as 'Europe/Berlin'.") from e


def day_end(text: str, zone: str) -> datetime | None:
    """Return the last moment of a day, so that what was said on it counts; `None` where it is none as `2026-03-01`."""
    try:
        day = datetime.strptime(text.strip(), "%Y-%m-%d")
    except ValueError:
        return None
    return datetime.combine(day, time.max, tzinfo=checked_zone(zone))


def checked_vector(vector: Any, dimensions: int) -> NDArray[np.float32]:
    """Return a query's embedding as a unit vector."""
    try:
        with np.errstate(over="ignore"):  # a number that is too large becomes infinite, and is refused below
            array = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as e:
        raise InvalidArgument(f"query_vector must be a list of numbers: {e}.") from e
    if array.shape != (dimensions,) or not np.isfinite(array).all():
        raise InvalidArgument(f"query_vector must be {dimensions} finite numbers, not an array of shape {array.shape}.")
    largest = max(float(np.abs(array).max(initial=0.0)), 1e-12)
    if largest > 1e18:  # the squares of its numbers are beyond a float
        array = array / largest
    unit: NDArray[np.float32] = array / max(float(np.linalg.norm(array)), 1e-12)
    return unit
