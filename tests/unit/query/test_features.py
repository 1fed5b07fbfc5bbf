"""Features by hand, and the specificity formula on the worked vectors of the sources."""

from __future__ import annotations

import math

import pytest

from recall_integrations.query.by_table.cues import relations, type_cues
from recall_integrations.query.features import (
    entity_density,
    lexical_rarity,
    rarity,
    specificity,
)
from recall_integrations.text import tokenize
from recall_integrations.types import EntityRef, MemoryType, QueryFeatures
from tests.rows import each_row


@each_row(
    ("vector", "expected"),
    [
        ((0.9, 0.0, 0.35, 0.6), 0.4925),  # Who is Sarah's manager?
        ((0.0, 0.0, 0.15, 0.2), 0.0675),  # Something about our API
        ((0.0, 0.0, 0.92, 0.4), 0.29),  # What's my badge number
        ((0.95, 0.95, 0.45, 0.3), 0.7275),  # What was happening with Inbox3 in March?
    ],
)
def test_specificity(vector, expected):
    density, temporal, rarity, cues = vector
    features = QueryFeatures(entity_density=density, temporal=temporal, lexical_rarity=rarity, type_cues=cues)
    assert specificity(features) == pytest.approx(expected)


def ref(text: str, mention: str, confidence: float = 1.0, stage: str = "exact") -> EntityRef:
    start = text.index(mention)
    return EntityRef(
        entity_id="e",
        name=mention,
        mention=mention,
        span=(start, start + len(mention)),
        confidence=confidence,
        stage=stage,
    )


def test_entity_density_is_the_share_of_content_words():
    text = "Who is Sarah's manager?"  # content: sarah, manager
    assert entity_density(tokenize(text), [ref(text, "Sarah", 0.93)], None) == pytest.approx(0.93)
    text = "When did Sarah visit the big red museum?"  # sarah, visit, big, red, museum
    assert entity_density(tokenize(text), [ref(text, "Sarah")], None) == pytest.approx(1 / 5 / 0.5)
    assert entity_density(tokenize(text), [], None) == 0.0


def test_entity_density_counts_the_content_words_that_are_given():
    text = "Wer ist Sarah?"
    sarah, tokens = ref(text, "Sarah"), tokenize(text)
    assert entity_density(tokens, [sarah], None) == pytest.approx(1 / 3 / 0.5)  # as if it were English
    assert entity_density(tokens, [sarah], None, [tokens[-1]]) == 1.0
    assert entity_density(tokens, [sarah], None, []) == 1.0  # a name counts, whatever else it is


def test_a_chinese_word_is_about_two_characters():
    text = "Sarah 的上司"  # three characters and the two pairs of them are two words
    tokens = tokenize(text)
    assert len(tokens) == 6
    assert entity_density(tokens, [ref(text, "Sarah")], None, tokens) == pytest.approx(1 / 3 / 0.5)


def test_the_implicit_user_says_nothing_about_the_query():
    text = "what did I do"
    user = EntityRef(entity_id="u", name="user", mention="I", span=(9, 10), confidence=1.0, stage="implicit")
    assert entity_density(tokenize(text), [user], None) == 0.0


def test_lexical_rarity():
    highest = math.log1p((100 - 0.5) / 1.5)
    assert rarity(1, 100) == pytest.approx(1.0)
    assert rarity(100, 100) == pytest.approx(math.log1p(0.5 / 100.5) / highest)
    assert lexical_rarity([1.0, 0.2]) == pytest.approx(0.6)
    assert lexical_rarity([]) == 0.0


def test_a_tiny_scope_has_a_prior():
    assert 0.0 <= rarity(1, 1) <= 1.0
    assert rarity(2, 2) > 0.5


@each_row(
    ("text", "types"),
    [
        ("what are my general preferences?", (MemoryType.PREFERENCE,)),
        ("when did I visit Lisbon?", (MemoryType.EVENT,)),
        ("what should I configure for the editor?", (MemoryType.PREFERENCE,)),
        ("how do I rotate the keys?", (MemoryType.SKILL,)),
        ("give me a summary of the launch", (MemoryType.SUMMARY,)),
        ("who is Sarah's manager?", ()),
        ("kestrel database", ()),
    ],
)
def test_type_cues(text, types):
    strength, cued, _ = type_cues(text)
    assert cued == types
    assert 0 <= strength <= 1


def test_only_a_named_type_may_filter():
    assert type_cues("what are my preferences")[2] == (MemoryType.PREFERENCE,)
    assert type_cues("which editor do I prefer")[2] == ()


@each_row(
    "text",
    [
        "what are my general preferences?",
        "List my preferences.",
        "Priya's editor preferences",
        "which preferences do I have",
        "what are the preferences of Sam",
    ],
)
def test_preferences_that_are_asked_for_filter(text):
    assert type_cues(text)[2] == (MemoryType.PREFERENCE,)


@each_row(
    "text",
    [
        "why did preferences.yaml break",
        "what broke the preferences page in release 5",
        "where is the user preferences table",
        "what's broken in preferences",
        "who wrote our preferences/index.ts",
    ],
)
def test_the_mere_word_preferences_is_a_cue_and_no_filter(text):
    assert type_cues(text)[1:] == ((MemoryType.PREFERENCE,), ())


def test_predicate_hints():
    assert relations("Who is Sarah's manager?") == ("manager_of", "reports_to", "manages")
    assert relations("nothing here") == ()
