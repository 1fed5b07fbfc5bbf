"""Replies to short questions, by hand."""

from __future__ import annotations

import numpy as np

from recall_integrations.indexes.columns import TextColumns, replies_after
from recall_integrations.indexes.lexicon import Lexicon
from tests.columns import TextRow, columns_of
from tests.rows import each_row

LONG = " ".join(f"word{n}" for n in range(12))


def columns(*turns: tuple[str | None, str], thread: str | None = "t") -> TextColumns:
    rows = [
        TextRow(num=i + 1, text=text, actor=actor, thread=thread, position=i) for i, (actor, text) in enumerate(turns)
    ]
    return columns_of(rows, Lexicon())


def after(scope: TextColumns, *rows: int, known: tuple[int, ...] = (), limit: int = 8) -> list[int]:
    found: list[int] = replies_after(scope, np.asarray(rows), np.asarray((*rows, *known)), limit).tolist()
    return found


@each_row(
    ("asker", "question", "replies"),
    [
        ("Sam", "How many?", [2]),
        ("Sam", "How many.", []),  # asks nothing
        ("Priya", "How many?", []),  # asks herself
        (None, "How many?", []),  # nobody knows who asks
        ("Sam", f"{LONG}?", []),  # says what it is about
        ("Sam", "one1 two2 three3 four4 five5 six6 seven7 eight8 nine9?", [2]),
    ],
)
def test_a_reply_answers_a_short_question_of_another(asker: str | None, question: str, replies: list[int]) -> None:
    scope = columns(("Priya", "My tomatoes thrive"), (asker, question), ("Priya", "Eleven"))
    assert after(scope, 0) == replies


def test_without_threads_nothing_is_a_reply() -> None:
    scope = columns(("Sam", "How many?"), ("Priya", "Eleven"), ("Priya", "Yes"), thread=None)
    assert after(scope, 0) == []


def test_a_reply_is_reached_from_what_it_is_about() -> None:
    scope = columns(("Sam", "My tomatoes thrive"), ("Priya", "How many?"), ("Sam", "Eleven"), ("Priya", "Good"))
    assert after(scope, 0) == [2]
    assert after(scope, 0, known=(2,)) == []
    assert after(scope, 1) == []  # one turn on, which is a neighbour


def test_of_many_the_nearest_come_first_and_only_so_many() -> None:
    turns = [("Sam", "tomatoes"), *[("Priya" if n % 2 else "Sam", "And then?") for n in range(1, 20)]]
    scope = columns(*turns)
    assert after(scope, 0) == [2, 3, 4]
    assert after(scope, 0, 4) == [2, 6, 3, 7, 8]  # row 4 was found
    assert after(scope, 0, 4, limit=2) == [2, 6]


def test_ten_thousand_turns_of_a_word_are_looked_at_in_a_moment() -> None:
    scope = columns(*[("Sam" if n % 2 else "Priya", "what?") for n in range(10_000)])
    assert len(after(scope, *range(0, 100, 10))) == 8
