"""The first work of `plan` for a scope that no node reads whole: the query's vectors, what facts decide, its rows."""

from __future__ import annotations

from recall_integrations.errors import RecallError, RecallTimeout
from recall_integrations.recall.drawing import Drawing, Wanted
from recall_integrations.recall.runner import Turn
from recall_integrations.recall.stages.arms import TOLD_MAX
from recall_integrations.recall.stages.embed import Embed
from recall_integrations.recall.stages.facts import Facts
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.guard import TIMEOUT
from recall_integrations.store.outlines import Outline
from recall_integrations.types import Degradation, RetrievalPlan
from recall_integrations.types.making import changed

DRAW_SHARE = 0.6  # share of the time that is left; the rest is for ranking
LATE = "The database has not found the memories of this scope in time. Ask again, or give it more time."


class Drawn:
    """Draws the rows of a recall for `plan`. Threads may share one."""

    def __init__(self, drawing: Drawing, embed: Embed, facts: Facts | None) -> None:
        self._drawing, self._embed, self._facts = drawing, embed, facts

    def __call__(self, state: RecallState, outline: Outline, plan: RetrievalPlan, turn: Turn) -> RecallState:
        """Return the state with `view` and `vectors`; without a view where there was no time."""
        before = changed(state, view=outline.view, planned=plan)
        if self._embed.applies(before):
            before = self._embed.run(before, turn)
        nums: list[int] = []
        if self._facts is not None and self._facts.applies(before):
            held = self._facts.run(before, turn).held
            nums = [] if held is None else [*held.first, *sorted(held.beneath)[-TOLD_MAX:]]
        deadline = turn.deadline.child(turn.deadline.remaining_ms() * DRAW_SHARE)
        wanted = Wanted(
            request=state.request,
            parsed=state.query,
            plan=plan,
            vectors=before.vectors,
            frequency=state.frequency,
            nums=nums,
            deadline=deadline,
        )
        try:
            view, without = self._drawing.drawn(outline, wanted)
        except RecallError as e:
            if not deadline.over and not isinstance(e, RecallTimeout):
                raise
            late = Degradation(stage="load", reason=TIMEOUT, detail=LATE)
            return changed(state, view=None).degraded_by(*before.degraded[len(state.degraded) :], late)
        found = changed(before, view=view, planned=None)
        if without is not None:
            found = found.degraded_by(Degradation(stage="semantic", reason=without[0], detail=without[1]))
        return found
