"""`vectors.index: chroma`: scopes of any size are answered by Chroma, and Chroma's own client reads them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Scope
from recall_integrations.config import RetrievalConfig, VectorsConfig
from recall_integrations.errors import ConfigError, VectorsAway
from recall_integrations.store import filling
from recall_integrations.store.chroma_files import ChromaFiles
from recall_integrations.types import Filters
from tests import chroma

LARGE, SMALL = Scope(user_id="large", agent_id="a"), Scope(user_id="small")
CHOSEN = RecallConfig(vectors=VectorsConfig(index="chroma"))
BIRDS = ["swans", "geese", "herons"]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "QUIET_S", 0.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many neighbours Chroma in files was asked for, each time."""
    limits, real = list[int](), ChromaFiles.nearest

    def counted(self: ChromaFiles, home: str, vector: Any, limit: int, **given: Any) -> Any:
        limits.append(limit)
        return real(self, home, vector, limit, **given)

    monkeypatch.setattr(ChromaFiles, "nearest", counted)
    return limits


def fill(store: MemoryStore) -> None:
    store.remember_many([Memory(f"Sam counted {n} swans", id=f"m{n}") for n in range(1_100)], scope=LARGE)
    store.remember_many([Memory(f"Priya likes {bird}", id=bird, type="preference") for bird in BIRDS], scope=SMALL)
    assert store.indexes.settle(120)


def recalled(store: MemoryStore, query: str, scope: Scope, **given: Any) -> RecallResult:
    with closing(QueryOptimizer(store)) as optimizer:
        return optimizer.recall(query, scope=scope, time_budget_ms=60_000, **given)


def ids(result: RecallResult) -> list[str | None]:
    return [hit.memory.id for hit in result.hits]


def read(client: Any, scope: Scope) -> Any:
    """A scope's collection, as somebody finds it who knows Chroma alone."""
    wanted = {"user_id": scope.user_id, "agent_id": scope.agent_id, "namespace": scope.namespace}
    (found,) = (one for one in client.list_collections() if wanted.items() <= one.metadata.items())
    return found


def reads(client: Any, store_vector: Callable[[str], Any]) -> None:
    large, small = read(client, LARGE), read(client, SMALL)
    assert (large.count(), small.count()) == (1_100, 3)
    near = large.query(query_embeddings=[store_vector("Sam counted 117 swans")], n_results=1)
    assert near["metadatas"] == [[{"memory_id": "m117"}]] and near["distances"][0][0] < 0.01
    assert {one["memory_id"] for one in small.get()["metadatas"]} == set(BIRDS)


def test_every_scope_is_answered_by_chroma_and_its_own_client_reads_it(tmp_path: Path, asked: list[int]) -> None:
    with MemoryStore.open(tmp_path / "s", config=CHOSEN) as store:
        fill(store)
        asked.clear()
        for scope, best in ((LARGE, "m117"), (SMALL, "geese")):
            result = recalled(store, "117 swans" if scope == LARGE else "what about geese?", scope)
            assert ids(result)[0] == best and not result.degraded and asked
            asked.clear()
        vector = store.embedding.embed_query
    (path,) = (tmp_path / "s").glob("semantic.*")
    reads(chromadb.PersistentClient(str(path)), vector)
    with MemoryStore.open(tmp_path / "s", config=CHOSEN) as store:  # which was read: nothing of it is damaged, or anew
        assert not store.stats()["notices"] and not any(store.stats()["collections_lack"].values())
        store.warm(scope=SMALL)
        assert ids(recalled(store, "geese", SMALL))[0] == "geese"
    assert [one.name for one in (tmp_path / "s").glob("semantic.*")] == [path.name]


def test_what_is_forgotten_or_said_anew_is_so_in_chroma(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=CHOSEN) as store:
        fill(store)
        store.forget("swans", scope=SMALL)
        store.remember(Memory("Priya likes grey geese", id="geese"), scope=SMALL)
        store.remember(Memory("Priya likes owls", id="owls"), scope=SMALL)
        assert ids(recalled(store, "owls", SMALL))[0] == "owls"  # whether Chroma has it or not
        assert store.indexes.settle(60)
    (path,) = (tmp_path / "s").glob("semantic.*")
    held = read(chromadb.PersistentClient(str(path)), SMALL).get()
    assert sorted(one["memory_id"] for one in held["metadatas"]) == ["geese", "herons", "owls"]


def test_a_filter_is_kept_and_chroma_gets_no_condition(tmp_path: Path, asked: list[int]) -> None:
    with MemoryStore.open(tmp_path / "s", config=CHOSEN) as store:
        fill(store)
        asked.clear()
        result = recalled(store, "Priya", SMALL, filters=Filters(metadata={"nothing": 1}))
        assert not result.hits and not asked  # what a filter leaves is compared one by one


def test_while_chroma_is_away_the_scan_answers_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore.open(tmp_path / "s", config=CHOSEN) as store:
        fill(store)
        before = recalled(store, "Sam counted 117 swans", LARGE, k=10)

        def away(*_: Any, **__: Any) -> Any:
            raise VectorsAway("Chroma is away.")

        monkeypatch.setattr(ChromaFiles, "nearest", away)
        result = recalled(store, "Sam counted 117 swans", LARGE, k=10)
        assert ids(result) == ids(before)
        assert [(d.stage, d.reason) for d in result.degraded] == [("semantic", "vectors.away")]


def test_a_choice_may_change(tmp_path: Path) -> None:
    few = RetrievalConfig(exact_max=1_000)
    for vectors, scopes, with_ids in (("auto", 1, False), ("chroma", 2, True), ("auto", 1, False), ("scan", 0, False)):
        config = RecallConfig(retrieval=few, vectors=VectorsConfig(index=vectors))  # type: ignore[arg-type]
        with MemoryStore.open(tmp_path / "s", config=config) as store:
            if not store.count(scope=LARGE):
                fill(store)
            assert store.indexes.settle(120)
            assert len(store.stats()["collections_lack"]) == scopes, vectors
            assert ids(recalled(store, "117 swans", LARGE))[0] == "m117"
        paths = list((tmp_path / "s").glob("semantic.*"))
        assert len(paths) == (scopes > 0)
        if paths:
            found = chromadb.PersistentClient(str(paths[0])).list_collections()
            assert len(found) == scopes
            assert all(("user_id" in one.metadata) == with_ids for one in found)


@pytest.mark.parametrize(
    ("path", "vectors", "said"),
    [
        ("postgresql://localhost/nowhere", {"index": "chroma"}, "vectors.address"),
        (None, {"index": "chroma", "address": "pgvector"}, "Leave one of them out"),
        (None, {"index": "scan", "address": "http://localhost:8000"}, "Leave one of them out"),
    ],
)
def test_a_choice_that_cannot_be_is_an_error(path: str | None, vectors: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MemoryStore.open(path, config=RecallConfig(vectors=VectorsConfig(**vectors)))  # type: ignore[arg-type]


@pytest.mark.server
def test_a_server_has_all_scopes_and_its_client_reads_them(tmp_path: Path) -> None:
    with chroma.running() as server:
        config = RecallConfig(vectors=VectorsConfig(index="chroma", address=server.address))
        with MemoryStore.open(tmp_path / "s", config=config) as store:
            fill(store)
            result = recalled(store, "geese", SMALL)
            assert ids(result)[0] == "geese" and not result.degraded
            host, port = server.address.removeprefix("http://").split(":")
            reads(chromadb.HttpClient(host=host, port=int(port)), store.embedding.embed_query)
            server.kill()
            result = recalled(store, "geese", SMALL)
            assert ids(result)[0] == "geese"
            assert [(d.stage, d.reason) for d in result.degraded] == [("semantic", "vectors.away")]
            assert "Tried 2 times" in result.degraded[0].detail
