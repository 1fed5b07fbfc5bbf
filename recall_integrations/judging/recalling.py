"""What feedback and replays need of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from recall_integrations.config import RecallConfig
from recall_integrations.ranking.rankers.feature_sum import Ranker
from recall_integrations.recall.runner import Stage
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import ParsedQuery, RecallResult, ScopeLike
from recall_integrations.types.request import RecallRequest


class Recalling(Protocol):
    """A `QueryOptimizer`, as far as it is asked here."""

    store: MemoryStore

    @property
    def config(self) -> RecallConfig:
        """All settings."""
        ...

    @property
    def ranker(self) -> Ranker | None:
        """That was given."""
        ...

    def config_of(self, scope: ScopeLike | None) -> RecallConfig:
        """Settings of a scope."""
        ...

    def varied(
        self,
        *,
        config: RecallConfig,
        ranker: Ranker | None = None,
        stages: Sequence[Stage] = (),
        outside: bool = True,
    ) -> Recalling:
        """Another one with the same parts."""
        ...

    @property
    def checked_request(self) -> Callable[..., RecallRequest]:
        """Arguments of a recall, checked."""
        ...

    @property
    def parse(self) -> Callable[..., ParsedQuery]:
        """Understand a query."""
        ...

    @property
    def recall(self) -> Callable[..., RecallResult]:
        """Find memories."""
        ...

    def close(self) -> None:
        """Let go."""
        ...
