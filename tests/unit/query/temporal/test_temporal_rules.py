"""The tables themselves: every row has an example that fires it, and names are unique."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from recall_integrations.query.temporal import explain, parse_window, parser
from recall_integrations.query.temporal.calendar import nth_weekday
from recall_integrations.query.temporal.grammar import Grammar, Rule
from recall_integrations.query.temporal.parser import HOLIDAYS, all_rules, holiday, triggers
from tests.rows import each_row

NOW = datetime(2026, 6, 17, 15, 30, tzinfo=timezone.utc)
RULES = all_rules()


@each_row("rule", RULES)
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


@each_row(("year", "month", "day"), [(1961, 4, 2), (2000, 4, 23), (2018, 4, 1), (2024, 3, 31), (2025, 4, 20)])
def test_easter(year: int, month: int, day: int) -> None:
    window = parse_window(f"Easter {year}", NOW)
    assert window is not None and window.start == datetime(year, month, day, tzinfo=timezone.utc)


def test_nth_weekday() -> None:
    assert nth_weekday(2023, 11, 3, 4) == datetime(2023, 11, 23)
    assert nth_weekday(2026, 5, 0, -1) == datetime(2026, 5, 25)
    with pytest.raises(ValueError, match="no such weekday"):
        nth_weekday(2026, 2, 0, 5)


def test_a_row_of_the_holiday_table_is_all_that_a_holiday_needs() -> None:
    for row in HOLIDAYS:
        assert parse_window(row.example, NOW) is not None, row.example


@pytest.fixture
def bloomsday(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A holiday of which no word is known, added to the table and to nothing else."""
    row = holiday("(bloomsday|joyce fest)", lambda year: datetime(year, 6, 16), "on Bloomsday")
    caches = (parser._grammar, parser.triggers)
    assert parse_window("on Bloomsday", NOW) is None and parse_window("at the Joyce Fest", NOW) is None
    monkeypatch.setattr(parser, "HOLIDAYS", (*HOLIDAYS, row))
    for cache in caches:
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("bloomsday")
def test_a_holiday_is_added_by_a_row_alone() -> None:
    day = datetime(2026, 6, 16, tzinfo=timezone.utc)
    for text in ("what happened on Bloomsday", "who came to the Joyce Fest?"):
        window = parse_window(text, NOW)
        assert window is not None and window.start == day, text
    last = parse_window("Bloomsday 2024", NOW)
    assert last is not None and last.start == day.replace(year=2024)
    assert "holiday_bloomsday" in explain("on Bloomsday", NOW)


def test_a_holiday_of_one_word_passes_the_gate() -> None:
    window = parse_window("on Diwali", NOW)
    assert window is not None and window.start == datetime(2025, 10, 20, tzinfo=timezone.utc)


def test_every_holiday_has_a_word_that_lets_it_in() -> None:
    gate = triggers()
    for row in HOLIDAYS:
        assert not gate.isdisjoint(re.findall(r"[^\W_]+", row.example.lower())), row.example


def test_needed_words_of_patterns() -> None:
    needed = Grammar(()).needed_words
    pattern = "(big|small) (red (hen|cock)|yellow dog) DOT? day?"
    assert needed([pattern], frozenset()) == {"yellow", "hen", "cock"}
    assert needed([pattern], frozenset({"hen", "cock", "dog"})) == frozenset()
    assert needed(["bloom (day|eve)"], frozenset({"day"})) == {"bloom"}
    assert needed(["(bloom|hallowe'en) day"], frozenset()) == {"bloom", "hallowe"}
    assert needed(["bloom day"], frozenset({"day"})) == frozenset()
