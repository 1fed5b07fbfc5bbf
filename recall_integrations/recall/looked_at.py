"""Tells an answer without hits because nothing is known from one where nothing could be looked at."""

from __future__ import annotations

from recall_integrations.recall.state import RecallState
from recall_integrations.types import Degradation
from recall_integrations.types.result import NOT_SEARCHED

AWAY = "record.away"
SEMANTIC = "semantic"
DETAIL = "Nothing could be searched: that there are no hits says nothing of what is remembered."


def unsearched(state: RecallState) -> tuple[Degradation, ...]:
    """Return the problem "nothing was searched"; empty if memories were searched, or there are hits or no memories."""
    if state.hits or not _missed(state):
        return ()
    return (Degradation(stage="recall", reason=NOT_SEARCHED, detail=DETAIL),)


def _missed(state: RecallState) -> bool:
    """Say whether memories that could answer were not looked at.

    The semantic arm compares every memory with the query: where it ran, no other arm matters. Where the plan has no
    semantic arm, each of the other arms matters.
    """
    if state.loading:
        return True
    view = state.view
    if view is None:  # while the database is away, nobody knows whether there is such a scope
        return any(problem.reason == AWAY for problem in state.degraded)
    if not view.count or (state.allowed is not None and not (state.allowed & view.alive).any()):
        return False
    arms = {arm.name for arm in state.plan.arms}
    failed = {problem.stage for problem in state.degraded}
    if SEMANTIC in arms:
        return SEMANTIC in failed or all(result.arm != SEMANTIC for result in state.results)
    return not arms.isdisjoint(failed)
