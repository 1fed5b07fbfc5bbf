from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Scope
from recall_integrations.arms.graph import GraphRetriever
from recall_integrations.arms.second_hop import ABOUT, NAMED
from recall_integrations.ranking.rank import MISSING, NEAR, WEIGHTS, Bridge, bridged
from recall_integrations.text import stems

FILM, PRIYA, CREW, OTHER = range(4)
TEXTS = (
    "Amber Lantern is a film by Priya Raman.",
    "Priya Raman grew up by the sea.",
    "The crew of Priya Raman slept in tents.",
    "Harbour lights are bright.",
)
OTHERS = tuple(f"Winter market number {i} opens late." for i in range(32))
VALUE = NAMED * (1 - np.log(2) / (0.7 * np.log(len(TEXTS) + len(OTHERS))))  # two others say the name


def bridge(
    store: MemoryStore,
    scores: Sequence[float],
    query: str = "who",
    rows: Sequence[int] = (FILM, PRIYA, CREW, OTHER),
    texts: Sequence[str] = TEXTS,
    named: Sequence[float] | None = None,
) -> Bridge:
    every = [*texts, *OTHERS]
    store.remember_many([Memory(text, id=f"m{i:02}", type="chunk") for i, text in enumerate(every)])
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    view = store.view(scope_id)
    terms = stems(query)
    graph = GraphRetriever(store.engine, store.entities, hops=2)
    hop = graph.second_hop(view, lambda of: [every[row] for row in of.tolist()], terms=terms)
    assert hop is not None and view.text is not None
    own = np.asarray(rows, dtype=np.int64)
    hop.look(own)
    floats = None if named is None else np.asarray(named, dtype=np.float32)
    given = np.asarray(scores, dtype=np.float32)
    return bridged(hop, view.text, own, given, terms, lambda _term: 1, view.count, floats)


def test_documents_gain_from_the_best_candidate_that_leads_to_them(store: MemoryStore) -> None:
    found = bridge(store, [100.0, 0.0, 0.0, 99.0])
    assert found.added.tolist() == pytest.approx([0.0, VALUE + ABOUT, VALUE, 0.0], rel=1e-5)
    assert found.before.tolist() == [-1, FILM, FILM, -1]


def test_a_lower_place_leads_less_far(store: MemoryStore) -> None:
    found = bridge(store, [90.0, -9.0, -9.0, 100.0])
    assert found.added.tolist() == pytest.approx([0, WEIGHTS[1] * (VALUE + ABOUT), WEIGHTS[1] * VALUE, 0], rel=1e-5)


def test_only_the_first_candidates_lead(store: MemoryStore) -> None:
    rows = (FILM, PRIYA, CREW, OTHER, len(TEXTS), len(TEXTS) + 1)
    found = bridge(store, [1.0, 0.0, 0.0, 9.0, 8.0, 7.0], rows=rows)
    assert not found.added.any()
    assert set(found.before.tolist()) == {-1}


def test_what_the_query_asks_beyond_the_first_document_counts(store: MemoryStore) -> None:
    found = bridge(store, [100.0, 0.0, 0.0, 0.0], "the film and the tents")
    assert found.added.tolist() == pytest.approx([0, VALUE + ABOUT, VALUE * (1 + MISSING / 2), 0], rel=1e-5)


def test_no_document_comes_to_be_before_the_one_that_led_to_it(store: MemoryStore) -> None:
    scores = np.asarray([5.0, 4.9, 1.0, 0.0], dtype=np.float32)
    after = scores + bridge(store, scores.tolist()).added
    assert 5 - NEAR < after[CREW] < after[PRIYA] < 5
    assert after[FILM] == 5


def test_a_document_that_the_query_names_stays_before_the_second_hop(store: MemoryStore) -> None:
    scores = np.asarray([9.0, 0.0, -9.0, 5.0], dtype=np.float32)
    after = scores + bridge(store, scores.tolist(), named=[3.0, 0.0, 0.0, 3.0]).added
    assert after[PRIYA] < 5 == after[OTHER]


def test_only_the_first_that_the_query_names_do(store: MemoryStore) -> None:
    rows = (FILM, PRIYA, CREW, OTHER, len(TEXTS), len(TEXTS) + 1)
    scores = np.asarray([9.0, 0.0, -9.0, 5.0, 8.0, 7.0], dtype=np.float32)
    after = scores + bridge(store, scores.tolist(), rows=rows, named=[3.0, 0.0, 0.0, 3.0, 0.0, 0.0]).added
    assert 5 < after[PRIYA] < 9


def test_a_document_that_is_close_already_is_not_moved_back(store: MemoryStore) -> None:
    added = bridge(store, [5.0, 5.0, 4.999, 0.0]).added
    assert (added >= 0).all()


@pytest.mark.parametrize("second", [49.0, 50.0])  # of equals the lower id comes first
def test_the_better_of_two_ways_counts(store: MemoryStore, second: float) -> None:
    texts = ("boats bring Priya Raman", "trains bring Priya Raman", "tents for Priya Raman", "calm")
    found = bridge(store, [50.0, second, 0.0, 0.0], texts=texts)
    assert found.before[2] == 0


def test_candidates_that_links_do_not_reach_or_none_at_all(store: MemoryStore) -> None:
    assert bridge(store, [5.0, 1.0], rows=(FILM, OTHER)).before.tolist() == [-1, -1]
    empty = bridge(store, [], rows=())
    assert (empty.added.shape, empty.before.shape) == ((0,), (0,))


# -- as part of a recall ---------------------------------------------------------------------------------------------

QUESTION = "By the sea or in tents: where did the director of the film Amber Lantern grow up?"


def recall(
    config: RecallConfig | None = None,
    *,
    k: int = 3,
    type_: str = "chunk",
    texts: Sequence[str] = TEXTS,
    privacy: str = "allow",
) -> RecallResult:
    with MemoryStore.open() as store:
        store.remember_many([Memory(text, id=f"m{i}", type=type_) for i, text in enumerate([*texts, *OTHERS])])
        optimizer = QueryOptimizer(store, config=config)
        try:
            return optimizer.recall(QUESTION, k=k, privacy=privacy, time_budget_ms=60_000)
        finally:
            optimizer.close()


def graph_of(result: RecallResult, memory_id: str) -> tuple[float, str]:
    (hit,) = [hit for hit in result.hits if hit.memory.id == memory_id]
    return next(((c.added, c.note) for c in hit.contributions if c.source == "graph"), (0.0, ""))


def test_the_second_hop_says_where_it_came_from() -> None:
    result = recall()
    assert not result.degraded
    assert [hit.memory.id for hit in result.hits] == ["m0", "m1", "m2"]
    assert "leads on from “Amber Lantern is a film by …”: about Priya Raman" in result.hits[1].reason
    assert "leads on from “Amber Lantern is a film by …”: both name Priya Raman" in result.hits[2].reason
    added, note = graph_of(result, "m1")
    assert added > 0
    assert note == "leads on from “Amber Lantern is a film by …”: about Priya Raman"
    assert "Priya" not in result.hits[0].reason


def without_graph() -> RecallConfig:
    config = RecallConfig()
    arms = tuple(arm for arm in config.planner.arms if arm != "graph")
    return replace(config, planner=replace(config.planner, arms=arms))


def test_a_document_that_no_arm_found_becomes_a_candidate() -> None:
    words = "sea tents director film grow".split()
    near = [f"The {words[i % 5]} and the {words[(i + 1) % 5]}, number {i}" for i in range(40)]
    crowd = [*near, *(f"movies, actors and oceans, number {i}" for i in range(160))]
    texts = (TEXTS[FILM], "Priya Raman: 7 4 1 9.", *crowd)
    found, missed = recall(k=60, texts=texts), recall(without_graph(), k=60, texts=texts)
    assert "m1" not in {hit.memory.id for hit in missed.hits}
    assert "leads on from “Amber Lantern is a film by …”: about Priya Raman" in next(
        hit.reason for hit in found.hits if hit.memory.id == "m1"
    )


def test_without_the_graph_arm_there_is_no_second_hop() -> None:
    result = recall(without_graph(), k=36)
    assert not any(c.source == "graph" for hit in result.hits for c in hit.contributions)
    assert not any("leads on" in hit.reason for hit in result.hits)


def test_turns_of_a_chat_have_no_second_hop() -> None:
    result = recall(k=36, type_="observation")
    assert not any("leads on" in hit.reason for hit in result.hits)


def test_filters_hold_for_the_second_hop() -> None:
    with MemoryStore.open() as store:
        texts = [*TEXTS, *OTHERS]
        store.remember_many(
            [Memory(t, id=f"m{i}", type="chunk", metadata={"kept": i != PRIYA}) for i, t in enumerate(texts)]
        )
        optimizer = QueryOptimizer(store)
        result = optimizer.recall(QUESTION, k=36, filters=Filters(metadata={"kept": True}), time_budget_ms=60_000)
        optimizer.close()
    ids = {hit.memory.id for hit in result.hits}
    assert "m1" not in ids
    assert "m2" in ids


def test_reasons_keep_to_the_privacy_mode() -> None:
    texts = ("Amber Lantern is a film by Priya Raman, priya@example.com.", *TEXTS[1:])
    blocked = recall(privacy="block", texts=texts)
    assert "leads on from another document" in blocked.hits[1].reason
    shown = [hit.reason + "".join(c.note for c in hit.contributions) for hit in blocked.hits]
    assert not any("Priya" in text for text in shown)
