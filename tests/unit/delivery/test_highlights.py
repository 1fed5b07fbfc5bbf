"""What is marked in the text of a hit, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from recall_integrations import Hit, Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.delivery.highlights import Marking
from recall_integrations.types import marks_of
from tests.rows import each_row
from tests.spent import seconds_of

MARCH = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
NOW = datetime(2026, 7, 1, tzinfo=timezone.utc)
FILL = "We spoke about the garden and the coffee machine on the second floor. " * 6
LONG = f"{FILL}Then Priya said that migrating the database slipped to March 12. She wants two weeks more. {FILL}"
MEMORIES = [
    Memory("Priya said the database migration slipped to March 12, 2026", id="a", entities=["Priya"], event_at=MARCH),
    Memory(LONG, id="long", event_at=MARCH),
    Memory("PR adopted a little dog from the shelter on Saturday", id="dog", event_at=MARCH),
    Memory("Ticket ABC-123 is open, and so is ABC-1234", id="ticket"),
    Memory("Will is late. I will call him", id="will", entities=["Will"]),
    Memory("我们在周二迁移了数据库", id="zh"),
    Memory("Wir haben die Häuser verkauft", id="de"),
    Memory("Call Priya at 415-555-0132 about the database", id="phone"),
]


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many(MEMORIES)
        store.add_entity("Priya Raman", aliases=["Priya", "PR"])
        yield QueryOptimizer(store)


def found(optimizer: QueryOptimizer, query: str, id: str, privacy: str = "allow") -> Hit:
    hits = optimizer.recall(query, k=8, now=NOW, privacy=privacy).hits
    return next(hit for hit in hits if hit.memory.id == id)


def marks(hit: Hit) -> list[tuple[str, str, str]]:
    return [(hit.memory.text[h.start : h.end], h.kind, h.of) for h in hit.highlights if h.kind != "passage"]


def test_words_in_any_inflection_names_and_dates(optimizer: QueryOptimizer) -> None:
    hit = found(optimizer, "what did Priya say about migrating databases in March?", "a")
    assert marks(hit) == [
        ("Priya", "name", "Priya Raman"),
        ("said", "word", "say"),
        ("database", "word", "databases"),
        ("migration", "word", "migrating"),
        ("March 12, 2026", "time", "march"),
    ]
    assert all(0 < h.weight <= 1 for h in hit.highlights)


def test_an_alias_is_the_name_and_a_near_word_stands_for_one_that_is_not_said(optimizer: QueryOptimizer) -> None:
    assert marks(found(optimizer, "when was Priya's puppy adopted?", "dog")) == [
        ("PR", "name", "Priya Raman"),
        ("adopted", "word", "adopted"),
        ("dog", "near", "puppy"),
        ("Saturday", "time", "when"),
    ]


def test_a_near_word_is_not_marked_where_the_word_is_said(optimizer: QueryOptimizer) -> None:
    assert ("shelter", "word", "shelter") in marks(found(optimizer, "which shelter has dogs", "dog"))
    assert not [m for m in marks(found(optimizer, "which shelter has dogs", "dog")) if m[1] == "near"]


def test_a_date_outside_of_the_time_asked_for_is_not_marked(optimizer: QueryOptimizer) -> None:
    assert "time" not in {kind for _, kind, _ in marks(found(optimizer, "what did Priya say in May 2026?", "a"))}


@each_row(
    ("text", "marked"),
    [
        ("It slips to March 12", ["March 12"]),  # ten days later
        ("It was on March 1", ["March 1"]),
        ("It slips to March 12, 2027", []),
        ("It was in April", []),
        ("Yesterday it rained", ["Yesterday"]),
    ],
)
def test_a_date_is_read_against_the_day_of_the_memory(optimizer: QueryOptimizer, text: str, marked: list[str]) -> None:
    marking = Marking(optimizer.parse("what happened in March 2026?", now=NOW))
    places = marking(Memory(text, event_at=MARCH))
    assert [text[h.start : h.end] for h in places if h.kind == "time"] == marked


def test_an_identifier_is_marked_whole_and_only_where_it_stands(optimizer: QueryOptimizer) -> None:
    assert marks(found(optimizer, "what about ABC-123", "ticket")) == [("ABC-123", "word", "abc-123")]


def test_an_ordinary_word_is_no_name(optimizer: QueryOptimizer) -> None:
    assert marks(found(optimizer, "is Will late?", "will")) == [("Will", "name", "Will"), ("late", "word", "late")]


def test_pairs_of_signs_are_marked_as_one(optimizer: QueryOptimizer) -> None:
    assert marks(found(optimizer, "数据库迁移", "zh")) == [("迁移", "word", "迁移"), ("数据库", "word", "数据库")]


def test_a_text_is_read_in_its_own_language(optimizer: QueryOptimizer) -> None:
    hit = found(optimizer, "wann haben wir das Haus verkauft?", "de")
    assert marks(hit) == [("Häuser", "word", "haus"), ("verkauft", "word", "verkauft")]


@each_row(
    ("query", "text", "date"),
    [
        ("Wann zog Frau Müller um?", "Frau Müller zog im März 2020 nach Zürich", "März 2020"),
        ("¿Cuándo compramos la casa?", "Compramos la casa en marzo de 2020 con Ana", "marzo de 2020"),
        ("王小明什么时候搬到北京?", "王小明在2021年3月搬到了北京市", "2021年3月"),
    ],
)
def test_who_asks_when_in_another_language_is_shown_dates(query: str, text: str, date: str) -> None:
    with MemoryStore.open() as store:
        store.remember(text)
        (hit,) = QueryOptimizer(store).recall(query, now=NOW, time_budget_ms=60_000).hits
        assert (date, "time", "when") in marks(hit)


def test_of_a_long_text_the_passage_is_marked(optimizer: QueryOptimizer) -> None:
    hit = found(optimizer, "what did Priya say about migrating databases?", "long")
    assert hit.passage.startswith("Then Priya said that migrating the database slipped")
    assert len(hit.passage) < 330
    assert hit.snippet(120).startswith("…Then Priya said")
    assert found(optimizer, "what did Priya say about migrating databases?", "a").passage == MEMORIES[0].text


def test_nothing_is_marked_in_what_was_found_by_nothing_in_its_text(optimizer: QueryOptimizer) -> None:
    assert found(optimizer, "数据库迁移", "dog").highlights == ()


def test_placeholders_are_never_marked(optimizer: QueryOptimizer) -> None:
    hit = found(optimizer, "call Priya 415-555-0132 database", "phone", "redact")
    assert "[phone-1]" in hit.memory.text
    assert ("Priya", "name", "Priya Raman") in marks(hit)
    inside = hit.memory.text.index("[phone-1]")
    assert not [h for h in hit.highlights if h.start < inside + 9 and h.end > inside]
    assert not any("0132" in h.of or "415" in h.of for h in hit.highlights)


def test_under_block_there_are_none(optimizer: QueryOptimizer) -> None:
    assert all(hit.highlights == () for hit in optimizer.recall("database", privacy="block").hits)


def test_of_a_text_that_was_cut_they_are_places_of_what_is_left(optimizer: QueryOptimizer) -> None:
    hit = optimizer.recall("garden coffee migrating database", k=1, tokens_max=40, now=NOW).hits[0]
    assert all(h.end <= len(hit.memory.text) for h in hit.highlights)
    assert hit.highlights


def test_there_are_at_most_so_many_and_rare_words_are_not_lost() -> None:
    with MemoryStore.open() as store:
        store.remember(Memory("coffee " * 200 + "and one zebra", id="m"))
        hit = QueryOptimizer(store).recall("coffee for a zebra", k=1).hits[0]
    assert len(hit.highlights) == 32
    assert "zebra" in {h.of for h in hit.highlights}


def test_an_answer_that_is_kept_has_them_too() -> None:
    with MemoryStore.open() as store:
        store.remember_many(MEMORIES)
        optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached"))
        first, second = (optimizer.recall("database migration", k=2, now=NOW) for _ in range(2))
    assert second.cache.hit
    assert [h.highlights for h in second.hits] == [h.highlights for h in first.hits] != [(), ()]


def test_they_are_made_when_read(optimizer: QueryOptimizer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    make = Marking.__call__
    monkeypatch.setattr(Marking, "__call__", lambda self, memory: asked.append(memory.id) or make(self, memory))
    for privacy in ("allow", "redact", "block"):
        hits = optimizer.recall("database migration", k=3, privacy=privacy).hits
        assert [hit.reason for hit in hits] and asked == []
    assert optimizer.recall("database migration", k=3).hits[0].highlights
    assert len(asked) == 1


def test_their_cost_grows_with_the_text_alone(optimizer: QueryOptimizer) -> None:
    def took(text: str) -> float:
        hit = found(optimizer, "migrating databases in March 2026 with Priya", "a")
        marking = marks_of(hit)
        assert marking is not None
        return min(seconds_of(lambda: marking(Memory(text, event_at=MARCH))) for _ in range(2))

    for piece in ("....", "Priya ", "a. ", "March 2026 ", "x" * 40, "数据库", "database migration slipped. ", "\n"):
        short, long = (took(f"start {piece * (n // len(piece))} end") for n in (4_000, 32_000))
        assert long < 24 * short + 0.05, piece
