"""`arrange`: the order in which candidates are returned: diversity, types, time, negation, repeats."""

from __future__ import annotations

import functools
from dataclasses import replace

from recall_integrations.config import RankingConfig
from recall_integrations.delivery.deliver import Delivery
from recall_integrations.ranking.arranging import arrange
from recall_integrations.ranking.calibration.model import within
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.admission import SIMPLE


class Arrange(Stage):
    """Nothing is lost by it, but for repeats, which are listed with the hit that they repeat.

    Args:
        settings: of the ranking.
        delivery: fetches texts.
    """

    name = "arrange"
    level = SIMPLE
    paced = True

    def __init__(self, settings: RankingConfig, delivery: Delivery) -> None:
        self._settings, self._delivery = settings, delivery

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """`fused`, `denied`, `folded` and `confidence`."""
        view, parsed, k, settings = state.scope, state.query, state.request.k, self._settings
        fused, texts = state.candidates, functools.partial(self._delivery.texts, view)
        if state.plan.diversity:
            fused = arrange.diversified(fused, view, k, settings.diversity_lambda)
        if state.wanted is not None:
            fused = arrange.wanted_first(fused, state.wanted)
        if state.asked is not None:
            fused = arrange.asked_first(fused, state.asked)
        denied: frozenset[int] = frozenset()
        if parsed.negations:
            fused, denied = arrange.demote_negated(
                fused, parsed.negations, texts, k, settings.negation_threshold, parsed.language
            )
        fused, folded = arrange.folded(fused, view, texts, k, settings.duplicate_similarity)
        confidence = state.confidence
        if confidence is not None:  # known before what was folded, moved down and put into another order
            confidence = within(confidence, fused.scores[:k].tolist())
        return replace(state, fused=fused, denied=denied, folded=folded, confidence=confidence)
