"""The parser as a whole: denied dates, the words of misspelt mentions, steps that fail."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations.config import RecallConfig
from recall_integrations.query import features
from recall_integrations.query import parser as module
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from recall_integrations.query.spelling import Speller, Vocabulary
from recall_integrations.text import IRREGULAR, stem
from recall_integrations.types import ParsedQuery, TemporalWindow
from tests.rows import each_row

NOW = datetime(2024, 5, 15, 12, 20, tzinfo=timezone.utc)
PARSER = QueryParser(RecallConfig())


def parse(text: str, known: ScopeKnowledge | None = None, **options: Any) -> ParsedQuery:
    parsed, degraded = PARSER.parse(text, NOW, known or ScopeKnowledge(), **options)
    assert degraded == ()
    return parsed


@each_row(
    ("text", "terms"),
    [
        ("what broke 2 weeks ago", ["broke"]),
        ("what broke a couple of days ago", ["broke"]),
        ("what broke in the last three months", ["broke"]),
        ("what broke on May 8th 2023", ["broke", "2023"]),
        ("who broke it on the 3rd of June", ["broke", "june"]),
        ("what broke at 10:30 am yesterday", ["broke"]),
        ("what broke in the last week of August", ["broke", "week", "august"]),
        ("which 3 lamps broke 2 days ago", ["3", "lamps", "broke"]),
        ("two lamps a week", ["two", "lamps", "week"]),
    ],
)
def test_what_only_says_the_time_is_no_keyword(text: str, terms: list[str]) -> None:
    assert parse(text).terms == tuple(stem(IRREGULAR.get(term, term)) for term in terms)


@each_row(
    ("language", "text", "word", "dropped"),
    [
        ("de", "Was ging vor drei Wochen kaputt?", "kaputt", ["drei", "wochen"]),
        ("de", "Was ging im März 2023 kaputt?", "kaputt", []),
        ("es", "¿Qué lámpara se rompió hace dos semanas?", "lámpara", ["hace", "dos", "semanas"]),
        ("ru", "Какая лампа сломалась три дня назад?", "лампа", ["три", "дня", "назад"]),
    ],
)
def test_what_only_says_the_time_is_no_keyword_in_other_languages(
    language: str, text: str, word: str, dropped: list[str]
) -> None:
    read = parse(text, language=language)
    assert read.temporal_window is not None
    assert stem(word, language) in read.terms
    assert not {stem(t, language) for t in dropped} & set(read.terms)
    assert language != "de" or dropped or {stem("märz", "de"), "2023"} <= set(read.terms)


def test_a_query_is_read_in_the_language_it_is_in_unless_one_is_given() -> None:
    assert parse("Was haben wir letzte Woche gemacht?").temporal_window is not None
    assert parse("What was last week?").temporal_window is not None
    assert parse("Was haben wir letzte Woche gemacht?", language="en").temporal_window is None
    assert parse("lol").language == "en"  # cannot be told


@each_row(
    "text",
    [
        "what did Priya release, but not in March",
        "Priya releases except in March",
        "Which cities did I see except in May?",
        "The meeting wasn't on Monday. When was it?",
        "releases outside of March",
        "releases not in March",
        "releases other than last week",
        "releases excluding March 2024",
        "except in March or in April",
        "releases that weren't in March",
        "everything but last week",
        "without the March report",
        "what did I do not in March?",
        "notes that were not from March",
        "any day but last Monday",
        "releases apart from in March",
        "what did we do outside of last week",
        "meetings not during the summer",
        "not counting last March, what did I do",
        "every day but last Monday",
    ],
)
def test_a_date_that_is_left_out_is_no_window(text: str) -> None:
    assert parse(text).temporal_window is None


@each_row(
    "text",
    [
        "nothing except in March",
        "why not in March?",
        "why did it not ship in March",
        "what did I do in March that wasn't related to the frontend",
        "releases in March but not in April",
        "not in April but in March",
        "what did I do not in April but in March?",
        "which meetings were not in April but in March?",
        "wasn't last March the launch?",
    ],
)
def test_a_date_that_is_asked_for_beside_a_negation_is_the_window(text: str) -> None:
    window = parse(text).temporal_window
    assert window is not None and window.start == datetime(2024, 3, 1, tzinfo=timezone.utc)


def test_a_denied_date_is_not_looked_for_and_stays_a_negation() -> None:
    parsed = parse("what did Priya release, but not in March")
    assert parsed.negations == ("March",) and "march" not in parsed.terms
    assert "march" not in parse("Priya releases except in March").terms


def test_a_time_that_is_only_implied_is_a_hint_unless_a_date_is_left_out() -> None:
    window = parse("what did I release recently").temporal_window
    assert window is not None and window.span == (0, 0) and window.end == NOW
    assert parse("what did I release recently, but not in March").temporal_window is None


def test_the_verb_that_only_says_that_something_was_said_is_no_keyword() -> None:
    assert parse("what did I tell you about my allergies").terms == ("allergi",)
    assert parse("what did Priya say about tea").terms == ("priya", "say", "tea")  # of somebody else


def test_a_window_given_is_not_denied() -> None:
    given = TemporalWindow(start=datetime(2024, 3, 1, tzinfo=timezone.utc), end=NOW)
    assert parse("releases not in March", window=given).temporal_window == given


def test_a_misspelt_mention_keeps_the_words_that_memories_hold() -> None:
    index = EntityIndex()
    index.add("svc", "Deploy-o-matic", ["Deployment Service"])
    vocabulary = Vocabulary([(stem("deployment"), 3), (stem("failed"), 2)])
    parsed = parse(
        "deployment servce failed", ScopeKnowledge(entities=index, frequency=vocabulary.frequency, memories=10)
    )
    assert [r.stage for r in parsed.entity_refs] == ["fuzzy"]
    assert {stem("deployment"), stem("failed")} <= set(parsed.terms)
    assert stem("servce") not in parsed.terms


def broken(*_: object, **__: object) -> Any:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("where", "name", "stage"),
    [
        (module, "type_cues", "parse.type_cues"),
        (module, "relations", "parse.predicates"),
        (features, "entity_density", "parse.entity_density"),
        (module, "asides", "parse.asides"),
        (module, "corrected_query", "parse.corrected_query"),
        (module, "asked_role", "parse.asked_role"),
        (module, "marked", "parse.tokens"),
    ],
)
def test_a_step_that_fails_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, where: object, name: str, stage: str
) -> None:
    monkeypatch.setattr(where, name, broken)
    speller = Speller(Vocabulary([(stem("restaurant"), 2)]))
    parsed, degraded = PARSER.parse("restaurnat bill", NOW, ScopeKnowledge(speller=lambda: speller))
    assert parsed.terms and [d.stage for d in degraded] == [stage]


def test_a_language_model_that_fails_leaves_the_references_as_they_were() -> None:
    index = EntityIndex()
    index.add("k", "Kestrel")
    parsed, degraded = PARSER.parse("what about Kestrel", NOW, ScopeKnowledge(entities=index, unsure=broken))
    assert [r.entity_id for r in parsed.entity_refs] == ["k"]
    assert [d.stage for d in degraded] == ["parse.entity_llm"]
