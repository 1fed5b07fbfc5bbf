"""`POST /feedback`: who may say what of which recall, and what comes back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.serving.app import create_app
from recall_integrations.serving.routes.recalls import FeedbackReply
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens

U1, U2 = Scope("u1"), Scope("u2")
ASKED = "who runs the deploy?"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember_many([Memory("Priya runs the deploy", id="m1"), Memory("Sam drinks tea", id="m2")], scope=U1)
        store.remember(Memory("The deploy of u2 is a secret", id="x1"), scope=U2)
        yield store


@pytest.fixture
def served(store: MemoryStore) -> Served:
    return Served(store=store, optimizer=QueryOptimizer(store, config=RecallConfig(mode="learned")))


def asking(served: Served, **headers: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(served))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(served) as client:
        yield client


async def recalled(client: httpx.AsyncClient, scope: str = "u1", **more: Any) -> dict[str, Any]:
    where = {} if "scopes" in more else {"scope": scope}
    reply = await client.post("/recall", json={"query": ASKED, **where, **more})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def said(client: httpx.AsyncClient, status: int = 200, **body: Any) -> dict[str, Any]:
    reply = await client.post("/feedback", json=body)
    assert reply.status_code == status, reply.text
    found: dict[str, Any] = reply.json()
    if status == 200:
        FeedbackReply.model_validate(found)
    return found


async def test_a_reply_has_an_id_by_which_it_is_judged(client: httpx.AsyncClient) -> None:
    found = await recalled(client)
    assert found["version"] == "rules" and found["id"] != (await recalled(client))["id"]
    kept = await said(client, result_id=found["id"], helpful=["m1"], wrong=["m2"], cited=["gone"])
    assert kept == {
        "result_id": found["id"],
        "kept": {"u1/-/-": {"m1": 1.0, "m2": 0.0}},
        "ignored": ["gone"],
        "anew": False,
    }
    assert (await said(client, result_id=found["id"], rating=True, asked_again=True, scope="u1"))["kept"]


async def test_a_recall_that_is_not_known_needs_its_query(client: httpx.AsyncClient) -> None:
    told = await said(client, 404, result_id="never", helpful=["m1"])
    assert told["code"] == "NOT_FOUND" and "query" in told["message"]
    kept = await said(
        client, result_id="never", helpful=["m1"], query=ASKED, scope="u1", now="2026-03-01T12:00:00+00:00"
    )
    assert kept["anew"] and kept["kept"] == {"u1/-/-": {"m1": 1.0}}


@pytest.mark.parametrize(
    "wrong",
    [{}, {"helpful": "m1"}, {"helpful": ["m1"], "wrong": ["m1"]}, {"rating": 2}, {"rating": "up"}, {"helpful": [1]},
     {"helpful": ["m"] * 65}, {"rating": True, "nope": 1}, {"helpful": [""]},
     {"helpful": ["m1"], "scope": "a/b/c/d"}, {"helpful": ["m1"], "query": ASKED, "now": "yesterday"}],
)  # fmt: skip
async def test_what_cannot_be_said_is_told_and_nothing_is_kept(
    store: MemoryStore, client: httpx.AsyncClient, wrong: dict[str, Any]
) -> None:
    found = await recalled(client)
    assert (await client.post("/feedback", json={"result_id": found["id"], **wrong})).status_code == 422
    assert not store.judgements.counts()


async def test_nobody_judges_what_others_were_given(served: Served, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    one, _ = tokens.add(scopes=["u1"])
    other, _ = tokens.add(scopes=["u2"])
    both, _ = tokens.add(scopes=["u1", "u2"])
    reads, _ = tokens.add(scopes=["u1"], rights=["read"])
    closed = Served(store=served.store, optimizer=served.optimizer, tokens=tokens)

    def of(token: str) -> httpx.AsyncClient:
        return asking(closed, authorization=f"Bearer {token}")

    async with of(one) as first, of(other) as second, of(both) as third, of(reads) as reader:
        found = await recalled(first)
        mixed = await recalled(third, scopes=["u1", "u2"])
        for result in (found["id"], mixed["id"]):
            for more in ({}, {"scope": "u2"}):
                told = await said(second, 404, result_id=result, wrong=["m1", "x1"], **more)
                assert "m1" not in str(told) and "u1" not in str(told)
        await said(second, 403, result_id=found["id"], wrong=["m1"], scope="u1")
        await said(reader, 403, result_id=found["id"], helpful=["m1"])
        # Asked anew, what they say stays in their own scope, whatever id they name.
        kept = await said(second, result_id=found["id"], wrong=["m1", "x1"], query=ASKED)
        assert kept["kept"] == {"u2/-/-": {"x1": 0.0}} and kept["ignored"] == ["m1"]
        assert (await said(third, result_id=mixed["id"], helpful=["m1", "x1"]))["kept"] == {
            "u1/-/-": {"m1": 1.0},
            "u2/-/-": {"x1": 1.0},
        }
        assert (await said(first, result_id=found["id"], helpful=["m1"]))["kept"] == {"u1/-/-": {"m1": 1.0}}
    async with asking(closed) as nobody:
        await said(nobody, 401, result_id=found["id"], helpful=["m1"])
