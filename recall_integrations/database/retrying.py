"""Writes to PostgreSQL that are tried again where that may help: after a moment, with jitter, for some seconds.

Which errors these are PostgreSQL says itself: a serialization failure, a deadlock, a server that shuts down or is not
up yet, a connection that was lost. A key that is there already is one, too: numbers are given in turn, so whoever meets
one has lost its turn to somebody else. Where a connection was lost while committing nobody knows what came of it, so
only what may be done twice is tried again then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_after_delay
from tenacity import wait_random_exponential as jittered

from recall_integrations.database.postgres_errors import is_lost, is_retryable, sqlstate
from recall_integrations.errors import RecallError

T = TypeVar("T")
TRIES = 8
WAIT_S, WAIT_MAX_S = 0.05, 1.0  # before the second try at most, before any at most
WITHIN_S = 5.0  # after which no other try begins
_TAKEN = "23505"  # the key is there

logger = logging.getLogger(__name__)


def tried_again(work: Callable[[], T], *, twice: bool, tries: int = TRIES, within_s: float = WITHIN_S) -> T:
    """Return the result of `work`, tried again where the database says that it may work in a moment.

    With `twice` it does no harm to do it twice: it is tried again also where nobody knows whether it was committed.
    """
    retrying = Retrying(
        retry=retry_if_exception(lambda error: may_be_tried_again(error, twice=twice)),
        wait=jittered(multiplier=WAIT_S, max=WAIT_MAX_S),
        stop=stop_after_attempt(tries) | stop_after_delay(within_s),
        before_sleep=_told,
        reraise=True,
    )
    return retrying(work)


def may_be_tried_again(error: BaseException, *, twice: bool) -> bool:
    """Say whether the same transaction may work in a moment, and doing it again does no harm."""
    cause = error.__cause__ if isinstance(error, RecallError) else error
    if sqlstate(cause) == _TAKEN:
        return True
    return is_retryable(cause) and (twice or not (is_lost(cause) and _while_committing(cause)))


def _while_committing(error: BaseException | None) -> bool:
    """Say whether an error belongs to no statement: to a commit, or to connecting, which looks the same."""
    return isinstance(error, DBAPIError) and error.statement is None


def _told(state: RetryCallState) -> None:
    error = None if state.outcome is None else state.outcome.exception()
    logger.info("A write is tried again (%d): %s", state.attempt_number, error)
