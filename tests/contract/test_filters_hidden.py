"""Under `redact` and `block` no filter reads out what the mode hides, in process and over HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from recall_integrations import Filters, Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer, RecallConfig
from recall_integrations.errors import InvalidArgument, InvalidFilter
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens

PIN, IBAN, PHONE = 4821, "DE89 3704 0044 0532 0130 00", "+49 170 1234567"
HIDDEN: list[dict[str, Any]] = [  # what asks for a hidden value, under both modes
    {"pin": {"$gte": 4000}},
    {"pin": {"$exists": True}},
    {"$not": {"pin": {"$lt": 5000}}},
    {"$or": [{"year": 2020}, {"pin": {"$in": [PIN]}}]},
    {"home_phone": {"$gt": "+49"}},
    {"actors": [PHONE]},
    {"entities": [PHONE]},
    {"channels": [f"sms {PHONE}"]},
    {"threads": [PHONE]},
]
WITHHELD = [{"year": 2020}, {"note": {"$text_match": "call"}}, {"actors": ["Sam"]}, {"entities": ["Sam"]}]
WITHHELD += [{"roles": ["user"]}, {"channels": ["slack"]}]
OPEN = [
    Filters(types=["fact"]),
    Filters(threads=["t1"]),
    Filters(after=datetime(2020, 1, 1, tzinfo=timezone.utc)),
    Filters(recency_days=900),
]


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        hidden = {"pin": PIN, "home_phone": PHONE, "iban": IBAN, "note": f"call {PHONE}", "size": 4111111111111111}
        store.remember_many(
            [
                Memory("the garden", id="m1", type="fact", actor="Sam", thread="t1", metadata={**hidden, "year": 2020}),
                Memory("the balcony", id="m2", actor=PHONE, thread="t2", metadata={"year": 2021, "note": "water it"}),
            ]
        )
        config = RecallConfig.from_mapping({"privacy": {"patterns": {"badge": r"B-\d{4}"}}})
        optimizer = QueryOptimizer(store, config=config)
        yield optimizer
        optimizer.close()


def found(optimizer: QueryOptimizer, filters: Any, mode: str) -> set[str]:
    result = optimizer.recall("the garden or the balcony", k=5, filters=filters, privacy=mode, time_budget_ms=5_000)
    return {str(hit.memory.id) for hit in result.hits}


@pytest.mark.parametrize("mode", ["redact", "block"])
@pytest.mark.parametrize("filters", HIDDEN, ids=str)
def test_a_hidden_field_cannot_be_filtered_on_and_the_error_names_it(
    optimizer: QueryOptimizer, filters: dict[str, Any], mode: str
) -> None:
    with pytest.raises(InvalidFilter, match=r"Filters\.\w+.* cannot be filtered on under privacy=") as caught:
        found(optimizer, filters, mode)
    assert str(PIN) not in str(caught.value) and "1234567" not in str(caught.value)
    assert found(optimizer, filters, "allow") is not None


def test_block_filters_on_what_it_shows_alone(optimizer: QueryOptimizer) -> None:
    for filters in WITHHELD:
        with pytest.raises(InvalidFilter, match="which withholds it"):
            found(optimizer, filters, "block")
        assert found(optimizer, filters, "redact") == found(optimizer, filters, "allow")
    for given in OPEN:
        assert found(optimizer, given, "block") == found(optimizer, given, "allow") != set()


def test_a_condition_on_a_text_sees_the_redacted_one(optimizer: QueryOptimizer) -> None:
    assert found(optimizer, {"note": {"$text_match": "1234567"}}, "allow") == {"m1"}
    assert found(optimizer, {"note": {"$text_match": "1234567"}}, "redact") == set()
    assert found(optimizer, {"note": {"$text_match": "call [phone-1]"}}, "redact") == {"m1"}
    assert found(optimizer, {"note": f"call {PHONE}"}, "redact") == set()
    assert found(optimizer, {"note": {"$ne": f"call {PHONE}"}}, "redact") == {"m1", "m2"}


def test_a_number_that_looks_like_a_card_cannot_be_halved(optimizer: QueryOptimizer) -> None:
    """The search by halves that got a PIN in 22 requests: every answer is the same."""
    bounds = [10**k for k in range(18)]
    assert {frozenset(found(optimizer, {"size": {"$gte": b}}, "redact")) for b in bounds} == {frozenset()}
    assert len({frozenset(found(optimizer, {"size": {"$gte": b}}, "allow")) for b in bounds}) == 2


def test_what_a_pattern_of_the_user_hides_is_hidden_from_filters(optimizer: QueryOptimizer) -> None:
    optimizer.store.remember(Memory("the cellar", id="m3", metadata={"door": "B-4711"}))
    assert found(optimizer, {"door": "B-4711"}, "allow") == {"m3"}
    assert found(optimizer, {"door": "B-4711"}, "redact") == set()
    assert optimizer.store.forget("m3")


def test_a_retriever_refuses_them_too(optimizer: QueryOptimizer) -> None:
    retriever = OptimizedRecallRetriever(optimizer=optimizer, privacy="redact", filters={"pin": {"$lt": 5}})
    with pytest.raises(InvalidFilter, match="pin"):
        retriever.invoke("the garden")


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_a_vector_of_the_callers_own_is_refused(optimizer: QueryOptimizer, mode: str) -> None:
    unit = np.eye(256)[0]
    with pytest.raises(InvalidArgument, match="query_vector cannot be given"):
        optimizer.recall("garden", query_vector=unit, privacy=mode)
    assert optimizer.recall("garden", query_vector=unit).hits


@pytest.fixture(params=["redact", "block"])
async def client(
    optimizer: QueryOptimizer, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[httpx.AsyncClient]:
    tokens = Tokens(tmp_path / "tokens.json")
    token, _ = tokens.add(scopes=[""], rights=["read", "write"], privacy=request.param)
    app = create_app(Served(store=optimizer.store, optimizer=optimizer, tokens=tokens))
    headers = {"authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app, raise_app_exceptions=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


async def test_no_route_reads_a_hidden_value_out(client: httpx.AsyncClient) -> None:
    for filters in HIDDEN:
        replies = [
            await client.post("/count", json={"filters": filters}),
            await client.post("/recall", json={"query": "garden", "filters": filters}),
            await client.get("/memories", params={"filters": json.dumps(filters)}),
            await client.post("/forget", json={"filters": filters}),
            await client.post("/forget", json={"filters": filters, "dry_run": True}),
        ]
        said = [(reply.status_code, reply.json()["code"]) for reply in replies]
        assert said == [(422, "INVALID_FILTER")] * len(replies), (filters, said)
    for params in ({"actor": PHONE}, {"entity": PHONE}):
        assert (await client.get("/look/timeline", params=params)).status_code == 422
    assert (await client.get("/facts", params={"subject": PHONE})).status_code == 422
    assert (await client.post("/recall", json={"query": "garden", "query_vector": [0.1] * 256})).status_code == 422
    assert (await client.post("/count", json={"filters": {"types": ["fact"]}})).json() == {"count": 1}


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_no_exact_cosine_leaves(optimizer: QueryOptimizer, mode: str) -> None:
    result = optimizer.recall("what grows outside?", k=2, privacy=mode, time_budget_ms=5_000)
    hits = result.hits
    assert len(hits) == 2 and result.confidence == pytest.approx(round(result.confidence, 2), abs=1e-9)
    at = hits[0].score  # a threshold of the caller's acts on what is shown, and halves nothing further
    for least, there in ((at - 0.004, True), (at, True), (at + 0.0001, False), (at + 0.004, False)):
        again = optimizer.recall("what grows outside?", k=2, privacy=mode, score_min=least, time_budget_ms=5_000)
        assert bool(again.hits) is there, least
    for hit in hits:
        assert hit.score == round(hit.score, 2) and "(0." not in hit.reason
        assert all(2 * part.score == int(2 * part.score) for part in hit.contributions)
        assert all(part.added == int(part.added) for part in hit.contributions)
