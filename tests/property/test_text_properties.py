"""Texts of any kind: no exception, words where they stand, and a cost that grows with the length alone."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import units
from recall_integrations.query.findings import QueryWords, ScopeKnowledge
from recall_integrations.text import analyser, by_language, content, fold, stem, stems, tokenize
from recall_integrations.text.by_language import LANGUAGES, SEP
from recall_integrations.text.detection import detect_language
from tests.quick import examples, only

PIECES = st.sampled_from(
    [
        "Anna", "Приянки", "Häuser", "l'été", "日本語", "ｶﾞｷﾞ", "ไทย", "ខ្មែរ", "한국어", "مُحَمَّد", "شָׁל", "नमस्ते", "İI", "ß",
        "\u202e", "\u202d", "\u200d", "\u200c", "\u0301" * 5,
        "🎉👩‍👩‍👧", "x = {'a': [1]}", "don’t", "Anna日本Приянки", "12:30", "\ufdfa",
        "\x1f", "~de", "~", "ＡＢＣ－１２", "is the", "und nicht", "que no", "۱۲", "ﬁn", "\ud7a3", " ", "\n",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES).map("".join), st.lists(PIECES).map(" ".join))
LANGUAGE = st.sampled_from([None, *LANGUAGES])


@settings(deadline=None, max_examples=examples(300))
@given(TEXTS, LANGUAGE)
def test_any_text_is_read(text: str, language: str | None) -> None:
    for token in tokenize(text):
        assert token.word
        assert 0 <= token.start < token.end <= len(text)
    starts = [t.start for t in tokenize(text)]
    assert starts == sorted(starts)
    for read in (stems(text, language), stems(text)):
        assert all(read)
        assert not any(SEP in root or root.startswith("~") for root in read)
    assert len(content(text, language)) == len(stems(text, language))
    found = detect_language(text)
    assert (found.code is None) == (found.confidence == 0) and 0 <= found.confidence <= 1
    QueryWords(text, ScopeKnowledge())


@settings(deadline=None, max_examples=examples(300))
@given(st.text(st.characters(max_codepoint=0x7F)))
def test_ascii_words_are_what_they_always_were(text: str) -> None:
    """Letter by letter the rule of the first analyser, for texts of ASCII."""
    import re

    expected = [fold(m)[:64] for m in re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text)]
    assert [t.word for t in tokenize(text)] == expected
    assert stems(text, None) == analyser.stemmed(content(text, None))


@settings(deadline=None, max_examples=examples(200))
@given(st.one_of(TEXTS, st.tuples(TEXTS, st.sampled_from(["Anna", "日本", "Lucía"]), TEXTS).map(" ".join)))
@example("where is Anna")
def test_names_are_looked_for_in_any_text(text: str) -> None:
    index = EntityIndex()
    for name in ("Приянка", "Anna", "Lucía", "日本", "Ahmet"):
        index.add(name, name)
    refs, mentions = index.resolve(text), index.mentions(text)
    event(f"names: {bool(refs)}, mentions: {bool(mentions)}")
    for ref in refs:
        assert text[slice(*ref.span)] == ref.mention
    for mention in mentions:
        assert 0 <= mention.start < mention.end <= len(text)


LONG = {
    "one character": "部" * 1_000_000,
    "chinese": "".join(
        random.Random(7).choices("我们今天去公园散步讨论明年的计划天气很好朋友工作项目，。", k=1_000_000)
    ),
    "thai": "กำ" * 500_000,
    "khmer joined": "ក្" * 500_000,
    "burmese stacked": "က္" * 500_000,
    "half-width marks": "ｶﾞ" * 500_000,
    "marks": "a" + "\u0301" * 1_000_000,
    "joiners": "a\u200d" * 500_000,
    "base64": base64.b64encode(b"recall" * 125_000).decode(),
    "apostrophes": "d'" * 500_000,
    "right to left": "\u202eشלום " * 160_000,
    "mixed": "Anna日本Приянки" * 80_000,
    "emoji": "👩‍👩‍👧" * 200_000,
}


@pytest.mark.parametrize("kind", only(LONG, "marks", "apostrophes"))
def test_a_million_characters_cost_in_proportion_to_their_number(
    kind: str, steps: Callable[..., int], comes_back: Callable[..., Any]
) -> None:
    def read(text: str) -> None:
        stems(text)
        content(text)

    text = LONG[kind]
    read(text[:10_000])  # what is loaded once is not counted
    few, many = (steps(lambda part=part: read(part)) for part in (text[:5_000], text[:20_000]))
    assert few > 0 and many < 6 * few  # four times the text; quadratic would be 16
    with comes_back():
        read(text)


SHORTENED = st.text(alphabet="aS’'1 .", max_size=12).map(lambda text: f"{'long' * 16}{text}")
SIGNS = st.text(alphabet="国学日本カナがｶﾞ韓국어กิ的\u0301ab1’s ，\u200d\uf900", max_size=40)


@settings(deadline=None, max_examples=examples(300))
@given(st.one_of(TEXTS, SIGNS, SHORTENED))
def test_words_are_those_of_the_tokens(text: str) -> None:
    tokens = tokenize(text)
    assert analyser.words(text) == [token.word for token in tokens]
    assert [(text[u.start : u.end] != "", u.start < u.end) for u in units(text)] == [(True, True)] * len(units(text))


@settings(deadline=None)
@given(SIGNS)
def test_what_is_kept_of_a_text_is_told_word_by_word(text: str) -> None:
    for language in ("zh", "ja", "ko", "th", "pl", "fa"):
        found = [stem(word, language) for word in analyser.words(text) if by_language._kept(word, language)]
        assert stems(text, language) == found
        assert [word.partition(SEP)[2] or analyser.stem(word) for word in content(text, language)] == found


def test_a_word_that_is_said_often_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    kept = by_language._kept
    monkeypatch.setattr(by_language, "_kept", lambda word, code: asked.append(word) or kept(word, code))
    text = "国" * 20_000
    assert len(stems(text, "zh")) == len(content(text, "zh")) == 2 * len(text) - 1
    assert sorted(asked) == ["国", "国", "国国", "国国"]
