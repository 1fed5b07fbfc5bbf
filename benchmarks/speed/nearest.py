"""How many of the nearest memories the semantic arm finds, against an exact search of all vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed.synthetic import END
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations import MemoryStore
    from recall_integrations.indexes.scope_view import ScopeView
    from recall_integrations.recall.runner import RecallState, StageEvent

K = 10
_ROWS = 20_000  # whose vectors are read at a time
_TIE = 1e-4  # stored vectors are float16, so neighbours this close to the k-th are as good


def dense_recall(store: MemoryStore, scope: Scope, queries: Sequence[str]) -> float:
    """Share of the ten exact nearest neighbours that the semantic arm returns, over queries that search everything.

    A neighbour counts if its exact cosine is within `_TIE` of the tenth best, as approximate indexes are commonly
    scored: which of two equally near memories comes back is no loss. 1 where no query searches everything.
    """
    from recall_integrations import QueryOptimizer

    seen: list[RecallState] = []

    def keep(event: StageEvent) -> None:
        if event.stage == "arms" and event.state is not None:
            seen.append(event.state)

    with closing(QueryOptimizer(store, observers=[keep])) as optimizer:
        for query in dict.fromkeys(queries):
            optimizer.recall(query, k=K, scope=scope, now=END)
    found = []
    for state in seen:
        rows = next((r.rows for r in state.results if r.arm == "semantic"), None)
        if rows is not None and state.allowed is None and state.searched is None and state.vectors is not None:
            exact = _exact(state.scope, state.vectors)
            k = min(K, int(state.scope.alive.sum()))
            tenth = np.partition(exact, len(exact) - k)[len(exact) - k]
            found.append(float((exact[rows[:k]] >= tenth - _TIE).sum()) / k)
    return float(np.mean(found)) if found else 1.0


def _exact(view: ScopeView, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Best cosine of each row with any of the vectors, float32 `(view.size,)`; -2 for rows that are gone."""
    best = np.full(view.size, -2.0, dtype=np.float32)
    for start in range(0, view.size, _ROWS):
        rows = np.arange(start, min(start + _ROWS, view.size))
        rows = rows[view.alive[rows]]
        of_rows = view.vectors_of(rows)
        if of_rows is not None:
            best[rows] = np.max([np.vecdot(of_rows, vector) for vector in vectors], axis=0)
    return best
