"""`deliver`: makes hits of the candidates in order; or, where too little was found, none."""

from __future__ import annotations

import numpy as np

from recall_integrations.delivery.deliver import Delivery, Found
from recall_integrations.ranking.calibration import within
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.types import Degradation
from recall_integrations.types.making import changed
from recall_integrations.types.request import RecallRequest


class Deliver(Stage):
    """Fetches, explains, withholds and packs the hits.

    Args:
        delivery: does the work.
        abstain_below: confidence below which nothing is returned.
        score_min: score below which a hit is left out, where the request does not say.
    """

    name = "deliver"
    essential = True

    def __init__(self, delivery: Delivery, abstain_below: float, score_min: float = 0.0) -> None:
        self._delivery, self._abstain_below, self._score_min = delivery, abstain_below, score_min

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `hits` and `confidence`."""
        confidence, fused = state.confidence, state.candidates
        sure = confidence if confidence is not None else float(fused.scores.max(initial=0))
        if sure < self._abstain_below and not state.request.part:
            detail = f"The confidence {sure:.2f} is below ranking.abstain_below {self._abstain_below:g}."
            return state.degraded_by(Degradation(stage="deliver", reason="abstain", detail=detail))
        fused, left_out = self._sure_enough(fused, state.request)
        found = Found(
            fused=fused,
            reranked=state.reranked,
            denied=state.denied,
            folded=state.folded,
            asked=state.asked,
            phrased=state.phrased,
            held=state.held,
            overtaken=state.overtaken,
        )
        hits, problems = self._delivery.deliver(
            state.query, state.scope, state.allowed, found, state.request, turn.deadline, state.door
        )
        if confidence is not None:  # the token budget may have dropped some
            confidence = within(confidence, (hit.score for hit in hits))
        return changed(state, hits=hits, confidence=confidence).degraded_by(*left_out, *problems)

    def _sure_enough(self, fused: Fused, request: RecallRequest) -> tuple[Fused, list[Degradation]]:
        """Return the candidates with at least the score asked for, and a problem where some of the best have less."""
        least = self._score_min if request.score_min is None else request.score_min
        if not least:
            return fused, []
        enough = np.flatnonzero(fused.scores >= np.float32(least))
        wanted = min(request.k, len(fused.rows))
        less = wanted - min(wanted, len(enough))
        kept = fused.take(enough, fused.scores[enough])
        detail = f"{less} of the {wanted} best score below {least:g}."
        return kept, [Degradation(stage="deliver", reason="score_min", detail=detail)] if less else []
