"""What is compared: filled with a collection, then asked. Our side is here; others bring their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, Protocol

from benchmarks.datasets.data import Collection
from benchmarks.quality.report import OURS, Answer
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import RecallResult, TemporalWindow

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

TIME_BUDGET_MS = 60_000.0  # so far off that a busy machine changes nothing


class System(Protocol):
    """Something that answers questions about a collection."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def enter(self, collection: Collection) -> None:
        """Make the collection the one that is asked about."""
        ...

    def answer(self, question: Question, k: int) -> Answer:
        """At most `k` ids."""
        ...


class ClosableSystem(System, Protocol):
    """A system that holds something."""

    def close(self) -> None:
        """Free what it holds."""
        ...


class RecallSystem:
    """Our side: each collection is a scope of the optimizer's store.

    Args:
        optimizer: under its configuration.
        name: what tables call it.
        fills: whether `enter` remembers the collection; of several over one store, the first does.
        window: given to every recall; `False` reads no dates.
        time_budget_ms: of a recall. Default: that of the configuration.
    """

    def __init__(
        self,
        optimizer: QueryOptimizer,
        *,
        name: str = OURS,
        fills: bool = True,
        window: TemporalWindow | Literal[False] | None = None,
        time_budget_ms: float | None = None,
    ) -> None:
        self.name = name
        self._optimizer, self._fills, self._window, self._budget = optimizer, fills, window, time_budget_ms

    def enter(self, collection: Collection) -> None:
        """Remember the collection's memories in its scope, if nobody else does."""
        if self._fills:
            store = self._optimizer.store
            store.remember_many(collection.memories, scope=collection.scope)
            store.warm(scope=collection.scope)  # peers are built before they are asked, too

    def answer(self, question: Question, k: int) -> Answer:
        """One recall."""
        start = time.perf_counter()
        result = self.recall(question, k)
        return Answer.of(result, ms=(time.perf_counter() - start) * 1e3)

    def close(self) -> None:
        """Stop the optimizer's threads."""
        self._optimizer.close()

    def recall(self, question: Question, k: int) -> RecallResult:
        """What the answer is made from."""
        return self._optimizer.recall(
            question.text,
            k=k,
            scope=question.scope,
            filters=question.filters,
            now=question.asked_at,
            window=self._window,
            time_budget_ms=self._budget,
        )
