"""Memories that are replaced while a recall is under way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer


@pytest.mark.parametrize("filtered", [False, True])
def test_what_is_replaced_meanwhile_is_shown_unless_a_filter_may_forbid_it(
    monkeypatch: pytest.MonkeyPatch, filtered: bool
) -> None:
    with MemoryStore.open() as store:
        store.remember_many(Memory(f"Tea number {i}", id=f"m{i}", metadata={"open": True}) for i in range(4))
        optimizer, fetch = QueryOptimizer(store), store.fetch

        def late(scope_id: int, nums: Sequence[int]) -> dict[int, Memory]:
            monkeypatch.undo()
            store.remember(Memory("Tea number 1 is nobody's business", id="m1", metadata={"open": False}))
            return fetch(scope_id, nums)

        monkeypatch.setattr(store, "fetch", late)
        filters: Any = {"metadata": {"open": True}} if filtered else None
        hits = {hit.memory.id: hit.memory.text for hit in optimizer.recall("tea number", k=4, filters=filters).hits}
    assert hits.pop("m1", None) == (None if filtered else "Tea number 1 is nobody's business")
    assert set(hits) == {"m0", "m2", "m3"}
