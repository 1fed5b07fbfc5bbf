"""Noun phrases as names of slots."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts.open_names import open_name, slots_called
from recall_integrations.facts.slots import Slot, Slots


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("locker code", "locker code"),
        ("my new locker code", "locker code"),
        ("The OLD Locker-Code", "locker code"),
        ("my own current  locker code?", "locker code"),
        ("locker code now", "locker code"),
        ("our brand new standing desk", "standing desk"),
        ("favorite ice cream", "favourite ice cream"),
        ("favourite ice cream", "favourite ice cream"),
        ("library card’s pin", "library card's pin"),
        ("new year's resolution", "new year's resolution"),
        ("my new New York flat", "new york flat"),
        ("my 'locker' code", "locker code"),
        ("my", ""),
        ("", ""),
        ("  ?!", ""),
    ],
)
def test_one_name_for_what_is_said_and_asked(phrase: str, name: str) -> None:
    assert open_name(phrase) == name


@given(st.text(max_size=60))
def test_a_name_is_its_own_name(phrase: str) -> None:
    once = open_name(phrase)
    assert open_name(once) == once


@pytest.mark.parametrize(
    ("phrase", "names"),
    [
        ("phone number", ("phone_number",)),
        ("my new phone number", ("phone_number",)),
        ("last name", ("name",)),
        ("e-mail", ("email",)),
        ("wi-fi password", ("wifi_password",)),
        ("work phone number", ("open:work phone number", "phone_number")),
        ("locker code", ("open:locker code",)),
        ("account number", ("open:account number",)),
        ("office number", ("open:office number", "phone_number")),
        ("dream job", ("open:dream job",)),
        ("favorite holiday place", ("open:favourite holiday place",)),
        ("favorite color", ("favourite_colour",)),
        ("my", ()),
        ("my faves", ()),  # of nothing that is named
        ("favorite", ()),
        ("favourite thing", ("open:favourite thing",)),
        ("one two three four five six seven", ()),
    ],
)
def test_a_noun_of_the_schema_is_its_slot_and_others_are_open(phrase: str, names: tuple[str, ...]) -> None:
    assert slots_called(phrase) == names


def test_a_slot_of_the_user_is_found() -> None:
    slots = Slots([Slot(name="locker_code", nouns=("locker code",))])
    assert slots_called("the locker code", slots) == ("locker_code",)
