"""Multi-hop evidence over documents, seen from a recall: found over the names that the first document says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import ARMS, PlannerConfig
from recall_integrations.indexes.lexicon import Lexicon

FILM = "Amber Lantern is a film about a lighthouse. It was directed by Henrietta Vale."
DIRECTOR = "Henrietta Vale grew up in Norvik, where she kept bees."
QUERY = "Where did the director of the film Amber Lantern grow up?"
FILLER = [f"Town number {i} has a market, a mill and {i} wells." for i in range(60)]


def documents(kind: str) -> list[Memory]:
    texts = [FILM, DIRECTOR, *FILLER]
    return [Memory(text=text, id=f"d{i}", type=kind) for i, text in enumerate(texts)]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many(documents("chunk"))
        yield opened


def graph_part(result, memory_id: str):
    hit = next(h for h in result.hits if h.memory.id == memory_id)
    return hit, next((part for part in hit.contributions if part.source == "graph"), None)


def test_the_second_document_is_found_and_its_reason_names_the_bridge(store: MemoryStore) -> None:
    result = QueryOptimizer(store).recall(QUERY, k=2)
    assert {hit.memory.id for hit in result.hits} == {"d0", "d1"}
    hit, part = graph_part(result, "d1")
    assert part is not None and part.added > 0
    assert part.note == "leads on from “Amber Lantern is a film about …”: about Henrietta Vale"
    assert part.note in hit.reason
    assert not result.degraded


def test_others_may_add_words_meanwhile(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Lexicon.stem_of

    def brought(self: Lexicon, term: str) -> int:
        """Find a word that no memory holds in what another scope wrote a moment ago."""
        ids = self.ids_of([f"fresh{len(self)}"]) if known(self, term) < 0 else []
        return int(self.stems[ids[0]]) if len(ids) else known(self, term)

    optimizer = QueryOptimizer(store)
    monkeypatch.setattr(Lexicon, "stem_of", brought)
    result = optimizer.recall("Where did the director of Amber Lantern frobnicate his quuxly childhood?", k=2)
    assert not result.degraded


def test_without_the_graph_arm_there_is_no_bridge(store: MemoryStore) -> None:
    arms = tuple(arm for arm in ARMS if arm != "graph")
    config = replace(RecallConfig(), planner=PlannerConfig(arms=arms))
    result = QueryOptimizer(store, config=config).recall(QUERY, k=62)
    _, part = graph_part(result, "d1")
    assert part is None


def test_turns_of_a_chat_lead_nowhere() -> None:
    with MemoryStore.open() as store:
        store.remember_many(documents("observation"))
        result = QueryOptimizer(store).recall(QUERY, k=62)
        assert not any(part.note for hit in result.hits for part in hit.contributions if part.source == "graph")


def test_a_filter_holds_for_what_is_reached(store: MemoryStore) -> None:
    store.remember(Memory(text="Henrietta Vale won a prize.", id="other", type="fact"))
    result = QueryOptimizer(store).recall(QUERY, k=5, filters=Filters(types=["fact"]))
    assert [hit.memory.id for hit in result.hits] == ["other"]


def test_a_forgotten_document_is_not_reached_and_a_new_one_is(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    assert optimizer.recall(QUERY, k=2).hits
    store.forget("d1")
    assert "d1" not in {hit.memory.id for hit in optimizer.recall(QUERY, k=62).hits}
    store.remember(Memory(text=DIRECTOR, id="again", type="chunk"))
    assert "again" in {hit.memory.id for hit in optimizer.recall(QUERY, k=2).hits}


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_the_name_is_withheld_where_texts_are(store: MemoryStore, mode: str) -> None:
    store.remember(Memory(text="Amber Lantern premiered at ada@example.org in Norvik.", id="d70", type="chunk"))
    result = QueryOptimizer(store).recall(QUERY, k=3, privacy=mode)
    assert len(result.hits) == 3
    for hit in result.hits:
        assert "ada@example.org" not in hit.reason
        if mode == "block":
            assert "Henrietta" not in hit.reason
            assert not any("Henrietta" in part.note for part in hit.contributions)


GUIDE = "Switching to the harbour office takes a week. Ask at the desk."
MANUAL = "Switching is hard at night. Nobody minds."


def test_a_word_that_begins_a_sentence_leads_nowhere() -> None:
    with MemoryStore.open() as store:
        texts = [GUIDE, MANUAL, *FILLER]
        store.remember_many([Memory(text=text, id=f"d{i}", type="chunk") for i, text in enumerate(texts)])
        result = QueryOptimizer(store).recall("how long does the harbour office take?", k=62)
        notes = [part.note for hit in result.hits for part in hit.contributions if part.source == "graph"]
        assert not any("Switching" in note for note in notes)


def test_an_undated_document_is_not_recent_and_not_of_today() -> None:
    with MemoryStore.open() as store:
        store.remember_many([Memory(text=text, id=f"d{i}", type="chunk") for i, text in enumerate([FILM, *FILLER])])
        store.remember(Memory(text="We watched the film Amber Lantern.", id="said"))
        result = QueryOptimizer(store).recall("what happened today with the film Amber Lantern?", k=62)
    by_id = {hit.memory.id: hit for hit in result.hits}
    assert "in the time asked for" in by_id["said"].reason and "recent" in by_id["said"].reason
    assert result.hits[0].memory.id == "said"
    others = [hit for memory_id, hit in by_id.items() if memory_id != "said"]
    assert len(others) == 1 + len(FILLER)
    for hit in others:
        assert "time asked for" not in hit.reason and "recent" not in hit.reason
        assert not any(part.source in ("recency", "date", "temporal") for part in hit.contributions)
