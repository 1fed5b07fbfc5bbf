"""What is said of things that nobody owns in the words, or that somebody else changes."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations.facts.sentences import said_in

AT = datetime(2026, 6, 15, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The standup is at 9:30", ("", "open:standup", "9:30")),
        ("From next Monday the standup moves to 10", ("", "open:standup", "10")),
        ("Our sprint review moved to Thursday at 3pm.", ("", "open:sprint review", "Thursday")),
        ("Release slipped to March 17", ("", "open:release", "March 17")),
        ("The release is planned for March 3", ("", "open:release", "March 3")),
        ("My class starts at 6 pm now", ("", "open:class", "6 pm")),
        ("The concert is tomorrow", ("", "open:concert", "tomorrow")),
        ("Our meeting will be on Thursday at 4", ("", "open:meeting", "Thursday at 4")),
        ("They moved the party to Sunday because of rain", ("", "open:party", "Sunday")),
        ("The rent is 1,200", ("", "rent", "1,200")),
        ("The meeting room is B12", ("", "location", "B12")),
        ("The price went up to 49 euros", ("", "price", "49 euros")),
        ("The landlord raised the rent to 1,350", ("", "rent", "1,350")),
        ("They changed the door code to 99812", ("", "open:door code", "99812")),
        ("Ryanair moved my flight to 9:15", ("", "open:flight", "9:15")),
        ("Priya changed the deadline to May 3", ("Priya", "deadline", "May 3")),
        ("The studio moved the release to December 18", ("", "open:release", "December 18")),
        ("Priya changed her phone number to 555-0303", ("Priya", "phone_number", "555-0303")),
        ("The doctor changed my dose to 20 mg", ("", "open:dose", "20 mg")),
        ("Project Falcon is led by Chen", ("Project Falcon", "owner", "Chen")),
        ("Chen left, Okafor took over Project Falcon", ("Project Falcon", "owner", "Okafor")),
        ("Sarah handed the data team over to Miguel", ("data team", "owner", "Miguel")),
        ("Maria is in charge of the billing migration now", ("billing migration", "owner", "Maria")),
    ],
)
def test_a_thing_and_its_value(text: str, said: tuple[str, str, str]) -> None:
    assert [(one.subject, one.slot, one.value) for one in said_in(text, AT)] == [said]


@pytest.mark.parametrize(
    "text",
    [
        "If the meeting is at 10 I can come",
        "Is the meeting at 10?",
        "They said the meeting is at 10",
        "We should move the standup to 10",
        "I want to move the meeting to Friday",
        "The meeting is at the office",
        "The room was buzzing with energy",
        "The score is 10",
        "The movie is Inception",
        "She raised her hand to speak",
        "We brought the kids to the park at 10",
        "I put the keys to the left",
        "We drove the car to Madrid",
        "Facilities moved us from B12 to C3",
        "The boss moved Tom to the Berlin office",
        "I've increased my practice sessions to 12 conditional probability problems per week",
        "Tom runs the marathon",
        "If Chen leads Project Falcon we are lost",
        "Nobody raised the rent to 1,350",
        "The landlord hasn't raised my rent to 1,350",
        "They haven't moved my flight to 9",
        "The meeting hasn't been moved to 5",
        "Her landlord raised the rent to 1,350",
        "Priya's landlord raised the rent to 1,350",
        "The landlord of my sister raised the rent to 1,350",
        "Bob told me his landlord raised the rent to 1,350",
        "Tom's team moved the standup to 10",
        "My brother moved my bike to the shed",
        "The salary is 80,000 in that job ad",
        "The budget is 200 million for the new film",
        "In 2019 the landlord raised the rent to 900",
        "I dreamt they moved the wedding to Friday",
        "Rumor: they moved the launch to May 3",
        "Netflix raised the price to 17.99",
        "He put the phone down to 5",
        "The author changed the title to Dune",
        "Her flight changed to 9:15",
        "The battery is at 20",
        "My mother is at 12",
        "Ferrari leads the other team",
    ],
)
def test_what_is_no_thing_with_a_value(text: str) -> None:
    assert said_in(text, AT) == ()


def test_what_holds_no_longer_is_said_with_what_took_its_place() -> None:
    (said,) = said_in("We moved the standup from 9:30 to 10 last week", AT)
    assert (said.value, said.instead_of) == ("10", "9:30") and said.since is not None
    (said,) = said_in("Sarah handed the data team over to Miguel", AT)
    assert said.instead_of == "Sarah"
    (owned,), (bare,) = said_in("Our rent is 1200", AT), said_in("The rent is 1200", AT)
    assert owned.confidence > bare.confidence  # whose it is, nobody says
