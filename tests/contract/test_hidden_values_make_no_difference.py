"""Two stores differ in values that `block` or `redact` hides, and nothing else: no answer tells which is which.

Questions in words are not among them: these are compared with memories as they are (docs/privacy-modes.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import mcp
import pytest
from starlette.testclient import TestClient

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.frameworks.mcp import memory_server
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served

AT = datetime(2026, 3, 1, tzinfo=timezone.utc)
SECRETS = [("4821", "+49 170 1234567", "+49 170 1112223"), ("7356", "+49 171 7654321", "+49 171 5556667")]
ASKED: list[tuple[str, str, dict[str, Any] | None]] = [
    *(("GET", path, None) for path in ("/memories", "/memories/m2", "/memories/m9", "/look/timeline", "/look/about")),
    *(
        ("GET", f"/facts?history=true{more}", None)
        for more in ("", "&slot=phone_number", "&slot=pin", "&slot=open:pin")
    ),
    *(("GET", f"/facts?slot={value}", None) for value in ("4821", "%2B49%20170%201234567", "zzz")),
    *(("GET", f"/facts?subject={value}", None) for value in ("me", "Lena", "%2B49%20170%201112223", "Nobody")),
    ("GET", "/look/names?around=%2B49%20170%201112223", None),
    ("POST", "/count", {}),
    ("POST", "/count", {"filters": {"pin": {"$gte": 5000}}}),
    ("POST", "/count", {"filters": {"actors": ["+49 170 1112223"]}}),
    ("POST", "/forget", {"filters": {"pin": "4821"}, "dry_run": True}),
    ("POST", "/forget", {"ids": ["m2", "m9"], "dry_run": True}),
    ("POST", "/feedback", {"result_id": "4821", "helpful": ["m1"]}),
    ("POST", "/remember", {"memory": "My PIN is 4821", "on_duplicate": "skip"}),
    ("POST", "/remember", {"memory": "My PIN is 4821", "on_duplicate": "replace"}),
    ("GET", "/health/retrieval", None),
]


@pytest.fixture(scope="module")
def optimizers() -> Iterator[list[QueryOptimizer]]:
    made = []
    for pin, phone, caller in SECRETS:
        store = MemoryStore.open()
        store.remember_many(
            [
                Memory(f"My PIN is {pin}", id="m1", created_at=AT, event_at=AT, type="observation"),
                Memory(f"Lena's number is {phone}", id="m2", actor=caller, created_at=AT, event_at=AT),
                Memory("It rains", id="m3", created_at=AT, event_at=AT, metadata={"pin": pin, "note": f"call {phone}"}),
            ]
        )
        made.append(QueryOptimizer(store))
    yield made
    for optimizer in made:
        optimizer.close()
        optimizer.store.close()


@pytest.fixture(scope="module", params=["redact", "block"])
def ask(request: pytest.FixtureRequest, optimizers: list[QueryOptimizer]) -> Callable[..., list[tuple[int, str]]]:
    served = [Served(store=one.store, optimizer=one, privacy=request.param) for one in optimizers]
    clients = [TestClient(create_app(one), base_url="http://localhost") for one in served]

    def ask(method: str, path: str, body: dict[str, Any] | None) -> list[tuple[int, str]]:
        replies = [client.request(method, path, json=body) for client in clients]
        # Ids of names are of the store; "now" is of the clock.
        return [(r.status_code, re.sub(r'"ent_\w+"|"(?:as_of|now)":"[^"]*"', "", r.text)) for r in replies]

    return ask


@pytest.mark.parametrize(("method", "path", "body"), ASKED, ids=[f"{path} {body or ''}" for _, path, body in ASKED])
def test_no_answer_tells_which_store_it_is(
    ask: Callable[..., list[tuple[int, str]]], method: str, path: str, body: dict[str, Any] | None
) -> None:
    one, other = ask(method, path, body)
    assert one == other
    assert not any(secret in one[1] for secrets in SECRETS for secret in secrets)


def test_who_may_not_see_texts_is_not_told_of_duplicates(optimizers: list[QueryOptimizer]) -> None:
    for mode, status in (("allow", 200), ("redact", 403), ("block", 403)):
        client = TestClient(
            create_app(Served(store=optimizers[0].store, optimizer=optimizers[0], privacy=mode)),
            base_url="http://localhost",
        )
        body = {"memory": "My PIN is 4821", "on_duplicate": "skip", "scope": "another"}
        assert client.post("/remember", json=body).status_code == status


def test_counts_and_timings_of_a_blocked_recall_are_coarse(optimizers: list[QueryOptimizer]) -> None:
    result = optimizers[0].recall("is the PIN of Lena 4821?", privacy="block")
    features = [getattr(result.query.features, name) for name in ("entity_density", "lexical_rarity", "type_cues")]
    assert all(round(value, 1) == value for value in (*features, result.query.specificity))
    assert all(ms == int(ms) for ms in result.timings_ms.values())


@pytest.mark.parametrize("mode", ["redact", "block"])
async def test_mcp_withholds_what_its_server_was_told_to(optimizers: list[QueryOptimizer], mode: str) -> None:
    said = []
    async with mcp.Client(memory_server(optimizers[0], privacy=mode)) as client:
        for tool in ("recall", "explain"):
            for query in ("what is my PIN?", "4821", "Lena's number", "who is +49 170 1112223?"):
                found = await client.call_tool(tool, {"query": query})
                said += [str(getattr(one, "text", "")) for one in found.content]
        said += [str(getattr(one, "text", "")) for one in (await client.call_tool("stats", {})).content]
    assert all("id: m" in one for one in said[:8])
    assert not any(secret in one for one in said for secret in SECRETS[0])
    assert mode == "redact" or not any(word in one for one in said for word in ("PIN", "Lena", "rains"))
