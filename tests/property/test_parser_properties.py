"""The parser as a whole, and what it calls, on any text: no exception that is not ours, spans inside the text, values
in their ranges, the text unharmed, and a cost that grows with the length and no faster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidQuery, RecallError
from recall_integrations.planning.planner import make_plan
from recall_integrations.query import features
from recall_integrations.query.by_table.cues import RELATIONS, relations, type_cues
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.features import conversational, find_identifiers, router_mode
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser, clean
from recall_integrations.query.spelling import Speller, Vocabulary
from recall_integrations.text import tokenize
from recall_integrations.types import EntityRef, MemoryType, ParsedQuery
from recall_integrations.types.query import ROLES
from tests.quick import examples

NOW = datetime(2024, 5, 15, 12, 0, tzinfo=timezone.utc)
LIMIT = 200_000
STEMS = ("deadlin", "budget", "meet", "deploy", "kestrel", "frontend", "releas", "priya", "日本", "may")
NAMES = (
    ("Priya Raman", ["Priya"]),
    ("Sarah Lindqvist", ["Sarah"]),
    ("Sam Ortiz", ["Sam"]),
    ("Sam Lee", ["Sam"]),
    ("Project Kestrel", ["Kestrel"]),
    ("Inbox3", []),
    ("backend team", ["the backend folks"]),
    ("田中", []),
    ("José", []),
    ("May", []),
    ("🚀", []),
)


def _knowledge() -> ScopeKnowledge:
    index = EntityIndex()
    for name, aliases in NAMES:
        index.add(f"ent_{name}", name, aliases)
    vocabulary = Vocabulary([(term, 3 + i) for i, term in enumerate(STEMS)])
    user = EntityRef(entity_id="user", name="user", mention="", span=(0, 0), confidence=1.0, stage="implicit")
    return ScopeKnowledge(
        entities=index, frequency=vocabulary.frequency, memories=100, speller=lambda: Speller(vocabulary), user=user
    )


KNOWN = _knowledge()
PARSER = QueryParser(RecallConfig())
ZONES = [timezone.utc, *map(ZoneInfo, ("Europe/Berlin", "America/Santiago", "Pacific/Apia", "Pacific/Kiritimati"))]
_WORDS = """
    what who when where why how did does is was not isn't without except no the a of for in on from my me I
    Priya priya's Pryia SARAH Sam Kestrel kestral Inbox3 backend team José 田中 サム 日本語 May
    yesterday last week Tuesday March 2024 1999 0000 9999 99999 Q3 12:30 3pm 5/12 2024-02-30 ago between and
    deadlnie budgte frontned preferences favourite summary badge number owns depends latest happened
    #123 ABC-12 src/app.py a_b http://x v2.10 ERR_X me@x.org "a 'b “c ” ( ) , . ? ! ; : - -- … \\ / @ # = *
    שלום مرحبا 👩‍👧 🚀 🇩🇪 İ ß ﬁ Ǆ ² 𝓹𝓻𝓲𝔂𝓪 ＡＢＣ－１２ １２３ ١٢٣
"""
_BARE = (
    "Jose\u0301",
    "\u0301",
    "e\u0301",
    "\u200d",
    "\u202e",
    "\u200f",
    "\x00",
    "\x1b",
    "\n",
    "\t",
    "\u00a0",
    "\u3000",
)
PIECES = st.sampled_from([*_WORDS.split(), *_BARE, "\ufeff", "\ufffd", "\U000e0041"])
WHOLE = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text(WHOLE, max_size=200),
    st.lists(PIECES, max_size=30).map(" ".join),
    st.lists(PIECES, max_size=30).map("".join),
    st.tuples(st.lists(PIECES, max_size=8).map(" ".join), st.text(WHOLE, max_size=40)).map("".join),
).filter(lambda text: bool(text.translate(dict.fromkeys((*range(0x20), 0x7F), " ")).strip()))
many = settings(deadline=None, max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])


def check(parsed: ParsedQuery, text: str) -> None:
    """All that must hold of every parsed query."""
    assert parsed.original == text
    spans = [r.span for r in parsed.entity_refs] + [i.span for i in parsed.identifiers]
    spans += [t.span for t in parsed.tokens]
    window = parsed.temporal_window
    if window is not None:
        spans.append(window.span)
        assert 0 <= window.confidence <= 1
        moments = [m for m in (window.start, window.end) if m is not None]
        assert moments and all(1 <= m.year <= 9999 and m.tzinfo is not None for m in moments)
        assert sorted(moments, key=datetime.timestamp) == moments
    for start, end in spans:
        assert 0 <= start <= end <= len(text)
    for ref in parsed.entity_refs:
        assert 0 <= ref.confidence <= 1
        assert text[slice(*ref.span)] == ref.mention
    for item in parsed.identifiers:
        assert text[slice(*item.span)] == item.text
    assert all(term and term in text for term in parsed.negations)
    values = [parsed.specificity, *(getattr(parsed.features, name) for name in features.QueryFeatures.__slots__)]
    values += [t.rarity for t in parsed.tokens if t.rarity is not None]
    values += [parsed.conversational.domain_signal, parsed.conversational.stopword_ratio]
    assert all(0 <= value <= 1 for value in values)
    assert [t.span for t in parsed.tokens] == sorted(t.span for t in parsed.tokens)
    for token in parsed.tokens:
        assert [role for role in ROLES if role in token.roles] == list(token.roles)
    words = {t.word for t in tokenize(text)}
    for correction in parsed.corrections:
        assert correction.word in words
        assert correction.correction in parsed.terms
    assert (parsed.corrected_query is None) == (not parsed.corrections)
    assert len(set(parsed.terms)) == len(parsed.terms)
    assert parsed.router.mode in ("knowledge", "neural", "hybrid")


# -- the parser ----------------------------------------------------------------------------------------------------


@many
@given(text=TEXTS, zone=st.sampled_from(ZONES))
def test_any_text_is_parsed_and_planned(text: str, zone: ZoneInfo) -> None:
    text = clean(text, LIMIT)
    parsed, degraded = PARSER.parse(text, NOW.astimezone(zone), KNOWN)
    assert degraded == ()
    check(parsed, text)
    plan = make_plan(parsed, RecallConfig())
    assert plan.arms and next(c for c in plan.checks if c.fired).rule == plan.name


@many
@given(text=TEXTS)
def test_nothing_known_of_the_scope_is_no_obstacle(text: str) -> None:
    text = clean(text, LIMIT)
    parsed, degraded = PARSER.parse(text, NOW, ScopeKnowledge())
    assert degraded == ()
    check(parsed, text)
    assert parsed.entity_refs == () and parsed.corrections == ()


@settings(deadline=None, max_examples=examples(200))
@given(text=TEXTS, now=st.datetimes(timezones=st.sampled_from(ZONES)), zone=st.sampled_from(ZONES[1:]))
@example(text="two weeks ago", now=datetime.min.replace(tzinfo=timezone.utc), zone=ZoneInfo("America/Santiago"))
@example(text="next year", now=datetime.max.replace(tzinfo=timezone.utc), zone=ZoneInfo("Pacific/Kiritimati"))
def test_no_moment_is_too_early_or_too_late(text: str, now: datetime, zone: ZoneInfo) -> None:
    text = clean(text, LIMIT)
    try:
        parsed, _ = PARSER.parse(text, now, KNOWN, zone=zone)
    except RecallError:
        assert not timedelta(days=1) < now.replace(tzinfo=None) - datetime.min < timedelta(days=365 * 9998)
        return
    check(parsed, text)


@settings(deadline=None, max_examples=examples(100))
@given(text=TEXTS)
def test_the_same_text_is_read_the_same(text: str) -> None:
    text = clean(text, LIMIT)
    assert PARSER.parse(text, NOW, _knowledge())[0] == PARSER.parse(text, NOW, _knowledge())[0]


@given(st.one_of(st.text(), st.lists(st.sampled_from(["\ud800", "\udfff", "a", "\x00", " ", "\n"])).map("".join)))
def test_clean_takes_what_can_be_searched_for_and_refuses_the_rest(text: str) -> None:
    surrogate = any("\ud800" <= c <= "\udfff" for c in text)
    blank = not text.translate(dict.fromkeys((*range(0x20), 0x7F), " ")).strip()
    if surrogate or blank:
        with pytest.raises(InvalidQuery):
            clean(text, LIMIT)
        return
    cleaned = clean(text, LIMIT)
    assert len(cleaned) == len(text)
    kept = [(a, b) for a, b in zip(text, cleaned, strict=True) if a != b]
    assert all(b == " " and (a < " " or a == "\x7f") for a, b in kept)
    assert clean(cleaned, LIMIT) == cleaned


# -- what it calls -------------------------------------------------------------------------------------------------


@given(st.one_of(TEXTS, st.text()))
def test_features_take_any_text(text: str) -> None:
    strength, types, filters = type_cues(text)
    assert 0 <= strength <= 1
    assert set(filters) <= set(types) <= set(MemoryType)
    assert len(set(types)) == len(types)
    hints = relations(text)
    assert len(set(hints)) == len(hints)
    assert set(hints) <= {p for some in RELATIONS.values() for p in some}


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_rarity_is_a_share_and_falls_with_the_frequency(held: int, more: int, memories: int) -> None:
    one = features.rarity(held, memories)
    other = features.rarity(held + more, memories)
    assert 0 <= other <= one <= 1


@given(st.one_of(TEXTS, st.text()), st.booleans())
def test_routing_takes_any_text_and_any_frequencies(text: str, rare: bool) -> None:
    found = find_identifiers(text)
    for item in found:
        assert text[slice(*item.span)] == item.text != ""
    router = router_mode(text, identifiers=found)
    assert router == router_mode(text)
    assert router.mode in ("knowledge", "neural", "hybrid") and router.reason
    verdict = conversational(text, rare=lambda _: rare, identifiers=found)
    assert 0 <= verdict.domain_signal <= 1 and 0 <= verdict.stopword_ratio <= 1
    assert bool(verdict) == verdict.conversational
    assert not (verdict.conversational and (found or verdict.rare))


@given(st.one_of(TEXTS, st.text()), st.sampled_from(["deadlnie", "badge"]))
def test_who_says_a_rare_word_is_not_just_talking(text: str, word: str) -> None:
    assert not conversational(f"{text} {word}", rare=lambda _: True).conversational


# -- cost ----------------------------------------------------------------------------------------------------------

UNITS = (
    *("not ", "a_", "#1 ", "last ", "(((", "\u0301", "Priya's ", "--", "http://", "1.2.", "a ", "1 ", "May ", "Sam "),
    *("Sam and ", "pryia ", "deadlnie ", '"a" ', "'", "“x ", "@", ":", "/", "a/", "aB", "日", "田中", "سلام ", "🚀"),
    *(
        "👩\u200d👧 ",
        "except ",
        "without ",
        "other than ",
        ", ",
        "? ",
        "\n",
        "did how go ",
        "2024-05-03 ",
        "5/12 ",
        "P. ",
    ),
    *(
        "between ",
        "from May to ",
        "does like ",
        "12:30 ",
        "Q3 ",
        "two ",
        "Priya Raman ",
        "\u200d",
        "İ",
        "e\u0301",
        "no ",
    ),
)


def repeated(unit: str, chars: int) -> str:
    return clean("a " + unit * (chars // len(unit)), LIMIT)


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_the_work_grows_with_the_length_and_no_faster(unit: str, steps: Callable[..., int]) -> None:
    short, long = repeated(unit, 1_500), repeated(unit, 6_000)
    PARSER.parse(repeated(unit, 1_400), NOW, KNOWN)  # patterns are made; neither text has been read
    few, many_ = (steps(lambda text=text: PARSER.parse(text, NOW, KNOWN)) for text in (short, long))
    assert many_ < 6 * few  # four times the text; quadratic would be 16


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_hundred_kilobytes_are_parsed(unit: str, comes_back: Callable[..., Any]) -> None:
    """A regular expression that backtracks does not show in the number of steps, but here: 1,000 times over."""
    text = repeated(unit, 100_000)
    with comes_back(60.0):
        parsed = PARSER.parse(text, NOW, KNOWN)[0]
    check(parsed, text)
