"""What an adversary, or a careless operator, does to a server: it says no, and says no more than that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy.exc import OperationalError

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.serving.app import create_app
from recall_integrations.serving.routes.looking import HEADERS
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember(Memory(text="The deploy is on Friday", id="m1", entities=["Priya"]), scope=Scope("u1"))
        yield QueryOptimizer(store)


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens.json")


@pytest.fixture
async def client(optimizer: QueryOptimizer, tokens: Tokens) -> AsyncIterator[httpx.AsyncClient]:
    token, _ = tokens.add(scopes=["u1"])
    app = create_app(Served(store=optimizer.store, optimizer=optimizer, tokens=tokens))
    headers = {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


async def test_who_has_no_token_sends_no_body(client: httpx.AsyncClient) -> None:
    del client.headers["authorization"]
    taken: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        for _ in range(5):
            taken.append(b"x" * 1_000)
            yield taken[-1]

    reply = await client.post("/recall", content=body())
    assert (reply.status_code, reply.json()["code"]) == (401, "UNAUTHORIZED")
    assert reply.headers["connection"] == "close" and reply.headers["www-authenticate"] == "Bearer"
    assert not taken
    assert (await client.get("/health/live")).status_code == 200


async def test_tokens_that_cannot_be_read_let_nobody_in_and_say_nothing_of_files(
    client: httpx.AsyncClient, tokens: Tokens, caplog: pytest.LogCaptureFixture
) -> None:
    whole = tokens.path.read_text()
    tokens.path.write_text("{}")
    reply = await client.get("/about")
    assert reply.status_code == 503 and tokens.path.name not in reply.text
    assert str(tokens.path) in caplog.text  # the operator is told
    tokens.path.write_text(whole)
    assert (await client.get("/about")).status_code == 200


async def test_how_busy_parts_are_is_told_to_who_may_know_of_other_tenants(
    client: httpx.AsyncClient, optimizer: QueryOptimizer, tokens: Tokens
) -> None:
    asked = await client.post("/recall", json={"query": "when is the deploy?"})
    assert asked.status_code == 200 and optimizer.health()
    assert set((await client.get("/health/retrieval")).json()) == {"status"}
    operator, _ = tokens.add(scopes=["ops"], rights=["read", "admin"])
    health = await client.get("/health/retrieval", headers={"authorization": f"Bearer {operator}"})
    assert len(health.json()["components"]) == len(optimizer.health())


async def test_a_database_that_fails_is_not_there_for_the_page_either(
    client: httpx.AsyncClient, optimizer: QueryOptimizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError("SELECT", {}, Exception("disk I/O error"))

    store = optimizer.store
    monkeypatch.setattr(type(store), "get", lambda *_given, **_more: Memory(text="The deploy", id="m1"))
    monkeypatch.setattr(store.engine, "connect", away)
    for path in ("names", "memory?id=m1"):
        reply = await client.get(f"/look/{path}")
        assert (reply.status_code, reply.json()["code"]) == (503, "STORE_ERROR"), path


async def test_texts_that_are_none_are_not_embedded(client: httpx.AsyncClient) -> None:
    reply = await client.post("/embed", content=b'{"texts": ["tea", "\\ud800"]}', headers=JSON)
    assert (reply.status_code, reply.json()["code"]) == (422, "INVALID_ARGUMENT") and "texts[1]" in reply.text
    assert (await client.post("/embed", json={"texts": ["x" * 200_001]})).status_code == 422


async def test_every_reply_says_that_it_is_no_page_and_is_not_kept(client: httpx.AsyncClient) -> None:
    for path in ("/about", "/memories", "/look/memory?id=", "/nonsense", "/openapi.json", "/recall", "/look/nonsense"):
        headers = (await client.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert headers["x-content-type-options"] == "nosniff" and headers.get_list("cache-control"), path
    page = (await client.get("/look/")).headers
    assert page.get_list("content-security-policy") == [HEADERS["Content-Security-Policy"]]
    assert page.get_list("cache-control") == ["no-cache"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/forget", {"ids": [5] * 20_000}),
        ("/remember", {"memories": [5] * 20_000}),
        ("/remember", {"memory": {"text": "x", "entities": [5] * 20_000}}),
        ("/remember", {"memory": {"text": "x", "relations": [[{}]] * 20_000}}),
        ("/recall", {"query": "x", "query_vector": ["x"] * 20_000}),
        ("/recall", {"query": "x", **{f"k{i}": 1 for i in range(20_000)}}),
        ("/recall", {"query": "x", "scope": {f"k{i}": 1 for i in range(20_000)}}),
        ("/experience/search", {"intent": "x", "filters": {"entities": [5] * 20_000}}),
        ("/look/without", {"query": "x", "leave_out": [[5] * 20_000]}),
    ],
)
async def test_a_body_of_mistakes_is_not_read_to_its_end(
    client: httpx.AsyncClient, path: str, body: dict[str, object]
) -> None:
    reply = await client.post(path, json=body)  # else the event loop would list all of them, and everybody wait
    assert (reply.status_code, reply.json()["code"]) == (422, "INVALID_ARGUMENT")
    assert " more." not in reply.json()["message"]


# -- from pages of other sites -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_an_image_of_another_site_asks_for_nothing(client: httpx.AsyncClient, site: str) -> None:
    """`<img src="http://127.0.0.1:8000/experience/search?intent=…">` sends no origin."""
    image = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    for path in ("/experience/search?intent=deploy", "/look/about", "/look/app.js", "/health/live"):
        reply = await client.get(path, headers=image)
        assert (reply.status_code, reply.json()["code"]) == (403, "CROSS_ORIGIN"), path
    opened = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert (await client.get("/look/", headers=opened)).status_code == 200  # who follows a link to the page
    assert (await client.get("/experience/search?intent=deploy", headers=opened)).status_code == 403
    own = {"sec-fetch-site": "same-origin"}
    assert (await client.get("/experience/search?intent=deploy", headers=own)).status_code == 200


async def test_every_reply_belongs_to_its_own_origin(client: httpx.AsyncClient) -> None:
    for path in ("/experience/search?intent=deploy", "/look/", "/look/app.js", "/health/live", "/nothing"):
        reply = await client.get(path)
        assert reply.headers.get_list("cross-origin-resource-policy") == ["same-origin"], path


async def test_a_request_with_a_length_and_in_parts_is_refused(client: httpx.AsyncClient) -> None:
    headers = {**JSON, "content-length": "18", "transfer-encoding": "chunked"}
    reply = await client.post("/recall", content=b'{"query": "deploy"}', headers=headers)
    assert (reply.status_code, reply.headers["connection"]) == (400, "close")


async def test_half_a_character_is_no_fault_of_the_server(client: httpx.AsyncClient) -> None:
    found = (await client.post("/recall", json={"query": "deploy"})).json()["id"]
    for body in (
        f'{{"result_id": "{found}", "helpful": ["\\ud800"]}}',
        f'{{"result_id": "{found}", "helpful": ["m1"], "query": "tea\\udfff"}}',
    ):
        reply = await client.post("/feedback", content=body.encode(), headers=JSON)
        assert reply.status_code == 422, reply.text
    reply = await client.post("/forget", content=b'{"ids": ["\\ud800"]}', headers=JSON)
    assert reply.status_code == 422
    assert (await client.get("/memories/m1")).status_code == 200


async def test_a_memory_of_the_last_moment_breaks_no_time_line(client: httpx.AsyncClient) -> None:
    for key, at in (("last", "9999-12-31T23:59:59-14:00"), ("first", "0001-01-01T00:00:00+14:00")):
        rows = {"memories": [{"id": key, "text": "the end or the beginning", "event_at": at}]}
        assert (await client.post("/remember", json=rows)).status_code == 200
    for params in ({}, {"start": "9999-12-31T00:00:00+00:00"}, {"end": "0001-01-02T00:00:00+00:00"}):
        reply = await client.get("/look/timeline", params=params)
        assert reply.status_code == 200 and reply.json()["total"], params
    for path in ("/memories", "/memories/last"):
        assert (await client.get(path)).status_code == 200
    assert (await client.post("/recall", json={"query": "the end, after 9998"})).status_code == 200
    assert (await client.post("/forget", json={"ids": ["last", "first"]})).json()["forgotten"] == 2
