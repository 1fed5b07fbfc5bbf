"""Whether a query asks how things are, by the model of the package."""

from __future__ import annotations

import pytest

from recall_integrations.query.asking import USUAL, asks_state, small_talk
from tests.rows import each_row


@pytest.mark.parametrize(
    ("state", "event"),
    [
        ("Where does my cousin sleep?", "Why did the brake fail?"),
        ("what is the port of the cache server", "how did the launch party go"),
    ],
)
def test_a_query_for_how_things_are_is_told_from_one_for_what_happened(state: str, event: str) -> None:
    assert asks_state(state, "en") > 0.5 > asks_state(event, "en")


def test_marks_at_the_end_say_nothing() -> None:
    assert asks_state("where does my cousin sleep?", "en") == asks_state("where does my cousin sleep", None)


def test_in_a_language_that_nobody_taught_it_says_what_is_usual() -> None:
    assert asks_state("Wo wohnt sie?", "de") == asks_state("Где мои ключи?", "ru") == USUAL


@each_row("line", ["thanks, have a lovely evening", "you are hilarious, haha", "see you tomorrow then"])
def test_small_talk_asks_for_nothing(line: str) -> None:
    assert small_talk(line, "en") > 0.6
    assert small_talk(line, "de") == 0


@each_row("query", ["hi, where is the spare key?", "thanks! and when is the dentist", "so, the landlord?", "door code"])
def test_a_question_is_no_small_talk(query: str) -> None:
    assert small_talk(query, "en") < 0.2
