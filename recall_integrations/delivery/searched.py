"""Tells "nothing is known" from "nothing could be looked at", for whoever shows an answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from recall_integrations.config import ARMS
from recall_integrations.delivery import showing
from recall_integrations.errors import (
    DegradationFailed,
    IndexUnavailable,
    NotSearched,
    PrivacyViolation,
    RecallError,
    RecallTimeout,
)
from recall_integrations.types import Degradation, RecallResult
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


LATE = frozenset(
    {"timeout", "cancelled", "partial", "skip.budget", "skip.slow", "skip.busy", "skip.no_vector", "reduced_top_k"}
    | {"simplified_scoring", "minimal", NOT_SEARCHED}
)  # a missing vector or an unsearched scope is named beside its cause
INDEX = frozenset({"index.behind", "index_unavailable", "vectors.away", "vectors_away", "vectors_refused"})
OPTIONS = ("retry_with_reduced_scope", "skip_experience_path", "return_minimal")
_SUGGESTIONS = {
    RecallTimeout: ("Increase time_budget_ms", "Reduce k", "Use simpler filters"),
    IndexUnavailable: ("Run `recall doctor STORE`",),
    PrivacyViolation: ("Increase time_budget_ms", 'Use privacy="block"'),
    DegradationFailed: ("Look at error.result.degraded and optimizer.health()",),
}


def complaint(result: RecallResult, time_budget_ms: float) -> RecallError | None:
    """Return the error for a result that is not whole; `None` where it is.

    The worst problem decides: `PrivacyViolation`, `IndexUnavailable`, `RecallTimeout`, else `DegradationFailed`. The
    error holds the result.
    """
    problems = [problem for problem in result.degraded if problem.reason not in ASKED_FOR]
    if not problems:
        return None
    kind = _kind(problems)
    said = "; ".join(f"{p.stage}: {p.reason}" + (f" ({p.detail})" if p.detail else "") for p in problems)
    error = kind(f"The recall was not whole. {said}")
    error.details = {
        "effective_timeout_ms": time_budget_ms,
        "degradation_steps_applied": list(result.degradation_steps),
        "retry_suggestions": list(_SUGGESTIONS[kind]),
    }
    error.options = OPTIONS
    error.stats = {"partial_results": len(result.hits), "time_elapsed_ms": result.timings_ms.get("total", 0.0)}
    error.result = result
    return error


def _kind(problems: Iterable[Degradation]) -> type[RecallError]:
    problems = list(problems)
    if any(p.stage == showing.STAGE for p in problems):
        return PrivacyViolation
    if any(p.reason in INDEX or (p.stage in ARMS and p.reason not in LATE) for p in problems):
        return IndexUnavailable
    return RecallTimeout if all(p.reason in LATE for p in problems) else DegradationFailed
