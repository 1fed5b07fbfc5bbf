"""Words that only put a question neither count as missing, nor are embedded, nor say a time or who speaks."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.config import RecallConfig
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from tests.rows import each_row

NOW = datetime(2026, 11, 12, 9, tzinfo=timezone.utc)


def point(query: str) -> str:
    """What is left of a query without what is beside the point."""
    return " ".join(QueryParser(RecallConfig()).parse(query, NOW, ScopeKnowledge())[0].point.split())


@each_row(
    ("query", "asked"),
    [
        ("hi, can you tell me when the library closes", "when the library closes"),
        ("I was wondering when the library closes", "when the library closes"),
        ("Answer this from memory: when does the library close?", "when does the library close?"),
        ("<query>When does the library close?</query>", "When does the library close?"),
        ("search my notes for the opening hours of the library", "the opening hours of the library"),
        ("You are a helpful assistant. Use the notes. When does the library close?", "When does the library close?"),
        ("When does the library close? Please answer in one short sentence.", "When does the library close?"),
        ("When does the library close, do you know?", "When does the library close"),
        ("When does the library close? Thanks!", "When does the library close?"),
        ("do you know if Sam likes it", "Sam likes it"),
        # What says what is asked about stays.
        ("remind me about the dentist: what is the code?", "the dentist: what is the code?"),
        ("I forgot my piano teacher's number, what is it?", "my piano teacher's number, what is it?"),
        ("tell me about Kestrel", "Kestrel"),
        ("garage: what is the code?", "garage: what is the code?"),
        ("so, the landlord?", "so, the landlord?"),
        ("what did I say about the library", "what did I say about the library"),
        ("well water quality", "well water quality"),
        ("hi-fi brand", "hi-fi brand"),
        ("Thanks to whom do we have the budget?", "Thanks to whom do we have the budget?"),
        ("thanks!", "thanks!"),
        ("I was wondering, thanks!", "I was wondering, thanks!"),
        ("Kannst du mir sagen, wann die Bibliothek schließt?", ", wann die Bibliothek schließt?"),
    ],
)
def test_what_is_asked(query: str, asked: str) -> None:
    assert point(query) == asked


@given(
    st.one_of(
        st.text(min_size=1),
        st.lists(st.sampled_from("please hey can you tell me , thanks so : what 'lib \u00a0".split(" "))).map(" ".join),
    )
)
@example("please, can you tell me so, thanks")
def test_it_lies_inside_any_text(text: str) -> None:
    if not any(map(str.isalnum, text)) or not text.isprintable():
        return
    parsed = QueryParser(RecallConfig()).parse(text, NOW, ScopeKnowledge())[0]
    assert all(0 <= start < end <= len(text) for start, end in parsed.asides)
    assert list(parsed.asides) == sorted(parsed.asides) and len(parsed.point) == len(text)
    assert any(map(str.isalnum, parsed.point))


def test_a_framed_question_scores_as_a_plain_one() -> None:
    with MemoryStore.open() as store:
        store.remember_many(["The library closes at nine.", "The pool opens at six."])
        optimizer = QueryOptimizer(store)
        plain, polite = (optimizer.recall(q) for q in ("library hours", "hi, can you tell me library hours? thanks!"))
        assert polite.query.terms == plain.query.terms
        assert polite.hits[0].score == pytest.approx(plain.hits[0].score, abs=0.05)
        store.remember("Hi, said the parrot")
        assert "hi" in optimizer.parse("hi, can you tell me library hours?").terms  # a memory says it


def test_neither_time_nor_speaker_is_read_from_a_framing() -> None:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory("The code of the gate is 1111", event_at=datetime(2026, 1, 5, tzinfo=timezone.utc), id="old"),
                Memory("The code of the gate is 2222", event_at=datetime(2026, 6, 5, tzinfo=timezone.utc), id="new"),
            ]
        )
        optimizer = QueryOptimizer(store)
        for query in ("what is the code of the gate?", "I was wondering what is the code of the gate?"):
            assert optimizer.recall(query, now=NOW).hits[0].memory.id == "new"
        framed = optimizer.parse("I need to know what the code of the gate is")
        assert all(ref.span == (0, 0) for ref in framed.entity_refs)  # "I" names nobody


def test_what_is_hidden_does_not_decide() -> None:
    """A framing is told by its words alone: it is one under `redact`, too, and no memory changes that."""
    with MemoryStore.open() as store:
        store.remember("I was wondering about the library")
        optimizer = QueryOptimizer(store)
        query = "I was wondering when the library closes"
        asides = {optimizer.recall(query, privacy=mode).query.asides for mode in ("allow", "redact")}
        assert asides == {((0, 16),)}
