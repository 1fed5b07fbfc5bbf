"""Asking a server: what is sent again and when, the deadline, and errors of our tree."""

from __future__ import annotations

import asyncio
import json
import pickle
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from recall_integrations import errors
from recall_integrations.serving.wire import Answer, Asked, Wire
from tests.rows import each_row

HERE = "http://127.0.0.1:8000"
ASKED = Asked(method="POST", path="/recall", body=lambda left: {"left": round(left, 3)}, seconds=10.0)
BUSY = Answer(status=503, again_s=1.0, data={"code": "OVERLOADED", "message": "Too much to do."})
FINE = Answer(status=200, again_s=None, data={"fine": True})


class Clock:
    """Goes on by what is waited, and by half a second for each request."""

    def __init__(self) -> None:
        self.now, self.pauses = 100.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        """Wait for nothing, and note it."""
        self.now += seconds
        self.pauses += [round(seconds, 3)] * (seconds > 0)


def run(
    came: list[Answer | Exception], asked: Asked = ASKED, retries: int = 3
) -> tuple[Any, list[float], list[dict[str, Any]]]:
    """What it comes to: the answer or the error, the pauses as long as they may be, and what was sent."""
    clock, left, sent = Clock(), iter(came), list[dict[str, Any]]()

    def server(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content or b"{}"))
        clock.now += 0.5
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        again = {} if answer.again_s is None else {"retry-after": f"{answer.again_s:.0f}"}
        return httpx.Response(answer.status, headers=again, json=answer.data)

    wire = Wire(HERE, retries=retries, transport=httpx.MockTransport(server))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("random.uniform", lambda _low, high: high)
        patched.setattr("time.monotonic", clock)
        patched.setattr("time.sleep", clock.wait)
        try:
            return wire.ask(asked), clock.pauses, sent
        except errors.RecallError as e:
            return e, clock.pauses, sent


def test_an_answer_is_given_and_the_server_is_told_what_is_left() -> None:
    assert run([FINE]) == ({"fine": True}, [], [{"left": 10.0}])


def test_who_is_busy_is_asked_again_when_it_says() -> None:
    found, pauses, sent = run([BUSY, BUSY, FINE])
    assert found == {"fine": True}
    assert pauses == [1.1, 1.2]
    assert [one["left"] for one in sent] == [10.0, 8.4, 6.7]


def test_who_is_away_is_asked_again_and_then_named() -> None:
    away = httpx.ConnectError("refused")
    found, pauses, _ = run([away] * 4)
    assert isinstance(found, errors.ServerUnavailable)
    assert HERE in str(found) and "recall serve" in str(found)
    assert pauses == [0.1, 0.2, 0.4]
    assert run([away, FINE])[0] == {"fine": True}


def test_nobody_waits_longer_than_the_time_there_is() -> None:
    short = Asked(method="POST", path="/", body=lambda _left: {}, seconds=1.2)
    found, pauses, sent = run([BUSY, FINE], short)
    assert isinstance(found, errors.ServerUnavailable) and pauses == [] and len(sent) == 1
    assert "Too much to do" in str(found)


def test_who_answers_too_late_is_not_asked_again() -> None:
    found, _, sent = run([httpx.ReadTimeout("late"), FINE])
    assert isinstance(found, errors.RecallTimeout) and len(sent) == 1
    assert HERE in str(found) and "10 s" in str(found)


@each_row(
    ("status", "code", "kind"),
    [
        (422, "INVALID_ARGUMENT", errors.InvalidArgument),
        (422, "INVALID_FILTER", errors.InvalidFilter),
        (422, "INVALID_SCOPE", errors.InvalidScope),
        (422, "INVALID_MEMORY", errors.InvalidMemory),
        (404, "NOT_FOUND", errors.NotFound),
        (504, "TIMEOUT", errors.RecallTimeout),
        (500, "STORE_CORRUPT", errors.StoreCorrupt),
        (401, "UNAUTHORIZED", errors.ServerRefused),
        (403, "FORBIDDEN", errors.ServerRefused),
        (413, "BODY_TOO_LARGE", errors.ServerRefused),
        (500, "INTERNAL", errors.ServerError),
    ],
)
def test_errors_are_those_of_the_tree(status: int, code: str, kind: type[Exception]) -> None:
    data = {"code": code, "message": "What to do.", "options": ["return_minimal"], "details": {"a": 1}, "stats": {}}
    found, pauses, _ = run([Answer(status=status, again_s=None, data=data)])
    assert type(found) is kind and "What to do." in str(found) and pauses == []
    assert found.options == ("return_minimal",) and found.details == {"a": 1}
    assert getattr(found, "status", status) == status


def test_a_failed_component_of_the_server_is_tried_again_and_then_told_of() -> None:
    away = Answer(status=503, again_s=1.0, data={"code": "EMBEDDING_ERROR", "message": "It is away."})
    found, pauses, _ = run([away] * 4)
    assert isinstance(found, errors.EmbeddingError) and len(pauses) == 3


def test_a_strict_recall_that_failed_is_answered() -> None:
    strict = {"code": "DEGRADATION_FAILED", "message": "No.", "result": {"hits": []}}
    found, pauses, _ = run([Answer(status=503, again_s=1.0, data=strict)])
    assert isinstance(found, errors.DegradationFailed) and pauses == [] and found.result == {"hits": []}


@each_row(("status", "kind"), [(302, None), (404, errors.ServerError), (502, errors.ServerUnavailable)])
def test_what_is_no_recall_server_is_named(status: int, kind: type[Exception] | None) -> None:
    def page(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, text="<html>")

    wire = Wire(HERE, retries=0, transport=httpx.MockTransport(page))
    if kind is None:
        assert wire.ask(ASKED) is None  # the caller says that this is no answer
        return
    with pytest.raises(kind, match="Is that its address"):
        wire.ask(ASKED)


@each_row(
    "address",
    ["", "127.0.0.1:8000", "ftp://here", "http://", "http://a:b@here", "http://here?x=1", "http://here:x", None, 7],
)
def test_an_address_is_checked_at_once(address: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="address"):
        Wire(address)


@each_row("given", [{"token": ""}, {"token": "ä"}, {"token": 7}, {"retries": -1}, {"retries": True}])
def test_other_arguments_too(given: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidArgument):
        Wire(HERE, **given)


def test_a_token_is_sent_and_shown_nowhere() -> None:
    seen = []

    def page(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={})

    wire = Wire(HERE, "rk_secret", transport=httpx.MockTransport(page))
    wire.ask(ASKED)
    assert seen == ["Bearer rk_secret"] and "secret" not in repr(wire)
    assert repr(pickle.loads(pickle.dumps(wire))) == repr(wire)


def test_a_reply_that_drips_is_late() -> None:
    class Drips(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(100):
                time.sleep(0.02)
                yield b" "

    wire = Wire(HERE, transport=httpx.MockTransport(lambda _r: httpx.Response(200, stream=Drips())))
    began = time.monotonic()
    with pytest.raises(errors.RecallTimeout):
        wire.ask(Asked(method="GET", path="/", seconds=0.2))
    assert time.monotonic() - began < 1.5


async def test_a_cancelled_request_ends_and_a_late_one_is_an_error() -> None:
    ended = asyncio.Event()

    async def page(request: httpx.Request) -> httpx.Response:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return httpx.Response(200)

    wire = Wire(HERE, async_transport=httpx.MockTransport(page))
    with pytest.raises(errors.RecallTimeout):
        await wire.aask(Asked(method="GET", path="/", seconds=0.1))
    ended.clear()
    asking = asyncio.create_task(wire.aask(ASKED))
    await asyncio.sleep(0.05)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(ended.wait(), 5)
    await wire.aclose()


def test_what_json_lacks_is_an_argument_that_cannot_be_used() -> None:
    asked = Asked(method="POST", path="/", body=lambda _left: {"x": object()}, seconds=1.0)
    with pytest.raises(errors.InvalidArgument, match="JSON"):
        Wire(HERE, transport=httpx.MockTransport(lambda _r: httpx.Response(200, json={}))).ask(asked)


# -- whoever else answers ----------------------------------------------------------------------------------------------


def given(body: bytes, status: int = 200, **headers: str) -> httpx.MockTransport:
    """A server that answers everything so."""
    kind = {"content-type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in kind.items()]
    return httpx.MockTransport(lambda _request: httpx.Response(status, content=body, headers=raw))


@each_row("key", ["details", "options", "stats", "message", "code", "result"])
@each_row("value", ["5", '"ab"', "[1]", "{}", "null"])
def test_a_problem_of_any_shape_is_an_error_of_ours(key: str, value: str) -> None:
    body = b'{"code": "OVERLOADED", "message": "m", "%s": %s}' % (key.encode(), value.encode())
    with pytest.raises(errors.RecallError):
        Wire(HERE, retries=0, transport=given(body, 503)).ask(ASKED)


def test_when_to_ask_again_is_a_number_or_nothing() -> None:
    with pytest.raises(errors.ServerUnavailable):
        Wire(HERE, retries=0, transport=given(b"{}", 503, retry_after="\u00b2")).ask(ASKED)


def test_a_token_from_a_file_may_end_its_line() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(200, json={})

    Wire(HERE, " recall_x\n", transport=httpx.MockTransport(answer)).ask(ASKED)
    assert seen == ["Bearer recall_x"]
    for wrong in ("a b", "a\nb", "a\x00", "\n", "tökén"):
        with pytest.raises(errors.InvalidArgument, match="recall token add") as refused:
            Wire(HERE, wrong)
        assert wrong.strip() == "" or wrong not in str(refused.value)
