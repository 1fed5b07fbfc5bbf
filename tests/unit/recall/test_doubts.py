"""What casts doubt on a fact that was read."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer


@pytest.mark.parametrize(
    ("later", "first"),
    [
        ("Sarah works from the Lisbon office on Thursdays.", "m0"),
        ("Lunch with Sarah; she is learning the cello and looks for a quartet.", "m0"),
        ("Diego left, so Mirja is who Sarah answers to from now on", "m1"),
    ],
)
def test_what_was_read_exactly_is_doubted_by_what_tells_it_anew_only(later: str, first: str) -> None:
    told = ["Sarah reports to Diego; he became her manager in January.", later]
    assert first_of("Who is Sarah's manager?", told) == first


def first_of(query: str, told: list[str], year: int = 2026) -> str | int:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory(text, id=f"m{n}", event_at=datetime(2026, 1 + n, 5, tzinfo=timezone.utc))
                for n, text in enumerate(told)
            ]
        )
        found = QueryOptimizer(store).recall(query, now=datetime(year, 6, 1, tzinfo=timezone.utc))
    return found.hits[0].memory.id


def test_what_is_still_to_come_casts_no_doubt_until_then() -> None:
    told = ["I live in Berlin", "Next year I move to Lisbon"]
    assert first_of("where do I live?", told) == "m0"
    assert first_of("where do I live?", told, 2027) == "m1"
    assert first_of("where do I live?", ["I live in Berlin", "Moved to Lisbon, it is mine until next year"]) == "m1"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("what gym do I go to?", ["My gym is PureGym", "No, I have not cancelled PureGym, it is not the Y for me"]),
        ("where do I live?", ["I live in Berlin", "We didn't move to Lisbon"]),
    ],
)
def test_a_change_that_is_denied_casts_none(query: str, told: list[str]) -> None:
    assert first_of(query, told) == "m0"
