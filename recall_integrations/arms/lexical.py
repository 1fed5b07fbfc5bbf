"""The lexical arm."""

from __future__ import annotations

from collections.abc import Callable

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.indexes.bm25 import Bm25, frequency_of
from recall_integrations.indexes.words import WordIndex, ceiling


class LexicalRetriever:
    """The lexical arm: BM25 of the query's stems, with the statistics of the scope alone."""

    name = "lexical"

    def __init__(self, index: Callable[[], WordIndex]) -> None:
        self._index = index

    def search(self, request: ArmRequest) -> ArmResult:
        """Return candidates that share a stem with the query. Scores are BM25, unbounded above."""
        view = request.view
        if not request.terms or not view.count:
            return ArmResult.empty(self.name)
        request.check_time()
        frequency = request.frequency or frequency_of(view, self._index)
        bm25 = Bm25(view, request.terms, request.parsed.weaker_terms, frequency, self._index)
        rows, scores = bm25.search(request.limit, request.allowed, request.check_time)
        return request.result(self.name, rows, scores, ceiling=ceiling(request.terms, frequency, view.count))
