"""Facts as a privacy mode lets them be seen."""

from __future__ import annotations

import threading
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, Relation
from recall_integrations.delivery.as_data import facts_data
from recall_integrations.delivery.showing import Showing, Shown, shown_facts
from recall_integrations.privacy.door import WITHHELD, Door
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types.facts import CORRECTED, Fact
from tests.rows import each_row

JANUARY, JUNE = (datetime(2026, month, 5, tzinfo=timezone.utc) for month in (1, 6))


def fact(slot: str, value: str, subject: str = "", **more: object) -> Fact:
    times = {"valid_from": JANUARY, "told_at": JANUARY, **more}
    return Fact(subject=subject, slot=slot, value=value, memory_id="m1", **times)  # type: ignore[arg-type]


def seen(found: Fact, memory: Memory, mode: str) -> Fact:
    return seen_through(Door(mode), found, memory)


def seen_through(door: Door, found: Fact, memory: Memory, ms: float = 5_000.0) -> Fact:
    (shown,) = shown_facts([found], {"m1": memory}, Shown(door, Deadline.after(ms), Showing()))
    return shown


@each_row(
    ("slot", "value", "text"),
    [
        ("phone_number", "+49 30 901820", "My number is +49 30 901820"),
        ("phone_number", "5550101", "Call me: 5550101"),  # the slot says what it is
        ("email", "priya@example.org", "Write to priya@example.org"),
        ("wifi_password", "hunter22", "The wifi password is hunter22"),
        ("open:locker password", "tulip44", "my locker password: tulip44"),
    ],
)
def test_what_is_personal_is_not_shown(slot: str, value: str, text: str) -> None:
    found = seen(fact(slot, value), Memory(text, id="m1"), "redact")
    assert value not in f"{found}"
    assert found.value.startswith("[")
    assert (found.slot, found.memory_id, found.valid_from) == (slot, "m1", JANUARY)


def test_what_its_own_text_hides_is_hidden_although_it_looks_harmless() -> None:
    memory = Memory("My password is tulip44", id="m1")
    assert seen(fact("open:favourite flower", "tulip44"), memory, "redact").value == WITHHELD


@each_row(("slot", "value"), [("home", "Lisbon"), ("language", "German"), ("open:team cat", "Mia")])
def test_the_rest_is_shown_as_it_is(slot: str, value: str) -> None:
    found = fact(slot, value, "priya")
    assert seen(found, Memory(f"It is {value}", id="m1"), "redact") == found
    assert seen(found, Memory(f"It is {value}", id="m1"), "allow") is found


def test_a_value_that_only_a_relation_has_is_shown_as_relations_are() -> None:
    memory = Memory("They met.", id="m1", relations=[Relation("Priya", "manager_of", "Sam")])
    assert seen(fact("boss", "Priya", "sam"), memory, "redact").value == "Priya"


def test_a_subject_that_is_personal_is_hidden() -> None:
    found = seen(fact("status", "away", "priya@example.org"), Memory("priya@example.org is away", id="m1"), "redact")
    assert found.subject.startswith("[email")


def test_under_block_no_word_of_a_text_is_left() -> None:
    memory = Memory("Priya's locker code is 4711", id="m1")
    found = seen(fact("open:locker code", "4711", "priya"), memory, "block")
    assert (found.subject, found.slot, found.value) == ("", "open:", "")
    assert seen(fact("home", "Lisbon", "priya"), memory, "block").slot == "home"


def test_what_could_not_be_looked_at_in_time_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    release, door = threading.Event(), Door("redact")
    memory = Memory("I live in Lisbon. " * 5_000, id="m1")
    monkeypatch.setattr(door, "memory", lambda _memory: release.wait(60))
    found = seen_through(door, fact("home", "Lisbon", "priya"), memory, ms=5.0)
    release.set()
    assert (found.subject, found.value) == ("", "")


def test_facts_of_a_memory_that_is_gone_are_left_out() -> None:
    assert shown_facts([fact("home", "Rome")], {}, Shown(Door("allow"), Deadline.after(1.0), Showing())) == []


def test_as_data_it_says_whether_it_held_then() -> None:
    ended = fact("home", "Berlin", valid_to=JUNE, ended="superseded", superseded_by="m2", said_by=("m1", "m3"))
    wrong = fact("home", "Bonn", valid_to=JUNE, ended=CORRECTED)
    then, later = (facts_data([ended, wrong], at) for at in (JANUARY, JUNE))
    assert [row["holds"] for row in then] == [True, False]
    assert [row["holds"] for row in later] == [False, False]
    assert then[0]["valid_to"] == "2026-06-05T00:00:00+00:00" and then[0]["said_by"] == ["m1", "m3"]
    assert set(then[0]) == {*Fact.__dataclass_fields__, "holds"}
