"""The source of the store's times. Apart from the store, so that naming the type does not load the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Read the wall clock, timezone-aware."""
    return datetime.now(timezone.utc)
