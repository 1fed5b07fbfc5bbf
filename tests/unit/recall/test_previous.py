"""Which of what tells a slot is the one before."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

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
        ("what did I drive before?", ""),
        ("where did Priya live before here", ""),
        ("what was my previous gym?", ""),
        ("which gym before this gym?", ""),
    ],
)
def test_the_value_that_came_next_may_be_named(query: str, named: str) -> None:
    expected = frozenset(stems(named)) - frozenset(stems("plan"))  # a word that is said before it, too, names nothing
    assert named_next(query) == expected


def test_without_a_name_it_is_the_newest_but_one() -> None:
    told = [("Weber", 0.9), ("Ines", 0.9), ("Rain", 0.0), ("Marta", 0.8)]
    assert chosen("who cut my hair before?", told) == 1
    assert chosen("who cut my hair before?", told[2:]) is None


def test_what_was_said_again_is_not_the_one_before() -> None:
    told = [("Weber did the curls", 0.9), ("Marta cuts my fringe", 0.9), ("Same as ever, Marta", 0.8)]
    assert chosen(ASKED, told) == 0
    assert chosen("who cut my hair before?", told) == 1  # nobody can tell


def test_it_was_told_before_the_change() -> None:
    told = [("Weber did the curls", 0.9), ("Marta cuts my fringe", 0.2), ("Back to Ines", 0.9)]
    assert chosen(ASKED, told) == 0
    assert chosen(ASKED, [*told[:1], ("Marta is on holiday", 0.05), told[2]]) == 2  # she is named by the way
    assert chosen(ASKED, told[1:]) is None


def test_one_alone_is_it_where_what_is_found_best_hints_at_a_later_one() -> None:
    rows, texts = [7, 3], ["new sim since Monday", "my number is 555-0101"]
    view = cast("Any", SimpleNamespace(at=dict(enumerate(range(10)))))
    assert before("my old number?", rows, texts, [0.4, 0.9], view) == 3
    assert before("my old number?", rows, texts, [0.0, 0.9], view) is None
    assert before("my old number?", [3, 7], texts[::-1], [0.9, 0.4], view) is None


def test_equal_times_go_by_row() -> None:
    view = cast("Any", SimpleNamespace(at=[5, 5, 5]))
    assert before("my old number?", [0, 1, 2], ["a", "b", "c"], [0.9, 0.9, 0.9], view) == 1


def test_until_a_change_asks_for_what_was_before() -> None:
    for query in ("what was in my pocket until the Huawei came?", "what did the router take till maple6?"):
        assert mode_of(query, windowed=False, asks=True) == "previous"
        assert mode_of(query, windowed=False) != "previous"  # it may ask for what happened
    for query in ("how long is the pass valid, until May?", "what was I on until now?"):
        assert mode_of(query, windowed=False, asks=True) != "previous"
