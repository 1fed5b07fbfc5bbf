from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.indexes.scope_view import TYPE_CODES, ScopeView, of_types
from recall_integrations.indexes.vector_column import VectorColumn
from recall_integrations.store.asking import Ahead
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, MemoryType, Scope
from tests.columns import without_words

OpenStore = Callable[..., MemoryStore]


def view_of(store: MemoryStore, scope: Scope = Scope()) -> ScopeView:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    return store.view(scope_id)


def living(view: ScopeView) -> list[str]:
    return [view.ids[row] for row in np.flatnonzero(view.alive)]


def plain(n: int = 5, vectors: np.ndarray | None = None, *, scanned: bool = True) -> ScopeView:
    return ScopeView(
        scope_id=1,
        version=1,
        seq=9,
        nums=np.arange(10, 10 + 2 * n, 2),
        ids=[f"m{i}" for i in range(n)],
        at=np.arange(n),
        dated=np.ones(n, dtype=np.bool_),
        text=without_words(n),
        types=np.zeros(n, dtype=np.int8),
        importance=np.ones(n, dtype=np.float32),
        alive=np.asarray([i != 2 for i in range(n)]),
        vectors=None if vectors is None else VectorColumn.of(vectors, scanned=scanned),
    )


def test_rows_of_leaves_out_what_is_not_there() -> None:
    view = plain()
    assert view.rows_of([18, 10, 11, 14, 999, -1]).tolist() == [4, 0]  # 11 unknown, 14 dead
    assert view.rows_of([]).tolist() == [] and plain(0).rows_of([1]).tolist() == []
    assert view.size == 5 and view.count == 4


def test_of_types() -> None:
    kinds = ["fact", "chunk", "skill", "chunk", "fact"]
    view = replace(plain(), types=np.asarray([TYPE_CODES[k] for k in kinds], dtype=np.int8))
    assert of_types(view, (MemoryType.CHUNK,)).tolist() == [False, True, False, True, False]
    assert of_types(view, (MemoryType.FACT, MemoryType.SKILL)).tolist() == [True, False, True, False, True]
    assert of_types(view, (MemoryType.CHUNK,), np.asarray([3, 0])).tolist() == [True, False]
    assert not of_types(view, ()).any()


def test_top_breaks_ties_by_id_also_on_a_plateau() -> None:
    view = plain(100)
    rows, scores = view.top(np.arange(99, -1, -1), np.zeros(100, dtype=np.float32), 3)
    assert [view.ids[r] for r in rows] == ["m0", "m1", "m10"] and scores.tolist() == [0, 0, 0]
    mixed = np.asarray([1.0] * 50 + [2.0] + [1.0] * 49, dtype=np.float32)
    rows, scores = view.top(np.arange(100), mixed, 3)
    assert [view.ids[r] for r in rows] == ["m50", "m0", "m1"] and scores.tolist() == [2, 1, 1]
    rows, _ = view.top(np.arange(2), mixed[:2], 10)
    assert rows.tolist() == [0, 1]


def test_order_and_top_are_those_of_sorting_by_score_and_id() -> None:
    view, rng = plain(60), np.random.default_rng(7)
    for values in (2, 5, 20, 1_000):
        rows = rng.permutation(60)[: rng.integers(1, 60)]
        scores = rng.integers(0, values, len(rows)).astype(np.float32)
        pairs = list(zip(scores.tolist(), rows.tolist(), strict=True))
        expected = [row for _, row in sorted(pairs, key=lambda pair: (-pair[0], view.ids[pair[1]]))]
        assert rows[view.order_by_id(rows, scores)].tolist() == expected
        for limit in (1, 3, 10, 100):
            assert view.top(rows, scores, limit)[0].tolist() == expected[:limit]


def test_similarity() -> None:
    vectors = np.eye(5, dtype=np.float32)
    view = plain(vectors=vectors)
    assert view.exact and view.similarity(np.asarray([3, 0]), vectors[3]).tolist() == [1, 0]  # type: ignore[union-attr]
    assert view.similarity(np.asarray([0]), None) is None
    assert view.similarity(np.asarray([0]), np.ones(4, dtype=np.float32)) is None
    assert plain().similarity(np.asarray([0]), vectors[0]) is None
    best = view.scan(np.stack([vectors[0], vectors[4]]))
    assert best is not None and best.of(np.arange(5)).tolist() == [1, 0, 0, 0, 1]
    assert plain(vectors=vectors, scanned=False).scan(vectors[:1]) is None


def test_views_are_snapshots(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id=i) for i in "ab"])
    old = view_of(store)
    assert view_of(store) is old
    store.remember(Memory("y", id="c"))
    store.forget("a")
    new = view_of(store)
    assert living(old) == ["a", "b"] and living(new) == ["b", "c"]
    assert old.size == 2 and new.version > old.version
    store.remember(Memory("z", id="b"))
    assert living(new) == ["b", "c"] and sorted(living(view_of(store))) == ["b", "c"]


def test_declaring_an_entity_does_not_load_the_columns_anew(store: MemoryStore) -> None:
    store.remember(Memory("x", id="a"))
    old = view_of(store)
    store.add_entity("Priya")
    new = view_of(store)
    assert new.version > old.version
    assert np.shares_memory(new.nums, old.nums)


def test_columns_grow_and_are_compacted(store: MemoryStore) -> None:
    ids: list[str] = []
    for part in range(4):
        ids += store.remember_many([Memory("x", id=f"m{part}-{i}") for i in range(40)])
        assert living(view_of(store)) == ids
    assert view_of(store).vectors is not None


def test_many_dead_rows_are_dropped(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_integrations.indexes.scope_views._COMPACT_AT", 0.3)
    store = open_store()
    given = [Memory("x", id=f"m{i:04}") for i in range(1200)]
    store.remember_many(given)
    view_of(store)
    store.remember_many(given)
    view = view_of(store)
    assert view.size == view.count == 1200


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (RetrievalConfig(), "scanned"),
        (RetrievalConfig(exact_max=10), "kept"),
        (RetrievalConfig(cache_mb=0), None),
    ],
)
def test_vectors_fit_their_budget_also_after_growing(
    open_store: OpenStore, config: RetrievalConfig, kind: object
) -> None:
    store = open_store(config=RecallConfig(retrieval=config))
    store.add_entity("Priya")  # a scope that is looked at while it is empty
    assert view_of(store).size == 0
    for part in range(3):
        store.remember_many([Memory(f"text {part} {i}", id=f"m{part}-{i}") for i in range(10)])
        view = view_of(store)
    held = None if view.vectors is None else "scanned" if view.exact else "kept"
    assert held == kind
    rows = np.asarray([25, 3, 14])
    vectors = view.vectors_of(rows)
    wanted = store.embedding.embed_documents([f"text {r // 10} {r % 10}" for r in rows])
    np.testing.assert_allclose(vectors, wanted, atol=2e-3)
    many = np.arange(29, -1, -1)
    similarity = view.similarity(many, wanted[0])
    assert similarity is not None and int(many[similarity.argmax()]) == 25


def test_stored_vectors_in_one_scan_and_by_key(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(cache_mb=0)))
    store.remember_many([Memory(f"text {i}", id=f"m{i:02}") for i in range(30)])
    store.remember_many([f"other {i}" for i in range(30)], scope=Scope(user_id="u"))
    store.forget("m05")
    view = view_of(store)
    rows = np.flatnonzero(view.alive)[::-1]
    by_key = view.vectors_of(rows)
    monkeypatch.setattr("recall_integrations.database.schema.SQL_VARIABLES", 2)
    by_scan = view.vectors_of(rows)
    assert by_key is not None and by_scan is not None
    np.testing.assert_array_equal(by_key, by_scan)
    wanted = store.embedding.embed_documents([f"text {int(view.ids[r][1:])}" for r in rows])
    np.testing.assert_allclose(by_key, wanted, atol=2e-3)
    nowhere = view.stored(np.asarray([10**9]))  # type: ignore[misc]
    assert not nowhere.any()


def test_least_recently_used_scope_leaves(open_store: OpenStore) -> None:
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(cache_mb=1)))
    scopes = [Scope(user_id=f"u{i}") for i in range(3)]
    for scope in scopes:
        store.remember_many([f"text {i}" for i in range(2000)], scope=scope)  # about 0.4 MB each
    kept = [view_of(store, scope) for scope in scopes]
    assert view_of(store, scopes[2]) is kept[2]
    assert view_of(store, scopes[0]) is not kept[0]
    assert living(view_of(store, scopes[0])) == living(kept[0])


def test_view_read_in_the_middle_of_a_write_is_whole_later(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Committed, but its vectors are not in the index yet: not shown, and not remembered without them."""
    store.remember(Memory("first", id="a"))
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    store._views.drop()
    reached, go_on = threading.Event(), threading.Event()
    real = store.indexes._apply

    def slow(*given: object) -> object:
        reached.set()
        assert go_on.wait(10)
        return real(*given)

    monkeypatch.setattr(store.indexes, "_apply", slow)
    monkeypatch.setattr(Ahead, "vectors_of", lambda *_: None)  # nearly always they are committed with the memory
    writer = threading.Thread(target=store.remember, args=(Memory("second", id="b"),))
    writer.start()
    assert reached.wait(10)
    assert store.get("b") is not None
    assert living(store.view(scope_id)) == ["a"]
    go_on.set()
    writer.join()
    monkeypatch.undo()
    store.remember(Memory("third", id="c"))
    view = store.view(scope_id)
    assert living(view) == ["a", "b", "c"]
    assert view.vectors is not None and view.vectors.halves.any(axis=1).all()


def test_view_loaded_while_its_scope_was_dropped_is_not_kept(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember(Memory("first", id="a"))
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    views = store._views
    views.drop()
    real = views._load

    def load(scope: int, upto: int) -> object:
        loaded = real(scope, upto)
        views.drop(scope)  # its vectors have just been made anew
        return loaded

    monkeypatch.setattr(views, "_load", load)
    first = store.view(scope_id)
    monkeypatch.undo()
    assert store.view(scope_id) is not first


def test_a_scope_that_leaves_for_another_is_told_under_no_lock(open_store: OpenStore) -> None:
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(cache_mb=0)))
    scopes = [Scope(user_id=f"u{i}") for i in range(2)]
    for scope in scopes:
        store.remember("a kestrel", scope=scope)
    views, gone = store._views, list[int]()
    views.drop()

    def left(scope_id: int) -> None:
        assert not views._lock.locked() and not any(lock.locked() for lock in views._scope_locks.values())
        gone.append(scope_id)

    views._left = (left,)
    first, second = (view_of(store, scope).scope_id for scope in scopes)
    assert gone == [first]
    view_of(store, scopes[1])
    store.remember("an osprey", scope=scopes[1])
    view_of(store, scopes[1])
    assert gone == [first]
    views.drop(second)  # something of it has changed, and it may be asked for again at once
    assert gone == [first]
