"""`arrange`: the order in which candidates are returned: diversity, types, time, negation, repeats."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from recall_integrations.config import RankingConfig
from recall_integrations.delivery.deliver import Delivery
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import asked_mask
from recall_integrations.query.occurrences import occurrence_asked
from recall_integrations.ranking.arranging import arrange
from recall_integrations.ranking.arranging.arrange import first_of_the_query, occurrence_first
from recall_integrations.ranking.arranging.newer import Overtaken, newer_first
from recall_integrations.ranking.calibration import within
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.types.making import changed

KEEP_FIRST = 1  # so many hits of the query itself stay where they are, whatever its phrasings found


class Arrange(Stage):
    """Puts candidates in order. None is lost, but for repeats, which are listed with the hit that they repeat.

    Args:
        settings: settings of the ranking.
        delivery: fetches texts.
        spread: how far apart cosines of the store's embedding are (`MemoryStore.cosine_spread`).
    """

    name = "arrange"
    level = SIMPLE
    paced = True

    def __init__(
        self,
        settings: RankingConfig,
        delivery: Delivery,
        spread: Callable[[], float] = lambda: 1.0,
    ) -> None:
        self._settings, self._delivery, self._spread = settings, delivery, spread

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Return the state with `fused`, `denied`, `folded`, `overtaken` and `confidence`."""
        fused, denied, folded, overtaken = self._arranged(state, state.candidates)
        if state.unphrased is not None and not state.rerank.used:
            own = self._arranged(state, state.unphrased)[0].rows[:KEEP_FIRST].tolist()
            fused = first_of_the_query(fused, own)
        confidence, k = state.confidence, state.request.k
        if confidence is not None:  # it was known before candidates were folded, moved down and reordered
            confidence = within(confidence, fused.scores[:k].tolist())
        return changed(state, fused=fused, denied=denied, folded=folded, overtaken=overtaken, confidence=confidence)

    def _arranged(
        self, state: RecallState, fused: Fused
    ) -> tuple[Fused, frozenset[int], Mapping[int, list[int]], Mapping[int, Overtaken]]:
        """Return candidates in their final order; those about a negated term; the repeats of each; the older
        ones that a newer one has moved above."""
        overtaken: Mapping[int, Overtaken] = {}
        view, parsed, k, settings = state.scope, state.query, state.request.k, self._settings
        texts = functools.partial(self._delivery.texts, view)
        if state.plan.diversity:
            fused = arrange.diversified(fused, view, k, settings.diversity_lambda)
        if state.wanted is not None:
            fused = arrange.wanted_first(fused, state.wanted)
        if state.asked is not None:
            fused = arrange.asked_first(fused, state.asked)
        if state.held is None and state.asked is None and view.text is not None and not state.rerank.used:
            until, window = to_micros(state.request.as_of or state.request.now), parsed.temporal_window
            inside = None if window is None else asked_mask(view, window.start, window.end)
            fused, overtaken = newer_first(fused, view, view.text, parsed, self._spread(), until, inside)
        if state.held is not None:
            first, beneath = view.rows_of(state.held.first), view.rows_of(sorted(state.held.beneath))
            fused = arrange.held_first(fused, first, state.held.confidence, beneath)
        fused = self._occurrence(state, fused)
        denied: frozenset[int] = frozenset()
        if parsed.negations:
            fused, denied = arrange.demote_negated(
                fused, parsed.negations, texts, k, settings.negation_threshold, parsed.language
            )
        memories = functools.partial(self._delivery.memories, view)
        fused, folded = arrange.folded(fused, view, memories, k, settings.duplicate_similarity)
        return fused, denied, folded, overtaken

    @staticmethod
    def _occurrence(state: RecallState, fused: Fused) -> Fused:
        """Put the first or the last time first, where the query asks for it and no fact that was read has decided."""
        view, parsed, window = state.scope, state.query, state.query.temporal_window
        occurrence = occurrence_asked(parsed.original, parsed.language, window, parsed.session)
        if occurrence is None or state.held is not None:
            return fused
        inside = None if state.asked is None else state.asked.mask
        if inside is None and window is not None:
            inside = asked_mask(view, window.start, window.end)
        now, k = to_micros(state.request.now), state.request.k
        return occurrence_first(fused, view, occurrence, parsed.terms, k, now, inside)
