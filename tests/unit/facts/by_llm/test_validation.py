"""What of a claim is believed, held against the text of its own message."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts import by_llm as v
from recall_integrations.facts import rows
from recall_integrations.facts.by_llm import Message, checked, holds, message_of
from recall_integrations.facts.said import ME, OPS, YOU, Said
from recall_integrations.facts.slots import DEFAULT, Slot, Slots
from recall_integrations.privacy.door import Door
from recall_integrations.types.roles import Role
from tests.rows import each_row

AT = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
TEXT = "I've now settled in Lisbon; my sister Henrietta is at Acme GmbH & Co. since 2024."


def said(text: str, actor: str | None = None, role: Role | None = None, **more: Any) -> Message:
    return message_of(1, text, AT, actor=actor, role=role, **{"door": Door("allow"), **more})


def claim(**more: object) -> dict[str, object]:
    return {"slot": "home", "value": "Lisbon", **more}


def test_a_claim_that_the_text_holds() -> None:
    given = claim(op="is", confidence=0.8, since="2026-05-01", until=None, instead_of="Berlin", corrects=True)
    assert checked(given, said(TEXT), DEFAULT) == Said(
        slot="home", value="Lisbon", confidence=0.8, since=datetime(2026, 5, 1, tzinfo=timezone.utc), corrects=True
    )


@each_row(
    ("text", "value", "there"),
    [
        ("I live in Lisbon.", "LISBON", True),
        ("I live in\n  New   York", "new york", True),
        ("my number is 555-0101", "555 0101", True),
        ("it’s Priya’s", "priya's", True),
        ("I use C++ daily", "C++", True),
        ("I use C++ daily", "C#", False),
        ("I use C++ daily", "C", False),
        ("I live in Lisbon", "Lis", False),
        ("I pay 1200 a month", "200", False),
        ("I pay 1200 a month", "120", False),
        ("我住在柏林市", "柏林", True),
        ("我住在柏林市", "汉堡", False),
        ("मैं दिल्ली में रहता हूँ", "दिल्ली", True),
        ("Ich wohne in Köln", "Ko\u0308ln", True),
        ("anything", "", False),
        ("anything!", "!?", False),
        ("", "x", False),
        ("new york new yorker", "new york", True),
        ("xnew york, new york", "new york", True),
    ],
)
def test_a_value_is_there_in_whole_words(text: str, value: str, there: bool) -> None:
    assert holds(text, value) is there


@each_row(
    ("given", "reason"),
    [
        ("Lisbon", v.NO_OBJECT),
        (None, v.NO_OBJECT),
        (["home", "Lisbon"], v.NO_OBJECT),
        ({"value": "Lisbon"}, rows.BAD_SLOT),
        (claim(slot="starship"), rows.BAD_SLOT),
        (claim(slot="open:"), rows.BAD_SLOT),
        (claim(slot="open:--"), rows.BAD_SLOT),
        (claim(slot="open:" + "x" * 100), rows.BAD_SLOT),
        (claim(slot=7), rows.BAD_SLOT),
        (claim(op="will"), rows.BAD_OP),
        (claim(op=["is"]), rows.BAD_OP),
        (claim(value=""), rows.NO_VALUE),
        (claim(value=None), rows.NO_VALUE),
        (claim(value=True), rows.NO_VALUE),
        (claim(value=["Lisbon"]), rows.NO_VALUE),
        (claim(value="x" * 501), rows.NO_VALUE),
        (claim(value="Porto"), v.NOT_IN_TEXT),
        (claim(value="Lisbon, Portugal"), v.NOT_IN_TEXT),
        (claim(value="..."), v.NOT_IN_TEXT),
        (claim(value="[phone-1]"), v.HIDDEN),
        (claim(value="near [address-2]"), v.HIDDEN),
        (claim(subject="Sam"), rows.BAD_SUBJECT),
        (claim(subject="you"), rows.BAD_SUBJECT),
        (claim(subject="she"), rows.BAD_SUBJECT),
        (claim(subject="my"), rows.BAD_SUBJECT),
        (claim(subject=3), rows.BAD_SUBJECT),
        (claim(subject="x" * 101), rows.BAD_SUBJECT),
        (claim(since="last spring"), v.BAD_DATE),
        (claim(since=2024), v.BAD_DATE),
        (claim(since="1700-01-01"), v.BAD_DATE),
        (claim(until="2999-01-01"), v.BAD_DATE),
        (claim(since="0001-01-01T00:00:00+23:00"), v.BAD_DATE),
        (claim(since="2026-05-01", until="2026-04-01"), v.BAD_DATE),
    ],
)
def test_what_is_refused_and_why(given: object, reason: str) -> None:
    assert checked(given, said(TEXT), DEFAULT) == reason


@each_row(
    ("subject", "actor", "role", "found"),
    [
        ("", None, None, ME),
        (None, None, None, ME),
        ("I", "Priya", None, ME),
        ("priya", "Priya", None, ME),
        ("the user", "Sam", Role.USER, ME),
        ("user", "Assistant", Role.ASSISTANT, YOU),
        ("you", "Assistant", Role.ASSISTANT, YOU),
        ("you", "Sam", Role.USER, rows.BAD_SUBJECT),
        ("Henrietta", None, None, "Henrietta"),
        ("my sister", None, None, "my sister"),
        ("Sam", None, None, "Sam"),  # speaks in the thread
        ("Sam's sister", None, None, "Sam's sister"),
        ("Tom's sister", None, None, rows.BAD_SUBJECT),
        ("my brother", None, None, rows.BAD_SUBJECT),
    ],
)
def test_of_whom_it_may_be(subject: str | None, actor: str | None, role: Role | None, found: str) -> None:
    message = said(TEXT, actor, role, people=frozenset({"sam"}))
    made = checked(claim(subject=subject), message, DEFAULT)
    assert (made.subject if isinstance(made, Said) else made) == found


@each_row(
    ("slot", "found"),
    [
        ("home", "home"),
        ("Phone Number", "phone_number"),
        ("mobile", "phone_number"),
        ("open:locker code", "open:locker code"),
        ("open:Locker_Code", "open:locker code"),
        ("open: employer", "employer"),  # the schema has it
        ("desk number", "desk"),
    ],
)
def test_how_slots_are_called(slot: str, found: str) -> None:
    made = checked(claim(slot=slot), said(TEXT), Slots([Slot(name="desk", nouns=("desk", "desk number"))]))
    assert isinstance(made, Said)
    assert made.slot == found


@each_row(
    ("given", "found"),
    [(0.5, 0.5), (7, 1.0), (-1, 0.0), (10**400, 1.0), (float("nan"), 0.7), ("high", 0.7), (True, 0.7), (None, 0.7)],
)
def test_confidence_is_held_in_its_range(given: object, found: float) -> None:
    made = checked(claim(confidence=given), said(TEXT), DEFAULT)
    assert isinstance(made, Said)
    assert made.confidence == found


def test_what_ends_without_a_value() -> None:
    assert isinstance(checked({"slot": "home", "value": "", "op": "not"}, said("I moved out"), DEFAULT), Said)


def test_what_was_hidden_is_no_value_and_is_not_sent() -> None:
    message = said("Call me at +1 415 555 0101, I live in Lisbon", door=Door("redact"))
    assert "555" not in message.sent
    assert checked({"slot": "phone_number", "value": "+1 415 555 0101"}, message, DEFAULT) == v.NOT_IN_TEXT
    assert checked({"slot": "phone_number", "value": "[phone-1]"}, message, DEFAULT) == v.HIDDEN
    assert isinstance(checked(claim(), message, DEFAULT), Said)


def test_what_stands_behind_the_cut_was_not_shown() -> None:
    message = said("x " * 3_000 + "Lisbon")
    assert len(message.sent) == 4_000
    assert checked(claim(), message, DEFAULT) == v.NOT_IN_TEXT


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_KEYS = ("slot", "value", "subject", "op", "since", "until", "instead_of", "corrects", "confidence")


@given(
    st.fixed_dictionaries(
        {}, optional={key: _ANY | st.sampled_from(["home", "Lisbon", "is", "2026-01-01"]) for key in _KEYS}
    ),
    st.text(max_size=60),
)
def test_whatever_is_believed_stands_in_the_text(given: dict[str, object], text: str) -> None:
    made = checked(given, said(text), DEFAULT)
    if isinstance(made, Said):
        assert made.op in OPS
        assert 0 <= made.confidence <= 1
        assert holds(text, made.value) or (not made.value and made.op == "not")
        assert not made.instead_of or holds(text, made.instead_of)
