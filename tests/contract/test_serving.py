"""The HTTP API through the application itself; what needs a real server is in `tests/integration/test_serving.py`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config import LimitsConfig
from recall_integrations.recall import RecallState, Stage, Turn
from recall_integrations.serving import start
from recall_integrations.serving.app import create_app
from recall_integrations.serving.models import HitReply, RecallReply
from recall_integrations.serving.routes.memories import ListReply
from recall_integrations.serving.routes.recalls import ExperienceReply
from recall_integrations.serving.served import Limits, Served
from recall_integrations.serving.tokens import Tokens
from recall_integrations.types.facts import Conversation

U1, U2 = Scope("u1"), Scope("u2")
MAIL = "priya.raman@example.org"
ASKED = "what did Priya say about the deploy?"


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        said = ["The deploy is on Friday", f"Write to {MAIL} about the deploy", "I prefer tea", "Bring the keys"]
        store.remember_many(
            [Memory(text=text, id=f"m{i}", actor="Priya", thread="t", position=i) for i, text in enumerate(said)],
            scope=U1,
        )
        store.remember(Memory(text="The deploy of u2 is a secret", id="x1"), scope=U2)
        yield store


@pytest.fixture(scope="module")
def optimizer(store: MemoryStore) -> QueryOptimizer:
    return QueryOptimizer(store)


@asynccontextmanager
async def asking(served: Served, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(served), raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


@pytest.fixture
async def client(optimizer: QueryOptimizer) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(Served(store=optimizer.store, optimizer=optimizer)) as client:
        yield client


def problem(reply: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem that a reply is."""
    assert (reply.status_code, reply.json()["code"]) == (status, code), reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "code", "message", "options", "details", "stats"} <= set(reply.json())
    found: dict[str, Any] = reply.json()
    return found


# -- recalls -----------------------------------------------------------------------------------------------------------


async def test_a_recall_is_what_the_optimizer_finds(optimizer: QueryOptimizer, client: httpx.AsyncClient) -> None:
    reply = await client.post("/recall", json={"query": ASKED, "scope": "u1", "k": 3, "context": 1})
    assert reply.status_code == 200
    found = RecallReply.model_validate_json(reply.content)
    own = optimizer.recall(ASKED, scope=U1, k=3, context=1)
    assert [(hit.id, hit.reason) for hit in found.hits] == [(hit.memory.id, hit.reason) for hit in own.hits]
    assert [[m.id for m in hit.context] for hit in found.hits] == [[m.id for m in h.context] for h in own.hits]
    assert found.scope == "u1/-/-" and reply.headers["x-request-id"]


async def test_highlights_are_looked_for_when_they_are_asked_for(client: httpx.AsyncClient) -> None:
    asked = {"query": ASKED, "scope": "u1", "k": 1}
    assert (await client.post("/recall", json=asked)).json()["hits"][0]["highlights"] == []
    hit = (await client.post("/recall", json=asked | {"highlights": True})).json()["hits"][0]
    assert "deploy" in {hit["memory"]["text"][h["start"] : h["end"]] for h in hit["highlights"]}


async def test_every_argument_reaches_the_recall(optimizer: QueryOptimizer, client: httpx.AsyncClient) -> None:
    seen: dict[str, Any] = {}
    recall = optimizer.recall

    def watched(query: str, **arguments: Any) -> Any:
        seen.update(arguments)
        return recall(query, **arguments)

    optimizer.recall = watched  # type: ignore[method-assign]
    try:
        asked = {
            "query": "deploy", "k": 2, "scope": {"user_id": "u1"}, "filters": {"types": ["observation"],
            "after": "2020-01-01T00:00:00Z"}, "now": "2026-03-01T12:00:00+00:00", "timezone": "Europe/Berlin",
            "window": {"start": "2020-01-01T00:00:00Z"}, "time_budget_ms": 5000, "tokens_max": 50, "privacy": "redact",
            "context": 1, "score_min": 0.01, "strict": True,
            "as_of": "2026-02-01T00:00:00Z",
        }  # fmt: skip
        assert (await client.post("/recall", json=asked)).status_code == 200
    finally:
        del optimizer.recall  # type: ignore[method-assign]
    assert seen["scope"] == U1 and seen["k"] == 2 and seen["filters"].after.year == 2020
    assert seen["now"].hour == 12 and seen["timezone"] == "Europe/Berlin" and seen["window"].end is None
    assert 4_000 < seen["time_budget_ms"] <= 5_000 and seen["tokens_max"] == 50 and seen["privacy"] == "redact"
    assert seen["context"] == 1 and seen["score_min"] == 0.01 and seen["strict"] is True
    assert seen["as_of"].month == 2


async def test_a_recall_without_a_time_waits_for_the_model(store: MemoryStore) -> None:
    def model(_prompt: str) -> str:
        time.sleep(0.6)
        return "the release on Friday"

    hurried = RecallConfig(limits=LimitsConfig(time_budget_ms=300))
    optimizer = QueryOptimizer(store, llm=model, config=hurried)
    async with asking(Served(store=store, optimizer=optimizer)) as client:
        for time_ms, reasons in ((None, ["success"]), (300, ["failure.timeout", "skip.budget"])):
            asked = {"query": f"when may somebody put it into use {time_ms}", "scope": "u1", "time_budget_ms": time_ms}
            reply = (await client.post("/recall", json=asked)).json()
            assert reply["rewrite"]["reason"] in reasons, (time_ms, reply["rewrite"])


async def test_several_scopes_are_one_ranking(client: httpx.AsyncClient) -> None:
    reply = await client.post("/recall", json={"query": "deploy", "scopes": ["u1", {"user_id": "u2"}], "k": 5})
    assert {hit["scope"] for hit in reply.json()["hits"]} == {"u1/-/-", "u2/-/-"}
    problem(await client.post("/recall", json={"query": "a", "scope": "u1", "scopes": ["u2"]}), 422, "INVALID_SCOPE")


async def test_a_conversation_is_remembered(tokens: Tokens) -> None:
    """Its turns at once, and what the model reads with `wait` before the reply, without it later."""
    with MemoryStore.open() as store:
        answer = '{"text": "I live in Berlin", "turns": [1]}\n{"text": "I own a yacht", "turns": [1]}'
        optimizer = QueryOptimizer(store, llm=lambda _prompt: answer)
        body = {"turns": [{"role": "user", "content": "I live in Berlin"}], "thread": "t", "scope": "u1"}
        async with asking(Served(store=store, optimizer=optimizer)) as client:
            found = (await client.post("/remember/conversation", json=body)).json()
            assert [item["decision"] for item in found["items"]] == ["new", "refused"] and found["thread"] == "t"
            assert set(found) == {field.name for field in fields(Conversation)}
            assert store.get(found["items"][0]["id"], scope=U1).refs == tuple(found["turns"])  # type: ignore[union-attr]
            later = (await client.post("/remember/conversation", json=body | {"thread": "t2", "wait": False})).json()
            assert later["thread"] == "t2" and later["items"] == []
            optimizer.flush()
            assert len(store.list(scope=U1, filters=Filters(threads=["t2"]))) == 1
            hidden = await client.post("/remember/conversation", json=body | {"thread": "t3", "privacy": "block"})
            assert hidden.json()["unread"] == hidden.json()["turns"]
            none = await client.post("/remember/conversation", json=body | {"turns": [], "thread": "t4"})
            assert none.is_success and none.json()["turns"] == [] and none.json()["thread"] == "t4"
            for wrong in ({"turns": ["a"] * 1_001}, {"time_budget_ms": 1e9}):
                problem(await client.post("/remember/conversation", json=body | wrong), 422, "INVALID_ARGUMENT")
            for wrong in ({"turns": [{"a": 1}]}, {"turns": ["a" * 200_001]}):
                problem(await client.post("/remember/conversation", json=body | wrong), 422, "INVALID_MEMORY")
        token = tokens.add(scopes=["u1"], rights=["write"])[0]
        async with asking(
            Served(store=store, optimizer=optimizer, tokens=tokens), authorization=f"Bearer {token}"
        ) as client:
            problem(await client.post("/remember/conversation", json=body), 403, "FORBIDDEN")
        async with asking(Served(store=store, optimizer=QueryOptimizer(store))) as client:
            said = problem(await client.post("/remember/conversation", json=body), 422, "INVALID_ARGUMENT")
            assert "--llm" in said["message"]


async def test_a_conversation_that_nobody_waits_for_may_wait_behind_others() -> None:
    asked = {"turns": [{"role": "user", "content": "I live in Berlin"}], "scope": "u1", "wait": False}
    with MemoryStore.open() as store:
        answer = '{"text": "I live in Berlin", "turns": [1]}'
        optimizer = QueryOptimizer(store, llm=lambda _prompt: time.sleep(0.05) or answer)
        async with asking(Served(store=store, optimizer=optimizer, limits=Limits(time_ms_max=40))) as client:
            for thread in ("a", "b"):
                assert (await client.post("/remember/conversation", json=asked | {"thread": thread})).is_success
            optimizer.flush()
        assert any(memory.refs for memory in store.list(scope=U1))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({}, "INVALID_ARGUMENT"),
        ({"query": " "}, "INVALID_QUERY"),
        ({"query": "a", "k": 101}, "INVALID_ARGUMENT"),
        ({"query": "a", "k": "5"}, "INVALID_ARGUMENT"),
        ({"query": "a", "nope": 1}, "INVALID_ARGUMENT"),
        ({"query": "a", "now": "2026-03-01"}, "INVALID_ARGUMENT"),
        ({"query": "a", "timezone": "Mars"}, "INVALID_ARGUMENT"),
        ({"query": "a", "time_budget_ms": 1e9}, "INVALID_ARGUMENT"),
        ({"query": "a", "privacy": "none"}, "INVALID_ARGUMENT"),
        ({"query": "a", "filters": {"types": ["nope"]}}, "INVALID_FILTER"),
        ({"query": "a", "scope": "a/b/c/d"}, "INVALID_SCOPE"),
        ({"query": "a", "query_vector": [1.0]}, "INVALID_ARGUMENT"),
    ],
)
async def test_what_cannot_be_used_is_said(client: httpx.AsyncClient, asked: dict[str, Any], code: str) -> None:
    problem(await client.post("/recall", json=asked), 422, code)


async def test_a_strict_recall_without_time_gives_what_it_has(client: httpx.AsyncClient) -> None:
    asked = {"query": ASKED, "scope": "u1", "time_budget_ms": 0.001, "strict": True}
    said = problem(await client.post("/recall", json=asked), 504, "TIMEOUT")
    assert said["options"] == ["retry_with_reduced_scope", "skip_experience_path", "return_minimal"]
    assert said["details"]["retry_suggestions"] and said["stats"]["partial_results"] == len(said["result"]["hits"])
    # Where a route has no form for a result, the error has none.
    assert "result" not in problem(await client.post("/look/recall", json=asked), 504, "TIMEOUT")


# -- writing -----------------------------------------------------------------------------------------------------------


async def test_what_is_remembered_can_be_read_recalled_and_forgotten(client: httpx.AsyncClient) -> None:
    given = {
        "text": "Sam keeps the spare keys", "id": "w/1", "type": "fact", "actor": "Sam", "entities": ["Kestrel"],
        "event_at": "2026-01-02T03:04:05+00:00", "relations": [["Sam", "owner_of", "keys", 0.9]], "refs": ["doc:a"],
        "importance": 0.9, "metadata": {"source": "wiki"}, "thread": "t9", "position": 3, "role": "user",
        "channel": "chat", "expires_at": "2099-01-01T00:00:00+00:00", "created_at": "2026-01-03T00:00:00+00:00",
    }  # fmt: skip
    scope = {"user_id": "writer", "namespace": "n"}
    for _ in range(2):  # asked again, it changes nothing more
        reply = await client.post("/remember", json={"memories": [given, "A plain text"], "scope": scope})
        assert reply.json()["ids"][0] == "w/1"
    assert (await client.get("/memories/w/1", params={"scope": "writer/-/n"})).json() == given
    whole = ListReply.model_validate_json((await client.get("/memories", params={"scope": "writer/-/n"})).content)
    assert [m.text for m in whole.memories].count("Sam keeps the spare keys") == 1 and whole.after is None
    found = await client.post("/recall", json={"query": "who has the spare keys?", "scope": scope, "k": 1})
    assert HitReply.model_validate(found.json()["hits"][0]).memory.refs == ["doc:a"]
    gone = {"filters": {"source": "wiki"}, "scope": scope}
    for dry, count in ((True, 1), (False, 1), (False, 0)):
        reply = await client.post("/forget", json=gone | {"dry_run": dry})
        assert reply.json() == {"forgotten": count, "dry_run": dry}
    assert (await client.post("/forget", json={"user_id": "writer", "dry_run": True})).json()["forgotten"] == 2
    assert (await client.post("/forget", json={"user_id": "writer"})).json()["forgotten"] == 2
    problem(await client.get("/memories/w/1", params={"scope": "writer/-/n"}), 404, "NOT_FOUND")


async def test_pages_follow_each_other(client: httpx.AsyncClient) -> None:
    seen, after = [], None
    while True:
        page = await client.get("/memories", params={"scope": "u1", "limit": 3} | ({"after": after} if after else {}))
        seen += [memory["id"] for memory in page.json()["memories"]]
        after = page.json()["after"]
        if after is None:
            break
    assert seen == ["m0", "m1", "m2", "m3"]
    only = await client.get("/memories", params={"scope": "u1", "filters": '{"threads": ["nope"]}'})
    assert only.json()["memories"] == []
    problem(await client.get("/memories", params={"scope": "u1", "filters": "["}), 422, "INVALID_FILTER")
    problem(await client.get("/memories", params={"after": "x"}), 422, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("path", "asked", "code"),
    [
        ("/remember", {}, "INVALID_ARGUMENT"),
        ("/remember", {"memory": "a", "memories": ["b"]}, "INVALID_ARGUMENT"),
        ("/remember", {"memory": {"text": "a", "type": "nope"}}, "INVALID_MEMORY"),
        ("/remember", {"memories": ["a", " "]}, "INVALID_MEMORY"),
        ("/remember", {"memory": "a" * 200_001}, "INVALID_MEMORY"),
        ("/remember", {"memories": ["a"] * 1_001}, "INVALID_ARGUMENT"),
        ("/remember", {"memories": [{"text": "a", "id": "1"}, {"text": "b", "id": "1"}]}, "INVALID_MEMORY"),
        ("/forget", {}, "INVALID_ARGUMENT"),
        ("/forget", {"scope": "u1"}, "INVALID_ARGUMENT"),
        ("/forget", {"ids": ["a"], "everything": True}, "INVALID_ARGUMENT"),
        ("/forget", {"ids": ["a"], "filters": {"a": 1}}, "INVALID_ARGUMENT"),
        ("/forget", {"user_id": "u1", "scope": "u1"}, "INVALID_ARGUMENT"),
    ],
)
async def test_what_cannot_be_written_changes_nothing(
    store: MemoryStore, client: httpx.AsyncClient, path: str, asked: dict[str, Any], code: str
) -> None:
    before = store.scopes()
    problem(await client.post(path, json=asked), 422, code)
    assert store.scopes() == before


# -- experience --------------------------------------------------------------------------------------------------------


async def test_experience_has_the_shape_of_its_contract(client: httpx.AsyncClient) -> None:
    asked = {"intent": "plan the deploy", "top_k": 2, "entities": "Priya,Nobody", "recency_days": 30, "scope": "u1"}
    reply = await client.get("/experience/search", params=asked)
    found = ExperienceReply.model_validate_json(reply.content)
    assert found.request_id == reply.headers["x-request-id"] and len(found.experience) == 2
    assert all("entities overlap: Priya" in (unit.reason or "") and unit.summary for unit in found.experience)
    assert [u.score for u in found.experience] == sorted((u.score for u in found.experience), reverse=True)
    assert {u.entity_overlap_score for u in found.experience} == {0.5}  # one of the two that are asked for
    assert all(time.time() - u.recency_ts_ms / 1e3 < 30 * 86_400 for u in found.experience)
    body = {
        "intent": "plan the deploy", "budgets": {"experience_top_k": 2, "time_ms": 2000, "tokens_max": 500},
        "filters": {"entities": ["Priya", "Nobody"], "recency_days": 30, "actor": {"type": "user"}}, "scope": "u1",
    }  # fmt: skip
    assert (await client.post("/experience/search", json=body)).json()["experience"] == []  # nobody is a `user` here
    del body["filters"]["actor"]  # type: ignore[attr-defined]
    same = (await client.post("/experience/search", json=body)).json()
    assert same["experience"] == reply.json()["experience"]


async def test_experience_under_block_has_no_text_and_under_redact_no_mail(client: httpx.AsyncClient) -> None:
    asked = {"intent": f"write to {MAIL}", "scope": "u1"}
    blocked = await client.get("/experience/search", params={**asked, "privacy_mode": "block"})
    assert blocked.json()["experience"]
    assert all(set(unit) == {"unit_id", "refs", "score"} for unit in blocked.json()["experience"])
    redacted = await client.get("/experience/search", params={**asked, "privacy_mode": "redact"})
    assert MAIL not in redacted.text and all(unit["privacy_redacted"] for unit in redacted.json()["experience"])


async def test_experience_without_time_says_so_and_gives_what_it_has(client: httpx.AsyncClient) -> None:
    body = {"intent": ASKED, "budgets": {"time_ms": 0.01, "experience_top_k": 10}, "scope": "u1"}
    said = (await client.post("/experience/search", json=body)).json()
    assert said["degradation_applied"] and said["error"]["code"] == "TIMEOUT"
    assert said["error"]["options"][0] == "retry_with_reduced_scope"
    assert said["stats"]["partial_results"] == len(said["experience"]) > 0


# -- who may -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens.json")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def test_a_token_reaches_its_scope_and_no_other(optimizer: QueryOptimizer, tokens: Tokens) -> None:
    mine, noted = tokens.add(scopes=["u1"], rights=["read"])
    served = Served(store=optimizer.store, optimizer=optimizer, tokens=tokens)
    async with asking(served, host="elsewhere.example", **bearer(mine)) as client:
        own = await client.post("/recall", json={"query": "deploy"})
        assert {hit["scope"] for hit in own.json()["hits"]} == {"u1/-/-"}
        for asked in ({"scope": "u2"}, {"scopes": ["u1", "u2"]}, {"scope": {"user_id": "u1", "agent_id": "a"}}):
            refused = await client.post("/recall", json={"query": "deploy"} | asked)
            problem(refused, 403, "FORBIDDEN")
            assert "secret" not in refused.text
        problem(await client.get("/memories/x1", params={"scope": "u2"}), 403, "FORBIDDEN")
        problem(await client.get("/memories/x1"), 404, "NOT_FOUND")
        problem(await client.get("/experience/search", params={"intent": "a", "scope": "u2"}), 403, "FORBIDDEN")
        for path, body in (("/remember", {"memory": "a"}), ("/forget", {"ids": ["m0"]})):
            problem(await client.post(path, json=body), 403, "FORBIDDEN")  # it may only read
        problem(await client.get("/metrics"), 403, "FORBIDDEN")
        tokens.revoke(noted.id)
        problem(await client.post("/recall", json={"query": "deploy"}), 401, "UNAUTHORIZED")


async def test_who_may_write_one_scope_may_not_forget_a_user(optimizer: QueryOptimizer, tokens: Tokens) -> None:
    one, _ = tokens.add(scopes=["u1"])
    every, _ = tokens.add(scopes=["u1/*"])
    served = Served(store=optimizer.store, optimizer=optimizer, tokens=tokens)
    async with asking(served) as client:
        body = {"user_id": "u1", "dry_run": True}
        problem(await client.post("/forget", json=body, headers=bearer(one)), 403, "FORBIDDEN")
        assert (await client.post("/forget", json=body, headers=bearer(every))).json()["forgotten"] == 4
        problem(await client.post("/recall", json={"query": "a"}, headers=bearer(every)), 422, "INVALID_SCOPE")
        problem(
            await client.post("/recall", json={"query": "a", "scope": "u2"}, headers=bearer(every)), 403, "FORBIDDEN"
        )


async def test_without_a_token_there_is_only_what_says_nothing(optimizer: QueryOptimizer, tokens: Tokens) -> None:
    admin, _ = tokens.add(scopes=["*"], rights=["admin"])
    served = Served(store=optimizer.store, optimizer=optimizer, tokens=tokens)
    async with asking(served) as client:
        for method, path in (("POST", "/recall"), ("GET", "/memories"), ("GET", "/metrics"), ("POST", "/forget")):
            refused = await client.request(method, path, json={"query": "a"})
            assert problem(refused, 401, "UNAUTHORIZED") and refused.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer x", "Bearer ", "Basic eDp5", "x", f"Bearer {admin}x"):
            problem(await client.get("/health/live", headers={"authorization": wrong}), 401, "UNAUTHORIZED")
        assert (await client.get("/health/live")).json() == {"status": "ok"}
        assert (await client.get("/health/retrieval")).json() == {"status": "ok"}
        assert "behind" in (await client.get("/health/retrieval", headers=bearer(admin))).json()


async def test_a_request_may_only_be_stricter(optimizer: QueryOptimizer, tokens: Tokens) -> None:
    made, _ = tokens.add(scopes=["u1"], privacy="redact")
    served = Served(store=optimizer.store, optimizer=optimizer, tokens=tokens, privacy="allow")
    floor = replace(served, tokens=None, privacy="redact")
    asked = {"query": f"mail {MAIL}", "scope": "u1"}
    for one, headers in ((served, bearer(made)), (floor, {})):
        async with asking(one, **headers) as client:
            for reply in (
                await client.post("/recall", json=asked),
                await client.post("/recall", json=asked | {"privacy": "block"}),
                await client.get("/memories/m1", params={"scope": "u1"}),
                await client.get("/memories", params={"scope": "u1"}),
                await client.get("/experience/search", params={"intent": MAIL, "scope": "u1"}),
            ):
                assert reply.status_code == 200 and MAIL not in reply.text
            problem(await client.post("/recall", json=asked | {"privacy": "allow"}), 403, "PRIVACY_VIOLATION")
            problem(
                await client.get("/memories/m1", params={"scope": "u1", "privacy": "allow"}), 403, "PRIVACY_VIOLATION"
            )


# -- the gate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "[::2]", ""])
async def test_a_page_whose_name_points_here_is_refused(client: httpx.AsyncClient, host: str) -> None:
    problem(await client.post("/recall", json={"query": "deploy"}, headers={"host": host}), 421, "WRONG_HOST")


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1", "127.1.2.3:80", "[::1]:80", "LOCALHOST"])
async def test_names_of_this_machine_are_answered(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/health/live", headers={"host": host})).status_code == 200
    same = await client.get("/health/live", headers={"host": host, "origin": f"http://{host}"})
    assert same.status_code == 200 and "access-control-allow-origin" not in same.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:9", "http://localhost.evil", "x"])
async def test_pages_of_other_origins_are_refused(client: httpx.AsyncClient, origin: str) -> None:
    problem(await client.post("/remember", json={"memory": "a"}, headers={"origin": origin}), 403, "CROSS_ORIGIN")
    asked = {"origin": origin, "access-control-request-method": "POST"}
    assert (await client.options("/recall", headers=asked)).status_code == 403


async def test_a_body_is_refused_before_it_is_read_whole(optimizer: QueryOptimizer) -> None:
    served = Served(store=optimizer.store, optimizer=optimizer, limits=Limits(body_max=1_000))
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1_000):
            sent += 500
            yield b" " * 500

    async with asking(served) as client:
        said = problem(await client.post("/recall", content=b"x" * 1_001), 413, "BODY_TOO_LARGE")
        assert "1,000 bytes" in said["message"]
        reply = await client.post("/recall", content=endless(), headers={"content-type": "application/json"})
        problem(reply, 413, "BODY_TOO_LARGE")
        assert sent <= 2_000
        nested = b"[" * 450 + b"]" * 450
        reply = await client.post("/recall", content=nested, headers={"content-type": "application/json"})
        problem(reply, 422, "INVALID_ARGUMENT")


async def test_who_asks_too_often_is_told_when_to_come_back(optimizer: QueryOptimizer, tokens: Tokens) -> None:
    one, two = tokens.add(scopes=["u1"])[0], tokens.add(scopes=["u1"])[0]
    served = Served(store=optimizer.store, optimizer=optimizer, tokens=tokens, limits=Limits(rate=1))
    async with asking(served) as client:
        # Many at once: on a busy machine a few take longer than what was used up takes to come back.
        replies = await asyncio.gather(*[client.get("/health/live", headers=bearer(one)) for _ in range(20)])
        assert {reply.status_code for reply in replies} == {200, 429}
        refused = next(reply for reply in replies if reply.status_code == 429)
        assert problem(refused, 429, "TOO_MANY_REQUESTS") and refused.headers["retry-after"] == "1"
        assert (await client.get("/health/live", headers=bearer(two))).status_code == 200
        guesses = await asyncio.gather(*[client.get("/health/live", headers=bearer("guess")) for _ in range(20)])
        assert {reply.status_code for reply in guesses} == {401, 429}


class Breaking(Stage):
    """A stage that does whatever it is told to."""

    name, after = "breaking", "parse"

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        self.act()
        return state


async def test_an_error_that_nobody_foresaw_says_nothing(
    optimizer: QueryOptimizer, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError(f"quotes {MAIL}")

    optimizer.recall = broken  # type: ignore[method-assign]
    try:
        with caplog.at_level(logging.DEBUG):
            async with asking(Served(store=optimizer.store, optimizer=optimizer)) as client:
                reply = await client.post("/recall", json={"query": "deploy"}, headers={"x-request-id": "r-1"})
    finally:
        del optimizer.recall  # type: ignore[method-assign]
    problem(reply, 500, "INTERNAL")
    assert MAIL not in reply.text and "Traceback" not in reply.text and reply.headers["x-request-id"] == "r-1"
    ours = [r for r in caplog.records if r.name.startswith("recall_integrations")]
    assert any("r-1 failed: RuntimeError in broken" in r.getMessage() for r in ours)
    assert not any(MAIL in r.getMessage() or r.exc_info for r in ours)


async def test_no_log_holds_what_is_asked_nor_a_token(
    optimizer: QueryOptimizer, tokens: Tokens, caplog: pytest.LogCaptureFixture
) -> None:
    made, noted = tokens.add(scopes=["u1"])
    served = Served(store=optimizer.store, optimizer=optimizer, tokens=tokens)
    with caplog.at_level(logging.INFO, "recall_integrations"):
        async with asking(served, **bearer(made)) as client:
            await client.get("/experience/search", params={"intent": "pelican"})
            await client.post("/recall", json={"query": "pelican"})
            await client.get("/memories/pelican")
    said = [r.getMessage() for r in caplog.records if r.name.startswith("recall_integrations.serving")]
    assert len(said) == 3 and "GET /experience/search 200" in said[0] and "/memories/{memory_id" in said[2]
    assert not any("pelican" in line or made in line or noted.digest in line for line in said)


async def test_a_closed_store_is_not_there_now(caplog: pytest.LogCaptureFixture) -> None:
    with MemoryStore.open() as store:
        served = Served(store=store, optimizer=QueryOptimizer(store))
    async with asking(served) as client:
        health = await client.get("/health/retrieval")
        assert health.status_code == 503 and health.json()["status"] == "unavailable"
        reply = await client.post("/recall", json={"query": "a"})
        assert problem(reply, 503, "STORE_CLOSED")["options"] and reply.headers["retry-after"]
        assert (await client.get("/health/live")).status_code == 200


async def test_metrics_are_given_where_there_are_some(store: MemoryStore, client: httpx.AsyncClient) -> None:
    problem(await client.get("/metrics"), 404, "MISSING_EXTRA")
    metrics = start.observers_of(store)[0]
    assert metrics is not None
    counted = QueryOptimizer(store, observers=[metrics])
    async with asking(Served(store=store, optimizer=counted, metrics=metrics)) as other:
        await other.post("/recall", json={"query": "pelican", "scope": "u1"})
        reply = await other.get("/metrics")
    assert reply.headers["content-type"] == metrics.content_type
    assert "recall_optimizer_plan_selected" in reply.text and "pelican" not in reply.text


async def test_what_is_not_there_is_a_problem(client: httpx.AsyncClient) -> None:
    problem(await client.get("/nope"), 404, "NOT_FOUND")
    problem(await client.get("/recall"), 405, "METHOD_NOT_ALLOWED")
    reply = await client.post("/recall", content=b"{", headers={"content-type": "application/json"})
    problem(reply, 422, "INVALID_ARGUMENT")
    reply = await client.post("/recall", content=b'{"query": "a"}', headers={"content-type": "text/plain"})
    problem(reply, 422, "INVALID_ARGUMENT")
