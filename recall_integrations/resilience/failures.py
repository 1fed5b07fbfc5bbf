"""Errors that a component of the user's may raise without harm to the caller.

`CancelledError` is an `Exception` no more, and `SystemExit` and `KeyboardInterrupt` never were. Raised by a component,
they say that it failed. But in the main thread the latter two may come from a signal (Ctrl-C, a handler that ends the
process), whatever was running: there they pass through. Other threads get no signals.

What is tried again, how often, and after which pauses, on tenacity:

| call | tries | longest pauses |
|---|---|---|
| an embedding, an LLM or a reranker of the user's that failed within a second; a server of vectors | 2 | .05 s |
| a write to PostgreSQL | 8, begun within 5 s | .05 s, doubled up to 1 s |
| a request of `RecallClient` | 4 (`retries`) | .1 s, doubled, after what the server wants |
| filling a collection | for ever | .5 s, doubled up to 30 s |

A pause is a random part of the longest one, so that those that failed together do not come back together, and none
reaches beyond the time that the caller has.
"""

from __future__ import annotations

import asyncio
import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

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


TRIES = 2  # of a call that a recall or a write waits for
AGAIN_S = 1.0  # after a component of the user's was called, in which it may be called again: a slow one is not
CAUSES_MAX = 8  # of an error that are looked at
PAUSE_S, PAUSE_MAX_S = 0.05, 1.0  # the longest before the second try, and before any
_AGAIN = frozenset((408, 409, 425, 429))  # status codes of HTTP that pass, beside those from 500 on
_LOST = frozenset(("TransportError", "ClientConnectionError"))  # bases of httpx and aiohttp, for lost connections


def may_pass(error: BaseException) -> bool:
    """Say whether the same call to a component may work in a moment: a status says so, or a connection was lost."""
    if not isinstance(error, Exception) or of_the_input(error):
        return False
    status = status_of(error)
    return any(map(_is_lost, _causes(error))) if status is None else status in _AGAIN or status >= 500


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that led to it."""
    for _ in range(CAUSES_MAX):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _is_lost(error: BaseException) -> bool:
    named = (kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, ConnectionError | TimeoutError | socket.gaierror) or not _LOST.isdisjoint(named)


def policy(
    tries: int,
    again: Callable[[BaseException], bool] = may_pass,
    *,
    pause_s: float = PAUSE_S,
    pause_max_s: float = PAUSE_MAX_S,
    until: float = math.inf,
    at_least_s: Callable[[RetryCallState], float] = lambda _: 0.0,
    **more: Any,
) -> dict[str, Any]:
    """Return the arguments of tenacity's `Retrying` or `AsyncRetrying`.

    Args:
        tries: calls at most.
        again: whether an error is worth another.
        pause_s, pause_max_s: the longest pause before the second try, and before any.
        until: monotonic second at which no other begins.
        at_least_s: seconds of a pause that are no matter of chance.
        more: other arguments of `Retrying`.
    """
    jittered = wait_random_exponential(multiplier=pause_s, max=pause_max_s)
    return {
        "retry": retry_if_exception(again),
        "stop": lambda state: state.attempt_number >= tries or time.monotonic() + state.upcoming_sleep >= until,
        "wait": lambda state: at_least_s(state) + jittered(state),
        "reraise": True,
        **more,
    }


def pause_s(tries: int, first_s: float, most_s: float) -> float:
    """Return the seconds until the next try of work that nobody waits for."""
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = tries
    return wait_random_exponential(multiplier=first_s, min=first_s / 2, max=most_s)(state)


def raised(state: RetryCallState) -> BaseException | None:
    """Return the error of the last try."""
    return None if state.outcome is None else state.outcome.exception()


def sentences(first: str, second: str) -> str:
    """Return two sentences as one text; the first may lack its stop, the second may be empty."""
    stop = "." if second and not first.endswith((".", "!", "?")) else ""
    return f"{first}{stop}{second}"
