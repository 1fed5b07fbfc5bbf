"""Large scopes on a Chroma server: killed, hung, wrong, shared; nothing is lost, and what is missing is named."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from sqlalchemy import update

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.arms import retrievers as semantic
from recall_integrations.config import RetrievalConfig, VectorsConfig
from recall_integrations.database import schema
from recall_integrations.errors import ConfigError, IndexUnavailable, VectorsRefused
from recall_integrations.indexes import vector_server, vectors
from recall_integrations.indexes.vector_server import VectorServer
from recall_integrations.indexes.vectors import home_name
from recall_integrations.store import collections, filling, journal
from recall_integrations.types import RecallResult
from tests import chroma
from tests.chroma import Chroma, Proxy

SCOPE, OTHER = Scope(user_id="large"), Scope(user_id="other")
WAIT_S = 30.0
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Chroma]:
    """A server that no test kills."""
    with chroma.running() as found:
        yield found


@pytest.fixture
def server() -> Iterator[Chroma]:
    """A server of one test."""
    with chroma.running() as found:
        yield found


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small scopes are large, and nobody waits for long."""
    monkeypatch.setattr(semantic, "SUBSET_MAX", 0)
    monkeypatch.setattr(collections, "SLICE", 16)
    monkeypatch.setattr(collections, "PAUSE_MAX_S", 0.5)
    monkeypatch.setattr(collections, "LEASE_S", 0.2)
    monkeypatch.setattr(collections, "FRESH_S", 0.05)
    monkeypatch.setattr(vectors, "OPEN_S", 0.3)
    monkeypatch.setattr(filling, "QUIET_S", 0.0)


def config(address: str, *, exact_max: int = 10, **more: Any) -> RecallConfig:
    return RecallConfig(
        retrieval=RetrievalConfig(exact_max=exact_max, cache_mb=0), vectors=VectorsConfig(address=address, **more)
    )


def put(store: MemoryStore, first: int, last: int, scope: Scope = SCOPE) -> None:
    store.remember_many([Memory(f"note{i} about birds", id=f"m{i}") for i in range(first, last)], scope=scope)


def number(store: MemoryStore, scope: Scope = SCOPE) -> int:
    found = store.scope_id(scope)
    assert found is not None
    return found


def home(store: MemoryStore, scope: Scope = SCOPE) -> str:
    return store.indexes.home_of(number(store, scope))


def asked(store: MemoryStore, i: int, *, scope: Scope = SCOPE, ms: float = 60_000) -> RecallResult:
    with closing(QueryOptimizer(store)) as optimizer:
        return optimizer.recall(f"note{i} about birds", scope=scope, k=2, time_budget_ms=ms)


def finds(store: MemoryStore, *there: int, scope: Scope = SCOPE, away: bool = False) -> None:
    """Each of them is the nearest to its own text."""
    for i in there:
        found = asked(store, i, scope=scope)
        assert found.hits and found.hits[0].memory.id == f"m{i}"
        assert [(d.stage, d.reason) for d in found.degraded] == ([("semantic", "vectors.away")] if away else [])


def on(server: Chroma) -> set[str]:
    """The collections of a server."""
    return {c.name for c in chromadb.HttpClient(host="127.0.0.1", port=server.port).list_collections()}


def collection(server: Chroma, store: MemoryStore, scope: Scope = SCOPE) -> Any:
    return chromadb.HttpClient(host="127.0.0.1", port=server.port).get_collection(home_name(home(store, scope)))


def agrees(server: Chroma, store: MemoryStore, scope: Scope = SCOPE) -> None:
    """Filled to the end, the collection holds what stands, and nothing else."""
    assert store.indexes.settle(WAIT_S), store.stats()["notices"]
    view = store.view(number(store, scope))
    held = sorted(map(int, collection(server, store, scope).get(include=[])["ids"]))
    assert held == view.nums[view.alive].tolist()


def until(holds: Any, seconds: float = WAIT_S) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


# -- what is there -----------------------------------------------------------------------------------------------------


def test_a_large_scope_is_on_the_server_and_found_there(
    shared: Chroma, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    with MemoryStore.open(tmp_path / "s", config=config(""), vectors=shared.address) as store:
        put(store, 0, 40)
        put(store, 0, 5, OTHER)
        finds(store, 7, 39)
        agrees(shared, store)
        real = VectorServer.nearest

        def noticed(*given: Any, **more: Any) -> Any:
            counted.append(1)
            return real(*given, **more)

        monkeypatch.setattr(VectorServer, "nearest", noticed)
        finds(store, 7)
        assert counted
        assert not store.indexes.home_of(number(store, OTHER)), "it is small"
        assert not list(store.path.glob("semantic*")), "nothing in files"
        name = home(store)
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        finds(store, 7, 39)
        assert home(store) == name and not store.stats()["notices"]


def test_what_is_forgotten_goes_from_the_server_and_an_empty_scope_with_it(shared: Chroma) -> None:
    with MemoryStore.open(config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        name = home_name(home(store))
        for i in range(10):
            store.forget(f"m{i}", scope=SCOPE)
        put(store, 20, 25)  # replaced: other numbers
        agrees(shared, store)
        assert name in on(shared)
        for i in range(10, 40):
            store.forget(f"m{i}", scope=SCOPE)
        assert store.indexes.settle(WAIT_S)
        until(lambda: name not in on(shared))
        assert not home(store)


def test_compact_leaves_no_collection_that_held_what_was_forgotten(shared: Chroma) -> None:
    with MemoryStore.open(config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        before = home_name(home(store))
        store.forget("m3", scope=SCOPE)
        store.compact()
        assert before not in on(shared)
        agrees(shared, store)


def test_what_is_compacted_while_the_server_is_away_goes_when_it_is_back(server: Chroma, tmp_path: Path) -> None:
    settings = config(server.address)
    with MemoryStore.open(tmp_path / "s", config=settings) as store:
        put(store, 0, 40)
        agrees(server, store)
        before = home_name(home(store))
        server.kill()
        store.forget("m3", scope=SCOPE)
        store.compact()
        assert any("removed there when it is back" in said for said in store.stats()["notices"])
    server.start()
    assert before in on(server)
    with MemoryStore.open(tmp_path / "s", config=settings) as store:
        agrees(server, store)
        assert before not in on(server)


def test_reindex_fills_another_collection(shared: Chroma) -> None:
    with MemoryStore.open(config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        before = home_name(home(store))
        store.reindex()
        assert store.indexes.collections.lacking() == {number(store): 0}
        assert home_name(home(store)) != before and before not in on(shared)
        agrees(shared, store)


def test_another_embedding_has_another_collection(shared: Chroma, tmp_path: Path) -> None:
    def letters(texts: list[str]) -> np.ndarray[Any, Any]:
        counts = np.asarray([[text.count(chr(97 + i)) + 0.1 for i in range(26)] for text in texts], dtype=np.float32)
        found: np.ndarray[Any, Any] = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        return found

    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        before = home_name(home(store))
    with MemoryStore.open(tmp_path / "s", config=config(shared.address), embedding=letters, reindex=True) as store:
        agrees(shared, store)
        assert home_name(home(store)) != before and before not in on(shared)
        assert len(collection(shared, store).get(limit=1, include=["embeddings"])["embeddings"][0]) == 26


def test_two_stores_on_one_server_share_nothing(shared: Chroma) -> None:
    with MemoryStore.open(config=config(shared.address)) as one, MemoryStore.open(config=config(shared.address)) as two:
        put(one, 0, 40)
        put(two, 100, 130)
        agrees(shared, one)
        agrees(shared, two)
        assert home(one) != home(two)
        for i in range(40):
            one.forget(f"m{i}", scope=SCOPE)
        assert one.indexes.settle(WAIT_S)
        agrees(shared, two)
        finds(two, 105)


def test_from_files_to_a_server_and_back(shared: Chroma, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=config("")) as store:
        put(store, 0, 40)
        assert store.indexes.settle(WAIT_S) and list(store.path.glob("semantic*"))
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        agrees(shared, store)
        finds(store, 7)
        name = home_name(home(store))
        assert not list(store.path.glob("semantic*"))
    with MemoryStore.open(tmp_path / "s", config=config("")) as store:
        assert store.indexes.settle(WAIT_S)
        finds(store, 7)
        assert home(store).startswith("files.")
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        agrees(shared, store)
        assert name not in on(shared), "it was left while there was no server"


# -- away --------------------------------------------------------------------------------------------------------------


def test_a_server_that_is_killed_costs_neither_writes_nor_answers(server: Chroma, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(server.address)) as store:
        put(store, 0, 40)
        agrees(server, store)
        server.kill()
        finds(store, 7, away=True)
        began = time.monotonic()
        put(store, 40, 60)
        store.forget("m3", scope=SCOPE)
        assert time.monotonic() - began < 5
        finds(store, 50, 59, away=True)
        assert asked(store, 3).hits[0].memory.id != "m3"
        with pytest.raises(IndexUnavailable), closing(QueryOptimizer(store)) as optimizer:
            optimizer.recall("note7 about birds", scope=SCOPE, strict=True)
        server.start()
        until(lambda: not asked(store, 7).degraded)
        finds(store, 7, 50)
        agrees(server, store)
        assert sum("cannot be reached" in said or "failed lately" in said for said in store.stats()["notices"]) == 1


def test_killed_while_it_is_filled_again_and_again(server: Chroma) -> None:
    with MemoryStore.open(config=config(server.address)) as store:
        for i in range(4):
            put(store, 60 * i, 60 * (i + 1))
            store.forget(f"m{60 * i + 5}", scope=SCOPE)
            server.kill()
            put(store, 1_000 + i, 1_001 + i)
            server.start()
        agrees(server, store)
        finds(store, 0, 100, 239, 1_002)


def test_a_store_opens_while_its_server_is_away(server: Chroma, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(server.address)) as store:
        put(store, 0, 40)
        agrees(server, store)
    server.kill()
    with MemoryStore.open(tmp_path / "s", config=config(server.address)) as store:
        assert any("cannot be reached" in said for said in store.stats()["notices"])
        put(store, 40, 45)
        finds(store, 7, 44, away=True)
        server.start()
        agrees(server, store)
        finds(store, 7, 44)


def test_vectors_in_memory_are_scanned_while_it_is_away(server: Chroma) -> None:
    settings = replace(config(server.address), retrieval=RetrievalConfig(exact_max=10, cache_mb=64))
    with MemoryStore.open(config=settings) as store:
        put(store, 0, 40)
        agrees(server, store)
        server.kill()
        found = asked(store, 7)
        assert found.hits[0].memory.id == "m7" and found.degraded[0].reason == "vectors.away"
        view = store.view(number(store))
        assert view.vectors is not None, "else nothing is scanned here"


def test_a_server_that_hangs_holds_no_recall_and_no_write(shared: Chroma) -> None:
    with closing(Proxy(shared.port)) as proxy, MemoryStore.open(config=config(proxy.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        finds(store, 7)
        proxy.swallows = True
        for _ in range(4):
            began = time.monotonic()
            found = asked(store, 7, ms=1_000)
            assert time.monotonic() - began < 1.5
            assert found.hits[0].memory.id == "m7" and "vectors.away" in [d.reason for d in found.degraded]
        with closing(QueryOptimizer(store)) as optimizer:
            known = {one.component: one for one in optimizer.health()}["vectors"]
        assert known.failures > 0 and known.active == 0
        began = time.monotonic()
        put(store, 40, 50)
        assert time.monotonic() - began < 2
        proxy.swallows = False
        until(lambda: not asked(store, 7).degraded)
        agrees(shared, store)
        proxy.cut()
        finds(store, 45, away=True)
        proxy.refuses = False
        until(lambda: not asked(store, 7).degraded)


def test_a_store_closes_while_its_server_hangs(shared: Chroma) -> None:
    with closing(Proxy(shared.port)) as proxy:
        store = MemoryStore.open(config=config(proxy.address, timeout_ms=1_000))
        put(store, 0, 40)
        proxy.swallows = True
        put(store, 40, 80)
        began = time.monotonic()
        store.close()
        assert time.monotonic() - began < 10


# -- what is wrong with a collection -----------------------------------------------------------------------------------


def delete(server: Chroma, store: MemoryStore) -> None:
    chromadb.HttpClient(host="127.0.0.1", port=server.port).delete_collection(home_name(home(store)))


def take_some(server: Chroma, store: MemoryStore) -> None:
    found = collection(server, store)
    found.delete(ids=found.get(include=[], limit=20)["ids"])


def another_length(server: Chroma, store: MemoryStore) -> None:
    found = collection(server, store)
    metadata = found.metadata
    delete(server, store)
    made = chromadb.HttpClient(host="127.0.0.1", port=server.port).create_collection(
        home_name(home(store)), metadata=metadata, embedding_function=None
    )
    made.upsert(ids=[str(i) for i in range(1, 100)], embeddings=np.eye(100, dtype=np.float32)[:99])


def other_vectors(server: Chroma, store: MemoryStore) -> None:
    found = collection(server, store)
    ids = found.get(include=[])["ids"]
    width = store.embedding.dimensions
    found.upsert(ids=ids, embeddings=np.random.default_rng(1).normal(size=(len(ids), width)).astype(np.float32))


def another_history(server: Chroma, store: MemoryStore) -> None:
    found = collection(server, store)
    found.modify(metadata={**found.metadata, vector_server.DIGEST: "0" * 32})


@pytest.mark.parametrize("breaks", [delete, take_some, another_length, other_vectors, another_history])
def test_a_collection_that_is_not_what_it_was_is_made_anew(shared: Chroma, tmp_path: Path, breaks: Any) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        before = home(store)
        breaks(shared, store)
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        finds_in_the_end(store, 7)
        agrees(shared, store)
        finds(store, 7, 30)
        assert home(store) != before
        assert any("rebuilt" in said for said in store.stats()["notices"])
        kept = home_name(before) in on(shared)
        assert kept == (breaks is another_history), "what may be another store's is left alone"


def test_a_recall_that_meets_another_history_first_leaves_it_alone_too(
    shared: Chroma, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        before = home(store)
        another_history(shared, store)
    with monkeypatch.context() as patched:
        patched.setattr(filling.Filling, "halted", property(lambda _: True))  # the thread does not begin
        store = MemoryStore.open(tmp_path / "s", config=config(shared.address))
        finds(store, 7, away=True)
    with closing(store):
        agrees(shared, store)
        assert home(store) != before and home_name(before) in on(shared)


def finds_in_the_end(store: MemoryStore, i: int) -> None:
    until(lambda: [hit.memory.id for hit in asked(store, i).hits[:1]] == [f"m{i}"] and not asked(store, i).degraded)


def test_a_collection_that_is_deleted_while_the_store_is_open(shared: Chroma) -> None:
    with MemoryStore.open(config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        finds(store, 7)
        delete(shared, store)
        assert asked(store, 7).hits[0].memory.id == "m7"
        finds_in_the_end(store, 7)
        agrees(shared, store)


def test_a_copy_of_a_store_goes_its_own_way(shared: Chroma, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
    shutil.copytree(tmp_path / "s", tmp_path / "copy")
    with (
        MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store,
        MemoryStore.open(tmp_path / "copy", config=config(shared.address)) as copy,
    ):
        put(store, 100, 120)
        agrees(shared, store)
        copy.forget("m5", scope=SCOPE)
        put(copy, 200, 210)
        agrees(shared, copy)
        assert home(copy) != home(store)
        agrees(shared, store)
        finds(store, 5, 110)
        finds(copy, 205, 7)


def test_a_backup_that_is_put_back(shared: Chroma, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
    shutil.copytree(tmp_path / "s", tmp_path / "backup")
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        store.forget("m5", scope=SCOPE)
        agrees(shared, store)
    with MemoryStore.open(tmp_path / "backup", config=config(shared.address)) as store:
        finds_in_the_end(store, 5)
        agrees(shared, store)


# -- what is wrong with the server -------------------------------------------------------------------------------------


class Answers:
    """A server that answers everything in one way."""

    def __init__(self, status: int, body: bytes) -> None:
        sent: list[dict[str, str]] = []
        self.sent = sent

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                sent.append(dict(self.headers))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                return

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, b"who are you? sesame", "refuses us"),
        (403, b"{}", "refuses us"),
        (200, b'"0.6.3"', "of version '0.6.3'"),
        (200, b"<html>hello</html>", "no Chroma server"),
        (404, b"not found", "Is it one at all"),
    ],
)
def test_what_is_no_use_is_refused_at_open(
    status: int, body: bytes, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_TESTS", "sesame")
    with closing(Answers(status, body)) as wrong, pytest.raises(VectorsRefused, match=says) as refused:
        MemoryStore.open(tmp_path / "s", config=config(wrong.address, token_variable="TOKEN_OF_TESTS"))
    assert "sesame" not in str(refused.value) and refused.value.__cause__ is None
    assert [sent["X-Chroma-Token"] for sent in wrong.sent[:1]] == ["sesame"]
    with MemoryStore.open(tmp_path / "s") as store:  # nothing holds it
        store.remember("hello")


def test_a_database_that_is_not_there_is_refused(shared: Chroma) -> None:
    with pytest.raises(VectorsRefused, match="no database 'elsewhere'"):
        MemoryStore.open(config=config(shared.address, database="elsewhere"))
    with pytest.raises(VectorsRefused, match="no-such-tenant"):
        MemoryStore.open(config=config(shared.address, tenant="no-such-tenant"))


def test_a_token_that_is_not_set_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKEN_OF_TESTS", raising=False)
    with pytest.raises(ConfigError, match="TOKEN_OF_TESTS"):
        MemoryStore.open(config=config("http://127.0.0.1:1", token_variable="TOKEN_OF_TESTS"))


def test_a_tenant_and_a_database_of_ones_own(shared: Chroma) -> None:
    admin = chromadb.AdminClient(
        Settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host="127.0.0.1",
            chroma_server_http_port=shared.port,
        )
    )
    admin.create_tenant("birds")
    admin.create_database("swans", "birds")
    with MemoryStore.open(config=config(shared.address, tenant="birds", database="swans")) as store:
        put(store, 0, 40)
        assert store.indexes.settle(WAIT_S)
        finds(store, 7)
        assert home_name(home(store)) not in on(shared)


# -- several nodes -----------------------------------------------------------------------------------------------------


def test_two_nodes_over_one_postgres_and_one_chroma(postgres_url: str, shared: Chroma) -> None:
    settings = config(shared.address)
    with MemoryStore.open(postgres_url, config=settings) as one, MemoryStore.open(postgres_url, config=settings) as two:
        put(one, 0, 40)
        finds(two, 7)
        put(two, 40, 80)
        finds(one, 50)
        agrees(shared, one)
        agrees(shared, two)
        assert home(one) == home(two)
        one.forget("m3", scope=SCOPE)
        put(two, 80, 90)
        agrees(shared, two)
        finds(one, 85, 7)
        finds(two, 85, 7)
        before = home(one)
        delete(shared, one)
        finds_in_the_end(one, 7)
        finds_in_the_end(two, 7)
        agrees(shared, one)
        assert home(two) == home(one) != before


def test_the_node_that_fills_goes_and_another_goes_on(postgres_url: str, server: Chroma) -> None:
    settings = config(server.address)
    with MemoryStore.open(postgres_url, config=settings) as two:
        with MemoryStore.open(postgres_url, config=settings) as one:
            put(one, 0, 200)
            server.kill()
        server.start()
        agrees(server, two)
        finds(two, 7, 199)


def test_deletes_that_the_journal_has_dropped_are_taken_out(postgres_url: str, server: Chroma) -> None:
    with MemoryStore.open(postgres_url, config=config(server.address)) as store:
        put(store, 0, 60)
        agrees(server, store)
        server.kill()
        for i in range(10):
            store.forget(f"m{i}", scope=SCOPE)
        put(store, 60, 62)
        store.view(number(store))  # which reads along with the journal
        with store.engine.begin() as connection:
            journal.prune_old(connection, 1)
        server.start()
        agrees(server, store)


def test_a_home_that_the_record_names_and_nobody_made(shared: Chroma, tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        put(store, 0, 40)
        agrees(shared, store)
        made_up = home(store)[:-6] + "ffffff"
        with store.engine.begin() as connection:
            connection.execute(update(schema.scopes).values(vector_home=made_up))
    with MemoryStore.open(tmp_path / "s", config=config(shared.address)) as store:
        finds_in_the_end(store, 7)
        agrees(shared, store)
