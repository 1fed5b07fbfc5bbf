"""A recall waits for its memories to be loaded, and an answer that looked at nothing says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config import LimitsConfig, PlannerConfig
from recall_integrations.errors import EmbeddingError, NotSearched, RecallError, RecallTimeout
from recall_integrations.recall.plan import SCOPES_AT_ONCE, Loader

TEXTS = ["My cat is called Otto", "The deploy is on Friday", "I drink green tea", "We chose PostgreSQL", "Sam hikes"]
OTHER_WORDS = "zebra xylophone"  # no memory holds them: words alone find nothing
HASTY = RecallConfig(limits=LimitsConfig(time_budget_ms=200))
IMPATIENT = RecallConfig(limits=LimitsConfig(time_budget_ms=50, load_wait_ms=0))


def scope(number: int) -> Scope:
    return Scope(user_id=f"u{number}")


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[MemoryStore]:
    """A store that has just been opened."""
    with MemoryStore.open(tmp_path / "store") as store:
        store.remember_many(TEXTS)
        for number in range(SCOPES_AT_ONCE + 1):
            store.remember_many(TEXTS, scope=scope(number))
    with MemoryStore.open(tmp_path / "store") as store:
        yield store


class Held:
    """Loading that goes on when it is let go."""

    def __init__(self, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go, self.begun, self.refused = threading.Event(), threading.Semaphore(0), threading.Event()
        view, loaded = store.view, Loader.loaded

        def held(scope_id: int) -> Any:
            self.begun.release()
            assert self.go.wait(60)
            return view(scope_id)

        def tried(loader: Loader, scope_id: int, deadline: Any) -> bool:
            found = loaded(loader, scope_id, deadline)
            if not found:
                self.refused.set()
            return found

        monkeypatch.setattr(store, "view", held)
        monkeypatch.setattr(Loader, "loaded", tried)


@pytest.fixture
def held(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made = Held(cold, monkeypatch)
    yield made
    made.go.set()


def codes(result: Any) -> list[tuple[str, str]]:
    return [(problem.stage, problem.reason) for problem in result.degraded]


# -- loading -----------------------------------------------------------------------------------------------------------


def test_the_first_recall_waits_beyond_its_time_and_says_so(cold: MemoryStore, held: Held) -> None:
    optimizer = QueryOptimizer(cold, config=HASTY)
    threading.Timer(0.6, held.go.set).start()  # three times what it has
    result = optimizer.recall("what is the cat called?")
    assert result.hits[0].memory.text == TEXTS[0] and result.searched
    assert result.timings_ms["total"] > result.timings_ms["load"] > 0
    assert "load" not in optimizer.recall("what is the cat called?").timings_ms


def test_who_says_what_time_there_is_does_not_wait(cold: MemoryStore, held: Held) -> None:
    optimizer = QueryOptimizer(cold)
    result = optimizer.recall("what is the cat called?", time_budget_ms=1)
    assert codes(result) == [("load", "timeout"), ("recall", "not_searched")]
    assert not result.searched and not result.hits
    with pytest.raises(RecallTimeout):
        optimizer.recall("what is the cat called?", time_budget_ms=1, strict=True)
    held.go.set()
    assert optimizer.recall("what is the cat called?").searched


def test_the_wait_is_bounded_by_a_setting(cold: MemoryStore, held: Held) -> None:
    config = RecallConfig(limits=LimitsConfig(time_budget_ms=1, load_wait_ms=5))
    assert not QueryOptimizer(cold, config=config).recall("what is the cat called?").searched
    assert not QueryOptimizer(cold, config=IMPATIENT).recall("what is the cat called?").searched


def test_who_cancels_does_not_wait(cold: MemoryStore, held: Held) -> None:
    async def cancelled() -> None:
        asking = asyncio.ensure_future(QueryOptimizer(cold).arecall("what is the cat called?"))
        await asyncio.to_thread(held.begun.acquire)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled())


def test_more_scopes_than_are_read_at_once_wait_for_their_turn(cold: MemoryStore, held: Held) -> None:
    optimizer, found = QueryOptimizer(cold), {}

    def ask(number: int) -> None:
        found[number] = optimizer.recall("what is the cat called?", scope=scope(number))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(SCOPES_AT_ONCE + 1)]
    for thread in threads:
        thread.start()
    assert held.refused.wait(60)  # one of them found no place
    held.go.set()
    for thread in threads:
        thread.join(60)
    assert len(found) == len(threads) and all(result.hits for result in found.values())


def test_several_scopes_are_waited_for_before_any_is_asked(cold: MemoryStore, held: Held) -> None:
    threading.Timer(0.6, held.go.set).start()
    result = QueryOptimizer(cold, config=HASTY).recall("the cat", scopes=[scope(0), scope(1)], k=10)
    assert {hit.scope for hit in result.hits} == {scope(0), scope(1)} and result.searched


def test_what_filters_look_at_is_waited_for(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer, go, mask, read = QueryOptimizer(cold, config=HASTY), threading.Event(), cold.reader.filter_mask, []

    def slow(*given: Any) -> Any:
        assert go.wait(60)
        read.append(1)
        return mask(*given)

    monkeypatch.setattr(cold.reader, "filters_ready", lambda _view, _filters: bool(read))
    monkeypatch.setattr(cold.reader, "filter_mask", slow)
    hurried = optimizer.recall("tea", filters={"types": ["observation"]}, time_budget_ms=50)
    assert not hurried.searched
    threading.Timer(0.6, go.set).start()
    assert optimizer.recall("tea", filters={"types": ["observation"]}).searched


def test_what_loading_raises_is_raised(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_scope_id: int) -> None:
        raise RecallError("page 3")

    monkeypatch.setattr(cold, "view", broken)
    with pytest.raises(RecallError, match="page 3"):
        QueryOptimizer(cold).recall("the cat")


def test_from_texts_loads_before_it_returns(tmp_path: Path) -> None:
    OptimizedRecallRetriever.from_texts(TEXTS, path=tmp_path / "kept").close()
    made = OptimizedRecallRetriever.from_texts(TEXTS, path=tmp_path / "kept", time_budget_ms=2_000)
    store = made.optimizer.store
    scope_id = store.scope_id(Scope())
    assert scope_id is not None and store.in_memory(scope_id)
    assert made.invoke("what is the cat called?")
    made.close()


# -- what was looked at ------------------------------------------------------------------------------------------------


def without_vectors(monkeypatch: pytest.MonkeyPatch, store: MemoryStore) -> None:
    def down(_self: Any, _text: str) -> Any:
        raise EmbeddingError("down")

    monkeypatch.setattr(type(store.embedding), "embed_query", down)


def test_without_vectors_words_that_find_nothing_are_not_enough(
    cold: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_vectors(monkeypatch, cold)
    optimizer = QueryOptimizer(cold)
    assert not optimizer.recall(OTHER_WORDS).searched
    assert optimizer.recall("what is the cat called?").searched  # words find it


def test_what_answers_nothing_was_looked_at(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = QueryOptimizer(cold)
    few = optimizer.recall(OTHER_WORDS, score_min=1.0)
    assert not few.hits and few.searched
    without_vectors(monkeypatch, cold)  # where there is nothing to look at, nothing was missed
    nobody = optimizer.recall(OTHER_WORDS, scope=Scope(user_id="nobody"))
    assert not nobody.hits and nobody.searched
    filtered = optimizer.recall(OTHER_WORDS, filters={"source": "wiki"})
    assert not filtered.hits and filtered.searched
    cold.forget(scope=Scope())
    emptied = optimizer.recall(OTHER_WORDS)
    assert not emptied.hits and emptied.searched


def test_one_of_several_scopes_that_was_not_looked_at(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    without_vectors(monkeypatch, cold)
    optimizer = QueryOptimizer(cold)
    nobody = Scope(user_id="nobody")
    assert not optimizer.recall(OTHER_WORDS, scopes=[nobody, Scope()]).searched
    assert optimizer.recall("what is the cat called?", scopes=[nobody, Scope()]).searched


def test_without_the_semantic_arm_words_are_enough(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    config = RecallConfig(planner=PlannerConfig(arms=("lexical",)))
    assert QueryOptimizer(cold, config=config).recall(OTHER_WORDS).searched


def test_the_error_says_why_and_is_of_our_tree(cold: MemoryStore, held: Held) -> None:
    from recall_integrations.delivery.showing import checked

    result = QueryOptimizer(cold).recall("the cat", time_budget_ms=1)
    with pytest.raises(NotSearched, match=r"^Memory is not available yet: .*load: timeout.*still being read") as raised:
        checked(result)
    assert raised.value.result is result and isinstance(raised.value, RecallError)


def test_memories_whose_database_is_away(cold: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(cold), "away", property(lambda _self: "It cannot be reached."))
    unknown = QueryOptimizer(cold).recall("the cat", scope=Scope(user_id="elsewhere"))
    assert not unknown.searched
