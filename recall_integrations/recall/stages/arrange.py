"""`arrange`: the order in which candidates are returned: diversity, types, time, negation, repeats."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from recall_integrations.config import RankingConfig
from recall_integrations.delivery.deliver import Delivery
from recall_integrations.facts.asked import PREVIOUS
from recall_integrations.facts.deciding import Decided
from recall_integrations.facts.slots import Slots
from recall_integrations.ranking.arranging import arrange
from recall_integrations.ranking.arranging.newer import asks_present, newer_first
from recall_integrations.ranking.arranging.phrasings import first_of_the_query
from recall_integrations.ranking.calibration.model import within
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.doubts import latest_that_may_tell, with_doubts
from recall_integrations.recall.evident import evident, moves, surely
from recall_integrations.recall.likely import likely
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.types.making import changed


class Arrange(Stage):
    """Nothing is lost by it, but for repeats, which are listed with the hit that they repeat.

    Args:
        settings: of the ranking.
        delivery: fetches texts.
        keep_first: so many hits of the query itself stay first, whatever its phrasings found.
        slots: the schema of facts; `None` = none are kept.
    """

    name = "arrange"
    level = SIMPLE
    paced = True

    def __init__(
        self, settings: RankingConfig, delivery: Delivery, keep_first: int = 1, slots: Slots | None = None
    ) -> None:
        self._settings, self._delivery, self._keep_first, self._slots = settings, delivery, keep_first, slots

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """`fused`, `denied`, `folded`, `confidence` and `held`."""
        if self._slots is not None and state.view is not None:
            state = changed(state, held=self._held(state, self._slots))
        fused, denied, folded = self._arranged(state, state.candidates)
        if state.unphrased is not None and not state.rerank.used:
            own = self._arranged(state, state.unphrased)[0].rows[: self._keep_first].tolist()
            fused = first_of_the_query(fused, own)
        confidence, k = state.confidence, state.request.k
        if confidence is not None:  # known before what was folded, moved down and put into another order
            confidence = within(confidence, fused.scores[:k].tolist())
        return changed(state, fused=fused, denied=denied, folded=folded, confidence=confidence)

    def _held(self, state: RecallState, slots: Slots) -> Decided | None:
        """What decides: what was read of the query, or what its candidates tell; and later memories of the slot."""
        view, fused, held = state.scope, state.candidates, state.held
        if held is not None:
            return with_doubts(held, state, fused, self._delivery, slots)
        held = self._told(state, fused, slots)
        if held is None and state.sought is not None and surely(state.sought.asked, state):
            held = latest_that_may_tell(state.sought, state, fused, self._delivery, slots)
        return held if held is not None and moves(held, fused, view) else None

    def _told(self, state: RecallState, fused: Fused, slots: Slots) -> Decided | None:
        """What the candidates tell: by the facts of the best of them, or by the model, where it says another thing."""
        held, guess = evident(state, fused, self._delivery, slots), likely(state, fused, self._delivery)
        if held is None:
            return guess
        known = (*held.first, *held.beneath)  # what holds no longer, by the facts, is not the latest
        if guess is not None and held.mode != PREVIOUS and guess.first[0] not in known:
            return guess  # of what was before the facts know more: they have the values
        return with_doubts(held, state, fused, self._delivery, slots)

    def _arranged(self, state: RecallState, fused: Fused) -> tuple[Fused, frozenset[int], Mapping[int, list[int]]]:
        """Candidates in the order in which they are returned; which are about a negated term; who repeats whom."""
        view, parsed, k, settings = state.scope, state.query, state.request.k, self._settings
        texts = functools.partial(self._delivery.texts, view)
        if state.plan.diversity:
            fused = arrange.diversified(fused, view, k, settings.diversity_lambda)
        if state.wanted is not None:
            fused = arrange.wanted_first(fused, state.wanted)
        if state.asked is not None:
            fused = arrange.asked_first(fused, state.asked)
        if state.held is None and state.asked is None and view.text is not None and asks_present(parsed.original):
            fused = newer_first(fused, view, view.text, parsed.terms, k)
        if state.held is not None:
            fused = arrange.held_first(fused, view.rows_of(state.held.first), state.held.confidence)
        denied: frozenset[int] = frozenset()
        if parsed.negations:
            fused, denied = arrange.demote_negated(
                fused, parsed.negations, texts, k, settings.negation_threshold, parsed.language
            )
        fused, folded = arrange.folded(fused, view, texts, k, settings.duplicate_similarity)
        return fused, denied, folded
