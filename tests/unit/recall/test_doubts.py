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
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory(text, id=f"m{n}", event_at=datetime(2026, 1 + n, 5, tzinfo=timezone.utc))
                for n, text in enumerate(told)
            ]
        )
        found = QueryOptimizer(store).recall("Who is Sarah's manager?", now=datetime(2026, 6, 1, tzinfo=timezone.utc))
    assert found.hits[0].memory.id == first
