"""What memories say of slots, in memory: time lines are made once, of what is there, and of the newest by time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.facts.timeline import Told
from recall_integrations.indexes.times import to_micros
from recall_integrations.store import fact_tables
from recall_integrations.store.fact_tables import ScopeFacts

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 9, 5, tzinfo=UTC)
QUERY = "what is my phone number?"
CURRENT = Filters(current_only=True)
NUMBER = ("", "phone_number")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: NOW) as opened:
        yield opened


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many facts each time line was made."""
    found: list[int] = []
    living = ScopeFacts._living

    def counted(self: ScopeFacts, told: Sequence[Told]) -> list[Told]:
        found.append(len(told))
        return living(self, told)

    monkeypatch.setattr(ScopeFacts, "_living", counted)
    return found


def number(i: int, hours: int, value: str | None = None, slot: str = "phone_number") -> Memory:
    value = f"555-{i:05d}" if value is None else value
    fact = {"slot": slot, "value": value}
    at = BEGAN + timedelta(hours=hours)
    return Memory(f"My {slot.replace('_', ' ')} is {value}", id=f"m{i}", event_at=at, metadata={"fact": fact})


def facts_of(store: MemoryStore) -> ScopeFacts:
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    found = store.facts_in(store.view(scope_id))
    assert found is not None
    return found


def said(store: MemoryStore) -> list[str]:
    """Values of the line in memory, in order."""
    return [stretch.value for stretch in facts_of(store).timeline(NUMBER)]


def ids(store: MemoryStore, filters: Filters = CURRENT, **more: object) -> list[str]:
    found = QueryOptimizer(store).recall(QUERY, **{"now": NOW, "filters": filters, **more})  # type: ignore[arg-type]
    return [str(hit.memory.id) for hit in found]


@pytest.mark.parametrize("many", [300, 3_000])
def test_a_line_is_made_once_for_all_memories_of_it(store: MemoryStore, made: list[int], many: int) -> None:
    store.remember_many([number(i, i) for i in range(many)])
    assert ids(store, time_budget_ms=60_000) == [f"m{many - 1}"]
    assert made == [many]
    facts = facts_of(store)
    assert len(facts.past(NOW)) == many - 1
    assert all(facts.state_of(num, to_micros(NOW)) is not None for num in (many, many - 9))
    assert made == [many]


def test_a_line_is_made_anew_when_facts_change(store: MemoryStore, made: list[int]) -> None:
    store.remember_many([number(1, 1), number(2, 2)])
    assert ids(store) == ["m2"] and made == [2]
    store.remember(number(3, 3))
    assert ids(store) == ["m3"]
    store.forget("m3")
    assert ids(store) == ["m2"]


def test_what_is_past_follows_the_time(store: MemoryStore) -> None:
    store.remember_many([number(1, 1), number(2, 50), number(3, 100)])
    facts = facts_of(store)

    def past(hours: int) -> list[int]:
        return facts.past(BEGAN + timedelta(hours=hours))

    expected = {0: [], 1: [], 49: [], 50: [1], 99: [1], 100: [1, 2], 5_000: [1, 2]}
    for hours in (*expected, *reversed(expected)):
        assert past(hours) == expected[hours]


def test_a_memory_is_past_when_all_that_it_tells_is(store: MemoryStore) -> None:
    both = [{"slot": "phone_number", "value": "555-0101"}, {"slot": "desk", "value": "4C"}]
    store.remember(Memory("A card", id="both", event_at=BEGAN, metadata={"fact": both}))
    store.remember(number(1, 1))
    assert facts_of(store).past(NOW) == []
    store.remember(number(2, 2, "2A", slot="desk"))
    assert facts_of(store).past(NOW) == [1]


def test_what_was_forgotten_takes_no_place_among_the_newest(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fact_tables, "TOLD_MAX", 3)
    store.remember_many([number(i, i) for i in range(6)])
    facts_of(store)  # read, so that those that go are in memory
    for i in (3, 4, 5):
        store.forget(f"m{i}")
    assert said(store) == [f"555-{i:05d}" for i in range(3)]
    assert ids(store) == ["m2"]


def test_what_is_older_than_the_newest_of_a_line_is_past(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_tables, "TOLD_MAX", 2)
    values = ["555-0101", "555-0202", "555-0303", "555-0303", "555-0303"]
    store.remember_many([number(i, i, value) for i, value in enumerate(values)])
    assert facts_of(store).past(NOW) == [1, 2]  # the third may say what holds
    early = BEGAN + timedelta(hours=2)
    assert facts_of(store).past(early) == []  # the newest are of later


def test_of_a_slot_with_many_values_the_older_may_hold(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_tables, "TOLD_MAX", 2)
    store.remember_many([number(i, i, f"hobby {i}", slot="hobby") for i in range(4)])
    assert facts_of(store).past(NOW) == []


def test_in_memory_are_those_written_last(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_tables, "FACTS_MAX", 3)
    store.remember_many([number(i, at) for i, at in enumerate([50, 60, 10, 20, 60, 5])])
    assert said(store) == ["555-00005", "555-00003", "555-00004"]


def test_in_memory_are_the_newest_that_are_there(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_tables, "FACTS_MAX", 3)
    store.remember_many([number(i, i) for i in range(6)])
    for i in (4, 5):
        store.forget(f"m{i}")
    assert said(store) == ["555-00001", "555-00002", "555-00003"]


def test_an_alias_that_is_declared_later_makes_one_line_of_two(store: MemoryStore) -> None:
    def told(memory_id: str, subject: str, hours: int, value: str, slot: str = "employer") -> Memory:
        fact = {"subject": subject, "slot": slot, "value": value}
        at = BEGAN + timedelta(hours=hours)
        return Memory(f"Org chart {memory_id}", id=memory_id, event_at=at, metadata={"fact": fact})

    store.remember_many([told("m1", "Priya", 1, "Initech"), told("m2", "Priya Raman", 2, "Globex")])
    store.remember(told("m3", "Priya Raman", 3, "Lisbon", slot="home"))
    keys = [("priya", "employer"), ("priya raman", "employer")]
    assert [len(facts_of(store).timeline(key)) for key in keys] == [1, 1] and facts_of(store).past(NOW) == []
    store.add_entity("Priya Raman", aliases=["Priya"])
    facts = facts_of(store)
    first, second = (facts.timeline(key) for key in keys)
    assert first == second and [stretch.value for stretch in first] == ["Initech", "Globex"]
    assert facts.past(NOW) == [1] and all(facts.has(key) for key in keys)
    assert facts.slots_of("priya") == ["employer", "home"] and not facts.has(("priya", "home"))
    store.add_entity("Priya Shah", aliases=["Priya"])
    facts = facts_of(store)
    assert not facts.has(keys[0]) and facts.has(keys[1]) and facts.past(NOW) == []
    assert facts.state_of(1, to_micros(NOW)) is None and facts.slots_of("priya") == []
    assert [stretch.value for stretch in facts.timeline(keys[1])] == ["Globex"]


def test_a_write_makes_only_the_time_lines_anew_that_it_changes(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    line_of = fact_tables.line_of
    monkeypatch.setattr(fact_tables, "line_of", lambda told, one: found.append(len(told)) or line_of(told, one=one))
    store.remember_many([number(i, i, slot=slot) for i, slot in enumerate(("phone_number", "hobby", "hobby"))])
    assert facts_of(store).past(NOW) == [] and sorted(found) == [1, 2]
    store.remember("The kettle is on")
    assert facts_of(store).past(NOW) == [] and len(found) == 2
    store.remember(number(3, 3))
    assert facts_of(store).past(NOW) == [1] and found[2:] == [2]
