"""What a node keeps of a scope leaves memory with the scope's columns, which `retrieval.cache_mb` bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations import QueryOptimizer
from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

NOW = datetime(2024, 5, 15, tzinfo=timezone.utc)
SCOPES = [Scope(user_id=f"u{n}") for n in range(3)]
ROWS = 900  # some 700 kB of columns: two such scopes do not fit into a megabyte
QUESTIONS = ("Who saw the kestral at the harbour?", "Where does Priya live?", "What did Sam say about the osprey?")


def memories(user: str) -> Iterator[Memory]:
    yield Memory(f"Priya moved to {user}town", id="home", actor="Priya")
    for i in range(ROWS - 1):
        bird = ("kestrel", "osprey", "falcon")[i % 3]
        yield Memory(f"The {bird} number {i} was at the harbour of {user}", id=f"m{i}", actor=("Sam", "Ines")[i % 2])


@pytest.fixture
def store(open_store: Callable[..., MemoryStore], make_embedding: Callable[[int], Any]) -> MemoryStore:
    opened = open_store(config=RecallConfig(retrieval=RetrievalConfig(cache_mb=1)), embedding=make_embedding(192))
    for scope in SCOPES:
        opened.remember_many(memories(scope.user_id or ""), scope=scope)
    return opened


def recalled(optimizer: QueryOptimizer, scope: Scope) -> list[list[tuple[str, float, str]]]:
    # In a minute each: what a busy machine has no time for would be another answer.
    results = [optimizer.recall(q, scope=scope, k=5, now=NOW, time_budget_ms=60_000) for q in QUESTIONS]
    return [[(hit.memory.id, round(hit.score, 6), hit.memory.text) for hit in result.hits] for result in results]


def only(*scope_ids: int | None) -> dict[str, list[int | None]]:
    return {what: list(scope_ids) for what in ("columns", "names", "facts", "spelling")}


def kept(store: MemoryStore) -> dict[str, list[int]]:
    """Of which scopes there is something in memory."""
    parts = store._parts
    return {
        "columns": list(parts.views._kept),
        "names": list(parts.catalog._kept),
        "facts": list(parts.facts._kept),
        "spelling": list(parts.spellers._kept),
    }


def test_only_what_fits_stays_in_memory_and_answers_are_the_same(store: MemoryStore) -> None:
    with closing(QueryOptimizer(store, config=store.config)) as optimizer:
        before = [recalled(optimizer, scope) for scope in SCOPES]
        assert store.view(store.scope_id(SCOPES[2]) or 0).text is not None
        assert all(hits for of_scope in before for hits in of_scope)
        assert kept(store) == only(store.scope_id(SCOPES[2]))
        assert recalled(optimizer, SCOPES[0]) == before[0]
        assert kept(store) == only(store.scope_id(SCOPES[0]))
        assert [recalled(optimizer, scope) for scope in SCOPES] == before


def test_writes_to_a_scope_that_has_left_are_found(store: MemoryStore) -> None:
    with closing(QueryOptimizer(store, config=store.config)) as optimizer:
        for scope in SCOPES:
            recalled(optimizer, scope)
        new = Memory("Bartholomew has moved in with Priya", id="new", entities=("Bartholomew",))
        store.remember(new, scope=SCOPES[0])
        recalled(optimizer, SCOPES[1])
        found = optimizer.recall("What did Bartholomew do?", scope=SCOPES[0], k=3, now=NOW)
        assert "new" in [hit.memory.id for hit in found.hits]
        known = store.entities(store.scope_id(SCOPES[0]) or 0)
        assert known.index.lookup("Bartholomew") and known.index.lookup("Priya")


def test_what_fits_stays(open_store: Callable[..., MemoryStore]) -> None:
    store = open_store("roomy")
    for scope in SCOPES:
        store.remember_many([f"{scope.user_id} saw the kestrel", "Sam was there"], scope=scope)
    with closing(QueryOptimizer(store, config=store.config)) as optimizer:
        for scope in SCOPES:
            optimizer.recall("Who saw the kestral?", scope=scope, now=NOW)
    assert kept(store) == only(*map(store.scope_id, SCOPES))
