"""`GET /facts`, and what hits carry of facts over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.serving.app import create_app
from recall_integrations.serving.models import RecallReply
from recall_integrations.serving.routes.memories import FactsReply
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens

U1, U2 = Scope("u1"), Scope("u2")
NUMBER = "what is my phone number?"


def told(memory_id: str, month: int, slot: str, value: str, **more: Any) -> Memory:
    text = f"My {slot.replace('_', ' ')} is {value}" if not more else f"{more['subject']}: {value}"
    at = datetime(2026, month, 5, tzinfo=timezone.utc)
    fact = {"slot": slot, "value": value, **more}
    return Memory(text, id=memory_id, event_at=at, metadata={"fact": fact})


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                told("m1", 1, "phone_number", "555-0101"),
                told("m2", 6, "phone_number", "555-0202"),
                told("m3", 2, "home", "Lisbon"),
                told("p1", 2, "employer", "Initech", subject="Priya"),
            ],
            scope=U1,
        )
        store.remember(told("x1", 2, "home", "Secretville"), scope=U2)
        yield store


@pytest.fixture(scope="module")
def served(store: MemoryStore) -> Served:
    return Served(store=store, optimizer=QueryOptimizer(store))


def asking(served: Served, **headers: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(served))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers)


@pytest.fixture
async def client(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with asking(served) as client:
        yield client


async def values(client: httpx.AsyncClient, **params: Any) -> list[str]:
    reply = await client.get("/facts", params={"scope": "u1", **params})
    assert reply.status_code == 200, reply.text
    return [fact.value for fact in FactsReply.model_validate_json(reply.content).facts]


async def test_what_is_held_true(client: httpx.AsyncClient) -> None:
    reply = FactsReply.model_validate_json((await client.get("/facts", params={"scope": "u1"})).content)
    assert [(fact.subject, fact.slot, fact.value) for fact in reply.facts] == [
        ("", "home", "Lisbon"),
        ("", "phone_number", "555-0202"),
        ("priya", "employer", "Initech"),
    ]
    assert (reply.scope, reply.more, all(fact.holds for fact in reply.facts)) == ("u1/-/-", False, True)
    assert reply.facts[1].valid_from == "2026-06-05T00:00:00+00:00" and reply.facts[1].said_by == ["m2"]


async def test_every_argument_acts(client: httpx.AsyncClient) -> None:
    assert await values(client, subject="Priya") == ["Initech"]
    assert await values(client, subject="me") == await values(client, subject="") == ["Lisbon", "555-0202"]
    assert await values(client, slot="phone_number") == ["555-0202"]
    assert await values(client, slot="phone_number", history=True) == ["555-0101", "555-0202"]
    assert await values(client, slot="phone_number", as_of="2026-03-01T00:00:00Z") == ["555-0101"]
    days = [await values(client, slot="phone_number", as_of=day) for day in ("2026-06-04", "2026-06-05")]
    assert days == [["555-0101"], ["555-0202"]]
    assert await values(client, slot="nothing") == []
    assert await values(client, limit=1, skip=1) == ["555-0202"]
    assert (await client.get("/facts", params={"scope": "u1", "limit": 1})).json()["more"] is True
    assert (await client.get("/facts", params={"scope": "never seen"})).json()["facts"] == []


@pytest.mark.parametrize(
    "wrong",
    [{"as_of": "yesterday"}, {"as_of": "2026-01-01T12:00"}, {"as_of": "2026-02-30"}, {"limit": 0}, {"limit": 10**6},
     {"skip": -1}, {"history": "x"}, {"scope": "a/b/c/d"}, {"privacy": "some"}, {"slot": ""}, {"slot": " "}],
)  # fmt: skip
async def test_what_cannot_be_used_is_said(client: httpx.AsyncClient, wrong: dict[str, Any]) -> None:
    reply = await client.get("/facts", params={"scope": "u1", **wrong})
    assert reply.status_code == 422, reply.text


async def test_nothing_goes_out_that_may_not_be_seen(served: Served) -> None:
    floor = Served(store=served.store, optimizer=served.optimizer, privacy="redact")
    async with asking(floor) as client:
        asked = {"scope": "u1", "history": "true"}
        reply = await client.get("/facts", params=asked)
        assert reply.status_code == 200 and "555-0" not in reply.text and "[phone-1]" in reply.text
        reply = await client.get("/facts", params={**asked, "privacy": "block"})
        assert not any(word in reply.text for word in ("555-0", "Lisbon", "Initech", "priya"))
        reply = await client.get("/facts", params={**asked, "privacy": "allow"})
        assert (reply.status_code, reply.json()["code"]) == (403, "PRIVACY_VIOLATION")
        for mode in ("redact", "block"):
            reply = await client.post("/recall", json={"query": NUMBER, "scope": "u1", "privacy": mode})
            assert reply.status_code == 200 and "555-0" not in reply.text


async def test_a_token_reaches_the_facts_of_its_scope_only(served: Served, tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    reads, _ = tokens.add(scopes=["u1"])
    writes, _ = tokens.add(scopes=["u1"], rights=["write"])
    closed = Served(store=served.store, optimizer=served.optimizer, tokens=tokens)
    async with asking(closed, authorization=f"Bearer {reads}") as client:
        assert "Secretville" not in (await client.get("/facts")).text
        assert (await client.get("/facts", params={"scope": "u2"})).status_code == 403
    async with asking(closed, authorization=f"Bearer {writes}") as client:
        assert (await client.get("/facts")).status_code == 403
    async with asking(closed) as client:
        assert (await client.get("/facts")).status_code == 401


async def test_hits_say_what_took_their_place(served: Served, client: httpx.AsyncClient) -> None:
    found = RecallReply.model_validate_json(
        (await client.post("/recall", json={"query": NUMBER, "scope": "u1", "k": 2})).content
    )
    assert [(hit.id, hit.superseded_by) for hit in found.hits] == [("m2", None), ("m1", "m2")]
    new, old = found.hits
    assert old.valid_from == "2026-01-05T00:00:00+00:00" and old.valid_to == new.valid_from
    assert found.facts is not None and found.facts["slot"] == "phone_number" and found.facts["first"] == ["m2"]


async def test_as_of_and_current_only_reach_the_recall(client: httpx.AsyncClient) -> None:
    async def ids(**more: Any) -> list[str]:
        reply = await client.post("/recall", json={"query": NUMBER, "scope": "u1", **more})
        assert reply.status_code == 200, reply.text
        return [hit["id"] for hit in reply.json()["hits"]]

    assert (await ids(as_of="2026-03-01T00:00:00Z"))[0] == "m1"
    assert [(await ids(as_of=day))[0] for day in ("2026-06-04", "2026-06-05")] == ["m1", "m2"]  # a day counts whole
    assert (await ids(as_of="2026-06-04", timezone="America/New_York"))[0] == "m2"  # m2 is of 20:00 there
    assert "m1" in await ids()
    assert "m1" not in await ids(filters={"current_only": True})
    day_there = {"as_of": "2026-03-01", "timezone": "Europe/Nowhere"}
    for wrong in ({"filters": {"current_only": "x"}}, day_there, {"as_of": "2026-W10"}):
        assert (await client.post("/recall", json={"query": NUMBER, **wrong})).status_code == 422
