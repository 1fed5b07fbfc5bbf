"""What kind of state a query asks for that no rule reads."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.recall.evident import mode_of


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("which card do I show at the door when I go lifting?", "now"),
        ("remind me who signs my paychecks", "now"),
        ("hey, so what do I type to get online at my place", "now"),
        ("which name do I write on the form for my doctor?", "now"),
        ("can you write a note to my doctor?", None),
        ("where did I lift before Boulderhaus?", "previous"),
        ("who used to sign my paychecks?", "previous"),
        ("since when do I lift there?", "when"),
        ("when did I switch over to Boulderhaus?", "when"),
        ("walk me through every place I have lifted at so far?", "history"),
        ("what changed about my lifting over the years?", "history"),
        ("what did I type to get online?", None),  # the past, and no word for what was before
        ("why do I go to Boulderhaus?", None),
        ("how did I get into Boulderhaus?", None),
        ("what happened at Boulderhaus?", None),
        ("any tips for my first week?", None),
        ("lifting at Boulderhaus", None),
        ("I go lifting at Boulderhaus now", None),
        ("what do I think of Boulderhaus?", None),
        (" ".join(["what is it that I show at the door"] * 4) + "?", None),
        ("", None),
    ],
)
def test_modes(text: str, mode: str | None) -> None:
    assert mode_of(text, windowed=False) == mode


def test_a_time_makes_it_a_question_for_then() -> None:
    assert mode_of("which card did I show at the door in March?", windowed=True) == "then"


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("party list, my pals please", "now"),
        ("when is my mother's birthday", "now"),
        ("I've got some money left, what do they ask for the ticket", "now"),
        ("on which day was Mei born", "now"),
        ("how long is the run that Oscar takes", "now"),
        ("salon changed software, which colour do I take", "now"),
        ("list my addresses", "history"),
        ("how has my address changed", "history"),
        ("when did I move", "when"),
        ("since when do I live there", "when"),
        ("who did it for Ingrid", None),
        ("what got into me", None),
        ("where was I yesterday", None),
        ("where did I lift before", "previous"),
        ("which gym before this one", "previous"),
        ("which pills before breakfast", "now"),  # what comes again
        ("what do I drink before a run", "now"),
        ("what do I have to pack before Friday", "now"),  # what is to be done
        ("what did I drink before bed", "previous"),
        ("who cut my hair before Marta", "previous"),
        ("which gym do I use before", "previous"),  # nothing is named
        ("do you know who cut my hair before Marta", "previous"),  # what is to be done is nothing of who is asked
        ("can you tell me my gym before Flexhouse", "previous"),
    ],
)
def test_modes_of_what_is_known_to_ask_for_a_state(text: str, mode: str | None) -> None:
    assert mode_of(text, windowed=False, asks=True) == mode


def test_of_a_slot_that_is_read_another_ones_fact_says_nothing() -> None:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory("My gym is Ironworks", id="old", event_at=datetime(2026, 2, 3, tzinfo=timezone.utc)),
                Memory("My gym is Boulderhaus now", id="new", event_at=datetime(2026, 6, 3, tzinfo=timezone.utc)),
            ]
        )
        found = QueryOptimizer(store).recall("what is my phone number?", now=datetime(2026, 9, 1, tzinfo=timezone.utc))
        assert found.facts is None and not any("holds since" in hit.reason for hit in found.hits)
