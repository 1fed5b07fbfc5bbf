"""The readers by tables take any text: no exception, spans that point at what they say, only its beginning read."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.config import RecallConfig
from recall_integrations.languages import READ, SECTIONS, tables, unread
from recall_integrations.languages.phrases import CHARS_MAX, said
from recall_integrations.query.by_table.cues import courtesies, no_keywords, type_cues
from recall_integrations.query.by_table.negation import find_negations
from recall_integrations.query.by_table.person import asked_role, first_person
from recall_integrations.query.by_table.sessions import read_session
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
PIECES = (
    "außer ohne nicht sondern kein Anna und , . ? „ “ « » excepto sin no sino "
    "sauf sans pas mais кроме без не а 除了 以外 不是 而是 不要 を除く ではなく 以外 빼고 말고 없이 को "
    "छोड़कर के अलावा ich habe gesagt hast du empfohlen unserer dritten "
    "Sitzung nuestra tercera conversación 我们 第三 次谈话 12 前回 Python node.js C++ "
    "\u200d \u202e \x00 é e\u0301 ﷽ 𠀀 　 ２"
).split(" ")
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
)
CODES = st.sampled_from((*READ, "tlh", None))


@settings(deadline=None)  # the first text in a language reads its tables
@given(TEXTS, CODES)
def test_any_text_is_read(text: str, code: str | None) -> None:
    for negation in find_negations(text, code):
        start, end = negation.term_span
        assert text[start:end] == negation.term != ""
        assert 0 <= negation.span[0] <= start < end <= negation.span[1] <= len(text)
    session = read_session(text, language=code)
    assert session is None or 0 <= session.span[0] < session.span[1] <= len(text)
    spoken = first_person(text, code)
    assert spoken is None or 0 <= spoken[0] < spoken[1] <= len(text)
    assert 0 <= asked_role(text, code).strength <= 1
    assert 0 <= type_cues(text, code)[0] <= 1
    for start, end in (*courtesies(text, code), *no_keywords(text, code)):
        assert 0 <= start <= end <= len(text)


@settings(deadline=None)  # the first text in a language reads its tables
@given(TEXTS, CODES)
def test_a_query_is_parsed_in_any_language(text: str, code: str | None) -> None:
    if not text.strip() or not any(map(str.isprintable, text.strip())):
        return
    parser = QueryParser(RecallConfig())
    parsed, failed = parser.parse(text, NOW, ScopeKnowledge(), language=code)
    assert not failed
    assert parsed.language == (code or "en")
    assert parsed.unread == unread(code or "en")


@settings(deadline=None)  # the first text in a language reads its tables
@given(TEXTS)
def test_what_has_no_tables_is_not_guessed(text: str) -> None:
    for code in ("tlh", None):
        assert find_negations(text, code) == ()
        assert read_session(text, language=code) is None
        assert first_person(text, code) is None
        assert asked_role(text, code).role is None
        assert type_cues(text, code) == (0.0, (), ())
    assert unread("tlh") == unread(None) == SECTIONS
    assert unread("en") == ()


@given(st.text(alphabet=st.sampled_from("aé\u0301e ü\u0308漢ｆ２　\u200dक़\u093c"), max_size=40))
def test_places_of_a_text_are_those_of_the_original(text: str) -> None:
    read = said(text)
    assert len(read.text) == len(read.starts) == len(read.ends)
    assert list(read.starts) == sorted(read.starts)
    assert all(start < end for start, end in zip(read.starts, read.ends, strict=True))


HOSTILE = "außer |nicht |habe ich |不是|除了|以外|漢|(|„|가 빼고 |के अलावा |a| ".split("|")


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("code", READ)
def test_a_long_text_is_read_from_its_beginning_only(code: str) -> None:
    """Of a megabyte nothing is read beyond `CHARS_MAX`, so what is behind it costs nothing and changes nothing."""
    assert any(tables(code).sections[section] for section in SECTIONS)
    for piece in HOSTILE:
        text = piece * (1_000_000 // len(piece))
        beginning = text[:CHARS_MAX]
        assert len(said(text).text) <= CHARS_MAX
        assert find_negations(text, code) == find_negations(beginning, code)
        assert read_session(text, language=code) == read_session(beginning, language=code)
        assert first_person(text, code) == first_person(beginning, code)
        assert asked_role(text, code) == asked_role(beginning, code)
