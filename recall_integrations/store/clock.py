"""Where the store's times come from. Apart from the store, so that who only names it loads none of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock, timezone-aware."""
    return datetime.now(timezone.utc)
