"""`rank`: makes one list of those of the arms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.fan_out import whole
from recall_integrations.arms.graph import GraphRetriever
from recall_integrations.arms.registry import ArmSpec, MakeArm, own_lifts
from recall_integrations.arms.second_hop.links import SecondHop
from recall_integrations.config import RecallConfig
from recall_integrations.delivery.deliver import Delivery
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.arranging.moves import NEGATION
from recall_integrations.ranking.features.exact import exact_shares
from recall_integrations.ranking.features.owners import Asker, asker_of
from recall_integrations.ranking.features.polarity import denial_of
from recall_integrations.ranking.fusion import Fused, FusionInput, fuse, lifted
from recall_integrations.ranking.rank import EXACT_POOL, RankInput, evidence_of, rank
from recall_integrations.ranking.rankers.feature_sum import FixedWeights, Ranker, known_of
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.store.asking import bundled_worth
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types.making import changed


class Rank(Stage):
    """Ranks candidates by their features; without a ranker, or where that fails, by the arms' own scores.

    Args:
        store: the store of the memories.
        config: all settings.
        delivery: fetches texts.
        ranker: gives the order; `None` = the arms' scores are fused.
        arms: the arms that there are.
        made: makes each arm; the graph arm leads from documents to others.
    """

    name = "rank"
    level = SIMPLE - 1
    paced = True

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        delivery: Delivery,
        ranker: Ranker | None,
        arms: tuple[ArmSpec, ...],
        made: Mapping[str, MakeArm],
    ) -> None:
        self._store, self._config, self._delivery = store, config, delivery
        self._ranker = ranker
        self._stepped = type(ranker) is FixedWeights  # learned steps start from its weights
        # The graph arm is made whatever the plan: it starts from what other arms found.
        graph = whole(made["graph"]) if "graph" in config.planner.arms else None
        self._graph = graph if isinstance(graph, GraphRetriever) else None
        self._evidence, self._lifts = evidence_of(arms, known_of(ranker)), own_lifts(arms)

    @property
    def graph(self) -> GraphRetriever | None:
        """The graph arm, where it may be asked."""
        return self._graph

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Return the state with `fused` and `confidence`."""
        view = state.scope
        if self._ranker is None or view.text is None:
            return self.fallback(state)
        texts = functools.partial(self._delivery.texts, view)
        wanted = RankInput(
            fusion=self._given(state),
            parsed=state.query,
            frequency=state.frequency,
            count=view.count,
            allowed=state.searched,
            texts=texts,
            k=state.request.k,
            hop=self._second_hop(state, texts),
            evidence=self._evidence,
            lifts=self._lifts,
            asker=self._asker(state),
            denial=None if NEGATION in state.unread else denial_of(state.query),
        )
        learned = state.served.ranker if self._stepped else None
        ranked = rank(state.results, wanted, view.text, learned or self._ranker, self._config.ranking)
        return _trusted(state, ranked.fused, ranked.confidence)

    def fallback(self, state: RecallState) -> RecallState:
        """Return the state with the candidates in the order of the arms' own scores."""
        settings, view = self._config.fallback_fusion, state.scope
        fused = fuse(state.results, self._given(state), settings)
        n = min(len(fused.rows), max(EXACT_POOL, 2 * state.request.k))
        if state.plan.exact_match and n:
            shares = np.zeros(len(fused.rows), dtype=np.float32)
            shares[:n] = exact_shares(self._delivery.texts(view, fused.rows[:n]), state.query.identifiers)
            fused = lifted(view, fused, "exact", shares, settings.exact)
        return _trusted(state, fused, None)

    def _given(self, state: RecallState) -> FusionInput:
        parsed = state.query
        return FusionInput(
            view=state.scope,
            plan=state.plan,
            vectors=state.vectors,
            similarities=state.similarities,
            window=parsed.temporal_window,
            now=state.request.now,
            half_life_days=self._config.ranking.recency_half_life_days,
            cosine_worth=self._store.cosine_worth_in(parsed.language, parsed.original, state.scope.scope_id),
            cosine_spread=self._store.cosine_spread,
            word_worth=bundled_worth(parsed.language, parsed.original),
        )

    def _asker(self, state: RecallState) -> Asker | None:
        user = next((ref for ref in state.query.entity_refs if ref.stage == IMPLICIT and ref.mention), None)
        if user is None:
            return None
        names = self._store.entities(state.scope.scope_id).index.names(user.entity_id)
        return asker_of(state.query, names)

    def _second_hop(self, state: RecallState, texts: Callable[[NDArray[np.int64]], list[str]]) -> SecondHop | None:
        if self._graph is None:
            return None
        return self._graph.second_hop(state.scope, texts, terms=state.query.terms, allowed=state.searched)


def _trusted(state: RecallState, fused: Fused, confidence: float | None) -> RecallState:
    """Return the state with scores and confidence as the time or session asked for changes them."""
    asked = state.asked
    if asked is not None and asked.order is not None:
        confidence = max(confidence or 0.0, asked.confidence)
    if state.trust < 1:
        fused = replace(fused, scores=fused.scores * np.float32(state.trust))
        confidence = None if confidence is None else confidence * state.trust
    return changed(state, fused=fused, confidence=confidence)
