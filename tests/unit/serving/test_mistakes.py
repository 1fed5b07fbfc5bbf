"""What a request that cannot be read is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from tests.rows import each_row

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with MemoryStore.open() as store:
        yield TestClient(create_app(Served(store=store, optimizer=QueryOptimizer(store))), base_url="http://localhost")


@each_row(
    ("request_", "said"),
    [
        ({"content": '{"query": "x"}'}, "content-type: application/json"),
        ({"content": "", "headers": JSON}, "content-type: application/json"),
        ({"content": "[1]", "headers": JSON}, "must be a JSON object"),
        ({"content": '{"query" x}', "headers": JSON}, "not JSON, from character 9 on"),
        ({"json": {"query": "x", "kk": 3}}, "kk: There is no such key; /openapi.json"),
    ],
)
def test_it_says_what_to_do(client: TestClient, request_: dict[str, Any], said: str) -> None:
    reply = client.post("/recall", **request_)
    assert reply.status_code == 422 and said in reply.json()["message"]
