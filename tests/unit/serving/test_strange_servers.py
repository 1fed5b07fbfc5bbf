"""A client and what is no recall server, or one of another version: an error of ours, whatever comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

from recall_integrations import errors
from recall_integrations.serving import RecallClient

ASKING: dict[str, Callable[[RecallClient], Any]] = {
    "recall": lambda client: client.optimizer.recall("x"),
    "watched": lambda client: client.optimizer.recall("x", watch=Looking()),
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


class Looking:
    """Looks on, and says nothing."""

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Looking:
        return self

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None: ...


def client_of(body: bytes, kind: str = "application/json") -> RecallClient:
    reply = httpx.MockTransport(lambda _request: httpx.Response(200, content=body, headers={"content-type": kind}))
    return RecallClient("http://127.0.0.1:1", token="recall_hidden", retries=0, transport=reply)


@pytest.mark.parametrize("asking", ASKING)
def test_a_reply_of_any_shape_is_an_error_of_ours(asking: str) -> None:
    for reply in REPLIES:
        with pytest.raises(errors.RecallError) as told:
            ASKING[asking](client_of(json.dumps(reply).encode()))
        assert "recall_hidden" not in repr(told.value)


@pytest.mark.parametrize("event", ["begin", "end", "hits"])
@pytest.mark.parametrize("data", ["null", "5", "{}", '{"in": [], "step": [], "name": 1}', '{"step": "x"}', "nonsense"])
def test_steps_of_any_shape_cost_no_more_than_themselves(event: str, data: str) -> None:
    body = f"event: {event}\ndata: {data}\n\n".encode()
    with pytest.raises(errors.ServerUnavailable):  # there is no result behind them
        ASKING["watched"](client_of(body, "text/event-stream"))
