"""Which of what tells a slot is the one before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.recall.evident import mode_of
from recall_integrations.recall.previous import before, named_next
from recall_integrations.text import stems

ASKED = "who cut my hair before Marta?"


def chosen(query: str, told: Sequence[tuple[str, float]]) -> int | None:
    """The place of the one before, of texts that are given oldest first and found in this order."""
    rows = list(range(len(told)))
    view = cast("Any", SimpleNamespace(at=[10 * row for row in rows]))
    return before(query, rows, [text for text, _ in told], [share for _, share in told], view)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        (ASKED, "Marta"),
        ("Before going ash blonde, what colour was my hair?", "ash blonde"),
        ("before Warsaw where did Sofia live?", "Warsaw"),
        ("where was Nora's mark before it moved to 5'4?", "5'4"),
        ("what was in my pocket until the Huawei P70 came", "Huawei P70"),
        ("which plan did we have prior to Team?", "plan Team"),
        ("what was the rent before 1,350?", "1,350"),
        ("which laptop did I use before the Dell", "Dell"),  # a stop word of another language
        ("which gym did we go to, up to the Crown, on Mondays?", "Crown"),
        ("what did we run on that was replaced by Buildkite", "Buildkite"),
        ("what gave way to the oboe?", "oboe"),
        ("what made way for the oboe, in May?", "oboe"),
        ("what did I drive before?", ""),
        ("where did Priya live before here", ""),
        ("what was my previous gym?", ""),
        ("which gym before this gym?", ""),
    ],
)
def test_the_value_that_came_next_may_be_named(query: str, named: str) -> None:
    expected = frozenset(stems(named, None)) - frozenset(stems("plan"))  # a word that is said before it names nothing
    assert named_next(query) == expected


def test_without_a_name_it_is_the_newest_but_one() -> None:
    told = [("Weber", 0.9), ("Ines", 0.9), ("Rain", 0.0), ("Marta", 0.8)]
    assert chosen("who cut my hair before?", told) == 1
    assert chosen("who cut my hair before?", told[2:]) is None


def test_what_was_said_again_is_not_the_one_before() -> None:
    told = [("Weber did the curls", 0.9), ("Marta cuts my fringe", 0.9), ("Same as ever, Marta", 0.8)]
    assert chosen(ASKED, told) == 0
    assert chosen("who cut my hair before?", told) == 1  # nobody can tell


def test_it_was_told_before_what_says_the_next_one_last() -> None:
    told = [("Weber did the curls", 0.9), ("Marta cuts my fringe", 0.2), ("Back to Ines", 0.9)]
    assert chosen(ASKED, told) == 0
    assert chosen(ASKED, [*told, ("Marta again", 0.9)]) == 2
    assert chosen(ASKED, [*told, ("Marta is on holiday", 0.05)]) == 0  # she is named by the way
    assert chosen(ASKED, [told[0], ("Marta is on holiday", 0.05), told[2]]) == 0  # nothing else says when
    assert chosen(ASKED, told[1:]) is None


def test_what_holds_a_part_of_the_name_may_be_the_one_before() -> None:
    told = [("Got a Pixel 6", 0.9), ("The Pixel 9 arrived", 0.9), ("The Pixel 9 has a fine battery", 0.9)]
    assert chosen("which phone was it before the Pixel 9?", told) == 0
    rent = [("I hand over 1,200", 0.9), ("I hand over 1,350 now", 0.9)]
    assert chosen("how much was it before 1,350?", rent) == 0
    assert chosen(ASKED, [("Weber", 0.9), ("Marta", 0.9), ("x" * 700 + " Marta", 0.9)]) == 0  # what is read of it


def test_how_sure_it_has_to_be() -> None:
    assert chosen(ASKED, [("Weber", 0.5), ("Marta", 0.9)]) == 0
    assert chosen(ASKED, [("Weber", 0.49), ("Marta", 0.9)]) is None


def test_equal_times_go_by_row_and_are_not_before_each_other() -> None:
    view = cast("Any", SimpleNamespace(at=[5, 5, 5]))
    assert before("my old number?", [2, 0, 1], ["c", "a", "b"], [0.9, 0.9, 0.9], view) == 1
    assert before(ASKED, [0, 1], ["Weber", "Marta"], [0.9, 0.9], view) is None


def test_until_a_change_asks_for_what_was_before() -> None:
    for query in ("what was in my pocket until the Huawei came?", "which maths did I have until Nowak came?"):
        assert mode_of(query, windowed=False, asks=True) == "previous"
        assert mode_of(query, windowed=False) != "previous"  # it may ask for what happened
    for query in (
        "how long is the pass valid, until May?",
        "what was the code for the till in the shop?",
        *(f"what was I on until {time}?" for time in ("now", "today", "then")),
    ):
        assert mode_of(query, windowed=False, asks=True) != "previous"


@pytest.mark.parametrize(
    ("query", "old", "new", "again"),
    [
        (
            ASKED,
            "For the wedding my hair was done by Salon Weber",
            "Marta cuts my hair now",
            "My hairdresser is the same as ever, Marta",
        ),
        (
            "what phone did I have before the Pixel 9?",
            "Got myself a Pixel 6, lovely camera",
            "Finally the Pixel 9 arrived, switched the sim over",
            "The Pixel 9 battery is brilliant",
        ),
        (
            "how much did I hand the landlord before 1,350?",
            "I hand the landlord 1,200 each month",
            "I hand the landlord 1,350 each month since the boiler",
            "The landlord came by about the 1,350",
        ),
        (
            "what laptop did I use before the Dell?",
            "I type on a Lenovo",
            "I use a Dell",
            "The Dell has a loud fan",
        ),
        (
            "what did our builds run on until Buildkite?",
            "Our builds run on Jenkins, in the basement",
            "Our builds run on Buildkite since Monday",
            "Buildkite was down for an hour",
        ),
    ],
)
def test_a_store_is_asked(query: str, old: str, new: str, again: str) -> None:
    with MemoryStore.open() as store:
        told = [("old", old, 2), ("new", new, 4), ("again", again, 5), ("tea", "The tea is ready", 3)]
        store.remember_many([Memory(text, id=one, event_at=datetime(2026, n, 3, tzinfo=UTC)) for one, text, n in told])
        result = QueryOptimizer(store).recall(query, now=datetime(2026, 7, 1, tzinfo=UTC))
    assert not result.degraded and result.hits[0].memory.id == "old"
    assert result.facts is not None and result.facts.mode == "previous"
    assert "the latest" not in result.hits[0].reason


def test_an_assistants_guess_is_not_what_was_before() -> None:
    told = [
        ("old", "I type on a Lenovo", "user"),
        ("guess", "You probably had a Dell laptop before, most people do.", "assistant"),
        ("new", "I type on a MacBook since my birthday", "user"),
    ]
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory(text, id=one, role=role, event_at=datetime(2026, n, 3, tzinfo=UTC))
                for n, (one, text, role) in enumerate(told, 2)
            ]
        )
        asked = "what laptop did I have before the MacBook?"
        result = QueryOptimizer(store).recall(asked, now=datetime(2026, 7, 1, tzinfo=UTC))
    assert result.hits[0].memory.id == "old" and result.hits[0].reason.startswith("may tell what was before")
