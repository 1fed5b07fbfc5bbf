"""Whether a query asks how things are, by the model of the package."""

from __future__ import annotations

import pytest

from recall_integrations.query.asking import USUAL, asks_state


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
