"""Highlights of any text for any query: places in it, in order, apart from each other, and never an error."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.delivery.highlights import Marking
from recall_integrations.delivery.packing import sentence_ends
from recall_integrations.errors import InvalidMemory, InvalidQuery
from recall_integrations.text import content, placed, stems
from recall_integrations.text.by_language import LANGUAGES
from recall_integrations.types import Highlight
from recall_integrations.types.result import KINDS
from tests.quick import examples

PIECES = st.sampled_from(
    [
        "Priya", "priya's", "Priya’s", "will", "Will", "database", "migrating", "puppy", "dog", "March 12, 2026",
        "last week", "2026-03-12", "yesterday", "数据库迁移", "据", "Häuser", "Straße", "STRASSE", "İI", "ß", "ﬁn",
        "\u0301" * 3, "\u200d", "ไทย", "한국어를", "[phone-1]", "[withheld]", "ABC-123", '"exact words"', "....", ".",
        "\n\n", " ", "x" * 300, "מ", "🎉", "\x1f", "when was", "not frontend", "In 9999-12-31", "0001-01-01",
        "e.g. Dr. Who", "a" * 70,
    ]
)  # fmt: skip
TEXTS = st.one_of(st.text(min_size=1), st.lists(PIECES, min_size=1, max_size=60).map(" ".join))
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda moment: moment.replace(tzinfo=timezone.utc)
)


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember(Memory("Priya said the database migration slipped", entities=["Priya", "Will"]))
        store.add_entity("Priya Raman", aliases=["Priya", "数据", "Straße"])
        yield QueryOptimizer(store)


def sound(highlights: tuple[Highlight, ...], length: int) -> bool:
    marks = [h for h in highlights if h.kind != "passage"]
    passages = [h for h in highlights if h.kind == "passage"]
    return (
        len(highlights) <= 32
        and all(0 <= h.start < h.end <= length and h.kind in KINDS and 0 <= h.weight <= 1 for h in highlights)
        and all(a.end <= b.start for a, b in pairwise(marks))
        and len(passages) <= 1
        and all(
            h.end <= p.start or h.start >= p.end or p.start <= h.start <= h.end <= p.end
            for p in passages
            for h in marks
        )
        and [h.start for h in highlights] == sorted(h.start for h in highlights)
    )


@settings(deadline=None, max_examples=examples(150))
@given(query=TEXTS, text=TEXTS, moment=MOMENTS, redacted=st.booleans(), times=st.sampled_from([1, 1, 20]))
def test_they_are_places_of_the_text(
    optimizer: QueryOptimizer, query: str, text: str, moment: datetime, redacted: bool, times: int
) -> None:
    try:
        parsed = optimizer.parse(query)
        memory = Memory(text * times, event_at=moment)
    except (InvalidQuery, InvalidMemory):
        return
    marking = Marking(parsed, {"Priya Raman": ["PR", "Priya", "+"]}, redacted=redacted)
    found = marking(memory)
    assert sound(found, len(memory.text))
    assert marking(memory) == found
    if redacted:
        assert not any("[phone-1]" in memory.text[h.start : h.end] for h in found if h.kind != "passage")


@settings(deadline=None, max_examples=examples(150))
@given(text=TEXTS, language=st.sampled_from([None, *LANGUAGES]))
def test_placed_words_are_those_that_are_kept(text: str, language: str | None) -> None:
    found = placed(text, language)
    assert [word.key for word in found] == content(text, language)
    assert [word.stem for word in found] == stems(text, language)
    assert all(0 <= word.token.start < word.token.end <= len(text) for word in found)


@settings(deadline=None)
@given(TEXTS)
def test_sentences_end_inside_of_the_text(text: str) -> None:
    ends = sentence_ends(text)
    assert ends == sorted(set(ends))
    assert all(text[:end].strip() and text[end:].strip() for end in ends)
