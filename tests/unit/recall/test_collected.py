"""A view that a write replaced is let go at once, as is all that a recall read: a scope may take a gigabyte."""

from __future__ import annotations

import gc
from collections import Counter

import pytest

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import RetrievalConfig


def views() -> Counter[str]:
    """Count the views of scopes, and the columns of their texts, that are in memory."""
    return Counter(name for one in gc.get_objects() if (name := type(one).__name__) in ("ScopeView", "TextColumns"))


@pytest.mark.parametrize("cache_mb", [1_024, 0])  # with the words of texts in memory, and without
def test_a_view_that_was_replaced_waits_for_no_collection(cache_mb: int) -> None:
    config = RecallConfig(retrieval=RetrievalConfig(cache_mb=cache_mb))
    with MemoryStore.open(config=config) as store:
        store.remember_many([f"note {i} about apples and pears" for i in range(30)])
        optimizer = QueryOptimizer(store)
        optimizer.recall("which apples?")
        gc.collect()
        gc.disable()
        try:
            before = views()
            for i in range(3):
                store.remember(f"note {i} about plums")
                optimizer.recall(f"where are pears and plums {i}?")
            assert views() == before
        finally:
            gc.enable()
