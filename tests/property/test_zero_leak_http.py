"""Nothing that a privacy mode withholds comes out over HTTP: in a reply, a header or a log."""

from __future__ import annotations

import logging
import random
from typing import Any

import httpx
import pytest

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from tests.property.test_zero_leak import KINDS, PLACES, QUERIES, Planted, Records, Ways, planted, recognised


def chosen(seed: int) -> list[Planted]:
    """One of each place."""
    rng = random.Random(seed)
    items = [planted(rng, number, place, rng.choice(list(KINDS))) for number, place in enumerate(PLACES)]
    return [item for item in items if recognised(item)]


async def told(ways: Ways, client: httpx.AsyncClient, items: list[Planted], asked: dict[str, Any]) -> None:
    """Ask everything that there is to ask."""

    def tell(way: str, reply: httpx.Response) -> None:
        assert reply.status_code in (200, 503, 504), (way, reply.text)
        ways.tell(way, reply.text)
        ways.tell(f"headers of {way}", str(reply.headers))

    privacy = {"privacy": asked["privacy"]} if "privacy" in asked else {}
    mode = {"privacy_mode": asked["privacy"]} if "privacy" in asked else {}
    for number, item in enumerate(items):
        query = QUERIES[number % len(QUERIES)].format(x=item.value)
        body = {"query": query, "k": 4, "context": 1, "highlights": True, **asked}
        tell("/recall", await client.post("/recall", json=body))
        if number % 3 == 0:
            late = await client.post("/recall", json=body | {"time_budget_ms": 0.01, "strict": True})
            tell("/recall, late", late)
        tell("/experience/search", await client.get("/experience/search", params={"intent": query, **mode}))
        tell("/memories/{id}", await client.get(f"/memories/{item.memory.id}", params=privacy))
    tell("/memories", await client.get("/memories", params={"limit": 100, **privacy}))
    for path in ("/health/retrieval", "/openapi.json"):
        tell(path, await client.get(path))


@pytest.mark.parametrize("mode", ["redact", "block"])
@pytest.mark.parametrize("whose", ["the server's", pytest.param("the request's", marks=pytest.mark.slow)])
async def test_nothing_that_is_withheld_leaves_the_server(mode: str, whose: str) -> None:
    ways, items = Ways(), chosen(len(mode) + len(whose))
    assert len(items) > len(PLACES) // 2
    records, root = Records(ways), logging.getLogger()
    level = root.level
    with MemoryStore.open() as store:
        store.remember_many([item.memory for item in items])
        for item in items:
            if item.place == "alias":
                store.add_entity("Harbour Office", aliases=[item.value])
        floor = mode if whose == "the server's" else "allow"
        served = Served(store=store, optimizer=QueryOptimizer(store), privacy=floor)
        transport = httpx.ASGITransport(create_app(served))
        root.addHandler(records)
        logging.getLogger("recall_integrations").setLevel(logging.DEBUG)
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                await told(ways, client, items, {} if floor == mode else {"privacy": mode})
        finally:
            root.removeHandler(records)
            root.setLevel(level)
            logging.getLogger("recall_integrations").setLevel(logging.NOTSET)
    leaks = ways.leaks(items, mode)
    assert leaks == []
    assert len(ways.said) > 100


def test_a_leak_would_be_noticed() -> None:
    ways, items = Ways(), chosen(1)
    ways.tell("somewhere", items[0].value)
    assert ways.leaks(items, "redact")
