"""Sentences beside the point are found, count for less, and keep out of the time and the vector of a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from tests.rows import each_row

NOW = datetime(2026, 11, 12, 9, tzinfo=timezone.utc)


CODES = (
    "The code of the garage is 4417",
    "The PIN of the card by Mastercard is 1234",
    "The PIN of the card by Visa is 9876",
    "In May Carla paid for the dinner",
    "In August Tom paid for the dinner",
    "Anna cannot eat nuts",
    "Dr Kern made the blood test of April",
)


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store, closing(QueryOptimizer(store)) as made:
        store.remember_many([Memory(text) for text in CODES])
        yield made


@each_row(
    ("query", "found"),
    [
        ("I am in a meeting. What is the code of the garage?", ["I am in a meeting."]),
        ("What is the code of the garage? I need to write that down.", ["I need to write that down."]),
        ("i was ill last week. what is the code of the garage", ["i was ill last week."]),
        ("We're at the door, finally! Which code does the garage have?", ["We're at the door, finally!"]),
        ("What is the code of the garage?", []),
        ("I looked for the code of the garage. I did not find any.", []),  # nothing asks
        ("I called the bank. What does it say about the card?", []),  # "it" is the bank
        ("I saw a doctor. Any idea?", ["I saw ", "Any idea?"]),  # little by itself
        ("I pay with Mastercard. What is the PIN of the card?", []),  # a name, and a memory joins it with the PIN
        ("I had a blood test. What did the laboratory say of April?", []),  # as one memory does
        (
            "I need the code of the garage. Do you know the PIN by heart?",
            ["I need ", "Do you know "],
        ),  # asked for itself
        ("We met in May. Who paid for the dinner?", []),  # the time that is asked for
        ("Give me the code of the garage. Who invented the PIN?", ["Give me "]),  # not what the asker does
        ("I saw Anna. What food is bad for the dinner?", []),
        ("I met her at Dr. Kern and heard the news. Which blood test was made?", []),
        (
            "I stayed with a friend in the old town near the river behind seven hills. Which code has the garage?",
            [],
        ),  # long
        ("I want to leave the garage, how do I open it?", []),  # what asks stands behind the comma
        ("I am ill. " * 17 + "What is the code of the garage?", []),  # a whole text
        ("Ich bin im Auto. Wie lautet der Code der Garage?", []),
    ],
)
def test_which_sentences_are_beside_the_point(optimizer: QueryOptimizer, query: str, found: list[str]) -> None:
    parsed = optimizer.parse(query, now=NOW)
    assert [parsed.original[start:end] for start, end in parsed.asides] == found


def test_the_parsed_query_says_what_was_left_out() -> None:
    with MemoryStore.open() as store, closing(QueryOptimizer(store)) as optimizer:
        store.remember(Memory("The code of the garage is 4417"))
        parsed = optimizer.parse("I was ill last week. What is the code of the garage?", now=NOW)
        assert parsed.asides == ((0, 20),)
        assert parsed.point == " " * 20 + " What is the code of the garage?"
        assert parsed.temporal_window is None
        assert parsed.terms == ("code", "garag")  # "ill" is no word that a memory says
        assert parsed.beside() >= {"ill", "last", "week"}


def test_spans_hold_in_the_point_and_nothing_is_read_from_an_aside() -> None:
    with MemoryStore.open() as store, closing(QueryOptimizer(store)) as optimizer:
        store.remember_many([Memory("The harbour report of March names the ferry"), Memory("The restaurant is closed")])
        parsed = optimizer.parse("I'm not in a meetting. Which ferry does the report of March name?", now=NOW)
        assert parsed.asides == ((0, 22),)
        assert parsed.temporal_window is not None
        assert parsed.point[slice(*parsed.temporal_window.span)] == "March"
        assert parsed.negations == ()
        assert optimizer.parse("Is the restaurnt closed?", now=NOW).corrections
        assert optimizer.parse("I like a restaurnt. Which ferry does the report name?", now=NOW).corrections == ()


def test_of_a_query_that_is_read_in_part_nothing_is_left_out(optimizer: QueryOptimizer) -> None:
    assert optimizer.parse("I am ill. " + "x" * 4_000 + ". What is the code of the garage?", now=NOW).asides == ()


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
        assert first("I have to call the plumber. Which phone number was written down?") == "plumber"
        assert first("I have to call the dentist. Which phone number was written down?") == "dentist"


@pytest.mark.parametrize("privacy", ["redact", "block"])
def test_where_memories_are_hidden_they_do_not_decide(optimizer: QueryOptimizer, privacy: str) -> None:
    query = "I was ill last week. What is the code of the garage?"
    result = optimizer.recall(query, now=NOW, privacy=privacy, time_budget_ms=60_000)
    assert result.query.asides == ()
    assert optimizer.recall(query, now=NOW, time_budget_ms=60_000).query.asides


@each_row(
    ("query", "sure"),
    [
        ("I had a blood test last week. Where is the laboratory of Dr Kern?", False),
        ("i had a blood test last week. results of dr kern", False),
        ("I had a blood test last week. Is there a laboratory of Dr Kern?", False),
        ("I had a fever last week. Which food did I buy?", True),  # of the past, perhaps of last week
        ("We met in May. Who paid for the dinner?", True),
        ("We had dinner in May. Where?", True),  # little by itself
        ("I saw the laboratory last week. What do they say?", True),  # "they" are of last week
        ("I need the results of last week. Thanks!", True),  # nothing else asks
        ("Tell me what I ate last week. Be brief, please.", True),
        ("What did the laboratory say last week? I was not there.", True),  # what asks says when
        ("I want what the laboratory said last week", True),  # one sentence
    ],
)
def test_a_date_beside_the_question_filters_nothing(optimizer: QueryOptimizer, query: str, sure: bool) -> None:
    window = optimizer.parse(query, now=NOW).temporal_window
    assert window is not None and (window.confidence >= 0.5) == sure
