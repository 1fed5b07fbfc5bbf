"""The part of an optimizer that feedback and replays use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from recall_integrations.config import RecallConfig
from recall_integrations.ranking.feature_sum import Ranker
from recall_integrations.recall.runner import Stage
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import ParsedQuery, RecallResult, ScopeLike
from recall_integrations.types.request import RecallRequest


class Recalling(Protocol):
    """A `QueryOptimizer`, as far as it is used here."""

    store: MemoryStore

    @property
    def config(self) -> RecallConfig:
        """All settings."""
        ...

    @property
    def ranker(self) -> Ranker | None:
        """The ranker that the user gave; `None` = none."""
        ...

    def config_of(self, scope: ScopeLike | None) -> RecallConfig:
        """Return the settings of a scope."""
        ...

    def varied(
        self,
        *,
        config: RecallConfig,
        ranker: Ranker | None = None,
        stages: Sequence[Stage] = (),
        outside: bool = True,
    ) -> Recalling:
        """Return another optimizer with the same parts."""
        ...

    @property
    def checked_request(self) -> Callable[..., RecallRequest]:
        """Function that checks the arguments of a recall."""
        ...

    @property
    def parse(self) -> Callable[..., ParsedQuery]:
        """Function that parses a query."""
        ...

    @property
    def recall(self) -> Callable[..., RecallResult]:
        """Function that finds memories."""
        ...

    def close(self) -> None:
        """Close it."""
        ...
