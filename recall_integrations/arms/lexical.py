"""The lexical arm."""

from __future__ import annotations

from functools import partial

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.indexes.words import TIES_MAX, LexicalIndex, ceiling


class LexicalRetriever:
    """The lexical arm: BM25 of the query's stems."""

    name = "lexical"

    def __init__(self, index: LexicalIndex, *, overfetch: float) -> None:
        self._index = index
        self._overfetch = overfetch

    def search(self, request: ArmRequest) -> ArmResult:
        """Candidates that share a stem with the query. Scores are BM25, unbounded above."""
        view = request.view
        if not request.terms or not view.count:
            return ArmResult.empty(self.name)
        allowed, frequency = request.allowed, request.frequency
        if frequency is None:
            frequency = partial(self._index.document_frequency, view.scope_id)
        weaker = request.parsed.weaker_terms
        limit = 2 * request.limit  # room for ties at the cut: a second search costs more than a longer first one
        while True:
            wanted = min(limit, view.size)
            nums, found = self._index.search(view.scope_id, request.terms, view.count, wanted, frequency, weaker)
            rows, scores = request.living(nums, found)
            if len(nums) < limit or limit >= view.size:  # the postings are exhausted
                break
            enough = len(rows) >= request.limit
            # tantivy orders equals by their place in the index, which merges change: ties at the cut are fetched whole.
            tied = enough and limit < TIES_MAX and scores[request.limit - 1] == found[-1]
            if not tied and (enough or allowed is None):
                break
            request.check_time()
            share = 1.0 if allowed is None or tied else max(float(allowed.mean()), 1e-3)
            limit = int(max(limit * 4, self._overfetch * request.limit / share))
        return request.result(self.name, rows, scores, ceiling=ceiling(request.terms, frequency, view.count))
