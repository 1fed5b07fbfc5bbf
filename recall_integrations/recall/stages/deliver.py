"""`deliver`: from candidates in order to hits; or, where too little was found, to none."""

from __future__ import annotations

from dataclasses import replace

from recall_integrations.delivery.deliver import Delivery, Found
from recall_integrations.ranking.calibration.model import within
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.types import Degradation


class Deliver(Stage):
    """Fetches, explains, withholds and packs.

    Args:
        delivery: does it.
        abstain_below: confidence below which nothing is returned.
    """

    name = "deliver"
    essential = True

    def __init__(self, delivery: Delivery, abstain_below: float) -> None:
        self._delivery, self._abstain_below = delivery, abstain_below

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """`hits` and `confidence`."""
        confidence, fused = state.confidence, state.candidates
        sure = confidence if confidence is not None else float(fused.scores.max(initial=0))
        if sure < self._abstain_below:
            detail = f"The confidence {sure:.2f} is below ranking.abstain_below {self._abstain_below:g}."
            return state.degraded_by(Degradation(stage="deliver", reason="abstain", detail=detail))
        found = Found(
            fused=fused,
            reranked=state.reranked,
            denied=state.denied,
            folded=state.folded,
            asked=state.asked,
            phrased=state.phrased,
        )
        hits, problems = self._delivery.deliver(
            state.query, state.scope, state.allowed, found, state.request, turn.deadline, state.door
        )
        if confidence is not None:  # not all of them may have fitted
            confidence = within(confidence, (hit.score for hit in hits))
        return replace(state, hits=hits, confidence=confidence).degraded_by(*problems)
