"""Feedback: what it counts, what is refused, and that no text is kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config.recall_config import ScopeSettings
from recall_integrations.errors import InvalidArgument, NotFound, StoreClosed
from recall_integrations.judging.feedback import AGAIN, CITED, OPTIMIZERS_KEPT, RATED, SAID
from recall_integrations.learning.versions import Shelf, Version
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.recall import looking
from recall_integrations.types.judged import GAINS_MAX
from tests.rows import each_row

NOW = datetime(2026, 6, 17, tzinfo=timezone.utc)
ANN, BOB = Scope(user_id="ann"), Scope(user_id="bob")
TEXTS = ("The kestrel deploy failed", "The kestrel budget was cut", "Tea is at four", "Sam likes the garden", "Kestrel")


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(clock=lambda: NOW) as opened:
        for scope in (ANN, BOB):
            opened.remember_many([Memory(text, id=f"m{i}") for i, text in enumerate(TEXTS)], scope=scope)
        yield opened


@pytest.fixture
def optimizer(store) -> Iterator[QueryOptimizer]:
    with closing(QueryOptimizer(store, clock=lambda: NOW)) as made:
        yield made


def kept(store, scope=ANN):
    return {gain.num: (gain.gain, gain.sure, gain.place) for one in store.judgements.of(scope) for gain in one.gains}


def test_every_answer_has_an_id_of_its_own(optimizer) -> None:
    first, second = optimizer.recall("kestrel", scope=ANN), optimizer.recall("kestrel", scope=ANN)
    assert first.id and second.id and first.id != second.id and first == replace(second, timings_ms=first.timings_ms)
    assert first.version == "rules"


def test_what_is_said_is_kept_with_its_place_and_then_replayed(store, optimizer) -> None:
    result = optimizer.recall("why did the kestrel deploy fail?", scope=ANN, k=3)
    said = optimizer.feedback(result, helpful=[result.hits[1].memory.id], wrong=[result.hits[2].memory.id])
    assert said and said.gains == {ANN: {result.hits[1].memory.id: 1.0, result.hits[2].memory.id: 0.0}}
    nums = store.numbers(ANN, [hit.memory.id for hit in result.hits])
    assert kept(store) == {
        nums[result.hits[1].memory.id]: (1.0, SAID, 2),
        nums[result.hits[2].memory.id]: (0.0, SAID, 3),
    }
    optimizer.flush()
    (judged,) = store.judgements.of(ANN)
    replay = judged.replay
    assert replay is not None and replay.plan == result.plan.name and judged.version == "rules"
    assert replay.orders["rules"][:3] == tuple(nums[hit.memory.id] for hit in result.hits)
    assert {name for name in replay.orders if name.startswith("plan:")} and set(replay.nums) >= set(nums.values())
    assert replay.x.shape == (len(replay.nums), len(replay.names)) and replay.x.any()


def test_each_way_of_saying_counts(store, optimizer) -> None:
    result = optimizer.recall("kestrel", scope=ANN, k=3)
    first, second, third = [hit.memory.id for hit in result.hits]
    nums = store.numbers(ANN, [first, second, third])
    optimizer.feedback(result, asked_again=True)
    assert set(kept(store).values()) == {(0.0, AGAIN, 1), (0.0, AGAIN, 2), (0.0, AGAIN, 3)}
    optimizer.feedback(result, rating=True)
    assert kept(store)[nums[first]] == (1.0, RATED, 1)
    optimizer.feedback(result, cited=[second])
    assert kept(store)[nums[second]] == (1.0, CITED, 2)
    optimizer.feedback(result.id, wrong=[second], rating=0.0)
    assert kept(store)[nums[second]] == (0.0, SAID, 2) and kept(store)[nums[third]] == (0.0, RATED, 3)
    optimizer.feedback(result.id, helpful=["m3"])  # which was not among the hits, or was
    assert kept(store)[store.numbers(ANN, ["m3"])["m3"]][:2] == (1.0, SAID)


def test_ids_that_are_not_there_are_named(store, optimizer) -> None:
    result = optimizer.recall("kestrel", scope=ANN)
    assert optimizer.feedback(result, helpful=["gone"]).ignored == ("gone",)
    store.forget(result.hits[0].memory.id, scope=ANN)
    assert optimizer.feedback(result, helpful=[result.hits[0].memory.id]).ignored == (result.hits[0].memory.id,)
    assert store.judgements.of(ANN) == ()


def test_no_more_is_told_than_is_kept(store, optimizer) -> None:
    store.remember_many([Memory(f"Kestrel number {i}", id=f"k{i}") for i in range(80)], scope=ANN)
    result = optimizer.recall("kestrel number", scope=ANN, k=80)
    assert len(result.hits) == 80
    said = optimizer.feedback(result, rating=False)
    assert said.gains == {ANN: {hit.memory.id: 0.0 for hit in result.hits[:GAINS_MAX]}} and said.ignored == ()
    assert set(kept(store)) == set(store.numbers(ANN, list(said.gains[ANN])).values())
    last = result.hits[-1].memory.id  # it is surer than the thumb, and takes the place of one of the others
    assert optimizer.feedback(result, helpful=[last]).gains == {ANN: {last: 1.0}}
    assert kept(store)[store.numbers(ANN, [last])[last]] == (1.0, SAID, 80) and len(kept(store)) == GAINS_MAX
    named = [hit.memory.id for hit in result.hits[:GAINS_MAX]]
    optimizer.feedback(result, helpful=named)
    before = kept(store)
    assert optimizer.feedback(result, cited=[last]).gains == {ANN: {}}  # there is no place for what is less sure
    assert kept(store) == before


@each_row("ways", [("helpful", "wrong"), ("helpful", "cited"), ("wrong", "cited")])
def test_more_than_can_be_kept_is_refused(store, optimizer, ways) -> None:
    result = optimizer.recall("kestrel", scope=ANN)
    ids = [f"m{i}" for i in range(GAINS_MAX + 1)]
    with pytest.raises(InvalidArgument, match="name at most 64 memories together, not 65"):
        optimizer.feedback(result, **{ways[0]: ids[:40], ways[1]: ids[40:]})
    assert store.judgements.of(ANN) == ()


@each_row(
    ("given", "said"),
    [
        ({}, "Say something"),
        ({"helpful": "m1"}, r"helpful must be a list of ids, not 'm1'"),
        ({"helpful": [1]}, "which are text"),
        ({"wrong": 7}, "wrong must be a list of ids, not int"),
        ({"helpful": ["m1"], "wrong": ["m1"]}, "'m1' cannot be both"),
        ({"cited": [str(i) for i in range(65)]}, "at most 64"),
        ({"rating": 2}, "rating must be a number from 0 to 1"),
        ({"rating": float("nan")}, "rating must be"),
        ({"rating": "up"}, "rating must be"),
    ],
)
def test_what_cannot_be_said(store, optimizer, given, said) -> None:
    result = optimizer.recall("kestrel", scope=ANN)
    with pytest.raises(InvalidArgument, match=said):
        optimizer.feedback(result, **given)
    assert store.judgements.of(ANN) == ()


@each_row("result", [None, 7, "", "x" * 201])
def test_what_is_no_result(optimizer, result) -> None:
    with pytest.raises(InvalidArgument):
        optimizer.feedback(result, rating=True)


def test_a_recall_that_is_not_known_needs_its_query(store, optimizer) -> None:
    with pytest.raises(NotFound, match="Give its query="):
        optimizer.feedback("from-elsewhere", helpful=["m0"], scope=ANN)
    said = optimizer.feedback("from-elsewhere", helpful=["m0"], scope=ANN, query="why did the deploy fail?")
    assert said.anew and said.gains == {ANN: {"m0": 1.0}}
    optimizer.flush()
    (judged,) = store.judgements.of(ANN)
    assert judged.gains[0].place == 0 and judged.replay is not None


def test_another_tenant_does_not_know_a_recall(store, optimizer) -> None:
    result = optimizer.recall("kestrel", scope=ANN)
    with pytest.raises(NotFound):
        optimizer.feedback(result.id, helpful=["m0"], scope=BOB)
    assert store.judgements.counts() == {}


def test_a_recall_of_several_scopes(store, optimizer) -> None:
    result = optimizer.recall("kestrel", scopes=[ANN, BOB], k=4)
    where = {hit.scope for hit in result.hits}
    optimizer.feedback(result, rating=False)
    assert set(store.judgements.counts()) == where == {ANN, BOB}


def test_only_so_many_are_remembered(store, monkeypatch) -> None:
    monkeypatch.setattr(looking, "RESULTS_MAX", 2)
    with closing(QueryOptimizer(store)) as optimizer:
        results = [optimizer.recall("kestrel", scope=ANN) for _ in range(3)]
        with pytest.raises(NotFound):
            optimizer.feedback(results[0].id, rating=True)
        assert optimizer.feedback(results[2].id, rating=True)


@pytest.mark.parametrize("privacy", ["allow", "redact", "block"])
def test_no_text_is_kept(store, privacy) -> None:
    query = "did the kestrel deploy reach sam@example.com?"
    with closing(QueryOptimizer(store)) as optimizer:
        result = optimizer.recall(query, scope=ANN, privacy=privacy)
        assert optimizer.feedback(result, helpful=[result.hits[0].memory.id])
        optimizer.flush()
    with store.engine.connect() as connection:
        (row,) = connection.exec_driver_sql("SELECT query, gains, signature, replay FROM judged").all()
    assert row.query is None
    assert all("kestrel" not in str(value).casefold() for value in row[1:3]) and b"kestrel" not in row.replay.lower()


def test_replays_ask_no_model(store) -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return "kestrel"

    with closing(QueryOptimizer(store, llm=model, reranker=lambda q, t: [1.0 for _ in t])) as optimizer:
        result = optimizer.recall("something about it", scope=ANN)
        before = len(asked)
        optimizer.feedback(result, rating=True)
        optimizer.flush()
        assert len(asked) == before
        assert store.judgements.of(ANN)[0].replay is not None


def test_a_closed_optimizer_and_a_closed_store_say_so(store) -> None:
    optimizer = QueryOptimizer(store)
    result = optimizer.recall("kestrel", scope=ANN)
    optimizer.close()
    with pytest.raises(StoreClosed):
        optimizer.feedback(result, rating=True)
    other = QueryOptimizer(store)
    result = other.recall("kestrel", scope=ANN)
    store.close()
    with pytest.raises(StoreClosed):
        other.feedback(result, rating=True)


def test_what_replays_scopes_of_other_settings_is_closed_when_it_leaves(store, monkeypatch) -> None:
    own = tuple(
        ScopeSettings(user_id=f"u{i}", settings=(("ranking.recency_half_life_days", 10.0 + i),))
        for i in range(OPTIMIZERS_KEPT + 2)
    )
    config = RecallConfig(scopes=own)
    with closing(QueryOptimizer(store, config=config, clock=lambda: NOW)) as made:
        varied: list[QueryOptimizer] = []
        make = made.varied

        def noted(**given):
            varied.append(make(**given))
            return varied[-1]

        monkeypatch.setattr(made, "varied", noted)
        for i in range(OPTIMIZERS_KEPT + 2):
            scope = Scope(user_id=f"u{i}")
            store.remember(Memory("The kestrel deploy failed", id="m0"), scope=scope)
            made.feedback(made.recall("kestrel", scope=scope), helpful=["m0"])
            made.flush()
        assert len(varied) == OPTIMIZERS_KEPT + 2
        for place, one in enumerate(varied):
            if place < 2:
                with pytest.raises(StoreClosed):
                    one.recall("kestrel", scope=ANN)
            else:
                one.recall("kestrel", scope=ANN)


def test_what_serves_a_scope_is_replayed_there_and_in_no_other(store) -> None:
    shelf = Shelf(store.learned, store.entity_key)
    shelf.put(name := shelf.name_of(ANN), Version(id="v1", ranker=FixedWeights.version))
    shelf.change(name, lambda state: replace(state, serving="v1"))
    other = Scope(user_id="other")
    store.remember(Memory("The kestrel deploy failed", id="m0"), scope=other)
    with closing(QueryOptimizer(store, config=RecallConfig(mode="learned"), clock=lambda: NOW)) as made:
        for scope, version in ((ANN, "v1"), (other, "rules")):
            result = made.recall("kestrel", scope=scope)
            assert result.version == version
            made.feedback(result, helpful=["m0"])
        made.flush()
    for scope, noted in ((ANN, True), (other, False)):
        (judged,) = store.judgements.of(scope)
        assert judged.replay is not None and ("version:v1" in judged.replay.orders) is noted
