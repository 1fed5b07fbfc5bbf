"""What a reply is about, read from the turns before it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.delivery.subjects import TURNS, Subject, lacking, said_so, subject_of
from tests.quick import examples


def about(*texts: str, asked: tuple[str, ...] = (), first: int = 1) -> Subject | None:
    """Of the last of some turns."""
    turns = list(texts)
    return subject_of(turns[-1], turns[-2::-1] if len(turns) > 1 else [], asked=asked, first=first)


@pytest.mark.parametrize(
    ("texts", "phrase", "before"),
    [
        (("My tomato plants are taking over.", "How many?", "Yes, three of them, since spring"), "tomato plants", 2),
        (("We talked about the budget for Project Kestrel.", "And?", "It was approved."), "Project Kestrel", 2),
        (("Did you adopt the puppy?", "Yes"), "puppy", 1),
        (("I see. Did you paint the shed?", "No, not yet"), "shed", 1),
        (("The blue bike has a flat tyre.", "Oh no!", "Really?", "Yes, since Monday"), "flat tyre", 3),
    ],
)
def test_the_nearest_turn_with_a_phrase_is_what_a_reply_is_about(
    texts: tuple[str, ...], phrase: str, before: int
) -> None:
    found = about(*texts)
    assert found is not None
    assert (found.phrase, found.before) == (phrase, before)


def test_an_open_question_comes_before_what_is_told_beside_it() -> None:
    found = about("How is the new kitchen? I bought a lamp.", "It is nearly done")
    assert found is not None and found.phrase == "kitchen"


def test_what_is_looked_for_is_preferred() -> None:
    turns = ("My tomatoes are taking over.", "How many plants?", "Eleven, and I gave some away.")
    plain, asked = about(*turns), about(*turns, asked=("tomato",))
    assert plain is not None and (plain.phrase, plain.before) == ("plants", 1)
    assert asked is not None and (asked.phrase, asked.before) == ("tomatoes", 2)


def test_turns_that_are_too_near_can_be_left_out() -> None:
    found = about("My tomatoes are big.", "How many plants?", "Eleven", first=2)
    assert found is not None and found.phrase == "tomatoes"


@pytest.mark.parametrize(
    "text",
    [
        "The deployment of Project Kestrel moved to the new cluster in Lisbon after the long meeting with Henrietta",
        "",
        "?!",
    ],
)
def test_what_speaks_for_itself_has_no_subject_elsewhere(text: str) -> None:
    assert about("Did you adopt the puppy?", text) is None


def test_nothing_said_before_is_no_subject() -> None:
    assert about("Yes") is None
    assert about("Hi", "Hello!", "Yes") is None


def test_only_so_many_turns_are_looked_at() -> None:
    fillers = ["Okay"] * TURNS
    assert about("The shed is green.", *fillers, "Yes") is None
    assert about("The shed is green.", *fillers[1:], "Yes") is not None


def test_of_a_script_without_spaces_nothing_is_said() -> None:
    assert about("我的番茄长得很好", "多少?", "三") is None


def test_it_is_said_in_words() -> None:
    found = about("My tomato plants are big.", "How many?", "Three")
    assert found is not None and said_so(found) == "tomato plants, two turns before"


@pytest.mark.parametrize(
    "texts", [("word " * 100_000, "x " * 100_000), ("the shed " * 50_000, "Yes"), ("a" * 10**6, "1")]
)
def test_long_turns_are_cut(texts: tuple[str, str]) -> None:
    found = about(*texts)
    assert found is None or len(found.phrase.split()) <= 3


def test_a_thread_of_one_word_turns() -> None:
    assert subject_of("Yes", ["ok"] * 10_000) is None


@settings(max_examples=examples(40))
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_whatever_is_said_the_phrase_stands_in_its_turn(texts: list[str]) -> None:
    assert 0 <= lacking(texts[-1]) <= 1
    found = about(*texts)
    if found is not None:
        assert 1 <= found.before <= TURNS
        assert found.phrase and found.phrase in " ".join(texts[-1 - found.before].split())
