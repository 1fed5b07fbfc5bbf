"""Of what other time than now a query asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, TemporalWindow
from recall_integrations.recall.plan import Facts, other_time
from recall_integrations.recall.runner import RecallState

SATURDAY = datetime(2026, 6, 20, 18, tzinfo=timezone.utc)


def on(month: int, day: int = 3) -> datetime:
    return datetime(2026, month, day, tzinfo=timezone.utc)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: SATURDAY) as opened:
        yield opened


def asked(store: MemoryStore, query: str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> TemporalWindow | None:
    """The other time of a query, as the recall sees it."""
    seen: list[RecallState] = []

    def applies(self: Facts, state: RecallState) -> bool:
        seen.append(state)
        return False

    monkeypatch.setattr(Facts, "applies", applies)
    store.remember(Memory("The kettle is new"))
    QueryOptimizer(store).recall(query, now=SATURDAY, **more)
    return other_time(seen[-1])


@pytest.mark.parametrize(
    "query",
    [
        "who is on call this week?",
        "what is my gate for tonight's flight?",
        "where is the summer camp this year?",
        "who teaches the Thursday evening group?",  # comes back every week
        "what is the Wednesday special?",
        "what is my gym?",
    ],
)
def test_what_goes_on_or_comes_back_is_now(store: MemoryStore, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(store, query, monkeypatch) is None


@pytest.mark.parametrize(
    "query",
    [
        "who was on call this week?",
        "what did I eat on Thursday?",
        "which club am I in in March?",
        "who was it in 2024?",
        "my gym as of 3 May 2026",
        "my gym, last Thursday",
    ],
)
def test_what_is_over_is_another_time(store: MemoryStore, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(store, query, monkeypatch) is not None


def test_who_gives_a_time_means_it(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    given = TemporalWindow(start=on(6, 1), end=on(7, 1))
    assert asked(store, "what is my gym?", monkeypatch, window=given) == given


def test_facts_answer_it_as_now(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("My gym is Ironworks", id="old", event_at=on(2)),
            Memory("My gym is Boulderhaus now", id="new", event_at=on(6, 16)),
        ]
    )
    for query in ("what is my gym this month?", "which gym do I go to this week?", "what was my gym in March?"):
        result = QueryOptimizer(store).recall(query, now=SATURDAY)
        assert result.hits[0].memory.id == ("old" if "March" in query else "new"), query
