"""Questions that deny, and memories that deny the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from tests.rows import each_row

TEXTS = [
    "Ana is allergic to peanuts.",
    "Ben has no allergies.",
    "Cleo isn't allergic to anything.",
    "Dan eats meat every day.",
    "Priya is vegetarian.",
    "Lea doesn't eat meat or fish.",
    "The painter comes on Friday.",
    "The painter didn't come.",
    "The kitchen has two fridges.",
]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    """With the bundled embedding: vectors of random numbers would leave the order of equals to chance."""
    with MemoryStore.open() as opened:
        yield opened


def order(store: MemoryStore, query: str, texts: list[str] = TEXTS) -> list[str]:
    store.remember_many([Memory(text) for text in texts])
    result = QueryOptimizer(store).recall(query, k=len(texts), time_budget_ms=60_000)
    return [hit.memory.text for hit in result.hits]


@each_row(
    ("query", "answer", "other"),
    [
        ("Who is not allergic?", "Cleo isn't allergic to anything.", "Ana is allergic to peanuts."),
        ("Who is not allergic?", "Ben has no allergies.", "Ana is allergic to peanuts."),
        ("who has no allergies?", "Ben has no allergies.", "Ana is allergic to peanuts."),
        ("who does not eat meat?", "Lea doesn't eat meat or fish.", "Dan eats meat every day."),
        ("who never eats meat?", "Lea doesn't eat meat or fish.", "Dan eats meat every day."),
        ("Who did not come?", "The painter didn't come.", "The painter comes on Friday."),
        ("who is allergic?", "Ana is allergic to peanuts.", "Ben has no allergies."),
    ],
)
def test_what_denies_the_same_comes_before_what_says_it(
    store: MemoryStore, query: str, answer: str, other: str
) -> None:
    found = order(store, query)
    assert found.index(answer) < found.index(other)


def test_what_neither_says_nor_denies_it_loses_nothing(store: MemoryStore) -> None:
    asked, plain = "who does not eat meat?", [t for t in TEXTS if "meat" not in t] + ["Dan eats meat every day."]
    found = order(store, asked, plain)
    assert found.index("Priya is vegetarian.") <= 2


@each_row(
    ("query", "texts"),
    [
        ("Wer isst kein Fleisch?", ["Dan isst jeden Tag Fleisch.", "Lea isst kein Fleisch."]),
        ("¿Quién no come carne?", ["Dan come carne cada día.", "Lea no come carne."]),
        ("Кто не ест мясо?", ["Дан ест мясо каждый день.", "Лея не ест мясо."]),
    ],
)
def test_other_languages_deny_by_their_tables(store: MemoryStore, query: str, texts: list[str]) -> None:
    assert order(store, query, texts)[0] == texts[-1]


@each_row("query", ["Isn't Ana allergic?", "recipes without meat", "who eats meat?", "Why is Ana not here?"])
def test_a_question_that_denies_nothing_is_left_alone(store: MemoryStore, query: str) -> None:
    store.remember_many([Memory(text) for text in TEXTS])
    hits = QueryOptimizer(store).recall(query, k=9, time_budget_ms=60_000).hits
    assert not any(part.source == "denial" for hit in hits for part in hit.contributions)
