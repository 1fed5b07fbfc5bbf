"""Tests of a table are one test, and report every row that fails."""

from __future__ import annotations

import inspect

import pytest

from tests.rows import each_row


def test_every_row_is_tried_and_those_that_fail_are_named() -> None:
    tried: list[tuple[int, str, str]] = []

    @each_row("number, word", [(1, "one"), (2, "zwei"), (3, "drei"), (4, "four")])
    def english(number: int, word: str, given: str) -> None:
        tried.append((number, word, given))
        assert word not in {"zwei", "drei"}

    assert list(inspect.signature(english).parameters) == ["given"]  # pytest gives it as a fixture
    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows fail") as caught:  # noqa: F821
        english(given="fixture")
    assert tried == [(1, "one", "fixture"), (2, "zwei", "fixture"), (3, "drei", "fixture"), (4, "four", "fixture")]
    assert [error.__notes__ for error in caught.value.exceptions] == [["row: 2, 'zwei'"], ["row: 3, 'drei'"]]


def test_one_name_takes_values_and_tables_may_cross() -> None:
    seen = set()

    @each_row("b", "xy")
    @each_row("a", [1, 2])
    def both(a: int, b: str) -> None:
        seen.add((a, b))

    both()
    assert seen == {(1, "x"), (1, "y"), (2, "x"), (2, "y")}


def test_a_failure_of_pytest_is_one_and_a_table_needs_rows() -> None:
    @each_row("a", [1])
    def raises(a: int) -> None:
        with pytest.raises(ValueError, match="never"):
            str(a)

    with pytest.raises(BaseExceptionGroup, match="1 of 1 rows"):  # noqa: F821
        raises()
    with pytest.raises(AssertionError, match="no rows"):
        each_row("a", [])
