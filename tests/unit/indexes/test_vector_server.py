"""What a Chroma server may answer, and what is said of it; real ones: tests/integration/test_chroma_server.py."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from recall_integrations.config import VectorsConfig, sections
from recall_integrations.errors import ConfigError, RecallError, VectorsAway, VectorsRefused
from recall_integrations.indexes import vectors
from recall_integrations.indexes.vector_server import VectorServer
from recall_integrations.indexes.vectors import CollectionLost, VectorsOver, home_name
from tests.scripted_chroma import Limited, Scripted, problem, quota

HOME = "a.1.b.c"
WRITTEN = quota("Number of records", "Upsert", 500, 300)
COLLECTION = {
    "id": "1e6ee5b8-7d2c-4f0f-9d4e-0d5f6f6e0001",
    "name": "recall-a.1.b.c",
    "tenant": "default_tenant",
    "database": "default_database",
    "log_position": 0,
    "version": 0,
    "dimension": 4,
    "metadata": {"recall_seq": 7, "recall_digest": "abc"},
    "configuration_json": {},
}


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    with closing(Scripted()) as made:
        yield made


def asks(scripted: Scripted, **more: object) -> VectorServer:
    return VectorServer(VectorsConfig(address=scripted.address, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, "sesame", VectorsRefused, "status 401; the token in CHROMA_OF_TESTS"),
        (403, "sesame", VectorsRefused, "status 403"),
        (404, problem("NotFoundError", "no such collection"), CollectionLost, "no such collection"),
        (400, problem("InvalidArgumentError", "wrong dimension"), CollectionLost, "wrong dimension"),
        (404, "not here", VectorsRefused, "Is it one at all"),
        (410, problem("Unimplemented", "deprecated"), VectorsRefused, "It says: deprecated"),
        (429, "slow down, sesame", VectorsAway, "status 429"),
        (429, problem("ChromaError", quota("Number of requests", "sesame", 11, 10)), VectorsAway, "status 429"),
        (429, problem("ChromaError", "sesame " + WRITTEN), VectorsOver, r"Have the limit raised there"),
        (422, problem("ChromaError", WRITTEN), VectorsOver, r"Have the limit raised there"),
        (400, problem("QuotaError", WRITTEN), VectorsOver, r"is 300, and a request had 500\. Have the limit"),
        (400, problem("Unheard", WRITTEN), VectorsOver, r"Have the limit raised there"),
        (413, "<html>sesame", VectorsOver, r"Have the limit raised there"),
        (400, problem("BatchSizeExceededError", "too many"), VectorsOver, r"Have the limit raised there"),
        (422, problem("ChromaError", quota("Collection size (records)", "Upsert", 9, 8)), VectorsOver, "raised there"),
        (422, problem("ChromaError", quota("Concurrent reads", "Query", 11, 10)), VectorsAway, "failed"),
        (404, problem("NotFoundError", "no database 'quota'"), CollectionLost, "no database 'quota'"),
        (500, problem("InternalError", "sesame"), VectorsAway, "status 500"),
        (302, "", VectorsAway, "status 302"),
        (200, "<html>", VectorsRefused, "no Chroma server"),
    ],
)
def test_what_is_said_of_an_answer(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, status: int, body: str, kind: type[RecallError], says: str
) -> None:
    monkeypatch.setenv("CHROMA_OF_TESTS", "sesame")
    scripted.answer = lambda _path: (status, body)
    with closing(asks(scripted, token_variable="CHROMA_OF_TESTS")) as server, pytest.raises(kind, match=says) as met:
        server.look("a.1.b.c")
    assert type(met.value) is kind and "sesame" not in str(met.value)


def test_the_token_is_sent_in_both_headers_and_never_shown(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMA_OF_TESTS", "sesame")
    scripted.answer = lambda _path: (200, json.dumps(COLLECTION))
    with closing(asks(scripted, token_variable="CHROMA_OF_TESTS")) as server:
        seen = server.look("a.1.b.c")
        assert (seen.dimension, seen.seq, seen.digest) == (4, 7, "abc")
        assert "sesame" not in repr(server)
    assert scripted.headers[0]["x-chroma-token"] == "sesame"
    assert scripted.headers[0]["authorization"] == "Bearer sesame"


@pytest.mark.parametrize("value", [None, "", "two\nlines", "schlüssel"])
def test_a_token_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv("CHROMA_OF_TESTS", raising=False)
    else:
        monkeypatch.setenv("CHROMA_OF_TESTS", value)
    with pytest.raises(ConfigError, match="CHROMA_OF_TESTS") as met:
        VectorServer(VectorsConfig(address="http://127.0.0.1:1", token_variable="CHROMA_OF_TESTS"))
    assert not value or value not in str(met.value)


def test_it_is_waited_for_no_longer_than_there_is_time(scripted: Scripted) -> None:
    scripted.slow_s = 5.0
    with closing(asks(scripted, timeout_ms=60_000)) as server:
        server.resting  # noqa: B018 - asked of a server that was never asked anything
        began = time.monotonic()
        with pytest.raises(VectorsAway, match="did not answer in time"):
            server.nearest("a.1.b.c", np.ones(4, dtype=np.float32), 1, seconds=0.05)
        with pytest.raises(VectorsAway, match="did not answer in time"):
            server.nearest("a.1.b.c", np.ones(4, dtype=np.float32), 1, seconds=0.0)
        assert time.monotonic() - began < 3, "loading chromadb is most of it"


def test_a_limit_of_its_own(scripted: Scripted) -> None:
    scripted.slow_s = 5.0
    with closing(asks(scripted, timeout_ms=50)) as server, pytest.raises(VectorsAway, match="did not answer in time"):
        server.look("a.1.b.c")


def test_after_failures_in_a_row_it_is_left_alone_for_a_while(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "OPEN_S", 0.1)
    scripted.answer = lambda _path: (503, "")
    with closing(asks(scripted)) as server:
        for _ in range(3):
            with pytest.raises(VectorsAway, match=r"status 503.*Tried 2 times"):
                server.look("a.1.b.c")
        with pytest.raises(VectorsAway, match="failed lately"):
            server.look("a.1.b.c")
        assert len(scripted.paths) == 6 and server.resting > 0
        known = server.health()
        assert (known.component, known.breaker, known.failures, known.median_ms) == ("vectors", "open", 3, None)
        scripted.answer = lambda _path: (200, json.dumps(COLLECTION))
        time.sleep(0.12)
        assert server.look("a.1.b.c").seq == 7
        known = server.health()
        assert (known.breaker, known.failures, known.active) == ("closed", 0, 0)
        assert [server.look("a.1.b.c").seq for _ in range(3)] == [7, 7, 7]
        assert server.health().median_ms is not None


def test_who_has_no_time_opens_no_breaker_for_others(scripted: Scripted) -> None:
    scripted.slow_s = 0.3
    scripted.answer = lambda _path: (200, json.dumps(COLLECTION))
    with closing(asks(scripted)) as server:
        for _ in range(4):
            with pytest.raises(VectorsAway, match="did not answer in time"):
                server.look("a.1.b.c", 0.02)
        assert server.look("a.1.b.c").seq == 7


def test_a_collection_that_is_gone_is_no_failure_of_the_server(scripted: Scripted) -> None:
    scripted.answer = lambda _path: (404, problem("NotFoundError", "gone"))
    with closing(asks(scripted)) as server:
        for _ in range(6):
            with pytest.raises(CollectionLost):
                server.look("a.1.b.c")
        server.drop("a.1.b.c")


def test_of_another_major_version(scripted: Scripted) -> None:
    scripted.answer = lambda _path: (200, '"2.0.1"')
    with closing(asks(scripted)) as server, pytest.raises(VectorsRefused, match=r"'2\.0\.1', and one of version 1"):
        server.check()


def test_no_request_is_larger_than_chroma_cloud_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sections, "CLOUD", "127.0.0.1")
    with closing(Limited()) as limited, closing(asks(limited)) as server:
        assert server.at_once == 300
        server.make(HOME, "a")
        vectors = np.eye(700, 8, dtype=np.float32) + np.linspace(0, 1, 700, dtype=np.float32)[:, None]
        server.apply(HOME, range(700), vectors, [])
        assert limited.held(home_name(HOME)) == server.nums(HOME).tolist() == list(range(700))
        found, cosines = server.nearest(HOME, vectors[7], 2_000)
        assert len(found) == 300 and found[0] == 7 and cosines[0] == pytest.approx(1)
        server.apply(HOME, [], vectors[:0], range(650))
        assert limited.held(home_name(HOME)) == list(range(650, 700))
        assert limited.sizes("upsert") == [300, 300, 100] and limited.sizes("delete") == [300, 300, 50]
        assert limited.sizes("query") == [300] and set(limited.sizes("get")) == {300}
        assert not limited.refused


def test_a_server_of_ones_own_is_asked_as_ever() -> None:
    with closing(Limited(20_000)) as own, closing(asks(own)) as server:
        server.make(HOME, "a")
        server.apply(HOME, range(700), np.ones((700, 4), dtype=np.float32), [])
        server.nearest(HOME, np.ones(4, dtype=np.float32), 2_000)
        server.nums(HOME)
        assert own.sizes("upsert") == [500, 200] and own.sizes("query") == [2_000] and set(own.sizes("get")) == {20_000}


def test_what_the_client_does_not_send_is_said_too() -> None:
    with closing(Limited(said_most=100)) as small, closing(asks(small)) as server:
        server.make(HOME, "a")
        with pytest.raises(VectorsOver, match=r"takes 100 vectors at once, .* had 200\. Have the limit"):
            server.apply(HOME, range(200), np.ones((200, 4), dtype=np.float32), [])


def test_a_request_that_is_too_large_is_no_failure_of_the_server() -> None:
    with closing(Limited()) as limited, closing(asks(limited)) as server:
        server.make(HOME, "a")
        server.apply(HOME, [1], np.ones((1, 4), dtype=np.float32), [])
        for _ in range(6):
            with pytest.raises(VectorsOver, match=r"Have the limit raised"):
                server.nearest(HOME, np.ones(4, dtype=np.float32), 2_000)
        assert server.nearest(HOME, np.ones(4, dtype=np.float32), 300)[0].tolist() == [1]
        assert (server.health().breaker, server.health().failures) == ("closed", 0)
