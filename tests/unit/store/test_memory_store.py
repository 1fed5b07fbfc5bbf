from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.errors import (
    ConfigError,
    EmbeddingError,
    EmbeddingMismatch,
    InvalidArgument,
    InvalidMemory,
    InvalidScope,
    StoreClosed,
    StorePathError,
)
from recall_integrations.observability import progress
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store import chroma_files, journal
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, MemoryType, Relation, Scope
from tests import in_collections
from tests.columns import saying
from tests.rows import each_row

OpenStore = Callable[..., MemoryStore]
U1, U2 = Scope(user_id="u1"), Scope(user_id="u2")
UTC = timezone.utc


def lexical_ids(store: MemoryStore, word: str, scope: Scope = Scope()) -> list[str]:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    view = store.view(scope_id)
    return sorted(view.ids[row] for row in view.rows_of(saying(store, scope_id, word)))


def view_ids(store: MemoryStore, scope: Scope = Scope()) -> list[str]:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    view = store.view(scope_id)
    return sorted(view.ids[row] for row in np.flatnonzero(view.alive))


# -- what goes in comes out --------------------------------------------------------------------------------------------


def test_all_fields_come_back(store: MemoryStore) -> None:
    zone = timezone(timedelta(hours=2))
    memory = Memory(
        "I prefer async updates\n\twith  spaces ",
        id="m1",
        type="preference",  # type: ignore[arg-type]
        actor="Priya",
        channel="slack",
        event_at=datetime(2024, 3, 4, 5, 6, 7, 123456, tzinfo=zone),
        created_at=datetime(2024, 3, 5, tzinfo=UTC),
        importance=0.25,
        entities=["Project Kestrel"],  # type: ignore[arg-type]
        relations=[Relation("Priya", "manager_of", "Sam", 0.5)],  # type: ignore[arg-type]
        thread="chat-7",
        position=12,
        refs=["doc:handbook.md"],  # type: ignore[arg-type]
        metadata={"a": [1, {"b": None}], "ü": "x"},
    )
    assert store.remember(memory, scope=U1) == "m1"
    found = store.get("m1", scope=U1)
    assert found == memory
    assert found is not None and found.type is MemoryType.PREFERENCE
    assert found.event_at is not None and found.event_at.utcoffset() == timedelta(0)


def test_defaults(store: MemoryStore, clock: Callable[[], datetime]) -> None:
    memory_id = store.remember("hello")
    found = store.get(memory_id)
    assert found is not None
    assert (found.type, found.importance, found.created_at, found.event_at) == (
        MemoryType.OBSERVATION,
        0.5,
        clock(),
        None,
    )


def test_ids_come_from_the_callers_source(open_store: OpenStore) -> None:
    numbers = iter(range(100))
    store = open_store(new_id=lambda: f"id{next(numbers)}")
    assert store.remember_many(["a", Memory("b", id="mine"), "c"]) == ["id0", "mine", "id1"]


@each_row(
    "memory_id",
    ["a/b", "../../etc", 'say "hi"', "it's", "'; DROP TABLE memories; --", "%_", "日本", "🎉", "x" * 1024, " a "],
)
def test_odd_ids(store: MemoryStore, memory_id: str) -> None:
    store.remember(Memory("kestrel one", id=memory_id))
    store.remember(Memory("kestrel two", id=memory_id))
    found = store.get(memory_id)
    assert found is not None and found.text == "kestrel two"
    assert lexical_ids(store, "kestrel") == view_ids(store) == [memory_id]
    assert store.forget(memory_id)
    assert store.get(memory_id) is None and store.count() == 0


@each_row("memory_id", ["", "  ", "x" * 10_240, "a\x00b", "a\nb", "\ud800", 7, None])
def test_bad_ids(store: MemoryStore, memory_id: object) -> None:
    for call in (store.get, store.forget):
        with pytest.raises(InvalidArgument):
            call(memory_id)  # type: ignore[arg-type]


@each_row(("year", "hours"), [(1, 14), (9999, -12), (1969, 0), (1, 0), (9999, 0)])
def test_times_at_the_edge_of_the_calendar(store: MemoryStore, year: int, hours: int) -> None:
    moment = datetime(
        year,
        12 if year > 1 else 1,
        31 if year > 1 else 1,
        23 if year > 1 else 0,
        tzinfo=timezone(timedelta(hours=hours)),
    )
    store.remember(Memory("far away", id="m", event_at=moment))
    found = store.get("m")
    assert found is not None and found.event_at is not None
    assert abs(found.event_at.year - year) <= 1


# -- replacing and forgetting ------------------------------------------------------------------------------------------


def test_remembering_an_id_again_replaces_it_everywhere(store: MemoryStore) -> None:
    store.remember(Memory("a kestrel", id="m", entities=("Bird House",), relations=(Relation("A", "r", "B"),)))
    store.remember(Memory("an osprey", id="m"))
    found = store.get("m")
    assert found is not None and found.text == "an osprey" and found.entities == ()
    assert store.count() == 1
    assert view_ids(store) == ["m"]
    assert lexical_ids(store, "kestrel") == []
    assert lexical_ids(store, "osprey") == ["m"]
    assert store.stats()["vectors"] == 1
    stats = store.stats()
    assert (stats["mentions"], stats["edges"], stats["vectors"]) == (0, 0, 1)


def test_forgotten_is_gone_everywhere_and_stays_so(open_store: OpenStore) -> None:
    store = open_store()
    store.remember(Memory("a kestrel", id="m", actor="Priya"))
    store.remember(Memory("another kestrel", id="n"))
    assert store.forget("m") == 1
    assert store.forget("m") == 0
    for _ in range(2):
        assert store.get("m") is None
        assert store.count() == 1 and view_ids(store) == ["n"]
        assert lexical_ids(store, "kestrel") == ["n"]
        assert store.stats()["vectors"] == 1
        assert store.stats()["mentions"] == 0
        store.close()
        store = open_store()
    store.reindex()
    assert lexical_ids(store, "kestrel") == ["n"] and store.stats()["vectors"] == 1


def test_scope_never_seen(store: MemoryStore) -> None:
    assert store.get("m", scope=U1) is None
    assert store.count(scope=U1) == 0
    assert store.forget("m", scope=U1) == 0
    assert store.scope_id(U1) is None
    assert store.scopes() == []


def test_scopes_do_not_see_each_other(store: MemoryStore) -> None:
    for scope in (Scope(), U1, U2, Scope(agent_id="u1"), Scope(namespace="u1")):
        store.remember(Memory(f"kestrel of {scope}", id="m"), scope=scope)
    assert store.forget("m", scope=U1)
    assert store.get("m", scope=U1) is None
    for scope in (Scope(), U2, Scope(agent_id="u1"), Scope(namespace="u1")):
        found = store.get("m", scope=scope)
        assert found is not None and found.text == f"kestrel of {scope}"
        assert lexical_ids(store, "kestrel", scope) == ["m"]
    assert dict(store.scopes())[U1] == 0


# -- batches -----------------------------------------------------------------------------------------------------------


def test_batches_and_progress(
    store: MemoryStore, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 0)  # where there is no terminal, lines begin later
    ids = store.remember_many((f"note {i}" for i in range(25)), batch_size=10, progress=True)
    assert len(set(ids)) == 25 == store.count()
    out, err = capfd.readouterr()
    assert out == "" and "Remembering" in err


def test_no_memories(store: MemoryStore) -> None:
    assert store.remember_many([]) == [] and store.count() == 0


def test_a_list_is_checked_before_anything_is_stored(store: MemoryStore) -> None:
    with pytest.raises(InvalidMemory, match="Item 2 repeats the id 'a'"):
        store.remember_many([Memory("1", id="a"), "2", Memory("3", id="a")], batch_size=1)
    with pytest.raises(InvalidMemory, match="Item 1.*blank"):
        store.remember_many(["fine", "  "], batch_size=1)
    with pytest.raises(InvalidMemory, match="Item 0 is int"):
        store.remember_many([7])  # type: ignore[list-item]
    assert store.count() == 0


def test_an_iterator_keeps_the_batches_before_the_bad_item(store: MemoryStore) -> None:
    with pytest.raises(InvalidMemory, match="Item 4"):
        store.remember_many(iter(["a", "b", "c", "d", ""]), batch_size=2)
    assert store.count() == 4


@each_row("given", ["text", b"bytes", Memory("one"), {"text": "a"}, 7, None])
def test_not_an_iterable_of_memories(store: MemoryStore, given: object) -> None:
    with pytest.raises(InvalidMemory):
        store.remember_many(given)  # type: ignore[arg-type]
    assert store.count() == 0


@each_row("size", [0, -1, 1.5, True, "3"])
def test_bad_batch_size(store: MemoryStore, size: object) -> None:
    with pytest.raises(InvalidArgument, match="batch_size"):
        store.remember_many(["a"], batch_size=size)  # type: ignore[arg-type]


@each_row("scope", ["u1", ("u1", "", ""), 1])
def test_bad_scope(store: MemoryStore, scope: object) -> None:
    with pytest.raises(InvalidScope):
        store.remember("hello", scope=scope)  # type: ignore[arg-type]


@each_row("given", [7, None, {"text": "a"}, b"x"])
def test_remember_takes_a_memory_or_a_text(store: MemoryStore, given: object) -> None:
    with pytest.raises(InvalidMemory):
        store.remember(given)  # type: ignore[arg-type]


# -- places in threads -------------------------------------------------------------------------------------------------


def places(store: MemoryStore, *ids: str) -> list[int | None]:
    found = [store.get(i) for i in ids]
    return [m.position if m is not None else None for m in found]


def test_places_follow_the_order_of_arrival(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id=i, thread="t") for i in "abc"])
    store.remember(Memory("x", id="d", thread="t"))
    store.remember(Memory("x", id="other", thread="t2"))
    store.remember(Memory("x", id="none"))
    assert places(store, "a", "b", "c", "d", "other", "none") == [0, 1, 2, 3, 0, None]


def test_replacing_keeps_the_place(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id=i, thread="t") for i in "abc"])
    store.remember(Memory("y", id="a", thread="t"))
    assert places(store, "a", "b", "c") == [0, 1, 2]


def test_places_given_in_a_batch_do_not_move_the_end_of_the_thread_back(store: MemoryStore) -> None:
    store.remember(Memory("x", id="a", thread="t", position=100))
    store.remember_many([Memory("x", id="b", thread="t", position=5), Memory("x", id="c", thread="t")])
    store.remember_many([Memory("x", id="d", thread="t", position=200), Memory("x", id="e", thread="t")])
    assert places(store, "b", "c", "d", "e") == [5, 101, 200, 201]


# -- opening and closing -----------------------------------------------------------------------------------------------


def test_memories_outlive_the_object(open_store: OpenStore) -> None:
    with open_store() as store:
        store.remember(Memory("a kestrel", id="m"), scope=U1)
    store = open_store()
    assert store.get("m", scope=U1) is not None
    assert lexical_ids(store, "kestrel", U1) == ["m"]
    assert store.scopes() == [(U1, 1)]


def test_temporary_store_is_removed(embedding: object) -> None:
    with MemoryStore.open(embedding=embedding) as store:
        store.remember("hello")
        assert store.path.is_dir()
    assert not store.path.exists()


def test_dropped_object_releases_its_directory_at_once(tmp_path: Path, embedding: object) -> None:
    store = MemoryStore.open(tmp_path / "s", embedding=embedding)
    gc.disable()
    try:
        del store
        MemoryStore.open(tmp_path / "s", embedding=embedding).close()
    finally:
        gc.enable()


def test_open_twice_are_two_that_follow_each_other(open_store: OpenStore) -> None:
    store, other = open_store(), open_store()
    store.remember(Memory("kestrel", id="m1"))
    assert other.count() == 1
    other.forget("m1")
    assert store.count() == 0
    store.close()
    other.remember("osprey")
    with pytest.raises(StoreClosed):
        store.count()


def test_failed_open_releases_the_lock(open_store: OpenStore, make_embedding: Callable[..., object]) -> None:
    with open_store() as store:
        store.remember("hello")
    with pytest.raises(EmbeddingMismatch):
        open_store(embedding=make_embedding(name="other"))
    open_store()


@each_row(
    ("given", "error", "said"),
    [
        ({"path": ""}, StorePathError, "not empty"),
        ({"path": 5}, StorePathError, "not int"),
        ({"path": b"memories"}, StorePathError, "not bytes"),
        ({"config": {"timezone": "UTC"}}, ConfigError, "from_mapping"),
        ({"clock": 5}, InvalidArgument, "clock must be a function"),
        ({"new_id": "m1"}, InvalidArgument, "new_id must be a function"),
    ],
)
def test_what_a_store_cannot_be_opened_with_is_named(given: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        MemoryStore.open(**given)


def test_settings_of_an_optimizer_are_settings(store: MemoryStore) -> None:
    with pytest.raises(ConfigError, match="must be a RecallConfig, not dict"):
        QueryOptimizer(store, config={})  # type: ignore[arg-type]


def test_closed_store_says_so(store: MemoryStore) -> None:
    store.remember("hello")
    store.close()
    store.close()
    calls: list[Callable[[], object]] = [
        lambda: store.remember("x"),
        lambda: store.remember_many([]),
        lambda: store.forget("x"),
        lambda: store.get("x"),
        store.count,
        store.scopes,
        store.stats,
        store.reindex,
        lambda: store.add_entity("X"),
        lambda: store.scope_id(U1),
    ]
    for call in calls:
        with pytest.raises(StoreClosed, match="closed"):
            call()
    assert "closed" in repr(store)


def test_attach_gives_the_open_object_or_opens(tmp_path: Path, embedding: object) -> None:
    with MemoryStore.open(tmp_path / "s", embedding=embedding) as store:
        assert MemoryStore.attach(tmp_path / "s") is store
    with MemoryStore.attach(tmp_path / "s", embedding=embedding) as again:
        assert again is not store


# -- the embedding a store was made with -------------------------------------------------------------------------------


def test_another_embedding_is_refused_until_reindexed(
    open_store: OpenStore, make_embedding: Callable[..., object]
) -> None:
    config = RecallConfig(retrieval=RetrievalConfig(exact_max=5))
    with open_store(config=config) as store:
        store.remember_many([Memory(f"note{i}", id=f"m{i}") for i in range(12)])
        store.remember_many([Memory(f"note{i}", id=f"m{i}") for i in range(3)], scope=U1)
    other = make_embedding(dimensions=8, name="other")
    with pytest.raises(EmbeddingMismatch, match=r"'fake:16'.*'other:8'.*reindex"):
        open_store(embedding=other, config=config)
    with open_store(embedding=other, config=config, reindex=True) as store:
        scope_id = store.scope_id(Scope())
        assert scope_id is not None
        home = store.indexes.home_of(scope_id)
        assert home
        vector = store.embedding.embed_query("note7")
        view = store.view(scope_id)
        nums, cosines = store.indexes.neighbours.nearest(home, vector, 1)  # the scope's own collection was filled again
        assert [view.ids[r] for r in view.rows_of(nums)] == ["m7"] and cosines[0] > 0.99
        assert in_collections.count(store) == 12
        assert store.stats()["embedding"] == "other:8"
    with pytest.raises(EmbeddingMismatch):
        open_store(config=config)
    open_store(embedding=other, config=config)


def test_reindex_flag_with_the_same_embedding_costs_nothing(open_store: OpenStore, embedding: object) -> None:
    with open_store() as store:
        store.remember("hello")
    calls = embedding.calls  # type: ignore[attr-defined]
    open_store(reindex=True)
    assert embedding.calls == calls  # type: ignore[attr-defined]


def test_reindex_keeps_everything_and_reports_progress(store: MemoryStore) -> None:
    store.remember_many([Memory(f"kestrel note{i}", id=f"m{i}") for i in range(10)])
    seen: list[tuple[str, int, int]] = []
    store.reindex(progress=lambda *step: seen.append(step))
    assert [s[0] for s in seen] == ["embedding"]
    assert all(done == total == 10 for _, done, total in seen)
    assert len(lexical_ids(store, "kestrel")) == store.stats()["vectors"] == 10
    assert sorted(p.name for p in store.path.iterdir() if p.is_dir()) == ["columns", "processes"]
    store.remember(Memory("kestrel again", id="m0"))
    assert len(lexical_ids(store, "kestrel")) == 10


def test_reindex_that_fails_leaves_a_store_that_opens(open_store: OpenStore, embedding: object) -> None:
    store = open_store()
    store.remember_many([Memory(f"kestrel note{i}", id=f"m{i}") for i in range(10)])
    embedding.fails = lambda _text: True  # type: ignore[attr-defined]
    with pytest.raises(EmbeddingError):
        store.reindex()
    assert len(lexical_ids(store, "kestrel")) == 10
    store.close()
    store = open_store()
    assert store.count() == store.stats()["vectors"] == 10


def test_new_store_of_a_failing_embedding_opens_and_names_it(open_store: OpenStore, embedding: object) -> None:
    embedding.fails = lambda _text: True  # type: ignore[attr-defined]
    assert open_store().count() == 0


# -- growth ------------------------------------------------------------------------------------------------------------


def test_scope_that_outgrows_the_exact_scan_gets_a_collection(open_store: OpenStore) -> None:
    config = RecallConfig(retrieval=RetrievalConfig(exact_max=10))
    store = open_store(config=config)
    store.remember_many([Memory(f"note{i}", id=f"m{i}") for i in range(8)])
    store.remember_many([Memory(f"note{i}", id=f"m{i}") for i in range(8)], scope=U1)
    first, second = store.scope_id(Scope()), store.scope_id(U1)
    assert first is not None and second is not None
    assert not store.indexes.home_of(first) and not store.indexes.collections.server.opened
    store.remember_many([Memory(f"late{i}", id=f"l{i}") for i in range(5)])
    assert store.indexes.settle(60)
    assert store.indexes.home_of(first) and not store.indexes.home_of(second)
    assert in_collections.count(store) == 13
    store.forget("m0")
    assert store.indexes.settle(60) and in_collections.count(store) == 12
    store.close()
    store = open_store(config=config)
    assert store.indexes.home_of(first) and store.indexes.home_until(first)
    assert in_collections.count(store) == 12
    assert store.stats()["notices"] == []


def test_stats(store: MemoryStore) -> None:
    store.remember(Memory("x", type="fact", event_at=datetime(2024, 1, 1, tzinfo=UTC)))  # type: ignore[arg-type]
    store.remember("y", scope=U1)
    stats = store.stats()
    assert stats["memories"] == 2
    assert stats["types"] == {"fact": 1, "observation": 1}
    assert stats["scopes"] == [{"scope": "-/-/-", "memories": 1}, {"scope": "u1/-/-", "memories": 1}]
    assert stats["index_lag"] == {"semantic": 0}
    assert stats["bytes"] > 0 and stats["notices"] == []


# -- threads -----------------------------------------------------------------------------------------------------------


def test_writers_and_readers_in_many_threads(store: MemoryStore) -> None:
    """Views read while a write is under way never keep a memory without its vector."""
    store.remember("first", scope=U1)
    problems: list[BaseException] = []
    done = threading.Event()

    def write(name: str) -> None:
        for i in range(6):
            store.remember_many([Memory(f"kestrel {name} {i} {j}", id=f"{name}{i}-{j}") for j in range(3)], scope=U1)
            store.forget(f"{name}{i}-0", scope=U1)

    def read() -> None:
        scope_id = store.scope_id(U1)
        assert scope_id is not None
        while not done.is_set():
            store._views.drop(scope_id)  # as if memory were short
            view = store.view(scope_id)
            assert view.vectors is not None
            assert view.vectors.halves[view.alive].any(axis=1).all()

    def guarded(call: Callable[..., None], *args: str) -> None:
        try:
            call(*args)
        except BaseException as e:
            problems.append(e)

    writers = [threading.Thread(target=guarded, args=(write, name)) for name in "ab"]
    readers = [threading.Thread(target=guarded, args=(read,)) for _ in range(2)]
    for thread in [*writers, *readers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert problems == []
    assert store.count(scope=U1) == len(view_ids(store, U1)) == 25
    assert len(lexical_ids(store, "kestrel", U1)) == 24
    assert store.stats()["vectors"] == 25


def test_the_extractor_is_asked_for(fast_path: Path) -> None:
    text = "Priya reports to Diego Alvarez, who leads Project Kestrel"
    with MemoryStore.open(fast_path / "without") as plain:
        plain.remember(text)
        assert plain.stats()["entities"] == 0
    asked: list[str] = []

    def names(text: str) -> list[str]:
        asked.append(text)
        return ["Project Kestrel", "priya"]

    with MemoryStore.open(fast_path / "with", extractor=names) as finding:
        finding.remember(Memory(text, entities=["Priya"]))
        finding.remember("The kestrel project went well")
        assert asked == [text, "The kestrel project went well"]
        assert finding.entities(1).index.lookup("Project Kestrel")
        assert finding.stats()["entities"] == 2  # a declared name in other letters is the same one
        assert finding.stats()["mentions"] == 4


@pytest.mark.parametrize("given", ["Priya", [""], [3], {"Priya": "person"}, 7])
def test_an_extractor_that_fails_costs_its_names_only(
    fast_path: Path, caplog: pytest.LogCaptureFixture, given: object
) -> None:
    def broken(_text: str) -> Any:
        if given == 7:
            raise RuntimeError("no model today")
        return given

    with MemoryStore.open(fast_path / "s", extractor=broken) as store:
        store.remember(Memory("Priya is here", actor="Sam", id="a"))
        assert store.get("a") is not None
        assert store.stats()["entities"] == 1
    assert ("RuntimeError" if given == 7 else "InvalidArgument") in caplog.text


def test_an_extractor_is_a_function(fast_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="extractor must be a function from a text to a list of names, not str"):
        MemoryStore.open(fast_path / "s", extractor="names")  # type: ignore[arg-type]


def test_the_index_of_words_of_an_earlier_version_goes(open_store: OpenStore) -> None:
    """It holds words of memories that may be forgotten since."""
    store = open_store()
    store.remember(Memory("a kestrel", id="a"))
    with store.engine.begin() as connection:
        journal.move(connection, chroma_files.FORMER, 1)
    store.close()
    former = store.path / "lexical.3"
    former.mkdir()
    (former / "meta.json").write_text("{}")
    store = open_store()
    assert not former.exists() and store.stats()["notices"] == []
    assert store.stats()["index_lag"] == {"semantic": 0}
    assert lexical_ids(store, "kestrel") == ["a"]


def test_a_rebuild_moves_the_cursor_to_what_it_holds(store: MemoryStore) -> None:
    store.remember_many([Memory("one", id="a"), Memory("two", id="b")])
    with store.engine.begin() as connection:  # as if it had missed the second
        head = journal.last_seq(connection)
        journal.move(connection, journal.SEMANTIC, head - 1)
    store.indexes.rebuild()
    with store.engine.connect() as connection:
        assert journal.cursors(connection) == {journal.SEMANTIC: head}
    assert not any(store.indexes.lag.values())


def test_a_directory_beside_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="directory is for a store in a database"):
        MemoryStore.open(tmp_path / "store", directory=tmp_path / "other")
    assert list(tmp_path.iterdir()) == []
