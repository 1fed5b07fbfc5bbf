"""Asks an LLM for alternative phrasings, where that is worth its time, and never waits for long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import EMPTY, ERROR, NO_TIME, OPEN, SUCCESS, TIMEOUT, Answer, Guard
from recall_integrations.rewriting.rewrite import parse_rewrites, prompt_for, skip_reason
from recall_integrations.types import Degradation, ParsedQuery, RetrievalPlan, RewriteOutcome

STAGE = "rewrite"
# What the guard says → what the outcome says, in the words of the rewrite contract.
_REASONS: Mapping[str, str] = {
    SUCCESS: "success",
    EMPTY: "failure.empty",
    TIMEOUT: "failure.timeout",
    ERROR: "failure.error",
    OPEN: "circuit_open",
    NO_TIME: "skip.budget",
}


class Rewriting:
    """Threads may share one.

    Args:
        llm: text in, text out; `None` = no rewrites.
        guard: what calls it.
    """

    def __init__(self, llm: Callable[[str], str] | None, guard: Guard) -> None:
        self._llm, self._guard = llm, guard

    @property
    def unasked(self) -> RewriteOutcome:
        """What is said where there is no time to ask."""
        return RewriteOutcome() if self._llm is None else RewriteOutcome(strategy="skipped", reason=NO_TIME)

    def run(
        self, parsed: ParsedQuery, plan: RetrievalPlan, deadline: Deadline
    ) -> tuple[ParsedQuery, RewriteOutcome, Degradation | None]:
        """The query with its rewrites, what was done or why nothing was, and what did not work.

        Args:
            parsed, plan: the query.
            deadline: of the stage.
        """
        if self._llm is None:
            return parsed, RewriteOutcome(), None
        skip = "skip.specific_query" if not plan.rewrite else skip_reason(parsed.original)
        if skip is not None:
            return parsed, RewriteOutcome(strategy="skipped", reason=skip), None
        answer = self._guard.call(deadline, self._phrasings, parsed.original, empty=_none)
        rewrites = answer.value or ()
        outcome = RewriteOutcome(
            strategy="llm" if rewrites else "fallback" if answer.begun else "skipped",
            reason=_REASONS.get(answer.reason, answer.reason),
            duration_ms=answer.took_ms,
            used=bool(rewrites),
        )
        return replace(parsed, rewrites=rewrites), outcome, _problem(answer)

    def _phrasings(self, query: str) -> tuple[str, ...]:
        assert self._llm is not None
        return parse_rewrites(self._llm(prompt_for(query)), query)


def _none(rewrites: tuple[str, ...]) -> bool:
    return not rewrites


def _problem(answer: Answer[tuple[str, ...]]) -> Degradation | None:
    if answer.reason == SUCCESS:
        return None
    return Degradation(stage=STAGE, reason=answer.code, detail=answer.detail)
