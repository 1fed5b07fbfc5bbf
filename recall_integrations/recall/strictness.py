"""The errors that `recall(strict=True)` raises where the default degrades."""

from __future__ import annotations

from collections.abc import Iterable

from recall_integrations.config import ARMS
from recall_integrations.delivery import showing
from recall_integrations.delivery.searched import ASKED_FOR
from recall_integrations.errors import DegradationFailed, IndexUnavailable, PrivacyViolation, RecallError, RecallTimeout
from recall_integrations.types import Degradation, RecallResult
from recall_integrations.types.result import NOT_SEARCHED

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
