"""Input of the features: a query, its candidates, and the statistics of their scope."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import Rows, TextColumns
from recall_integrations.indexes.lexicon import QueryTerms
from recall_integrations.indexes.scope_view import Told
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.records import record


@record(frozen=True, slots=True, kw_only=True)
class FeatureInput:
    """A query, its candidates, and the statistics of the scope.

    Args:
        columns: texts of the scope.
        rows: the candidates, distinct.
        query: the terms.
        frequency: memories of the scope that hold a stem.
        count: living memories of the scope.
        at: int64 `(n,)`: time of every row, microseconds UTC (`ScopeView.at`).
        dated: bool `(n,)`: whether `at` says when a row was (`ScopeView.dated`); `None` = of all.
        told: times that the rows tell; `None` = none do.
        cosine: cosine of rows with the query, by the store's embedding; may give `None`.
        graph: the entity graph's score of each candidate; NaN or 0 = none.
        importance: of every row of the scope, in [0, 1].
        now: time of the recall, for recency.
        half_life_days: half-life of recency, in days.
        detail: also compute what only trees look at.
        cosine_spread: how far apart cosines of the store's embedding are, 1 = as far as those of the bundled model.
        cosine_worth: what a cosine of the store's embedding is worth in the language of the query, 1 = as much as one
            of the bundled model in English.
        word_worth: what a cosine of the bundled word vectors is worth in the language of the query, 0 = nothing,
            1 = as much as in English.
        frequencies: `frequency` of many stems at once, given by their numbers in the lexicon; `None` = one by one.
    """

    columns: TextColumns
    rows: Rows
    query: QueryTerms
    frequency: Callable[[str], int]
    count: int
    at: NDArray[np.int64] | None = None
    dated: NDArray[np.bool_] | None = None
    told: Callable[[], Told] | None = None
    cosine: Callable[[Rows], Values | None] | None = None
    graph: Values | None = None
    importance: Values | None = None
    now: datetime | None = None
    half_life_days: float = 30.0
    detail: bool = False
    cosine_worth: float = 1.0
    cosine_spread: float = 1.0
    word_worth: float = 1.0
    frequencies: Callable[[Rows], NDArray[np.int64]] | None = None
