"""Sentences of a query that ask nothing are found, count for less, and keep out of its time and its vector."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.query.asides import asides

NOW = datetime(2026, 11, 12, 9, tzinfo=timezone.utc)


def beside(text: str, language: str = "en") -> list[str]:
    return [text[start:end].strip() for start, end in asides(text, language)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("I am in a meeting. What is the code of the garage?", ["I am in a meeting."]),
        ("What is the code of the garage? The neighbour wants to know!", ["The neighbour wants to know!"]),
        ("Morning! Slept badly.\nwhich door code does the garage have", ["Morning!", "Slept badly."]),
        ("What is the code of the garage?", []),
        ("The code of the garage. The code of the shed.", []),  # nothing asks
        ("Anna called. What does she like to eat?", []),
        ("The shed was painted. Which colour did they give it?", []),
        ("My sister eats no meat. Any idea?", []),  # little by itself
        ("My cousin stayed with a friend in the old town of Graz near the river in May. Which hotel was full?", []),
    ],
)
def test_what_asks_nothing(query: str, found: list[str]) -> None:
    assert beside(query) == found


def test_of_other_languages_and_of_whole_texts_nothing_is_left_out() -> None:
    assert beside("Ich bin im Auto. Wie lautet der Code der Garage?", "de") == []
    assert beside("Rain. " * 20 + "What is the code of the garage?") == []


def test_the_parsed_query_says_what_was_left_out() -> None:
    with MemoryStore.open() as store, closing(QueryOptimizer(store)) as optimizer:
        store.remember(Memory("The code of the garage is 4417"))
        parsed = optimizer.parse("I was ill last week. What is the code of the garage?", now=NOW)
        assert parsed.asides == ((0, 20),)
        assert parsed.point == "What is the code of the garage?"
        assert parsed.temporal_window is None
        assert parsed.terms == ("code", "garag")  # "ill" is no word that a memory says
        assert parsed.beside() >= {"ill", "last", "week"}


def test_a_sentence_beside_the_question_takes_no_answer_away_and_tells_two_apart() -> None:
    with MemoryStore.open() as store, closing(QueryOptimizer(store)) as optimizer:
        store.remember_many(
            [
                Memory("The code of the garage is 4417", id="garage"),
                Memory("I was ill and stayed at home", id="ill", event_at=datetime(2026, 11, 4, tzinfo=timezone.utc)),
                Memory("The plumber has the phone number 0664 111", id="plumber"),
                Memory("The dentist has the phone number 0664 222", id="dentist"),
            ]
        )

        def first(query: str) -> str | None:
            return optimizer.recall(query, k=2, now=NOW, time_budget_ms=60_000).hits[0].memory.id

        assert first("I was ill last week. What is the code of the garage?") == "garage"
        assert first("The plumber was late. Which phone number was written down?") == "plumber"
        assert first("The dentist was late. Which phone number was written down?") == "dentist"


def test_in_a_chat_with_an_assistant_a_sentence_tells_which_talk_goes_on() -> None:
    with MemoryStore.open() as store, closing(QueryOptimizer(store)) as optimizer:
        store.remember(Memory("We could price the plan at nine euros", actor="assistant", thread="t"))
        assert optimizer.parse("I liked the plan. What should the price be?", now=NOW).asides == ()
