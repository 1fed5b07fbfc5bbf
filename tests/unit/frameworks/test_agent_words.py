"""What agents are told of memories, in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore
from recall_integrations.errors import InvalidArgument
from recall_integrations.frameworks.agent import AgentMemory

QUERY = "what is my phone number?"


@pytest.fixture
def memory() -> Iterator[AgentMemory]:
    with MemoryStore.open() as store:
        for memory_id, month, number in (("m1", 1, "555-0101"), ("m2", 6, "555-0202")):
            at = datetime(2026, month, 5, 10, tzinfo=timezone.utc)
            fact = {"slot": "phone_number", "value": number}
            store.remember(Memory(f"My number: {number}", id=memory_id, event_at=at, metadata={"fact": fact}))
        yield AgentMemory(store)


def test_what_holds_no_longer_says_so(memory: AgentMemory) -> None:
    first, second = memory.recall(QUERY).splitlines()
    assert first.endswith("(id: m2)")
    assert second.endswith("(id: m1; no longer so: until 2026-06-05, superseded by m2)")


@pytest.mark.parametrize(
    ("as_of", "number"), [("2026-06-04", "m1"), ("2026-06-05", "m2"), ("2026-06-05T09:00:00", "m1"), ("", "m2")]
)
def test_as_of_a_day_counts_the_whole_day(memory: AgentMemory, as_of: str, number: str) -> None:
    assert f"(id: {number}" in memory.recall(QUERY, 5, as_of=as_of).splitlines()[0]


def test_what_is_no_day_is_said(memory: AgentMemory) -> None:
    with pytest.raises(InvalidArgument, match="as_of is 'monday'"):
        memory.recall(QUERY, as_of="monday")
