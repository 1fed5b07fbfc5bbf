"""Errors that a component of the user's may raise without harm to the caller.

`CancelledError` is an `Exception` no more, and `SystemExit` and `KeyboardInterrupt` never were. Raised by a component,
they say that it failed. But in the main thread the latter two may come from a signal (Ctrl-C, a handler that ends the
process), whatever was running: there they pass through. Other threads get no signals.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime

from recall_integrations.errors import InvalidArgument
from recall_integrations.types.memory import checked_time


def failures() -> tuple[type[BaseException], ...]:
    """Return the errors that count as a component's failure in this thread, for `except failures() as e`."""
    if threading.current_thread() is threading.main_thread():
        return (Exception, asyncio.CancelledError)
    return (Exception, asyncio.CancelledError, SystemExit, KeyboardInterrupt)


# Number of the scope that is served, for breakers; empty = of none. Threads of a recall inherit it.
for_whom: ContextVar[str] = ContextVar("for_whom", default="")


@contextmanager
def serving(whose: str) -> Iterator[None]:
    """Say inside of the block which scope is served."""
    before = for_whom.set(whose)
    try:
        yield
    finally:
        for_whom.reset(before)


OF_THE_INPUT = frozenset((400, 413, 414, 415, 422))  # status codes of HTTP


def status_of(error: BaseException) -> int | None:
    """Return the status of the reply that an error tells of; `None` = it names none.

    Clients of models name it `status_code`, `http_status` or `code`, or that of their `response`. An error of ours may
    wrap theirs.
    """
    error = error if error.__cause__ is None else error.__cause__
    holders = (error, getattr(error, "response", None))
    names = ("status_code", "http_status", "status", "code")
    said = [getattr(holder, name, None) for holder in holders if holder is not None for name in names]
    return next((value for value in said if isinstance(value, int) and 100 <= value < 600), None)


def of_the_input(error: BaseException) -> bool:
    """Say whether an error is due to this input: too long, not allowed. A component that answers so is not away."""
    status = status_of(error)
    cause = error if error.__cause__ is None else error.__cause__
    return status in OF_THE_INPUT if status is not None else isinstance(cause, UnicodeError)


def time_of(clock: Callable[[], datetime]) -> datetime:
    """Return the time that a clock of the user's gives."""
    try:
        now: object = clock()
    except failures() as e:
        raise InvalidArgument(
            f"The clock raised {type(e).__name__}: {e}. Give one that returns an aware datetime."
        ) from e
    return checked_time(now, "What the clock gives", InvalidArgument)
