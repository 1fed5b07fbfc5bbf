"""What docs/facts.md says of bad input, line by line. Facts are given: no rule for sentences has a part in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer
from recall_integrations.types.facts import CORRECTED, SUPERSEDED, Fact

NOW = datetime(2026, 9, 5, tzinfo=timezone.utc)
QUERY = "what is my phone number?"
CURRENT = Filters(current_only=True)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=clock) as opened:
        yield opened


def on(month: int, day: int = 5) -> datetime:
    return datetime(2026, month, day, tzinfo=timezone.utc)


def number(memory_id: str, at: datetime, *values: str, **more: Any) -> Memory:
    facts = [{"slot": "phone_number", "value": value, **more} for value in values]
    return Memory(f"Note {memory_id}: {', '.join(values)}", id=memory_id, event_at=at, metadata={"fact": facts})


def held(store: MemoryStore, **asked: Any) -> list[str]:
    return [fact.value for fact in store.facts(slot="phone_number", **asked)]


def history(store: MemoryStore) -> list[tuple[str, str, str | None]]:
    return [(f.value, f.ended, f.superseded_by) for f in store.facts(slot="phone_number", history=True)]


def first(store: MemoryStore, query: str = QUERY, **asked: Any) -> str:
    found = QueryOptimizer(store).recall(query, **{"now": NOW, **asked})
    assert not found.degraded
    return str(found.hits[0].memory.id)


def test_of_two_values_in_one_text_the_later_place_wins(store: MemoryStore) -> None:
    store.remember(number("m1", on(1), "555-0101", "555-0202"))
    assert held(store) == ["555-0202"]
    assert history(store) == [("555-0101", SUPERSEDED, "m1"), ("555-0202", "", None)]
    assert first(store) == "m1"


def test_a_correction_takes_the_place_from_the_beginning(store: MemoryStore) -> None:
    store.remember(number("m1", on(1), "555-0101"))
    store.remember(number("m2", on(6), "555-0202", corrects=True))
    assert held(store, as_of=on(3)) == ["555-0202"]
    assert ("555-0101", CORRECTED, "m2") in history(store)


def test_of_two_of_the_same_time_the_one_written_later_wins(store: MemoryStore) -> None:
    store.remember(number("m2", on(1), "555-0202"))
    store.remember(number("m1", on(1), "555-0101"))
    assert held(store) == ["555-0101"]
    assert first(store) == "m1"


def test_only_times_count_and_not_the_order_of_writing(store: MemoryStore) -> None:
    store.remember(number("new", on(6), "555-0202"))
    store.remember(number("old", on(1), "555-0101"))
    assert held(store) == ["555-0202"] and held(store, as_of=on(3)) == ["555-0101"]
    assert first(store) == "new" and first(store, as_of=on(3)) == "old"


def test_an_end_before_its_beginning_is_left_out(store: MemoryStore) -> None:
    backwards = {"since": on(6).isoformat(), "until": on(5).isoformat()}
    store.remember(number("m1", on(7), "555-0101", **backwards))
    (fact,) = store.facts(history=True)
    assert (fact.valid_from, fact.valid_to, fact.ended) == (on(6), None, "")


def test_what_was_superseded_by_a_memory_that_goes_holds_again(store: MemoryStore) -> None:
    store.remember(number("m1", on(1), "555-0101"))
    store.remember(number("m2", on(6), "555-0202"))
    store.forget("m2")
    assert held(store) == ["555-0101"] and first(store) == "m1"
    store.remember(number("m2", on(6), "555-0303"))
    store.remember(Memory("Nothing of numbers", id="m2", event_at=on(6)))  # replaced
    assert history(store) == [("555-0101", "", None)] and first(store) == "m1"


def test_a_memory_that_expires_takes_its_facts_with_it(store: MemoryStore, clock: Clock) -> None:
    store.remember(number("m1", on(1), "555-0101"))
    soon = number("m2", on(6), "555-0202")
    ends = Memory(soon.text, id="m2", event_at=on(6), metadata=soon.metadata, expires_at=NOW + timedelta(days=1))
    store.remember(ends)
    assert held(store) == ["555-0202"] and first(store) == "m2"
    clock.now += timedelta(days=2)
    assert held(store) == ["555-0101"] and first(store, now=clock.now) == "m1"


def told_of(memory_id: str, subject: str, month: int, value: str) -> Memory:
    fact = {"subject": subject, "slot": "employer", "value": value}
    return Memory(f"{subject} works at {value}", id=memory_id, event_at=on(month), metadata={"fact": fact})


def employed(store: MemoryStore, query: str, **more: Any) -> tuple[list[str], tuple[str, ...]]:
    """Ids of the hits in order, and of what decided."""
    found = QueryOptimizer(store).recall(query, now=NOW, **more)
    return [str(hit.memory.id) for hit in found], () if found.facts is None else found.facts.first


def test_a_name_that_is_two_people_is_not_decided(store: MemoryStore) -> None:
    store.remember_many([told_of("m1", "Priya", 1, "Initech"), told_of("m2", "Priya", 6, "Globex")])
    query = "where does Priya work now?"
    assert QueryOptimizer(store).recall(query, now=NOW, filters=CURRENT).hits[0].memory.id == "m2"  # one, so far
    store.add_entity("Priya Raman", aliases=["Priya"])
    store.add_entity("Priya Shah", aliases=["Priya"])
    for filters in (None, CURRENT):
        found = QueryOptimizer(store).recall(query, now=NOW, filters=filters)
        assert found.facts is None and {hit.memory.id for hit in found} == {"m1", "m2"}
        told = {(hit.superseded_by, hit.valid_from, hit.valid_to) for hit in found}
        assert told == {(None, None, None)} and not any("superseded" in hit.reason for hit in found)
    assert [fact.value for fact in store.facts(subject="Priya")] == ["Globex"]  # what is told is listed, by its name


def test_what_is_told_of_one_of_two_namesakes_by_their_own_name_is_decided(store: MemoryStore) -> None:
    store.add_entity("Priya Raman", aliases=["Priya"])
    store.add_entity("Priya Shah", aliases=["Priya"])
    own = [told_of("m1", "Priya Shah", 1, "Initech"), told_of("m2", "Priya Shah", 3, "Globex")]
    store.remember_many([*own, told_of("m3", "Priya", 6, "Hooli")])
    hits, first = employed(store, "where does Priya Shah work now?", filters=CURRENT)
    assert first == ("m2",) and set(hits) == {"m2", "m3"}


def test_what_is_told_of_a_name_of_two_answers_for_neither(store: MemoryStore) -> None:
    store.add_entity("Priya Raman", aliases=["Priya"])
    store.add_entity("Priya Shah", aliases=["Priya"])
    store.remember_many([told_of("m1", "Priya", 1, "Initech"), told_of("m2", "Priya", 6, "Globex")])
    query = "where does Priya Shah work now?"
    for filters in (None, CURRENT):
        found = QueryOptimizer(store).recall(query, now=NOW, filters=filters)
        assert {hit.memory.id for hit in found} == {"m1", "m2"}
        assert not any("holds since" in hit.reason or hit.superseded_by for hit in found)


@pytest.mark.parametrize(("early", "late"), [("Priya", "Priya Raman"), ("Priya Raman", "Priya"), ("PR", "Priya")])
def test_names_of_one_entity_are_one_subject(store: MemoryStore, early: str, late: str) -> None:
    store.remember_many([told_of("m2", late, 6, "Globex"), told_of("m1", early, 1, "Initech")])
    store.remember(told_of("m3", "Sam", 7, "Hooli"))
    assert len(store.facts(slot="employer")) == 3  # nobody said that they are one
    store.add_entity("Priya Raman", aliases=["Priya", "PR"])
    for name in ("Priya", "Priya Raman", "PR"):
        (now,) = store.facts(subject=name)
        old, new = store.facts(subject=name, history=True)
        assert (old.value, old.ended, old.superseded_by, new) == ("Initech", SUPERSEDED, "m2", now)
        assert now.value == "Globex"
    for name in ("Priya", "Priya Raman"):
        hits, first = employed(store, f"where does {name} work now?")
        assert hits[0] == "m2" and first == ("m2",)
        assert employed(store, f"where did {name} work in March?")[1][0] == "m1"
        assert employed(store, f"where did {name} work before?")[1][0] == "m1"
        assert set(employed(store, f"where does {name} work now?", filters=CURRENT)[0]) == {"m2", "m3"}
    found = QueryOptimizer(store).recall("where does Priya work now?", now=NOW)
    (hit,) = [hit for hit in found if hit.memory.id == "m1"]
    assert hit.superseded_by == "m2" and hit.valid_to == on(6)
    assert sorted(fact.value for fact in store.facts(slot="employer")) == ["Globex", "Hooli"]


def test_what_is_whose_is_of_all_their_names(store: MemoryStore) -> None:
    store.add_entity("Priya Raman", aliases=["Priya"])
    store.remember_many(
        [told_of("m1", "Priya's sister", 1, "Initech"), told_of("m2", "Priya Raman's sister", 6, "Globex")]
    )
    for name in ("Priya's sister", "Priya Raman's sister"):
        assert [fact.value for fact in store.facts(subject=name)] == ["Globex"]
    assert employed(store, "where does Priya's sister work now?")[1] == ("m2",)


def test_a_value_that_was_told_under_another_name_tells_the_time(store: MemoryStore) -> None:
    store.add_entity("Priya Raman", aliases=["Priya"])
    store.remember_many([told_of("m1", "Priya", 1, "Initech"), told_of("m2", "Priya", 6, "Globex")])
    lived = {"subject": "Priya Raman", "slot": "home", "value": "Lisbon"}
    store.remember(Memory("Priya Raman lives in Lisbon", id="m3", event_at=on(3), metadata={"fact": lived}))
    found = QueryOptimizer(store).recall("where did Priya work before she moved to Lisbon?", now=NOW)
    assert found.facts is not None and (found.facts.slot, found.facts.beneath) == ("employer", ("m2",))


def test_times_are_moments_whatever_their_zones(store: MemoryStore) -> None:
    lisbon, berlin = timezone(timedelta(hours=1)), timezone(timedelta(hours=2))
    store.remember(number("lisbon", datetime(2026, 7, 1, 23, 0, tzinfo=lisbon), "555-0202"))
    store.remember(number("berlin", datetime(2026, 7, 1, 23, 30, tzinfo=berlin), "555-0101"))
    assert held(store) == ["555-0202"] and first(store) == "lisbon"


def test_what_begins_in_the_future_waits(store: MemoryStore) -> None:
    later = datetime(2030, 1, 1, tzinfo=timezone.utc)
    store.remember(number("m1", on(1), "555-0101"))
    store.remember(number("m2", on(6), "555-0202", since=later.isoformat()))
    assert held(store) == ["555-0101"] and first(store) == "m1"
    assert held(store, as_of=later) == ["555-0202"] and first(store, as_of=later) == "m2"


@pytest.mark.slow
def test_very_many_facts_of_one_slot(store: MemoryStore) -> None:
    began = on(1)
    many = [number(f"m{i}", began + timedelta(minutes=i), f"555-{i:05d}") for i in range(20_000)]
    store.remember_many(many)
    last = f"m{len(many) - 1}"
    found = QueryOptimizer(store).recall(QUERY, now=NOW, time_budget_ms=10_000)
    assert found.hits[0].memory.id == last
    assert len(store.facts(slot="phone_number", history=True)) == len(many)
    assert isinstance(store.facts(slot="phone_number")[0], Fact)
