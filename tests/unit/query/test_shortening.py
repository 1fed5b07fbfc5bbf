from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.config import RecallConfig
from recall_integrations.delivery.showing import ASKED_FOR
from recall_integrations.query import parser as parsing
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import LONG, QueryParser
from recall_integrations.text.shortening import BETWEEN, READ_CHARS_MAX, number_of, shortened

NOW = datetime(2024, 5, 15, 12, tzinfo=timezone.utc)
PARSER = QueryParser(RecallConfig())
FILLER = "word " * 20_000


def test_a_page_is_read_as_a_whole() -> None:
    text = ("word " * 600)[:READ_CHARS_MAX]
    read = shortened(text)
    assert (read.text, read.skipped) == (text, 0)
    parsed, problems = PARSER.parse(text, NOW, ScopeKnowledge())
    assert parsed.original == text and not problems


def test_of_more_the_beginning_and_the_end_are_read_up_to_a_blank() -> None:
    text = "a" * 1_950 + " begin" + "x" * 5_000 + "y end " + "b" * 880
    read = shortened(text)
    assert read.text == "a" * 1_950 + BETWEEN + " end " + "b" * 880
    assert len(shortened("日" * 100_000).text) <= READ_CHARS_MAX


def test_what_is_asked_at_the_end_has_its_place_in_the_whole_query() -> None:
    text = f"{FILLER} what about ABC-123 and not Python in March 2023?"
    parsed, problems = PARSER.parse(text, NOW, ScopeKnowledge())
    assert [(p.stage, p.reason) for p in problems] == [("parse", LONG)]
    assert str(len(text)) in problems[0].detail
    assert parsed.original == text
    assert [text[slice(*i.span)] for i in parsed.identifiers] == ["ABC-123"]
    assert parsed.temporal_window is not None and "March 2023" in text[slice(*parsed.temporal_window.span)]
    assert parsed.negations == ("Python",)
    marked = [text[slice(*t.span)] for t in parsed.tokens]
    assert marked[0] == "word"


def test_nothing_is_read_across_the_gap() -> None:
    first = ("word " * 398 + "last ").ljust(2_000, "x")
    text = first + "z" * 5_000 + " " + "week " + "word " * 170
    parsed, _ = PARSER.parse(text, NOW, ScopeKnowledge())
    assert parsed.temporal_window is None


def test_full_width_letters_are_quoted_as_they_were_written() -> None:
    text = f"{FILLER} ticket ＡＢＣ－１２３"
    parsed, _ = PARSER.parse(text, NOW, ScopeKnowledge())
    assert [(i.text, text[slice(*i.span)]) for i in parsed.identifiers] == [("ＡＢＣ－１２３", "ＡＢＣ－１２３")]


@pytest.mark.parametrize("piece", ["12:30 ", "日", "not ", '"a" ', "😀", "سلام ", "http://a.b/c ", "May 5 "])
def test_the_steps_see_no_more_of_a_long_text_than_of_a_page(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(step: Callable[..., object]) -> Callable[..., object]:
        def read(text: str, *args: object, **named: object) -> object:
            seen.append(len(text))
            return step(text, *args, **named)

        return read

    for name in ("find_negations", "find_identifiers", "asked_role", "router_mode", "conversational"):
        monkeypatch.setattr(parsing, name, counted(getattr(parsing, name)))
    PARSER.parse((piece * 100_000)[:100_000], NOW, ScopeKnowledge())
    assert len(seen) >= 5 and max(seen) <= READ_CHARS_MAX


def test_a_strict_recall_takes_a_long_query(store: MemoryStore) -> None:
    store.remember(Memory(text="Ann likes tea"))
    result = QueryOptimizer(store).recall(f"{FILLER[:9_000]} who likes tea?", strict=True, time_budget_ms=60_000)
    assert LONG in ASKED_FOR
    assert [d.reason for d in result.degraded] == [LONG]
    assert [h.memory.text for h in result.hits] == ["Ann likes tea"]


def test_one_thing_is_no_several() -> None:
    assert [number_of(n, "scope") for n in (0, 1, 1_200)] == ["0 scopes", "1 scope", "1,200 scopes"]
    assert [number_of(n, "memory") for n in (1, 2)] == ["1 memory", "2 memories"]
