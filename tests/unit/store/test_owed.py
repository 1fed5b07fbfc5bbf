"""A write returns before the lexical index has it: found all the same, and brought there by whoever comes first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.indexes.bm25 import Bm25, frequency_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import filling, indexes, journal
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

OpenStore = Callable[..., MemoryStore]
WAIT_S = 20.0


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index stays behind until somebody asks it, or the store is closed."""
    monkeypatch.setattr(filling, "QUIET_S", 3_600.0)


def cursor(store: MemoryStore, name: str) -> int:
    with store.engine.connect() as connection:
        return journal.cursors(connection).get(name, 0)


def bm25(store: MemoryStore, word: str) -> dict[str, float]:
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    view = store.view(scope_id)
    found = Bm25(view, [word], (), frequency_of(view, lambda: store.indexes.lexical), lambda: store.indexes.lexical)
    rows, scores = found.search(100)
    return {view.ids[row]: float(score) for row, score in zip(rows, scores, strict=True)}


def held(store: MemoryStore) -> list[int]:
    return [int(num) for num in store.indexes._open_lexical().nums()]


@pytest.mark.usefixtures("behind")
def test_a_memory_is_found_before_the_index_has_it(store: MemoryStore) -> None:
    store.remember(Memory("kestrels hover", id="a"))
    assert held(store) == [] and cursor(store, LEXICAL) == 0
    assert cursor(store, SEMANTIC) == 1  # its vector is committed with it
    assert store.indexes.lag == {LEXICAL: 0, SEMANTIC: 0}
    assert store.behind(1) == {}
    optimizer = QueryOptimizer(store)
    result = optimizer.recall("kestrels hover", k=3)
    assert [hit.memory.id for hit in result.hits] == ["a"] and not result.degraded
    store.remember(Memory("kestrels dive", id="b"))
    store.remember(Memory("an owl", id="a"))
    store.remember(Memory("kestrels rest", id="c"))
    assert store.forget("c")
    assert [hit.memory.id for hit in optimizer.recall("kestrels", k=3).hits][:1] == ["b"]
    assert store.indexes.owed


@pytest.mark.usefixtures("behind")
def test_scores_are_those_of_an_index_that_is_up_to_date(store: MemoryStore) -> None:
    for i in range(12):
        store.remember(Memory(f"kestrel number {i} " + "flies " * i, id=f"m{i}", actor="Ida"))
    store.remember(Memory("an owl", id="m3"))
    store.forget("m4")
    before = bm25(store, "kestrel"), bm25(store, "ida")
    assert store.indexes.owed
    assert store.indexes.lexical.count == 11
    assert not store.indexes.owed
    assert (bm25(store, "kestrel"), bm25(store, "ida")) == before
    assert set(before[0]) == {f"m{i}" for i in range(12)} - {"m3", "m4"}


@pytest.mark.usefixtures("behind")
def test_where_words_do_not_fit_into_memory_the_index_is_brought_up_to_date_first(open_store: OpenStore) -> None:
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(cache_mb=0)))
    store.remember_many([Memory("kestrels hover", id="a"), Memory("an owl", id="b")])
    scope_id = store.scope_id(Scope())
    assert scope_id is not None and store.view(scope_id).text is None and held(store) == []
    assert set(bm25(store, "kestrel")) == {"a"}
    store.remember(Memory("kestrels", id="b"))
    assert set(bm25(store, "kestrel")) == {"a", "b"}
    store.forget("a")
    assert set(bm25(store, "kestrel")) == {"b"}


@pytest.mark.usefixtures("behind")
def test_what_came_and_went_meanwhile_is_not_indexed(store: MemoryStore) -> None:
    store.remember(Memory("kestrels hover", id="a"))
    store.remember(Memory("an owl", id="a"))
    store.remember(Memory("a swift", id="b"))
    store.forget("b")
    assert store.indexes.lexical.nums().tolist() == [3]
    assert cursor(store, LEXICAL) == 5


@pytest.mark.usefixtures("behind")
def test_close_brings_it_there(open_store: OpenStore) -> None:
    store = open_store()
    store.remember(Memory("kestrels hover", id="a"))
    assert cursor(store, LEXICAL) == 0
    store.close()
    store = open_store()
    assert cursor(store, LEXICAL) == 1 and held(store) == [1] and store.stats()["notices"] == []


def test_a_moment_later_it_is_there(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "QUIET_S", 0.01)
    store.remember(Memory("kestrels hover", id="a"))
    end = time.monotonic() + WAIT_S
    while store.indexes.owed and time.monotonic() < end:
        time.sleep(0.005)
    assert held(store) == [1] and cursor(store, LEXICAL) == 1


@pytest.mark.usefixtures("behind")
def test_a_call_of_many_batches_ends_with_everything_in_the_index(store: MemoryStore) -> None:
    store.remember_many([Memory(f"text {i}") for i in range(7)], batch_size=3)
    assert len(held(store)) == 7


@pytest.mark.usefixtures("behind")
def test_more_than_is_to_be_owed_is_indexed_at_once(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "OWED_MAX", 2)
    store.remember_many([Memory("one"), Memory("two")])
    assert held(store) == []
    store.remember("three")
    assert len(held(store)) == 3


@pytest.mark.usefixtures("behind")
def test_a_change_that_nobody_told_of_is_read_from_the_journal(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted between its commit and what follows it, a write is neither lost to the index nor to a vector."""
    with monkeypatch.context() as patch:

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(store.indexes, "owe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.remember(Memory("kestrels hover", id="a"))
    store.remember(Memory("an owl", id="b"))
    assert store.indexes.lexical.nums().tolist() == [1, 2]
    assert set(bm25(store, "kestrel")) == {"a"}


@pytest.mark.usefixtures("behind")
def test_an_index_that_fails_is_named_and_caught_up(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember(Memory("kestrels hover", id="a"))
    index = store.indexes._open_lexical()
    with monkeypatch.context() as patch:

        def fail(*_: object, **__: object) -> None:
            raise OSError("no space left")

        patch.setattr(index, "apply", fail)
        assert store.indexes.lexical.count == 0
        assert store.indexes.lag[LEXICAL] == 1
        assert "no space left" in store.stats()["notices"][-1]
    store.remember(Memory("an owl", id="b"))  # not owed: the index was behind, so it is followed at once
    assert store.indexes.lag[LEXICAL] == 0 and held(store) == [1, 2]


@pytest.mark.usefixtures("behind")
def test_a_misspelling_of_a_word_that_was_just_said_is_corrected(store: MemoryStore) -> None:
    store.remember(Memory("the zephyrine falcon", id="a"))
    scope_id = store.scope_id(Scope())
    assert scope_id is not None

    def frequency() -> int:
        speller = store.speller(scope_id, wait=True)
        assert speller is not None
        return speller.vocabulary.frequency("zephyrin")

    assert frequency() == 1
    store.remember(Memory("a zephyrine kestrel", id="b"))
    assert store.indexes.owed and frequency() == 2
    store.forget("a")
    assert frequency() == 1
    assert store.indexes.lexical.count == 1 and frequency() == 1


def test_threads_that_write_and_ask(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "QUIET_S", 0.002)
    failed: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for i in range(25):
                store.remember(Memory(f"{name} says word{name}{i}", id=f"{name}{i}"))
                assert set(bm25(store, f"word{name}{i}")) == {f"{name}{i}"}
                if i % 5 == 4:
                    store.forget(f"{name}{i}")
                    assert bm25(store, f"word{name}{i}") == {}
                if i % 7 == 6:
                    assert store.indexes.lexical.document_frequency(1, f"word{name}{i}") == (i % 5 != 4)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("x", "y")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert store.indexes.lexical.count == 40 and len(set(held(store))) == 40
