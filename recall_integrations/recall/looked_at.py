"""Whether an answer without hits says that nothing is known, or only that nothing could be looked at."""

from __future__ import annotations

from recall_integrations.recall.state import RecallState
from recall_integrations.types import Degradation
from recall_integrations.types.result import NOT_SEARCHED

AWAY = "record.away"
SEMANTIC = "semantic"
DETAIL = "Nothing could be searched: that there are no hits says nothing of what is remembered."


def unsearched(state: RecallState) -> tuple[Degradation, ...]:
    """What says that nothing could be looked at; empty where the memories were, where there are hits or no memories."""
    if state.hits or not _missed(state):
        return ()
    return (Degradation(stage="recall", reason=NOT_SEARCHED, detail=DETAIL),)


def _missed(state: RecallState) -> bool:
    """Whether memories that could answer were not looked at.

    The semantic arm compares every memory with the query: where it was, no other matters. Where the plan does without,
    each of the others does.
    """
    if state.loading:
        return True
    view = state.view
    if view is None:  # where the database is away, nobody knows whether there is such a scope
        return any(problem.reason == AWAY for problem in state.degraded)
    if not view.count or (state.allowed is not None and not (state.allowed & view.alive).any()):
        return False
    arms = {arm.name for arm in state.plan.arms}
    failed = {problem.stage for problem in state.degraded}
    if SEMANTIC in arms:
        return SEMANTIC in failed or all(result.arm != SEMANTIC for result in state.results)
    return not arms.isdisjoint(failed)
