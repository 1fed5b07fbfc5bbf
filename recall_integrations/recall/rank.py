"""`rank`, `words`, `rerank`, `arrange`: make one list of those of the arms, and put it in order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from recall_integrations.arms.base import whole
from recall_integrations.arms.graph import GraphRetriever
from recall_integrations.arms.retrievers import ArmSpec, MakeArm, own_lifts
from recall_integrations.config import RankingConfig, RecallConfig
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.indexes.windows import asked_mask
from recall_integrations.query.by_table.cues import occurrence_asked
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.arranging import arrange
from recall_integrations.ranking.arranging.arrange import occurrence_first
from recall_integrations.ranking.arranging.moves import NEGATION, RERANK, giving, sums
from recall_integrations.ranking.arranging.newer import Overtaken, heirs_first, newer_first
from recall_integrations.ranking.calibration import within
from recall_integrations.ranking.feature_sum import FixedWeights, Ranker, known_of
from recall_integrations.ranking.features.reading import Asker, asker_of, denial_of, exact_shares
from recall_integrations.ranking.fusion import EXACT, Fused, FusionInput, fuse, lifted
from recall_integrations.ranking.rank import EXACT_POOL, RankInput, evidence_of, rank
from recall_integrations.recall.deliver import Delivery
from recall_integrations.recall.runner import RecallState, Stage, Turn
from recall_integrations.recall.search import Arms
from recall_integrations.records import changed
from recall_integrations.reranking.reranking import RerankRequest, RerankStage
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.resilience.guard import NO_TIME
from recall_integrations.store.asking import bundled_worth
from recall_integrations.store.fact_tables import ScopeFacts
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Contribution, Degradation, RerankOutcome


class Rank(Stage):
    """Ranks candidates by their features; without a ranker, or where that fails, by the arms' own scores."""

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

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Return the state with `fused` and `confidence`."""
        view = state.scope
        if self._ranker is None:
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
            hop=None if self._graph is None else self._graph.second_hop(view, texts, state.query.terms, state.searched),
            evidence=self._evidence,
            lifts=self._lifts,
            asker=self._asker(state),
            denial=None if NEGATION in state.unread else denial_of(state.query),
            share=1.0 if state.allowed is None else float((state.allowed & view.alive).sum()) / max(view.count, 1),
        )
        learned = state.served.ranker if self._stepped else None
        return _trusted(state, *rank(state.results, wanted, view.text, learned or self._ranker, self._config.ranking))

    def fallback(self, state: RecallState) -> RecallState:
        """Return the state with the candidates in the order of the arms' own scores."""
        view = state.scope
        fused = fuse(state.results, self._given(state), self._config.ranking.strategy)
        n = min(len(fused.rows), max(EXACT_POOL, 2 * state.request.k))
        if state.plan.exact_match and n:
            shares = np.zeros(len(fused.rows), dtype=np.float32)
            shares[:n] = exact_shares(self._delivery.texts(view, fused.rows[:n]), state.query.identifiers)
            fused = lifted(view, fused, "exact", shares, EXACT)
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


SURE = 0.7  # score of a first hit by words and names, from which no vector is asked for


class Words(Stage):
    """Looks without vectors first, where embedding a query costs a call: a sure first hit saves it."""

    name = "words"
    level = SIMPLE - 1
    share = 0.3

    def __init__(self, arms: Arms, rank: Rank) -> None:
        self._arms, self._rank = arms, rank

    def applies(self, state: RecallState) -> bool:
        """Say whether the query is to be embedded, and there is something else to ask."""
        wanted = state.view is not None and state.vectors is None and state.request.vector is None
        return wanted and state.plan.arm("semantic") is not None and len(state.plan.arms) > 1

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state; without the semantic arm in its plan where words are sure."""
        arms = tuple(arm for arm in state.plan.arms if arm.name != "semantic")
        plan = replace(state.plan, arms=arms, reason=f"{state.plan.reason}; words are sure, nothing is embedded")
        found = self._rank.run(self._arms.run(changed(state, planned=plan), turn), turn)
        if found.fused is None or found.confidence is None:  # then scores are no probabilities
            return state
        return changed(state, planned=plan) if np.any(found.fused.scores[:1] >= SURE) else state


def _trusted(state: RecallState, fused: Fused, confidence: float | None) -> RecallState:
    """Return the state with scores and confidence as the time or session asked for changes them."""
    asked = state.asked
    if asked is not None and asked.order is not None:
        confidence = max(confidence or 0.0, asked.confidence)
    if state.trust < 1:
        fused = replace(fused, scores=fused.scores * np.float32(state.trust))
        confidence = None if confidence is None else confidence * state.trust
    return changed(state, fused=fused, confidence=confidence)


NOT_SHOWN = "skip.privacy"


class Rerank(Stage):
    """Reranks the best. They share out the scores that they had, and the sums of what was added to them."""

    name = "rerank"
    level = SIMPLE - 1

    def __init__(self, reranking: RerankStage, delivery: Delivery) -> None:
        self._reranking, self._delivery = reranking, delivery

    def applies(self, state: RecallState) -> bool:
        """Say whether to rerank: not for the order of the conversation, which compares no memory with the query."""
        return state.view is not None and not state.plan.in_order

    def fallback(self, state: RecallState) -> RecallState:
        """Return the state in the order that it has."""
        return replace(state, rerank=RerankOutcome(reranker=self._reranking.name, reason=NO_TIME))

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `fused`, `reranked` and `rerank`.

        A reranker outside of this process gets what the door lets through, and under `block` is not asked.
        """
        here, door = self._reranking.local or state.door.open, state.door
        query = state.query.original if here else door.query(state.query.original).text
        if not here and state.plan.rerank and (door.blocked or not query):
            return replace(state, rerank=RerankOutcome(reranker=self._reranking.name, reason=NOT_SHOWN))
        fused, view, k = state.candidates, state.scope, state.request.k
        problems: list[Degradation] = []

        def texts(count: int) -> list[str]:
            rows = fused.rows[:count]
            if here:
                return self._delivery.texts(view, rows)
            given = self._delivery.shown_texts(view, rows, door, turn.deadline)
            if late := given.count(""):
                detail = f"There was no time to redact {late} of {len(given)} texts; the reranker did not see them."
                problems.append(Degradation(stage=self.name, reason="partial", detail=detail))
            return given

        done = self._reranking.run(
            RerankRequest(
                query=query,
                calibrated=fused.scores,
                texts=texts,
                k=k,
                allowed=state.plan.rerank,
                deadline=turn.deadline,
                scope=view.scope_id,
            )
        )
        places = done.order.tolist()
        before = sums(fused)
        added = before[: len(places)] - before[done.order]
        given = dict(zip(places, added.tolist(), strict=True))
        judged = {
            int(fused.rows[place]): Contribution(
                source=RERANK, rank=said.rank, score=said.score, added=given[place], note=str(said.band or "")
            )
            for place, said in done.judged.items()
            if place in given
        }
        ordered = giving(fused.take(done.order, fused.scores[: len(places)]), RERANK, added)
        return replace(state, fused=ordered, reranked=judged, rerank=done.outcome).degraded_by(
            *done.degraded, *problems
        )


class Arrange(Stage):
    """Puts candidates in order. None is lost, but for repeats, which are listed with the hit that they repeat."""

    name = "arrange"
    level = SIMPLE
    paced = True

    def __init__(
        self,
        settings: RankingConfig,
        delivery: Delivery,
        spread: Callable[[], float] = lambda: 1.0,
        facts: Callable[[ScopeView], ScopeFacts | None] = lambda _view: None,
    ) -> None:
        self._settings, self._delivery, self._spread, self._facts = settings, delivery, spread, facts

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Return the state with `fused`, `denied`, `folded`, `overtaken` and `confidence`."""
        fused, denied, folded, overtaken = self._arranged(state, state.candidates)
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
        if state.held is None and state.asked is None:
            until, window = to_micros(state.request.as_of or state.request.now), parsed.temporal_window
            inside = None if window is None else asked_mask(view, window)
            fused, overtaken = newer_first(fused, view, view.text, parsed, self._spread(), until, inside, texts)
        facts = None if state.asked is not None else self._facts(view)
        if facts is not None and facts.replaced:
            at = to_micros(state.request.as_of or state.request.now)
            fused, told = heirs_first(fused, lambda row: facts.heir(row, at), parsed)
            overtaken = {**overtaken, **told}
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
        occurrence = occurrence_asked(parsed.point, parsed.language, window, parsed.session)
        if occurrence is None or state.held is not None:
            return fused
        inside = None if state.asked is None else state.asked.mask
        if inside is None and window is not None:
            inside = asked_mask(view, window)
        now, k = to_micros(state.request.now), state.request.k
        return occurrence_first(fused, view, occurrence, parsed.terms, k, now, inside)
