"""Inputs of one tenant are no outage for another: its queries that a component refuses cost nobody else a hit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.embeddings.static import bundled

MINE, THEIRS = Scope(user_id="mine"), Scope(user_id="theirs")
TEXTS = ["the harbour crane", "the piano teacher", "the tax office"]


class TooLong(Exception):
    """As a client of a model raises it."""

    status_code = 400


class Down(Exception):
    status_code = 503


class Embedding:
    """The bundled one, as a function of the user's that raises for some texts."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self.error, self.asked, self.broken = error, 0, False

    def __call__(self, texts: list[str]) -> Any:
        self.asked += 1
        if self.broken or any("poison" in text for text in texts):
            raise self.error()
        return bundled().embed_documents(texts)


def filled(embedding: Embedding) -> QueryOptimizer:
    store = MemoryStore.open(embedding=embedding)
    for scope in (MINE, THEIRS):
        store.remember_many(TEXTS, scope=scope)
    return QueryOptimizer(store, config=RecallConfig.from_mapping({"breakers": {"failures_max": 3}}))


def reasons(optimizer: QueryOptimizer, query: str, scope: Scope) -> list[str]:
    result = optimizer.recall(query, k=3, scope=scope, time_budget_ms=5_000)
    return [d.reason for d in result.degraded if d.stage in ("embed", "arm.semantic", "semantic")]


@pytest.mark.parametrize("error", [TooLong, RuntimeError, ValueError, Down])
def test_what_fails_for_one_scope_is_tried_for_another_at_once(error: type[Exception]) -> None:
    optimizer = filled(Embedding(error))
    for n in range(5):
        assert reasons(optimizer, f"poison {n}", MINE)
    assert reasons(optimizer, "who teaches me an instrument?", THEIRS) == []
    assert reasons(optimizer, "where do ships unload?", THEIRS) == []
    optimizer.close()
    optimizer.store.close()


def test_an_input_that_is_refused_does_not_count_against_the_component() -> None:
    embedding = Embedding(TooLong)
    optimizer = filled(embedding)
    for n in range(5):
        assert reasons(optimizer, f"poison {n}", MINE)
    assert reasons(optimizer, "who teaches me an instrument?", MINE) == []  # the breaker of nobody is open
    optimizer.close()
    optimizer.store.close()


def test_a_component_that_is_down_for_two_scopes_is_left_alone_by_all() -> None:
    embedding = Embedding(Down)
    optimizer = filled(embedding)
    embedding.broken = True
    for n in range(3):
        assert reasons(optimizer, f"one {n}", MINE)
    assert reasons(optimizer, "two", THEIRS)  # the trial, which fails too
    before = embedding.asked
    assert reasons(optimizer, "three", THEIRS) and reasons(optimizer, "four", MINE)
    assert embedding.asked == before
    optimizer.close()
    optimizer.store.close()


def test_the_same_scope_waits_until_the_pause_is_over() -> None:
    embedding = Embedding(RuntimeError)
    optimizer = filled(embedding)
    for n in range(3):
        assert reasons(optimizer, f"poison {n}", MINE)
    before = embedding.asked
    assert reasons(optimizer, "who teaches me an instrument?", MINE)
    assert embedding.asked == before
    optimizer.close()
    optimizer.store.close()


def test_an_embedding_that_hangs_is_left_alone_after_three_recalls_of_a_second() -> None:
    over = threading.Event()
    hangs = {"now": False}

    def embed(texts: list[str]) -> Any:
        if hangs["now"]:
            over.wait(30)
        return bundled().embed_documents(texts)

    store = MemoryStore.open(embedding=embed)
    store.remember_many(TEXTS, scope=MINE)
    optimizer = QueryOptimizer(store)
    hangs["now"] = True
    try:
        for n, budget in enumerate((1_000, 150, 1_000, 150, 1_000)):  # the short ones say nothing of it
            optimizer.recall(f"a question {n}", scope=MINE, time_budget_ms=budget)
        (health,) = [part for part in optimizer.health() if part.component == "embed"]
        assert (health.breaker, health.why) == ("open", "timeout")
    finally:
        over.set()
        optimizer.close()
        store.close()
