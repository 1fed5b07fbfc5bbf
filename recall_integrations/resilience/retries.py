"""The one policy of retries, on tenacity: what is tried again, how often, and after which pauses.

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

import math
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_random_exponential

from recall_integrations.resilience.failures import of_the_input, status_of

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
