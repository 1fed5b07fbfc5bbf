"""`QueryOptimizer` on top of a user's vector store, and the function that makes one."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from recall_integrations.adapters.sources import Source
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.config import RecallConfig, checked_config
from recall_integrations.errors import EmbeddingError, EmbeddingMismatch, InvalidArgument, StorePathError
from recall_integrations.ontop.arm import SEMANTIC, Borrowed, spec_of
from recall_integrations.ontop.following import Following, Refreshed, stored_dimensions
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import RecallResult, checked_scope

LEAST = 0.3  # of the time of a recall that has to be left to ask again
PROBE = "Does this embedding fit?"
logger = logging.getLogger("recall_integrations")


class OnTopOptimizer(QueryOptimizer):
    """An optimizer whose semantic arm is a user's vector store."""

    def __init__(self, following: Following, arms: Sequence[ArmSpec], **sources: Any) -> None:
        super().__init__(following.store, arms=arms, **sources)
        self._following = following

    def __reduce__(self) -> Any:
        raise InvalidArgument(
            f"A retriever on top of {self._following.source.name} holds that store, and cannot be pickled. Make it "
            "where it is used."
        )

    def reload(self, config: RecallConfig | None = None) -> tuple[str, ...]:
        return super().reload(fitting(checked_config(config), self._following.source))

    @property
    def fields(self) -> Mapping[str, str | None]:
        """The keys of the metadata that hold actor, role, time, thread and position."""
        return dict(self._following.fields)

    def refresh(self, *, progress: bool | None = None, documents: Iterable[Any] | None = None) -> Refreshed:
        """Read documents that are new or have changed, forget those that are gone."""
        return self._following.refresh(progress=progress, documents=documents)

    def recall(self, query: str, **given: Any) -> RecallResult:
        """Recall as `QueryOptimizer` does. A document that the vector store names and we lack is read, and found."""
        began, seen = time.monotonic(), self._begun()
        result = super().recall(query, **given)
        left = None if self._following.noticed == seen else self._learned(began, given)
        return result if left is None else super().recall(query, **{**given, "time_budget_ms": left})

    async def arecall(self, query: str, **given: Any) -> RecallResult:
        began = time.monotonic()
        seen = self._begun() if self._following.started else await asyncio.to_thread(self._begun)
        result = await super().arecall(query, **given)
        left = None if self._following.noticed == seen else await asyncio.to_thread(self._learned, began, given)
        return result if left is None else await super().arecall(query, **{**given, "time_budget_ms": left})

    def _begun(self) -> int:
        """Return the count of noticed ids so far. Reads the source first if it was empty."""
        self._following.begin()
        return self._following.noticed

    def _learned(self, began: float, given: Mapping[str, Any]) -> float | None:
        """Read what a recall has named; return the milliseconds that are left to ask again, `None` = do not."""
        left = self._left(began, given)
        return None if left is None or not self._following.learn(left / 1e3) else self._left(began, given)

    def _left(self, began: float, given: Mapping[str, Any]) -> float | None:
        budget = float(given.get("time_budget_ms") or self.config.limits.time_budget_ms)
        left = budget - (time.monotonic() - began) * 1e3
        return left if left > LEAST * budget else None


def fitting(config: RecallConfig, source: Source) -> RecallConfig:
    """Return the settings without the semantic arm, where the source cannot be asked by a vector."""
    if source.readable or SEMANTIC not in config.planner.arms:
        return config
    arms = tuple(name for name in config.planner.arms if name != SEMANTIC)
    return replace(config, planner=replace(config.planner, arms=arms))


def on_top_of(
    source: Source,
    *,
    path: str | os.PathLike[str] | None,
    fields: Any,
    scope: Any,
    progress: bool | None,
    config: RecallConfig | None,
    extractor: Any = None,
    **sources: Any,
) -> OnTopOptimizer:
    """Return an optimizer over a source, with a store of ours beside it; `store.close()` closes that.

    Without a path our copy is a temporary one; `sources` are `llm` and `reranker`.
    """
    where = checked_scope(scope)
    if path is None and not source.listed:
        source.ids()  # says why not
    borrowed = Borrowed(source, stored_dimensions(source))
    _check(source, borrowed)
    config = fitting(checked_config(config), source)
    try:
        store = MemoryStore.open(path, embedding=borrowed, config=config, extractor=extractor)
    except EmbeddingMismatch as e:
        raise StorePathError(
            f"What is kept at {path} was made of other vectors than {source.name} holds now. Give another path."
        ) from e
    try:
        following = Following(store, source, borrowed, where, fields)
        following.start(progress)
        return OnTopOptimizer(following, [spec_of(source, borrowed, following.unknown)], config=config, **sources)
    except BaseException:
        store.close()
        raise


def _check(source: Source, borrowed: Borrowed) -> None:
    """Check that the embedding makes vectors as long as those of the source."""
    if not source.readable or source.embedding is None:
        return
    try:
        made = source.as_given(PROBE)
    except EmbeddingError as e:  # it may come back; until then recalls name it
        logger.warning("The embedding of %s does not answer: %s", source.name, e)
        return
    if len(made) != borrowed.dimensions:
        raise InvalidArgument(
            f"The vectors of {source.name} have {borrowed.dimensions} numbers, those of its embedding {len(made)}. "
            "Pass embedding=…, the one that filled it."
        )
