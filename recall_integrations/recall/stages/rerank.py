"""`rerank`: lets a cross-encoder order the best candidates, where its gate lets it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recall_integrations.delivery.deliver import Delivery
from recall_integrations.ranking.arranging.moves import RERANK, giving, sums
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.reranking.depth import MultiStage
from recall_integrations.reranking.reranking import RerankRequest, RerankStage
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.resilience.guard import NO_TIME
from recall_integrations.types import Contribution, Degradation, RerankOutcome

NOT_SHOWN = "skip.privacy"


class Rerank(Stage):
    """Reranks the best. They share out the scores that they had, and the sums of what was added to them."""

    name = "rerank"
    level = SIMPLE - 1

    def __init__(self, reranking: RerankStage, depth: MultiStage, delivery: Delivery) -> None:
        self._reranking, self._depth, self._delivery = reranking, depth, delivery

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
        n = self._depth.survivors(fused.scores, k)
        if n < len(fused.rows):
            fused = fused.take(np.arange(n, dtype=np.int64), fused.scores[:n])

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
            )
        )
        places = done.order.tolist()
        before = sums(fused)
        added = before[: len(places)] - before[done.order]
        given = dict(zip(places, added.tolist(), strict=True))
        judged = {
            int(fused.rows[place]): Contribution(
                source=RERANK,
                rank=said.rank,
                score=said.score,
                added=given[place],
                note=str(said.band or ""),
            )
            for place, said in done.judged.items()
            if place in given
        }
        ordered = giving(fused.take(done.order, fused.scores[: len(places)]), RERANK, added)
        return replace(state, fused=ordered, reranked=judged, rerank=done.outcome).degraded_by(
            *done.degraded, *problems
        )
