"""`plan`: what is done about the query, and which rows of the scope it is about."""

from __future__ import annotations

from dataclasses import replace

from recall_integrations.arms.registry import ArmSpec, with_own
from recall_integrations.config import RecallConfig
from recall_integrations.indexes.scope_view import of_types
from recall_integrations.planning.planner import make_plan
from recall_integrations.planning.when import asked_for, settled
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Degradation, ParsedQuery, RetrievalPlan


class Plan(Stage):
    """Decides.

    Args:
        store: where the memories are.
        config: all settings.
        arms: those that there are.
    """

    name = "plan"
    essential = True

    def __init__(self, store: MemoryStore, config: RecallConfig, arms: tuple[ArmSpec, ...]) -> None:
        self._store, self._config, self._arms = store, config, arms

    def applies(self, _state: RecallState) -> bool:
        """Always."""
        return True

    def made(self, parsed: ParsedQuery) -> RetrievalPlan:
        """The plan of a parsed query. Pure."""
        return with_own(make_plan(parsed, self._config), parsed, self._arms, self._config.planner.arm_limit)

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """`planned`, `view`, `allowed`, `searched`, `wanted`, `asked` and `trust`."""
        request = state.request
        scope_id = self._store.scope_id(request.scope)
        view = None if scope_id is None or state.loading else self._store.view(scope_id)
        parsed, session = settled(state.query, view)
        plan = self.made(parsed)
        state = replace(state, parsed=replace(parsed, type_hints=plan.type_hints), planned=plan, view=view)
        if view is None:
            return state
        allowed = self._store.filter_mask(view, request.filters, request.now)
        limit = max(self._config.planner.arm_limit, request.k)
        decided = asked_for(state.query, plan, session, view, allowed, limit)
        searched = None if decided.asked is None else decided.asked.searched(request.k)
        state = replace(
            state,
            planned=decided.plan,
            allowed=allowed,
            searched=allowed if searched is None else searched,
            asked=decided.asked,
            trust=decided.trust,
        )
        return _typed(state).degraded_by(*self._lag(view.scope_id))

    def _lag(self, scope_id: int) -> list[Degradation]:
        return [
            Degradation(stage=name, reason="index.behind", detail=f"{lag} changes not applied yet.")
            for name, lag in self._store.behind(scope_id).items()
        ]


def _typed(state: RecallState) -> RecallState:
    """Where the plan filters by type: only such memories, if there are k of them; else those are to be put first."""
    plan, view = state.plan, state.scope
    if not plan.type_filter:
        return state
    wanted = of_types(view, plan.type_hints)
    allowed = wanted if state.searched is None else wanted & state.searched
    count = int((allowed & view.alive).sum())
    if count >= state.request.k:
        return replace(state, searched=allowed)
    return replace(state, wanted=wanted if count else None)
