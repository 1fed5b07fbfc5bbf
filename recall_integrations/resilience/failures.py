"""Errors that a component of the user's may raise without harm to the caller.

`CancelledError` is an `Exception` no more, and `SystemExit` and `KeyboardInterrupt` never were. Raised by a component,
they say that it failed. But in the main thread the latter two may come from a signal (Ctrl-C, a handler that ends the
process), whatever was running: there they pass through. Other threads get no signals.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import datetime

from recall_integrations.errors import InvalidArgument
from recall_integrations.types.memory import checked_time


def failures() -> tuple[type[BaseException], ...]:
    """Return the errors that count as a component's failure in this thread, for `except failures() as e`."""
    if threading.current_thread() is threading.main_thread():
        return (Exception, asyncio.CancelledError)
    return (Exception, asyncio.CancelledError, SystemExit, KeyboardInterrupt)


def time_of(clock: Callable[[], datetime]) -> datetime:
    """Return the time that a clock of the user's gives."""
    try:
        now: object = clock()
    except failures() as e:
        raise InvalidArgument(
            f"The clock raised {type(e).__name__}: {e}. Give one that returns an aware datetime."
        ) from e
    return checked_time(now, "What the clock gives", InvalidArgument)
