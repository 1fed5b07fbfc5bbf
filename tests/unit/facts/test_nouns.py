"""Tests of `facts.rules.nouns`: slots that are named, whoever owns them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recall_integrations.facts.sentences import said_in

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "slot", "op", "value", "subject"),
    [
        ("The weekly review's budget is 45,000 euros.", "budget", "is", "45,000 euros", "the weekly review"),
        ("FYI, my editor has changed, it's Zed now.", "editor", "is", "Zed", ""),
        ("Oh and PST is not Priya's time zone anymore.", "time_zone", "not", "PST", "Priya"),
        ("Priya no longer has PST as her time zone.", "time_zone", "not", "PST", "Priya"),
        ("Please take Hindi off the list of my sister's languages.", "language", "not", "Hindi", "my sister"),
        ("My new locker code is 4711. Thanks!", "open:locker code", "is", "4711", ""),
        ("The wifi password at my place is tulip-12.", "wifi_password", "is", "tulip-12", ""),
        ("New gym: Pulse", "gym", "is", "Pulse", ""),
        ("V60 has replaced Skoda as my car.", "car", "is", "V60", ""),
    ],
)
def test_a_named_slot_is_read(text: str, slot: str, op: str, value: str, subject: str) -> None:
    found = said_in(text, AT)
    assert [(one.slot, one.op, one.value, one.subject) for one in found] == [(slot, op, value, subject)]


@pytest.mark.parametrize(
    "text",
    [
        "If my deadline changes I'll let you know.",
        "Maybe next year Pulse could become my gym.",
        "My family is my rock.",
        "My friends are in Berlin now.",  # where they are, not who
        "Marek's twins are at Little Otters now too",
        "Dose raised, 20 mg from today",  # of what, it does not say
        "My favorite part was the music.",
        "Somebody asked about my gym today.",
    ],
)
def test_what_is_not_stated_stays_unread(text: str) -> None:
    assert said_in(text, AT) == ()
