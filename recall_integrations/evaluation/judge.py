"""A judge that says which hits are relevant, where there are no labels. A cosine threshold is no judge: it flatters."""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.errors import InvalidArgument
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.reranking.reranking import LOGIT, PROBABILITY, RELEVANT_FROM, Band, band, has_bands
from recall_integrations.types import Memory, indexed_text


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
        if threshold is None and not has_bands(found.name):
            raise InvalidArgument(
                f"The threshold {RELEVANT_FROM:g} suits ms-marco-MiniLM-L-6-v2; {found.name!r} has another scale. Say "
                "from which score on a text is relevant: look at the scores of some that you judged yourself."
            )
        self._reranker: Reranker = found
        self._threshold = threshold

    @property
    def name(self) -> str:
        """Name of the model or function."""
        return self._reranker.name

    def relevant(self, query: str, memories: Sequence[Memory]) -> list[bool]:
        """Say of each memory whether it is relevant; a memory that the judge drops is not."""
        scores = self._reranker.scores(query, [indexed_text(m.text, m.actor) for m in memories])
        scale = str(getattr(self._reranker, "scale", LOGIT))
        return [score is not None and self._is_relevant(score, scale) for score in scores]

    def _is_relevant(self, score: float, scale: str) -> bool:
        if self._threshold is None and scale == PROBABILITY:
            return band(score, scale) in (Band.HIGHLY_RELEVANT, Band.RELEVANT)
        return score >= (RELEVANT_FROM if self._threshold is None else self._threshold)
