"""Tests of `facts.rules.notes.unread`: what may tell a newer value, in words that no rule reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts.rules.notes.unread import may_tell
from recall_integrations.facts.slots import DEFAULT


@pytest.mark.parametrize(
    ("slot", "held", "text"),
    [
        ("gym", "Ironworks", "These mornings my gym of choice goes by the name of Boulderhaus"),
        ("home", "Berlin", "Lisbon has been home for me since the summer"),
        ("home", "Berlin", "We traded Berlin for Lisbon"),
        ("phone_number", "555-0101", "So my phone got a new one, and that is 555-0202 from here on"),
        ("boss", "Sam", "Henrietta is, as of today, my boss"),
        ("open:locker code", "4711", "As of today my locker has another code: 0815"),
        ("partner", "Sam", "It is over, my partner is no longer Sam"),
        ("favourite_colour", "blue", "My favourite colour is teal now"),
        ("phone_number", "555-0101", "If anyone asks, they reach me on my phone with 555-0202"),
        ("gym", "Ironworks", "As I told you, my gym goes by the name of Boulderhaus"),
        ("gym", "Ironworks", "My gym? Goes by the name of Boulderhaus. I like it"),
        ("phone_number", "555-0101", "Are we late? My phone number is 555-0202 now. See you there"),
    ],
)
def test_what_may_tell_another_value(slot: str, held: str, text: str) -> None:
    assert may_tell(text, "", "", slot, held, DEFAULT)


@pytest.mark.parametrize(
    ("slot", "held", "text"),
    [
        ("gym", "Ironworks", "My gym is still Ironworks"),  # said again
        ("gym", "Ironworks", "My gym used to be Boulderhaus"),  # the past
        ("gym", "Ironworks", "My gym bag is Nike"),  # another noun
        ("gym", "Ironworks", "I met Priya on the way to my gym"),  # no value: a person beside the noun
        ("gym", "Ironworks", "Priya's gym is Boulderhaus"),  # somebody else's
        ("gym", "Ironworks", "My sister's gym is Boulderhaus"),
        ("gym", "Ironworks", "Is my gym Boulderhaus now?"),  # asks
        ("gym", "Ironworks", "I wish my gym were Boulderhaus"),
        ("gym", "Ironworks", "If my gym were Boulderhaus, I would go"),
        ("gym", "Ironworks", "The gym changes its name to Boulderhaus"),  # nobody's
        ("boss", "Sam", "I met my boss in Berlin"),
        ("dentist", "Sam", "My dentist appointment moved to Friday"),
        ("phone_number", "555-0101", "My phone number is easy to remember"),
        ("open:locker code", "4711", "The code of the door is 0815, I am told"),
        ("home", "Berlin", "Lunch was good"),
        ("gym", "PureGym", "I haven't cancelled PureGym, the Y can wait"),  # denied
    ],
)
def test_what_tells_none(slot: str, held: str, text: str) -> None:
    assert not may_tell(text, "", "", slot, held, DEFAULT)


@pytest.mark.parametrize(
    ("subject", "speaker", "text", "expected"),
    [
        ("priya", "", "Priya's gym of choice goes by the name of Boulderhaus", True),
        ("priya", "priya", "My gym of choice goes by the name of Boulderhaus", True),
        ("priya", "sam", "My gym of choice goes by the name of Boulderhaus", False),
        ("'s sister", "", "The gym of my sister changed to Boulderhaus", True),
        ("'s sister", "", "The gym of my brother changed to Boulderhaus", False),
        ("sam's sister", "sam", "My sister went with Boulderhaus as her gym", True),
        ("sam's sister", "priya", "My sister went with Boulderhaus as her gym", False),
        ("project kestrel", "", "Project Osprey's gym is Boulderhaus", False),
    ],
)
def test_whose_it_is(subject: str, speaker: str, text: str, expected: bool) -> None:
    assert may_tell(text, subject, speaker, "gym", "Ironworks", DEFAULT) is expected


WORDS = "my gym Ironworks Boulderhaus Priya's is now - : ? . not my sister changed to 4711 if I 's".split()


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=60))
def test_any_text_is_looked_at(text: str) -> None:
    for slot in ("gym", "phone_number", "open:gym code"):
        assert may_tell(text, "", "", slot, "Ironworks", DEFAULT) in (True, False)
        assert not may_tell(f"{text} ?", "", "", slot, "Ironworks", DEFAULT) or "." in text or "\n" in text
