"""The tables themselves: every row has an example that fires it, and names are unique."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations.query.temporal import explain, parse_window
from recall_integrations.query.temporal.calendar import easter, nth_weekday
from recall_integrations.query.temporal.grammar import Grammar, Rule
from recall_integrations.query.temporal.holidays import HOLIDAYS, TRIGGERS, needed_words, phrases
from recall_integrations.query.temporal.parser import all_rules

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)
RULES = all_rules()


@pytest.mark.parametrize("rule", RULES, ids=[rule.name for rule in RULES])
def test_the_example_fires_the_rule(rule: Rule) -> None:
    assert rule.name in explain(rule.example, NOW)


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))


def test_confidences() -> None:
    assert all(0 < rule.confidence <= 1 for rule in RULES)


def test_an_unknown_class_is_named() -> None:
    with pytest.raises(LookupError, match="NOSUCH"):
        Grammar([Rule("x", "NOSUCH last", lambda hit: None, 1.0, "")])


def test_a_broken_pattern_is_named() -> None:
    with pytest.raises(ValueError, match="cannot read"):
        Grammar([Rule("x", "last ; week", lambda hit: None, 1.0, "")])


@pytest.mark.parametrize(
    ("year", "month", "day"), [(1961, 4, 2), (2000, 4, 23), (2018, 4, 1), (2024, 3, 31), (2025, 4, 20)]
)
def test_easter(year: int, month: int, day: int) -> None:
    assert easter(year) == datetime(year, month, day)


def test_nth_weekday() -> None:
    assert nth_weekday(2023, 11, 3, 4) == datetime(2023, 11, 23)
    assert nth_weekday(2026, 5, 0, -1) == datetime(2026, 5, 25)
    with pytest.raises(ValueError, match="no such weekday"):
        nth_weekday(2026, 2, 0, 5)


def test_a_row_of_the_holiday_table_is_all_that_a_holiday_needs() -> None:
    for row in HOLIDAYS:
        assert parse_window(row.example, NOW) is not None, row.example


def test_every_way_to_say_a_holiday_has_a_word_that_lets_it_in() -> None:
    for row in HOLIDAYS:
        assert phrases(row.pattern)
        for phrase in phrases(row.pattern):
            assert not TRIGGERS.isdisjoint(phrase), phrase


def test_phrases_of_a_pattern() -> None:
    assert phrases("(big|small) (red (hen|cock)|dog) DOT? day?") == {
        *(("big", "red", "hen"), ("big", "red", "cock"), ("big", "dog")),
        *(("small", "red", "hen"), ("small", "red", "cock"), ("small", "dog")),
    }
    assert needed_words(["bloom (day|eve)"], frozenset({"day"})) == {"bloom"}
    assert needed_words(["bloom day"], frozenset({"day"})) == frozenset()
