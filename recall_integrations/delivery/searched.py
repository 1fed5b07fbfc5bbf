"""Tells "nothing is known" from "nothing could be looked at", for whoever shows an answer."""

from __future__ import annotations

import logging
import threading

from recall_integrations.errors import NotSearched
from recall_integrations.types import RecallResult
from recall_integrations.types.result import NOT_SEARCHED

ASKED_FOR = frozenset({"abstain", "budget.tokens", "query.long", "score_min"})  # the caller wanted it so
logger = logging.getLogger("recall_integrations")
_told: set[str] = set()  # causes that this process has logged
_telling = threading.Lock()


def not_searched(result: RecallResult) -> NotSearched | None:
    """Return the error for an answer that says nothing of what is remembered; `None` where memories were searched."""
    if result.searched:
        return None
    problems = [p for p in result.degraded if p.reason != NOT_SEARCHED and p.reason not in ASKED_FOR]
    why = " ".join(dict.fromkeys(p.detail or f"{p.stage}: {p.reason}." for p in problems))
    error = NotSearched(f"Memory is not available yet: nothing could be searched ({causes(result)}). {why}".strip())
    error.result = result
    return error


def checked(result: RecallResult) -> RecallResult:
    """Return an answer in which no hits mean that nothing is known."""
    error = not_searched(result)
    if error is not None:
        raise error
    return result


def causes(result: RecallResult) -> str:
    """Say in codes why nothing was searched: `embed: timeout, semantic: skip.no_vector`."""
    problems = (p for p in result.degraded if p.reason != NOT_SEARCHED and p.reason not in ASKED_FOR)
    return ", ".join(dict.fromkeys(f"{p.stage}: {p.reason}" for p in problems))


def warn_once(result: RecallResult) -> None:
    """Log that nothing could be searched, once in a process for each cause. No text of a memory or query is in it."""
    cause = causes(result)
    with _telling:
        fresh = cause not in _told
        _told.add(cause)
    if fresh:
        logger.warning(
            "Nothing could be searched (%s), so the result is empty. That says nothing about what is remembered. "
            "Ask again, or give recalls more time; `result.searched` tells the two apart. Said once for each cause.",
            cause,
        )
