"""The small-talk rule on its own worked queries and with its guard; the router modes."""

from __future__ import annotations

import pytest

from recall_integrations.query.features import (
    MODE_TYPES,
    conversational,
    rare_by,
    router_mode,
)
from recall_integrations.text import stem
from recall_integrations.types import MemoryType
from tests.rows import each_row

VAGUE = "is this wired up and working in production"


def nothing(_stem: str) -> bool:
    return False


@each_row(
    ("text", "domain", "filler", "expected"),
    [
        (VAGUE, 1 / 8, 7 / 8, True),  # stated: .12, .88
        ("how does hybrid search work", 0.0, 2 / 5, False),  # stated: 0, .40
        ("what is the token limit", 1 / 5, 2 / 5, False),  # stated: .20, .40
    ],
)
def test_the_worked_queries(text: str, domain: float, filler: float, expected: bool) -> None:
    verdict = conversational(text, rare=nothing)
    assert (verdict.domain_signal, verdict.stopword_ratio) == (pytest.approx(domain), pytest.approx(filler))
    assert bool(verdict) is verdict.conversational is expected


def test_something_rare_keeps_bm25() -> None:
    verdict = conversational(VAGUE, rare=lambda term: term == stem("wired"))
    assert not verdict
    assert verdict.rare == (stem("wired"),)
    assert "rare in the corpus: wire" in verdict.because


def test_the_corpus_is_asked_only_where_it_decides_and_never_about_stop_words() -> None:
    asked: list[str] = []

    def rare(term: str) -> bool:
        asked.append(term)
        return False

    conversational("what is the token limit", rare=rare)
    assert asked == []
    assert conversational(VAGUE, rare=rare)
    assert asked == [stem(w) for w in ("wired", "working", "production")]


@each_row(
    "text",
    [
        "is it up and working in ABC-123",
        "is this the one with a_b or not",
        'did you say "it is on" to me',
        "is it that => of this and that",
        "is this in the cache or in the database",
    ],
)
def test_code_and_technical_words_are_not_conversational(text: str) -> None:
    assert not conversational(text, rare=nothing)


@each_row("text", ["is it up", "so can you do this for me", "was that about it or not?"])
def test_small_talk(text: str) -> None:
    assert conversational(text, rare=nothing).because.endswith("nothing rare in the corpus")


@each_row("text", ["", " ", "?!", "🚀", "東京はどこですか"])
def test_nothing_to_judge(text: str) -> None:
    assert not conversational(text, rare=nothing)


def test_rare_by_document_frequency() -> None:
    rare = rare_by({"kestrel": 1, "flow": 50, "team": 51}.__getitem__, 1_000)
    assert [rare(t) for t in ("kestrel", "flow", "team")] == [True, True, False]
    assert not rare_by(lambda _: 0, 1_000)("unknown")
    assert rare_by(lambda _: 1, 0)("once")
    assert not rare_by(lambda _: 2, 0)("twice")


@each_row(
    ("text", "mode", "graph", "time"),
    [
        ("what about #123", "knowledge", False, False),
        ("repo:path", "knowledge", False, False),
        ("why ERR_CONN_RESET in v2.10", "knowledge", False, False),
        ("latest on ABC-123", "knowledge", False, True),
        ("who owns billing", "hybrid", True, False),
        ("who is responsible for onboarding?", "hybrid", True, False),
        ("who owns ABC-123", "hybrid", True, False),
        ("what depends on the parser", "hybrid", True, False),
        ("what is blocked by legal", "hybrid", True, False),
        ("What’s blocking us?", "hybrid", True, False),
        ("is design aligned with sales", "hybrid", True, False),
        ("what happened with the launch", "neural", False, True),
        ("What happened last week?", "neural", False, True),
        ("what happened with ABC-123", "hybrid", False, True),
        ("what changed in the docs", "hybrid", False, True),
        ("my latest notes", "hybrid", False, True),
        ("who owns what went wrong yesterday", "hybrid", True, True),
        ("do I like tea", "hybrid", False, False),
        ("mail of info@example.com", "hybrid", False, False),
        ('who said "never again"', "hybrid", False, False),
        ("tickets for WestJet", "hybrid", False, False),
        ("the roadblock on my way home", "hybrid", False, False),
        ("", "hybrid", False, False),
    ],
)
def test_router_modes(text: str, mode: str, graph: bool, time: bool) -> None:
    got = router_mode(text)
    assert (got.mode, got.graph_bias, got.time_bias) == (mode, graph, time), got.reason
    assert got.reason.startswith(f"{mode}: ")


def test_the_reason_says_what_decided() -> None:
    assert router_mode("who owns ABC-123").reason == "hybrid: ticket ABC-123, ownership"
    assert router_mode("tea").reason == "hybrid: nothing speaks for one kind of memory"


def test_a_window_of_the_parser_gives_the_time_bias_only() -> None:
    got = router_mode("meetings in March", dated=True)
    assert (got.mode, got.time_bias) == ("hybrid", True)


def test_chunks_are_knowledge_and_all_else_is_neural() -> None:
    assert MODE_TYPES["knowledge"] == (MemoryType.CHUNK,)
    assert set(MODE_TYPES["neural"]) == set(MemoryType) - {MemoryType.CHUNK}
    assert set(MODE_TYPES["hybrid"]) == set(MemoryType)
