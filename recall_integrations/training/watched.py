"""Recalls with a watched ranker: its candidates and scores are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.errors import ConfigError
from recall_integrations.evaluation.questions import Question
from recall_integrations.indexes.bm25 import frequency_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.ranking.calibration.model import unknown_share
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.rankers.feature_sum import Ranker, Ranking, known_of
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.training.linear import Example

K = 10  # hits of a recall
TIME_BUDGET_MS = 60_000.0  # so far off that a busy machine changes nothing


class Watched:
    """Wraps a ranker, and keeps its last ranking."""

    def __init__(self, ranker: Ranker, *, detail: bool = False) -> None:
        self._ranker = ranker
        self._detail = detail
        self._last: tuple[Features, Ranking] | None = None

    @property
    def name(self) -> str:
        """Name of the watched ranker."""
        return self._ranker.name

    @property
    def version(self) -> str:
        """Version of its weights."""
        return self._ranker.version

    @property
    def known(self) -> FeatureSet:
        """Features of the watched ranker."""
        return known_of(self._ranker)

    @property
    def detail(self) -> bool:
        """True if the detailed features are computed."""
        return self._detail or self._ranker.detail

    def score(self, features: Features) -> Ranking:
        """Score with the watched ranker, and keep the result."""
        ranking = self._ranker.score(features)
        self._last = (features, ranking)
        return ranking

    def taken(self) -> tuple[Features, Ranking] | None:
        """Return the last ranking since the last call; `None` = there was none."""
        last, self._last = self._last, None
        return last


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The result of a recall of a question."""

    ids: list[str]
    example: Example  # the candidates with labels; its group is the scope
    scores: Values  # of the candidates, by the ranker, before the lifts of the plan
    unknown: float  # see `calibration.unknown_share`


class Recaller:
    """Makes recalls whose candidates are seen."""

    def __init__(self, store: MemoryStore, config: RecallConfig, ranker: Ranker, *, detail: bool = False) -> None:
        self._store = store
        self._watched = Watched(ranker, detail=detail)
        self._optimizer = QueryOptimizer(store, config=config, ranker=self._watched)

    def close(self) -> None:
        """Close the optimizer."""
        self._optimizer.close()

    def recall(self, question: Question, now: datetime) -> Recalled:
        """Ask a question, and label its candidates."""
        result = self._optimizer.recall(
            question.text,
            k=K,
            scope=question.scope,
            filters=question.filters,
            now=question.asked_at or now,
            time_budget_ms=TIME_BUDGET_MS,
        )
        seen = self._watched.taken()
        if seen is None:
            raise ConfigError(
                f"The words of the scope {scope_text(question.scope)} are not in memory, so there are no ranking "
                "features to learn from. Set ranking.features to true, and retrieval.cache_mb high enough."
            )
        features, ranking = seen
        scope_id = self._store.scope_id(question.scope)
        assert scope_id is not None  # something was ranked there
        view = self._store.view(scope_id)
        relevant = np.asarray([view.ids[row] in question.relevant for row in features.rows.tolist()], dtype=np.bool_)
        frequency = frequency_of(view, lambda: self._store.lexical)
        return Recalled(
            ids=[hit.memory.id or "" for hit in result.hits],
            example=Example(features=features.whole(), relevant=relevant, group=scope_text(question.scope)),
            scores=ranking.scores,
            unknown=unknown_share(result.query.terms, frequency, view.count),
        )
