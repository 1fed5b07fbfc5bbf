"""`rewrite`: other phrasings of the query, by the LLM, where that is worth its time."""

from __future__ import annotations

from dataclasses import replace

from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.stages.parse import SHARE_BEFORE_ARMS
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.rewriting.stage import Rewriting


class Rewrite(Stage):
    """Without it the query is searched as it is.

    Args:
        rewriting: asks the LLM.
    """

    name = "rewrite"
    level = SIMPLE - 1
    share = SHARE_BEFORE_ARMS

    def __init__(self, rewriting: Rewriting) -> None:
        self._rewriting = rewriting

    def applies(self, _state: RecallState) -> bool:
        """Always: a plan that wants no rewrite is named in the outcome."""
        return True

    def fallback(self, state: RecallState) -> RecallState:
        """Nothing is asked."""
        return replace(state, rewrite=self._rewriting.unasked)

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """`parsed.rewrites` and `rewrite`."""
        query, door = state.query, state.door
        unasked = self._rewriting.unasked
        if door.blocked and unasked.strategy == "skipped":
            return replace(state, rewrite=replace(unasked, reason="skip.privacy"))
        given = query if door.open else replace(query, original=door.query(query.original).text)
        asked, outcome, problem = self._rewriting.run(given, state.plan, turn.deadline)
        state = replace(state, parsed=replace(query, rewrites=asked.rewrites), rewrite=outcome)
        return state if problem is None else state.degraded_by(problem)
