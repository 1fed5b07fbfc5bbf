"""`embed`: the vectors of the query and of its readings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.stages.parse import SHARE_BEFORE_ARMS
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.shortening import shortened
from recall_integrations.types import Degradation
from recall_integrations.types.making import changed


class Embed(Stage):
    """Embeds the query. Without it words and graph still answer."""

    name = "embed"
    share = SHARE_BEFORE_ARMS

    def __init__(self, store: MemoryStore, guard: Guard) -> None:
        self._store, self._guard = store, guard

    def applies(self, state: RecallState) -> bool:
        """Say whether the plan asks the semantic arm."""
        return state.view is not None and state.vectors is None and state.plan.arm("semantic") is not None

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `vectors`, `(1 + readings, d)`."""
        parsed, given = state.query, state.request.vector
        readings = [] if parsed.corrected_query is None else [parsed.corrected_query]
        texts = [*([] if given is not None else [shortened(parsed.original).text]), *readings]
        first = [] if given is None else [given]
        made, problem = self.vectors_of(texts, turn.deadline)
        if problem is not None:
            return self.fallback(state).degraded_by(problem)
        vectors = [*first, *made]
        return changed(state, vectors=vectors[0][None] if len(vectors) == 1 else np.stack(vectors))

    def vectors_of(
        self, texts: Sequence[str], deadline: Deadline
    ) -> tuple[list[NDArray[np.float32]], Degradation | None]:
        """Return the vectors of queries; or none, and the problem."""
        embedding = self._store.embedding
        if not texts or isinstance(embedding, StaticEmbedding):  # it takes microseconds; a thread costs more
            return [embedding.embed_query(text) for text in texts], None
        answer = self._guard.call(deadline, lambda: [embedding.embed_query(text) for text in texts], work=len(texts))
        if answer.value is None:
            return [], Degradation(stage=self.name, reason=answer.code, detail=answer.detail)
        return list(answer.value), None
