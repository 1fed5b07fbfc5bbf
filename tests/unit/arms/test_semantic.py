from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from recall_integrations.arms import retrievers as semantic
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import SemanticRetriever
from recall_integrations.config import RecallConfig, RetrievalConfig, VectorsConfig
from recall_integrations.errors import IndexUnavailable, RecallTimeout, VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import CollectionLost
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, MemoryType, Scope
from tests import chroma, in_collections

Ask = Callable[..., ArmRequest]
Ids = Callable[[ArmRequest, ArmResult], list[str]]
OpenStore = Callable[..., MemoryStore]
BIG, SMALL = Scope(user_id="big"), Scope(user_id="small")
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def arm(store: MemoryStore) -> SemanticRetriever:
    indexes = store.indexes
    return SemanticRetriever(lambda: indexes.neighbours, indexes.home_of, indexes.home_until)


def fill(store: MemoryStore) -> None:
    """200 memories in one scope, every tenth a fact; 20 with the same texts in another."""
    types = [MemoryType.FACT if i % 10 == 0 else MemoryType.OBSERVATION for i in range(200)]
    given = [Memory(f"text {i}", id=f"m{i:03}", type=types[i], event_at=START + timedelta(days=i)) for i in range(200)]
    store.remember_many(given, scope=BIG)
    store.remember_many([Memory(f"text {i}", id=f"s{i:03}") for i in range(20)], scope=SMALL)


def by_hand(store: MemoryStore, query: str, scope: Scope, keep: Callable[[int], bool], limit: int) -> list[str]:
    """Cosines of everything, with nothing of the store but its embedding."""
    prefix, count = ("m", 200) if scope == BIG else ("s", 20)
    rows = [i for i in range(count) if keep(i)]
    # float16 is what the store keeps
    matrix = store.embedding.embed_documents([f"text {i}" for i in rows]).astype("<f2").astype(np.float32)
    scores = matrix @ store.embedding.embed_query(query)
    return [f"{prefix}{rows[i]:03}" for i in np.argsort(-scores)[:limit]]


CONFIGS = {
    "exact": RetrievalConfig(),
    "hnsw": RetrievalConfig(exact_max=50),
    "no memory for vectors": RetrievalConfig(cache_mb=0),
    "hnsw, no memory for vectors": RetrievalConfig(exact_max=50, cache_mb=0),
}


SERVED = "hnsw, on a server"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with chroma.running() as server:
        yield server.address


@pytest.fixture(params=[*CONFIGS, pytest.param(SERVED, marks=pytest.mark.slow)])
def filled(request: pytest.FixtureRequest, open_store: OpenStore) -> MemoryStore:
    config = RecallConfig(retrieval=CONFIGS[request.param.removesuffix(", on a server")])
    if request.param == SERVED:
        config = replace(config, vectors=VectorsConfig(address=request.getfixturevalue("address")))
    store = open_store(config=config)
    fill(store)
    scope_id = store.scope_id(BIG)
    assert scope_id is not None
    assert store.indexes.settle(60)
    assert bool(store.indexes.home_of(scope_id)) == ("hnsw" in request.param)
    assert bool(store.indexes.home_until(scope_id)) == ("hnsw" in request.param)
    view = store.view(scope_id)
    kind = None if view.vectors is None else "scanned" if view.exact else "kept"
    assert kind == {"exact": "scanned", "hnsw": "kept", SERVED: "kept"}.get(request.param)
    return store


def test_recall_against_an_exact_scan(filled: MemoryStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)  # else 200 rows would be scanned, whatever the layout
    found = wanted = 0
    for i in range(20):
        query = f"question {i}"
        request = ask(filled, query, scope=BIG)
        got = ids(request, arm(filled).search(request))
        assert len(got) == 10
        expected = by_hand(filled, query, BIG, lambda _: True, 10)
        found += len(set(got) & set(expected))
        wanted += 10
    assert found / wanted >= 0.97


def test_a_memory_finds_itself(filled: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(filled, "text 42", scope=BIG, limit=3)
    result = arm(filled).search(request)
    assert ids(request, result)[0] == "m042"
    assert result.scores[0] == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("subset_max", [0, 4_096])
def test_filters(filled: MemoryStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch, subset_max: int) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", subset_max)
    cases = [
        (Filters(types=(MemoryType.FACT,)), lambda i: i % 10 == 0, 20),
        (Filters(after=START + timedelta(days=150)), lambda i: i >= 150, 50),
        (Filters(before=START + timedelta(days=3)), lambda i: i < 3, 3),
    ]
    for filters, keep, count in cases:
        request = ask(filled, "a question", scope=BIG, filters=filters)
        got = ids(request, arm(filled).search(request))
        expected = by_hand(filled, "a question", BIG, keep, 10)
        assert len(got) == min(10, count)
        assert len(set(got) & set(expected)) >= 0.9 * len(expected)


def test_what_is_allowed_may_lie_apart_from_what_is_near(
    open_store: OpenStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(exact_max=50)))
    fill(store)
    assert store.indexes.settle(60)
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    monkeypatch.setattr(semantic, "FETCH_MAX", 20)
    query = "question 3"
    request = ask(store, query, scope=BIG)
    far = set(by_hand(store, query, BIG, lambda _i: True, 200)[100:])
    allowed = np.asarray([request.view.ids[row] in far for row in range(request.view.size)])
    found = arm(store).search(replace(request, allowed=allowed))
    assert found.note == "exact subset"
    assert ids(request, found) == by_hand(store, query, BIG, lambda i: f"m{i:03}" in far, 10)


@pytest.mark.parametrize(("fetch_max", "note"), [(2_000, "hnsw"), (20, "exact subset")])
@pytest.mark.parametrize("loaded", [False, True])
def test_what_has_ended_hides_nothing_that_is_there(
    open_store: OpenStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch, loaded: bool, fetch_max: int, note: str
) -> None:
    now, query = [START], "question 3"
    config = RecallConfig(retrieval=RetrievalConfig(exact_max=50))
    store = open_store(config=config, clock=lambda: now[0])
    fill(store)
    near = by_hand(store, query, BIG, lambda _: True, 40)
    store.remember_many(
        [Memory(f"text {int(i[1:])}", id=i, expires_at=START + timedelta(hours=1)) for i in near], scope=BIG
    )
    assert store.indexes.settle(60)
    if loaded:
        ask(store, query, scope=BIG)
    now[0] += timedelta(hours=1)
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    monkeypatch.setattr(semantic, "FETCH_MAX", fetch_max)
    request = ask(store, query, scope=BIG)
    found = arm(store).search(request)
    assert found.note == note
    expected = by_hand(store, query, BIG, lambda i: f"m{i:03}" not in near, 10)
    assert len(set(ids(request, found)) & set(expected)) >= 9


def test_small_scope_beside_a_large_one(
    filled: MemoryStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    request = ask(filled, "a question", scope=SMALL)
    assert ids(request, arm(filled).search(request)) == by_hand(filled, "a question", SMALL, lambda _: True, 10)


def test_forgotten_and_replaced(filled: MemoryStore, ask: Ask, ids: Ids) -> None:
    filled.forget("m042", scope=BIG)
    filled.remember(Memory("something else", id="m043"), scope=BIG)
    request = ask(filled, "text 42", scope=BIG, limit=100)
    assert "m042" not in ids(request, arm(filled).search(request))
    request = ask(filled, "something else", scope=BIG, limit=1)
    assert ids(request, arm(filled).search(request)) == ["m043"]
    request = ask(filled, "text 43", scope=BIG, limit=1)
    assert arm(filled).search(request).scores[0] < 0.99


def test_everything_when_that_much_is_asked_for(filled: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(filled, "a question", scope=BIG, limit=500)
    assert len(ids(request, arm(filled).search(request))) >= 195  # HNSW may miss some


def test_rewrites_count_with_their_best(filled: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(filled, "a question", scope=BIG, limit=3)
    vectors = filled.embedding.embed_documents(["a question", "text 7", "text 9"])
    request = replace(request, vectors=vectors, similarities=request.view.scan(vectors))
    assert set(ids(request, arm(filled).search(request))[:2]) == {"m007", "m009"}


def test_scope_that_grew_while_the_limit_shrank(open_store: OpenStore, ask: Ask, ids: Ids) -> None:
    """Opened with a smaller `exact_max`, a large scope has a collection that is being filled."""
    store = open_store()
    fill(store)
    store.close()
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(exact_max=50)))
    request = ask(store, "a question", scope=BIG)
    assert ids(request, arm(store).search(request)) == by_hand(store, "a question", BIG, lambda _: True, 10)
    store.remember(Memory("one more", id="x"), scope=BIG)
    scope_id = store.scope_id(BIG)
    assert scope_id is not None and store.indexes.home_of(scope_id)
    assert store.indexes.settle(60) and in_collections.count(store) == 201


def test_what_the_collection_lacks_is_compared_one_by_one(
    open_store: OpenStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    monkeypatch.setattr(semantic, "SCANNED_AT_ONCE", 30)
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(exact_max=50)))
    fill(store)
    assert store.indexes.settle(60)
    request = ask(store, "text 190", scope=BIG)
    held = int(request.view.nums[99])

    class Behind:
        def nearest(self, home: str, vector: np.ndarray, limit: int, **_: float) -> tuple[np.ndarray, np.ndarray]:
            nums, scores = store.indexes.neighbours.nearest(home, vector, limit)
            return nums[nums <= held], scores[nums <= held]

    late = SemanticRetriever(Behind, store.indexes.home_of, lambda _scope: held)
    wanted = by_hand(store, "text 190", BIG, lambda i: i >= 100, 5)
    assert [i for i in ids(request, late.search(request)) if i >= "m100"][:5] == wanted
    few = replace(request, allowed=request.view.nums > int(request.view.nums[150]))
    assert ids(few, late.search(few)) == by_hand(store, "text 190", BIG, lambda i: i > 150, 10)


@pytest.mark.parametrize("error", [VectorsAway, VectorsRefused, CollectionLost])
@pytest.mark.parametrize("cache_mb", [16, 0])
def test_without_its_server_it_says_so_and_finds_what_it_can(
    open_store: OpenStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch, error: type[Exception], cache_mb: int
) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(exact_max=50, cache_mb=cache_mb)))
    fill(store)
    request = ask(store, "text 190", scope=BIG)
    held = int(request.view.nums[99])
    waited: list[float] = []

    class Away:
        def nearest(self, _home: str, _vector: object, _limit: int, *, seconds: float) -> tuple[object, object]:
            waited.append(seconds)
            raise error("it is not there")

    arm_of = SemanticRetriever(Away, lambda _scope: "home", lambda _scope: held)  # type: ignore[arg-type]
    found = arm_of.search(replace(request, deadline=Deadline.after(10_000)))
    assert found.without == ("vectors.away", "it is not there") and 4 < waited[0] <= 5
    keep = (lambda i: True) if cache_mb else (lambda i: i >= 100)
    assert ids(request, found) == by_hand(store, "text 190", BIG, keep, request.limit)


def test_what_a_server_says_of_numbers_that_it_should_not_hold_is_not_heard(
    open_store: OpenStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(exact_max=50)))
    fill(store)
    request = ask(store, "text 190", scope=BIG)
    held, strange = int(request.view.nums[99]), int(request.view.nums[150])
    homes = ["old", "old", "new"]

    class Copied:
        def nearest(self, home: str, _vector: object, _limit: int, **_: float) -> tuple[np.ndarray, np.ndarray]:
            assert home == "old", "how far the other reaches is not known"
            return np.asarray([strange]), np.ones(1, dtype=np.float32)

    steady = SemanticRetriever(Copied, lambda _scope: "old", lambda _scope: held)  # type: ignore[arg-type]
    wanted = by_hand(store, "text 190", BIG, lambda i: i >= 100, request.limit)
    assert ids(request, steady.search(request)) == wanted
    changing = SemanticRetriever(Copied, lambda _scope: homes.pop(), lambda _scope: held)  # type: ignore[arg-type]
    assert ids(request, changing.search(request)) == by_hand(store, "text 190", BIG, lambda i: True, request.limit)


def test_no_vector_is_an_error_and_no_memory_is_none(store: MemoryStore, ask: Ask) -> None:
    store.add_entity("Priya")
    assert not len(arm(store).search(ask(store, "x")).rows)
    with pytest.raises(IndexUnavailable, match="no vector"):
        arm(store).search(ask(store, "x", vectors=False))


def test_late_is_late(open_store: OpenStore, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(exact_max=50)))
    fill(store)
    with pytest.raises(RecallTimeout):
        arm(store).search(ask(store, "x", scope=BIG, deadline=Deadline.after(0)))


def test_no_more_neighbours_are_asked_for_than_an_index_gives_well(ask: Ask, store: MemoryStore) -> None:
    asked: list[int] = []

    class Told:
        def nearest(self, _home: str, _vector: object, limit: int, **_: float) -> tuple[object, object]:
            asked.append(limit)
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)

    store.remember("text")
    request = ask(store, "a question", scanned=False)
    size = 6_000
    many = replace(
        request.view,
        nums=np.arange(1, size + 1),
        ids=[f"m{i}" for i in range(size)],
        at=np.zeros(size, dtype=np.int64),
        dated=np.zeros(size, dtype=np.bool_),
        types=np.zeros(size, dtype=np.int8),
        importance=np.zeros(size, dtype=np.float32),
        alive=np.ones(size, dtype=np.bool_),
        vectors=None,
    )
    told = SemanticRetriever(Told, lambda _scope: "own", lambda _scope: 10**9)  # type: ignore[arg-type]
    told.search(replace(request, view=many, allowed=None, limit=10))
    told.search(replace(request, view=many, allowed=np.arange(size) % 5 != 0, limit=800))  # 3 · 800 / 0.8 is more
    assert asked == [10, 2_000]
