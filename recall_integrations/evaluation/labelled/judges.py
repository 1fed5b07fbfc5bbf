"""Judges of relevance where nobody labelled it: a cross-encoder, or any other scorer of a query and a text.

A judge sees what any of the compared configurations returned, and nothing else (pooling, as at TREC): what none of them
found counts for none. A cosine threshold is no judge. `Cosines` is here to show what one would have said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.reranking.bands import LOGIT, PROBABILITY, RELEVANT_FROM, Band, band, has_bands
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.shortening import shortened
from recall_integrations.types import Memory, indexed_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's verdict on a text: its score, whether the text is relevant, and the band where the scale has any."""

    score: float
    relevant: bool
    band: Band | None = None


class Judge:
    """A reranker that says what is relevant.

    Args:
        source: as `QueryOptimizer(reranker=...)` takes it: a cross-encoder's name or path, a framework's reranker, or a
            function from a query and texts to scores.
        threshold: score from which a text is relevant. Default: -10, of ms-marco-MiniLM-L-6-v2, on the logit scale.

    Raises:
        InvalidArgument: it cannot score, or it is of another kind than that model and no threshold is given.
        MissingExtra: a cross-encoder without sentence-transformers.
    """

    def __init__(self, source: object, threshold: float | None = None) -> None:
        found = resolve_reranker(source)
        if found is None:
            raise InvalidArgument("There is no judge. Name a cross-encoder, or give a function that scores texts.")
        self._reranker: Reranker = found
        self._banded = has_bands(found.name)
        if threshold is None and not self._banded:
            raise InvalidArgument(
                f"The threshold {RELEVANT_FROM:g} suits ms-marco-MiniLM-L-6-v2; {found.name!r} has another scale. Say "
                "from which score on a text is relevant: look at the scores of some that you judged yourself."
            )
        self.threshold = RELEVANT_FROM if threshold is None else threshold
        self._given = threshold is not None

    @property
    def name(self) -> str:
        """Name of the model or function."""
        return self._reranker.name

    def verdicts(self, query: str, memories: Sequence[Memory]) -> list[Verdict]:
        """Judge each memory; a memory that the judge drops is not relevant."""
        scores = self._reranker.scores(query, [indexed_text(m.text, m.actor) for m in memories])
        scale = str(getattr(self._reranker, "scale", LOGIT))
        return [self._verdict(score, scale) for score in scores]

    def _verdict(self, score: float | None, scale: str) -> Verdict:
        if score is None:
            return Verdict(score=float("-inf"), relevant=False)
        said = band(score, scale) if self._banded else None
        if self._given or scale != PROBABILITY:
            return Verdict(score=score, relevant=score >= self.threshold, band=said)
        return Verdict(score=score, relevant=said in (Band.HIGHLY_RELEVANT, Band.RELEVANT), band=said)


class Cosines:
    """Cosines between the embeddings of memories and of a query."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._rows: dict[str, dict[str, int]] = {}

    def of(self, question: Question, ids: Sequence[str]) -> dict[str, float]:
        """Return id → cosine; empty where the vectors cannot be read."""
        scope_id = self._store.scope_id(question.scope)
        if scope_id is None or not ids:
            return {}
        view = self._store.view(scope_id)
        name = scope_text(question.scope)
        if name not in self._rows:
            self._rows[name] = {view.ids[row]: row for row in np.flatnonzero(view.alive).tolist()}
        there = [one for one in ids if one in self._rows[name]]
        rows = np.asarray([self._rows[name][one] for one in there], dtype=np.int64)
        query = self._store.embedding.embed_query(shortened(question.text).text)
        found = view.similarity(rows, np.asarray(query, dtype=np.float32))
        return {} if found is None else dict(zip(there, found.tolist(), strict=True))
