"""A client and what is no recall server, or one of another version: an error of ours, whatever comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from recall_integrations import errors
from recall_integrations.serving import RecallClient
from tests.rows import each_row

ASKING: dict[str, Callable[[RecallClient], Any]] = {
    "recall": lambda client: client.optimizer.recall("x"),
    "remember": lambda client: client.remember("tea"),
    "forget": lambda client: client.forget("m1"),
    "forget user": lambda client: client.forget(user_id="u1"),
    "count": lambda client: client.count(),
    "get": lambda client: client.get("m1"),
    "dimensions": lambda client: client.remote.store.dimensions,
    "embed": lambda client: client.remote.store.embed_documents(["tea"]),
}
REPLIES: tuple[Any, ...] = (
    [], {}, None, 5, "x", {"ids": 5}, {"forgotten": "x"}, {"forgotten": 1e400}, {"count": None}, {"text": 5},
    {"vectors": [[1.0], [1.0, 2.0]]}, {"vectors": "x"}, {"dimensions": [1]}, {"result": {"confidence": 10**400}},
    {"result": {"hits": [{"score": 10**400}]}}, {"result": {}, "marks": {"makers": [], "of": [5]}},
)  # fmt: skip


def client_of(body: bytes) -> RecallClient:
    reply = httpx.MockTransport(lambda _request: httpx.Response(200, content=body))
    return RecallClient("http://127.0.0.1:1", token="recall_hidden", retries=0, transport=reply)


@each_row("asking", ASKING)
def test_a_reply_of_any_shape_is_an_error_of_ours(asking: str) -> None:
    for reply in REPLIES:
        with pytest.raises(errors.RecallError) as told:
            ASKING[asking](client_of(json.dumps(reply).encode()))
        assert "recall_hidden" not in repr(told.value)
