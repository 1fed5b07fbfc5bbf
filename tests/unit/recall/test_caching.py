"""Recalls with `mode: cached`: what is given again, what is not, and what a hit says of itself."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Scope
from recall_integrations.config import PlannerConfig, RankingConfig, RerankConfig, RetrievalConfig
from recall_integrations.errors import DegradationFailed, StoreClosed
from recall_integrations.recall import Stage, StageEvent, Turn
from recall_integrations.recall.runner import RecallState
from recall_integrations.resilience import admission
from recall_integrations.store.spellers import Spellers
from tests.rows import each_row

pytestmark = pytest.mark.usefixtures("no_hurry")

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
CACHED = RecallConfig(mode="cached")
A, B = Scope(user_id="a"), Scope(user_id="b")
QUERY = "What did Priya say about tea?"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("written") / "store"
    with MemoryStore.open(directory) as opened:
        for scope in (A, B):
            opened.remember_many(
                [
                    Memory(
                        f"Priya drinks tea at {n}", id=f"m{n}", event_at=NOW - timedelta(days=n), metadata={"n": [n]}
                    )
                    for n in range(1, 9)
                ],
                scope=scope,
            )
            opened.add_entity("Priya", scope=scope)
    return directory


@pytest.fixture
def store(written: Path, fast_path: Path) -> Iterator[MemoryStore]:
    """A copy of its own for each test."""
    with MemoryStore.open(shutil.copytree(written, fast_path / "store")) as opened:
        yield opened


def asked(optimizer: QueryOptimizer, query: str = QUERY, **options: Any) -> RecallResult:
    return optimizer.recall(query, **{"scope": A, "now": NOW, **options})


def said(result: RecallResult) -> tuple[str, str]:
    return result.cache.strategy, result.cache.reason


def test_the_default_keeps_nothing(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    assert [said(asked(optimizer)) for _ in range(2)] == [("disabled", "skip.disabled")] * 2


def test_a_hit_says_that_it_is_one(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    first, again = asked(optimizer), asked(optimizer)
    assert said(first) == ("miss", "kept") and not first.cache.hit
    assert said(again) == ("hit", "same") and again.cache.hit
    assert again.hits == first.hits and again.query == first.query and again.plan == first.plan
    assert again.confidence == first.confidence
    assert set(again.timings_ms) == {"cache", "total"} and again.cache.age_ms > 0


@pytest.mark.parametrize("query", ["  What did\tPriya  say about tea?", "WHAT DID priya say about tea?!"])
def test_what_is_written_differently_and_reads_the_same_is_a_hit(store: MemoryStore, query: str) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    asked(optimizer)
    found = asked(optimizer, query)
    assert said(found) == ("hit", "alike")
    plain = asked(QueryOptimizer(store), query)
    assert (found.hits, found.query, found.plan) == (plain.hits, plain.query, plain.plan)
    assert (said(asked(optimizer, query)), said(asked(optimizer))) == (("hit", "alike"), ("hit", "same"))


def test_a_question_mark_at_the_end_makes_no_other_query(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    first, told = asked(optimizer), asked(optimizer, QUERY.rstrip("?"))
    assert said(told) == ("hit", "alike") and told.hits == first.hits
    assert told.query.original == QUERY.rstrip("?")
    assert said(asked(optimizer, QUERY.replace(" ", "? ", 1))) == ("miss", "kept")


def test_with_a_vector_of_the_callers_a_question_mark_changes_nothing(store: MemoryStore) -> None:
    vector = store.embedding.embed_query("tea")
    optimizer = QueryOptimizer(store, config=CACHED)
    asked(optimizer, query_vector=vector)
    found = asked(optimizer, QUERY.rstrip("?"), query_vector=vector)
    assert said(found) == ("hit", "alike")
    assert found.hits == asked(QueryOptimizer(store), QUERY.rstrip("?"), query_vector=vector).hits


def test_letters_count_where_a_model_sees_them(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED, reranker=lambda _query, texts: [1.0] * len(texts))
    asked(optimizer)
    assert not asked(optimizer, QUERY.lower()).cache.hit


@each_row("other",
    [
        {"scope": B}, {"k": 3}, {"privacy": "redact"}, {"privacy": "block"}, {"filters": Filters(types="fact")},
        {"context": 1}, {"tokens_max": 5}, {"window": False}, {"timezone": "Asia/Tokyo"},
        {"now": NOW + timedelta(days=1)}, {"now": NOW + timedelta(seconds=31)}, {"now": NOW - timedelta(seconds=1)},
    ])  # fmt: skip
def test_another_recall_gets_an_answer_of_its_own(store: MemoryStore, other: dict[str, Any]) -> None:
    optimizer, plain = QueryOptimizer(store, config=CACHED), QueryOptimizer(store)
    asked(optimizer)
    found = asked(optimizer, **other)
    assert not found.cache.hit
    assert found.hits == asked(plain, **other).hits


def test_a_little_later_is_soon_enough(store: MemoryStore) -> None:
    """What a hit answers is the moment that it names."""
    optimizer = QueryOptimizer(store, config=CACHED)
    asked(optimizer)
    found = asked(optimizer, now=NOW + timedelta(seconds=29))
    assert found.cache.hit and found.query.now == NOW


WRITES: dict[str, Callable[[MemoryStore], object]] = {
    "remember": lambda store: store.remember(Memory("Priya said about tea that it is cold", id="new"), scope=A),
    "remember_many": lambda store: store.remember_many([Memory("Priya said about tea: no")], scope=A),
    "forget": lambda store: store.forget("m1", scope=A),
    "add_entity": lambda store: store.add_entity("Priya Raman", aliases=["Priya"], scope=A),
    "reindex": lambda store: store.reindex(),
}


@each_row("write", WRITES)
@each_row("beside", [False, True])
def test_a_write_drops_what_is_kept_of_its_scope(store: MemoryStore, write: str, beside: bool) -> None:
    optimizer, other = QueryOptimizer(store, config=CACHED), QueryOptimizer(store, config=CACHED)
    for one in (optimizer, other):
        asked(one), asked(one, scope=B)
    if beside:
        thread = threading.Thread(target=WRITES[write], args=(store,))
        thread.start()
        thread.join()
    else:
        WRITES[write](store)
    for one in (optimizer, other):
        found = asked(one)
        assert not found.cache.hit
        assert found.hits == asked(QueryOptimizer(store)).hits
        assert asked(one, scope=B).cache.hit is (write != "reindex")


def test_a_scope_that_was_never_seen_is_kept_until_something_is_in_it(store: MemoryStore) -> None:
    optimizer, scope = QueryOptimizer(store, config=CACHED), Scope(user_id="new")
    assert [len(asked(optimizer, scope=scope)) for _ in range(2)] == [0, 0]
    assert asked(optimizer, scope=scope).cache.hit
    store.remember("Priya about tea", scope=scope)
    assert len(asked(optimizer, scope=scope)) == 1


class Stopping(Stage):
    """Waits behind the arms until it is let go."""

    name, after = "stopping", "arms"

    def __init__(self) -> None:
        self.there, self.go = threading.Event(), threading.Event()

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        self.there.set()
        assert self.go.wait(60)
        return state


@each_row("write", WRITES)
def test_an_answer_that_a_write_overtook_is_not_kept(store: MemoryStore, write: str) -> None:
    stage = Stopping()
    optimizer = QueryOptimizer(store, config=CACHED, stages=[stage])
    answers: list[RecallResult] = []
    options: Any = {"time_budget_ms": 120_000}
    recall = threading.Thread(target=lambda: answers.append(asked(optimizer, **options)))
    recall.start()
    assert stage.there.wait(60)
    WRITES[write](store)
    stage.go.set()
    recall.join()
    assert said(answers[0]) == ("miss", "written")
    found = asked(optimizer, **options)
    assert not found.cache.hit
    assert found.hits == asked(QueryOptimizer(store), **options).hits


def test_an_answer_from_within_a_write_is_not_kept(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    asked(optimizer)
    with store.revisions.writing(A):
        assert [said(asked(optimizer)) for _ in range(2)] == [("miss", "written")] * 2
        assert not asked(optimizer, scope=B).cache.hit and asked(optimizer, scope=B).cache.hit


def failing(_query: str, _texts: list[str]) -> list[float]:
    raise RuntimeError("no answer")


def test_a_degraded_answer_is_not_kept(store: MemoryStore) -> None:
    calls: list[str] = []

    def observer(event: StageEvent) -> None:
        calls.append(event.stage)
        if calls.count("parse") == 1:
            raise RuntimeError("I saw nothing")

    optimizer = QueryOptimizer(store, config=CACHED, observers=[observer])
    first, second, third = (asked(optimizer) for _ in range(3))
    assert first.degraded and said(first) == ("miss", "degraded")
    assert not second.degraded and said(second) == ("miss", "kept")
    assert said(third) == ("hit", "same")


def test_an_answer_without_the_reranker_is_not_kept(store: MemoryStore) -> None:
    config = RecallConfig(
        mode="cached",
        planner=PlannerConfig(exploratory_threshold=1.0, precise_threshold=1.0),
        rerank=RerankConfig(regret_max=0.0),
    )
    optimizer = QueryOptimizer(store, config=config, reranker=failing)
    for _ in range(6):  # at last its breaker is open
        found = asked(optimizer, "tell me something")
        assert found.rerank.reason in ("failure.error", "skip.breaker")
        assert not found.cache.hit and found.cache.reason in ("degraded", "unsettled")


def test_what_the_caller_asked_for_is_kept(store: MemoryStore) -> None:
    """Hits that did not fit, and nothing where that is too unsure, are the whole answer."""
    optimizer = QueryOptimizer(store, config=CACHED)
    assert asked(optimizer, tokens_max=8).degraded
    assert asked(optimizer, tokens_max=8, strict=True).cache.hit
    shy = QueryOptimizer(store, config=RecallConfig(mode="cached", ranking=RankingConfig(abstain_below=1.0)))
    assert not asked(shy).hits and not asked(shy).hits and asked(shy).cache.hit


def test_an_answer_under_pressure_is_not_kept(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    real = admission.Admission._chosen
    monkeypatch.setattr(admission.Admission, "_chosen", lambda *_: admission.Admitted(1))
    assert [said(asked(optimizer)) for _ in range(2)] == [("miss", "degraded")] * 2  # though five are all of five
    monkeypatch.setattr(admission.Admission, "_chosen", real)
    assert said(asked(optimizer)) == ("miss", "kept")


def test_an_answer_without_corrections_is_not_kept(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember("The greenhouse thermostat is set to 18 degrees")
    optimizer = QueryOptimizer(store, config=CACHED)
    monkeypatch.setattr(Spellers, "of", lambda *_args, **_named: None)  # as where words cannot be read
    first = optimizer.recall("grenhouse thermostat", time_budget_ms=60_000)
    assert (first.query.corrections, first.cache.reason) == ((), "unsettled")
    monkeypatch.undo()
    second = optimizer.recall("grenhouse thermostat", time_budget_ms=60_000)
    assert [made.word for made in second.query.corrections] == ["grenhouse"]


def test_observers_are_told_of_a_hit(store: MemoryStore) -> None:
    events: list[StageEvent] = []
    optimizer = QueryOptimizer(store, config=CACHED, observers=[events.append])
    first = asked(optimizer)
    assert "cache" not in [event.stage for event in events]
    events.clear()
    asked(optimizer)
    (event,) = events
    assert event.stage == "cache" and not event.failed and event.took_ms > 0
    assert event.state.cache.hit and event.state.hits == first.hits and event.state.query == first.query


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_observers_of_a_hit_see_no_more_than_may_be_seen(store: MemoryStore, mode: str) -> None:
    number = "+49 170 1234567"

    def observer(event: StageEvent) -> None:
        assert event.state is None
        raise RuntimeError(f"who has {number}?")

    optimizer = QueryOptimizer(store, config=CACHED, observers=[observer])
    found = [optimizer.recall(f"who has {number}?", now=NOW, privacy=mode) for _ in range(2)]
    assert number not in repr(found) and "observer" in [d.stage for d in found[1].degraded]


def test_an_observer_that_fails_is_named_in_a_hit_and_not_kept(store: MemoryStore) -> None:
    def observer(event: StageEvent) -> None:
        if event.stage == "cache":
            raise RuntimeError("I saw nothing")

    optimizer = QueryOptimizer(store, config=CACHED, observers=[observer])
    asked(optimizer)
    for _ in range(2):
        found = asked(optimizer)
        assert found.cache.hit and [d.stage for d in found.degraded] == ["observer"]
    with pytest.raises(DegradationFailed):
        asked(optimizer, strict=True)


def test_a_hit_is_the_callers_own(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    for _ in range(3):  # the first is the answer that is kept
        found = asked(optimizer, context=1)
        for memory in [hit.memory for hit in found.hits] + [m for hit in found.hits for m in hit.context]:
            assert memory.metadata == {"n": [int(str(memory.id)[1:])]}
            memory.metadata["n"].append("mine")
            memory.metadata["x"] = 1  # type: ignore[index]


def test_an_async_recall_gets_the_same(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    asked(optimizer)
    assert asyncio.run(optimizer.arecall(QUERY, scope=A, now=NOW)).cache.hit


def test_what_is_closed_gives_nothing(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=CACHED)
    asked(optimizer)
    store.close()
    with pytest.raises(StoreClosed):
        asked(optimizer)


def test_a_scope_that_is_not_in_memory_is_read_by_nobody_but_a_recall(store: MemoryStore) -> None:
    config = RecallConfig(mode="cached", retrieval=RetrievalConfig(cache_mb=0))
    optimizer = QueryOptimizer(store, config=config)
    asked(optimizer)
    assert asked(optimizer).cache.hit
