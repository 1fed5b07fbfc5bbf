"""Facts that change: what a person would answer comes first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, Relation, Scope
from recall_integrations.types.facts import CORRECTED, RETRACTED, SUPERSEDED

JANUARY, MARCH, MAY, JUNE, JULY = (datetime(2026, month, 10, tzinfo=UTC) for month in (1, 3, 5, 6, 7))


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: JULY) as opened:
        yield opened


def asked(store: MemoryStore, query: str, **more: object) -> list[str]:
    found = QueryOptimizer(store).recall(query, **{"now": JULY, **more})  # type: ignore[arg-type]
    assert not found.degraded
    return [str(hit.memory.id) for hit in found.hits]


def test_the_newer_number_comes_first_whatever_the_order_of_writing(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0202", id="new", created_at=JUNE))
    store.remember(Memory("My phone number is 555-0101", id="old", created_at=JANUARY))
    assert asked(store, "what is my phone number?") == ["new", "old"]
    assert asked(store, "what was my phone number in February?")[0] == "old"
    assert asked(store, "what was my previous phone number?")[0] == "old"
    assert asked(store, "how did my phone number change?") == ["old", "new"]
    assert asked(store, "what is my phone number?", as_of=MARCH)[0] == "old"
    assert asked(store, "what is my phone number?", filters=Filters(current_only=True)) == ["new"]
    # In March neither had ended.
    assert asked(store, "what is my phone number?", filters=Filters(current_only=True), as_of=MARCH)[0] == "old"


def test_where_somebody_lives_now(store: MemoryStore) -> None:
    store.remember(Memory("I live in Berlin", id="m1", created_at=JANUARY))
    store.remember(Memory("I moved to Lisbon", id="m2", created_at=MAY))
    store.remember(Memory("Lisbon is lovely in spring, they say", id="m3", created_at=MARCH))
    assert asked(store, "where do I live now?")[0] == "m2"
    assert asked(store, "where did I live in March?")[0] == "m1"
    assert asked(store, "where did I live before I moved to Lisbon?")[0] == "m1"
    assert asked(store, "when did I move to Lisbon?")[0] == "m2"


def test_favourites_then_and_now(store: MemoryStore) -> None:
    store.remember(Memory("My favourite colour is blue", id="m1", created_at=JANUARY))
    store.remember(Memory("My favorite color is green now", id="m2", created_at=MAY))
    assert asked(store, "what is my current favourite colour?")[0] == "m2"
    assert asked(store, "what was my favourite colour in February?")[0] == "m1"


def test_the_reason_says_what_it_is_newer_than(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY))
    store.remember(Memory("My phone number is 555-0202", id="m2", created_at=MAY))
    store.remember(Memory("My phone number is 555-0202", id="m3", created_at=JUNE, channel="mail"))
    found = QueryOptimizer(store).recall("what is my phone number?", now=JULY)
    first = found.hits[0]
    assert "holds since 10 May 2026; newer than m1 of 10 January 2026" in first.reason
    assert first.valid_from == MAY and first.valid_to is None and first.superseded_by is None
    old = next(hit for hit in found if hit.memory.id == "m1")
    assert old.superseded_by == "m2" and old.valid_to == MAY and "superseded by m2" in old.reason
    assert found.facts is not None and found.facts.slot == "phone_number" and found.facts.beneath == ("m1",)
    assert any(part.source == "facts" for hit in found for part in hit.contributions) or found.facts.first[0] in "m2m3"


def test_what_holds_no_longer_scores_below_what_holds(store: MemoryStore) -> None:
    store.remember(Memory("The door code is 1234", id="m1", created_at=JANUARY))
    store.remember(Memory("The door code was changed to 9999", id="m2", created_at=MAY, actor="Sam"))
    new, old = QueryOptimizer(store).recall("what is the door code?", now=JULY).hits
    assert (new.memory.id, old.memory.id, old.superseded_by) == ("m2", "m1", "m2")
    assert old.score <= 0.5 * new.score


@pytest.mark.parametrize("query", ["when does the library close?", "what is my cat called?", "where do I work?"])
def test_facts_put_nothing_first_that_does_not_answer(store: MemoryStore, query: str) -> None:
    for n, text in enumerate(
        ("We chose PostgreSQL", "The library closes at nine", "My cat is called Otto", "I work at Trackwise")
    ):
        store.remember(Memory(text, id=f"m{n}", created_at=JANUARY + timedelta(days=n)))
    plain = QueryOptimizer(store, config=RecallConfig.from_mapping({"facts": {"read": False}}))
    assert asked(store, query) == [hit.memory.id for hit in plain.recall(query, now=JULY)]


def test_what_was_forgotten_holds_no_longer_and_what_was_before_holds_again(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY))
    store.remember(Memory("My phone number is 555-0202", id="m2", created_at=MAY))
    assert [fact.memory_id for fact in store.facts()] == ["m2"]
    store.forget("m2")
    assert [fact.memory_id for fact in store.facts()] == ["m1"]
    assert asked(store, "what is my phone number?") == ["m1"]
    store.remember(Memory("The weather is fine", id="m1", created_at=JUNE))
    assert store.facts(history=True) == []


def test_facts_are_listed_with_their_history(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY))
    store.remember(Memory("My phone number is 555-0202", id="m2", created_at=MAY))
    (now,) = store.facts(slot="phone number")
    assert (now.value, now.holds, now.valid_from) == ("555-0202", True, MAY)
    old, new = store.facts(history=True)
    assert (old.ended, old.superseded_by, old.valid_to) == (SUPERSEDED, "m2", MAY) and new == now
    assert [fact.value for fact in store.facts(as_of=MARCH)] == ["555-0101"]
    assert store.facts(Scope(user_id="other")) == [] and {CORRECTED, RETRACTED} & {old.ended} == set()


def test_who_says_again_that_it_is_no_longer_so_moves_nothing(store: MemoryStore) -> None:
    store.remember(Memory("I live in Berlin", id="m1", created_at=JANUARY))
    store.remember(Memory("I moved to Lisbon", id="m2", created_at=MARCH))
    store.remember(Memory("I no longer live in Berlin", id="m3", created_at=MAY))
    store.remember(Memory("I used to live in Rome", id="m4", created_at=JUNE))
    early = JANUARY + timedelta(days=1)
    assert [fact.value for fact in store.facts(as_of=MARCH + timedelta(days=1))] == ["Lisbon"]
    assert [fact.value for fact in store.facts(as_of=early)] == ["Berlin"]
    assert [fact.value for fact in store.facts(as_of=JANUARY - timedelta(days=1))] == ["Rome"]
    found = QueryOptimizer(store).recall("where do I live?", now=JULY, as_of=MARCH + timedelta(days=1))
    assert found.facts is not None and found.facts.first == ("m2",) and {"m1", "m3", "m4"} <= set(found.facts.beneath)
    berlin = next(fact for fact in store.facts(history=True) if fact.value == "Berlin")
    assert (berlin.said_by, berlin.superseded_by, berlin.ended) == (("m1", "m3"), "m2", SUPERSEDED)


def test_one_that_is_named_ends_and_one_that_is_not_stays(store: MemoryStore) -> None:
    store.remember(Memory("I play padel", id="m1", created_at=JANUARY))
    store.remember(Memory("I play tennis", id="m2", created_at=MARCH))
    store.remember(Memory("I play padel instead of tennis", id="m3", created_at=MAY))
    assert [(fact.value, fact.said_by) for fact in store.facts()] == [("padel", ("m1", "m3"))]
    allergies = {"slot": "allergy", "value": "kiwi", "instead_of": "latex", "corrects": True}
    store.remember(Memory("I am allergic to peanuts", id="m4", created_at=JANUARY))
    store.remember(Memory("A card of the doctor", id="m5", created_at=MAY, metadata={"fact": allergies}))
    assert [fact.value for fact in store.facts(slot="allergy")] == ["peanuts", "kiwi"]


def test_since_when_is_told_later_and_what_will_end_holds_until_then(store: MemoryStore) -> None:
    store.remember(Memory("I live in Lisbon", id="m1", created_at=JUNE))
    store.remember(Memory("I've lived in Lisbon since March", id="m2", created_at=JULY))
    (home,) = store.facts(slot="home")
    assert (home.valid_from, home.said_by) == (datetime(2026, 3, 1, tzinfo=UTC), ("m1", "m2"))
    store.remember(Memory("My rent is 800 euros", id="m3", created_at=MARCH))
    store.remember(Memory("My rent is 900 euros from January 2030", id="m4", created_at=MAY))
    (rent,) = store.facts(slot="rent")
    assert (rent.value, rent.held_at(JULY), rent.holds) == ("800 euros", True, False)
    (risen,) = store.facts(slot="rent", as_of=datetime(2031, 1, 1, tzinfo=UTC))
    assert (risen.value, risen.held_at(JULY), risen.holds) == ("900 euros", False, True)


def test_relations_and_fields_say_facts(store: MemoryStore) -> None:
    store.remember(
        Memory("Org chart of 2026", id="m1", created_at=JANUARY, relations=[Relation("Sam", "manager_of", "Priya")])
    )
    store.remember(
        Memory("Org chart", id="m2", created_at=MAY, relations=[Relation("Henrietta", "manager_of", "Priya")])
    )
    given = {"fact": {"slot": "phone number", "value": "555-0303", "subject": "Priya"}}
    store.remember(Memory("A card", id="m3", created_at=MAY, metadata=given))
    assert asked(store, "who is Priya's manager?")[0] == "m2"
    assert asked(store, "what is Priya's phone number?")[0] == "m3"
    assert [(f.slot, f.value) for f in store.facts(subject="priya")] == [
        ("boss", "Henrietta"),
        ("phone_number", "555-0303"),
    ]


def test_an_alias_is_the_same_person(store: MemoryStore) -> None:
    store.add_entity("Priya Raman", aliases=["Priya", "PR"])
    store.remember(Memory("Priya's phone number is 555-0101", id="m1", created_at=JANUARY))
    store.remember(Memory("Here is mine. My phone number is 555-0909", id="m2", created_at=MAY, actor="Priya Raman"))
    store.remember(Memory("Sam's phone number is 555-0303", id="m3", created_at=JUNE))
    for name in ("Priya", "Priya Raman"):
        found = QueryOptimizer(store).recall(f"what is {name}'s phone number?", now=JULY)
        assert found.facts is not None and (found.facts.first, found.facts.beneath) == (("m2",), ("m1",))
        assert found.hits[0].memory.id == "m2"
    assert [fact.value for fact in store.facts(subject="Priya", history=True)] == ["555-0101", "555-0909"]


def test_an_agent_speaks_of_the_user(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY, role="user", actor="Dana"))
    store.remember(Memory("My phone number is 555-0202", id="m2", created_at=MAY, role="user", actor="Dana"))
    assert asked(store, "what is my phone number?")[0] == "m2"
    assert asked(store, "what is Dana's phone number?")[0] == "m2"
    assert asked(store, "what is the user's phone number?")[0] == "m2"


def test_settings_switch_it_off(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY))
    store.remember(Memory("My phone number is 555-0202", id="m2", created_at=MAY))
    config = RecallConfig.from_mapping({"facts": {"read": False}})
    found = QueryOptimizer(store, config=config).recall("what is my phone number?", now=JULY)
    assert found.facts is None and "facts" not in found.timings_ms
    keeping = RecallConfig.from_mapping({"facts": {"keep": False}})
    with MemoryStore.open(config=keeping) as none:
        none.remember(Memory("My phone number is 555-0101", created_at=JANUARY))
        assert none.facts(history=True) == []
        assert QueryOptimizer(none, config=keeping).recall("what is my phone number?").facts is None


def test_a_store_that_was_opened_without_them_reads_them_later(tmp_path: object) -> None:
    keeping = RecallConfig.from_mapping({"facts": {"keep": False}})
    with MemoryStore.open(tmp_path, config=keeping) as closed:  # type: ignore[arg-type]
        closed.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY))
    with MemoryStore.open(tmp_path) as again:  # type: ignore[arg-type]
        assert [fact.value for fact in again.facts()] == ["555-0101"]
    own = RecallConfig.from_mapping({"facts": {"slots": {"desk": {"nouns": ["desk", "desk number"], "one": False}}}})
    with MemoryStore.open(tmp_path, config=own) as other:  # type: ignore[arg-type]
        other.remember(Memory("My desk number is 4", id="m2", created_at=JUNE - timedelta(days=1)))
        assert [(fact.slot, fact.value) for fact in other.facts()] == [("desk", "4"), ("phone_number", "555-0101")]


def test_a_slot_of_ones_own_is_told_and_asked_for_by_its_verbs() -> None:
    desk = {"nouns": ["desk"], "kind": "code", "verbs": ["sit at"], "starts": ["move to"], "stops": ["clear out of"]}
    home = {"nouns": ["home", "den"]}  # what it leaves out stays: "moved to Lisbon" is of it
    config = RecallConfig.from_mapping({"facts": {"slots": {"desk": desk, "home": home}}})
    texts = ("I sit at 4C", "I moved to Lisbon", "I moved to 2A", "Priya sits at 7B", "Priya cleared out of 7B")
    with MemoryStore.open(config=config) as office:
        office.remember_many(
            [Memory(text, id=f"m{n}", created_at=JANUARY + timedelta(days=n)) for n, text in enumerate(texts)]
        )
        assert sorted((fact.subject, fact.slot, fact.value) for fact in office.facts()) == [
            ("", "desk", "2A"),
            ("", "home", "Lisbon"),
        ]
        found = QueryOptimizer(office).recall("where do I sit now?", now=JULY).hits
        assert found[0].memory.text == "I moved to 2A" and found[0].superseded_by is None
        assert [hit.superseded_by for hit in found if hit.memory.text == "I sit at 4C"] == ["m2"]


def test_a_time_of_long_ago_is_no_end_of_what_holds(store: MemoryStore) -> None:
    for n, text in enumerate(
        ("I live in Rome", "I lived in Rome from 2010 to 2015", "I lived in Oslo from 2016 to 2018")
    ):
        store.remember(Memory(text, id=f"m{n}", created_at=JANUARY + timedelta(days=n)))
    assert [(fact.value, fact.memory_id) for fact in store.facts()] == [("Rome", "m0")]
    for query, wanted in {
        "where do I live?": "m0",
        "where did I live in 2012?": "m1",
        "where did I live in 2017?": "m2",
    }.items():
        assert QueryOptimizer(store).recall(query, now=JULY).hits[0].memory.id == wanted, query


def test_nobody_sees_the_facts_of_another_scope(store: MemoryStore) -> None:
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=JANUARY), scope=Scope(user_id="a"))
    store.remember(Memory("My phone number is 555-0202", id="m2", created_at=MAY), scope=Scope(user_id="b"))
    found = QueryOptimizer(store).recall("what is my phone number?", scope=Scope(user_id="a"), now=JULY)
    assert [hit.memory.id for hit in found] == ["m1"] and found.hits[0].valid_to is None


def test_what_is_hidden_is_in_no_decision(store: MemoryStore) -> None:
    number = "+49 151 23456789"
    store.remember(Memory(f"The phone number of a@b.example is {number}", id="m1", created_at=JANUARY))
    store.remember(Memory(f"My phone number is {number}", id="m2", created_at=JANUARY))
    for mode in ("redact", "block"):
        found = QueryOptimizer(store).recall("what is my phone number?", now=JULY, privacy=mode)
        assert number not in repr(found) and "a@b.example" not in repr(found)


def test_facts_of_the_same_time_and_of_one_text(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("My phone number is 555-0101", id="m1", created_at=MAY),
            Memory("My phone number is 555-0202", id="m2", created_at=MAY),
        ]
    )
    assert [fact.memory_id for fact in store.facts()] == ["m2"]  # written later
    store.remember(Memory("My desk code is 1111. My desk code is 2222.", id="m3", created_at=MAY))
    assert [fact.value for fact in store.facts(slot="desk code")] == ["2222"]


def test_a_time_zone_changes_no_order(store: MemoryStore) -> None:
    from zoneinfo import ZoneInfo

    tokyo, utc = datetime(2026, 5, 10, 8, tzinfo=ZoneInfo("Asia/Tokyo")), datetime(2026, 5, 10, 1, tzinfo=UTC)
    assert tokyo < utc  # though its clock shows more
    store.remember(Memory("My phone number is 555-0202", id="later", created_at=utc))
    store.remember(Memory("My phone number is 555-0101", id="earlier", created_at=tokyo))
    assert [fact.memory_id for fact in store.facts()] == ["later"]


def test_thousands_of_values_of_one_slot(store: MemoryStore) -> None:
    store.remember_many(
        Memory(f"My phone number is 555-{i:05}", id=f"m{i}", created_at=JANUARY + timedelta(minutes=i))
        for i in range(2_000)
    )
    assert [fact.value for fact in store.facts()] == ["555-01999"]
    assert len(store.facts(history=True)) == 2_000
    assert asked(store, "what is my phone number?")[0] == "m1999"
    store.remember(Memory("My phone number is 555-77777", id="last", created_at=JULY))
    assert asked(store, "what is my phone number?")[0] == "last"


def test_what_a_field_says_stands_over_what_a_rule_reads(store: MemoryStore) -> None:
    given = {"fact": {"slot": "phone number", "value": "555-0303"}}
    store.remember(Memory("My phone number is 555-0101", id="m1", created_at=MAY, metadata=given))
    assert [(fact.value, fact.by) for fact in store.facts()] == [("555-0303", "given")]


def test_a_field_that_cannot_be_read_says_nothing(store: MemoryStore) -> None:
    bad = [{"slot": 5, "value": "v"}, None, {"slot": "x" * 9_999, "value": "v"}, {"slot": "desk", "value": ""}, {}]
    store.remember(Memory("A", id="m1", metadata={"fact": bad}))
    assert store.facts(history=True) == [] and store.get("m1") is not None


def test_a_long_value_of_a_field_is_cut(store: MemoryStore) -> None:
    store.remember(Memory("A", id="m1", metadata={"fact": {"slot": "address", "value": "x" * 600}}))
    assert [fact.value for fact in store.facts()] == ["x" * 500]


@pytest.mark.parametrize(("op", "values"), [("is", []), ("was", []), ("not", [("Fiat", RETRACTED)])])
def test_only_what_ends_a_value_may_leave_it_out(store: MemoryStore, op: str, values: list[tuple[str, str]]) -> None:
    store.remember(Memory("A", id="m1", created_at=MAY, metadata={"fact": {"slot": "car", "value": "Fiat"}}))
    store.remember(Memory("B", id="m2", created_at=JUNE, metadata={"fact": {"slot": "car", "value": "", "op": op}}))
    assert [(fact.value, fact.ended) for fact in store.facts(history=True)] == (values or [("Fiat", "")])


@pytest.mark.parametrize(
    ("since", "began"),
    [
        ("2020-01-01", datetime(2020, 1, 1, tzinfo=UTC)),
        ("2020-01-01T12:00:00", datetime(2020, 1, 1, 12, tzinfo=UTC)),
        ("2020-01-01T12:00:00Z", datetime(2020, 1, 1, 12, tzinfo=UTC)),
        (" 2020-01-01T12:00:00+02:00 ", datetime(2020, 1, 1, 10, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", MAY),  # before the first year there is
        ("some day", MAY),
        (2020, MAY),
    ],
)
def test_times_of_a_field_are_in_utc_where_they_name_no_zone(
    store: MemoryStore, since: object, began: datetime
) -> None:
    given = {"slot": "car", "value": "Fiat", "since": since}
    store.remember(Memory("A", id="m1", created_at=MAY, metadata={"fact": given}))
    (fact,) = store.facts(history=True)
    assert (fact.value, fact.valid_from) == ("Fiat", began)


def test_a_day_ends_what_a_field_says(store: MemoryStore) -> None:
    given = {"slot": "car", "value": "Fiat", "until": "2026-06-10"}
    store.remember(Memory("A", id="m1", created_at=MAY, metadata={"fact": given}))
    assert [(fact.value, fact.valid_to) for fact in store.facts(history=True)] == [("Fiat", JUNE)]
