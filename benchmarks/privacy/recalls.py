"""What privacy costs a recall: the same questions in each mode, in turn, by processor time of the recall's thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.datasets.data import EvaluationData

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer
    from recall_integrations.types import Scope

MODES = ("allow", "redact", "block")
K, ROUNDS = 10, 3
BUDGET_MS = 60_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of one data set.

    Args:
        dataset: its name.
        recalls: in each mode.
        p50_ms: mode → median of the processor milliseconds of a recall; of each question the best of a few rounds.
        more: mode → median over the questions of how much more one took than with `allow`, as a share.
    """

    dataset: str
    recalls: int
    p50_ms: dict[str, float]
    more: dict[str, float]


def measured(data: EvaluationData, limit: int) -> Cost:
    """Ask so many questions of the largest collection, in all modes; the order of the modes changes each time.

    Args:
        data: the data set.
        limit: questions.
    """
    from recall_integrations import MemoryStore, QueryOptimizer

    collection = max(data.collections, key=lambda c: len(c.memories))
    with MemoryStore.open() as store:
        store.remember_many(collection.memories, scope=collection.scope)
        optimizer = QueryOptimizer(store)
        asked = list(collection.questions)[:limit]
        for question in asked[:5]:
            _timed(optimizer, question.text, collection.scope, MODES)
        best: list[dict[str, float]] = []
        for i, question in enumerate(asked):
            order = [*MODES[i % 3 :], *MODES[: i % 3]]
            rounds = [_timed(optimizer, question.text, collection.scope, order) for _ in range(ROUNDS)]
            best.append({mode: min(each[mode] for each in rounds) for mode in MODES})
        optimizer.close()
    return Cost(
        dataset=data.name,
        recalls=len(best),
        p50_ms={mode: statistics.median(each[mode] for each in best) for mode in MODES},
        more={mode: statistics.median(each[mode] / each["allow"] - 1 for each in best) for mode in MODES},
    )


def _timed(optimizer: QueryOptimizer, text: str, scope: Scope, modes: Iterable[str]) -> dict[str, float]:
    taken = {}
    for mode in modes:
        began = time.thread_time()
        optimizer.recall(text, k=K, scope=scope, privacy=mode, time_budget_ms=BUDGET_MS)
        taken[mode] = (time.thread_time() - began) * 1e3
    return taken
