"""Asking a server: connections, retries, the deadline, and failures as errors of our tree.

`exchange` only decides: it yields a request to send after a pause, and is sent the answer. So one path serves both
`Wire.ask`, which blocks, and `Wire.aask`, which does not.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import random
import threading
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx

from recall_integrations.config.hosts import checked_server
from recall_integrations.errors import (
    InvalidArgument,
    RecallError,
    RecallTimeout,
    ServerError,
    ServerRefused,
    ServerUnavailable,
    from_code,
)
from recall_integrations.patterns import regex

CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)
RETRIES = 3
PAUSE_S = 0.1  # before the first retry, doubled for each further one; a random half of it is left out
BUSY = frozenset({429, 502, 503})
AWAY = frozenset({"OVERLOADED", "TOO_MANY_REQUESTS"})
TOKEN = regex(r"[!-~]+")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request."""

    method: str
    path: str
    # or what makes it, from the seconds that are left; `None` = no body
    body: Mapping[str, Any] | Callable[[float], Mapping[str, Any]] | None = None
    params: Mapping[str, str] = field(default_factory=dict)  # of the query string
    seconds: float  # time for the request, with its retries


@dataclass(frozen=True, kw_only=True)
class Send:
    """A request to send after a pause in seconds, and the monotonic second by which its answer must be there."""

    asked: Asked
    pause: float
    until: float

    def content(self, now: float) -> bytes | None:
        """Return the body as it is sent at a monotonic second."""
        body = self.asked.body
        made = body(self.until - now) if callable(body) else body
        return None if made is None else _written(made)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer: the status, the seconds after which to ask again, and the JSON."""

    status: int
    again_s: float | None
    data: Any


Flow: TypeAlias = Generator[Send, "Answer | Exception | None", Any]


def exchange(
    address: str,
    asked: Asked,
    *,
    retries: int = RETRIES,
    clock: Callable[[], float] = time.monotonic,
    jitter: Callable[[], float] = random.random,
) -> Flow:
    """Yield the steps that get a request answered; return the JSON."""
    until, pause = clock() + asked.seconds, 0.0
    for attempt in itertools.count():
        came = yield Send(asked=asked, pause=pause, until=until)
        if isinstance(came, Answer) and came.status < 400:
            return came.data
        error, again_s = _error(address, asked, came)
        pause = PAUSE_S * 2**attempt * (0.5 + 0.5 * jitter())
        if again_s is not None:
            pause += again_s
        elif not isinstance(error, ServerUnavailable):
            raise error
        if attempt == retries or clock() + pause >= until:
            raise error


def _error(address: str, asked: Asked, came: Answer | Exception | None) -> tuple[RecallError, float | None]:
    """Return the error of an attempt, and the seconds after which the server wants to be asked again, if it says."""
    if isinstance(came, httpx.TimeoutException) and not isinstance(came, httpx.ConnectTimeout):
        late = (
            f"The server at {address} did not answer within {asked.seconds:g} s. Give it more time, or look after it."
        )
        return RecallTimeout(late), None
    if isinstance(came, Exception):
        away = f"The server at {address} cannot be reached ({type(came).__name__})."
        return ServerUnavailable(f"{away} Start it (recall serve STORE), or give another address."), None
    assert isinstance(came, Answer)
    error = _told(address, came)
    may_change = came.status in BUSY and error.result is None
    return error, came.again_s if may_change else None


def _told(address: str, came: Answer) -> RecallError:
    """Return the error that a reply tells of."""
    data = came.data
    if not isinstance(data, dict) or not isinstance(data.get("code"), str):
        away = came.status in BUSY or came.status == 504
        kind = ServerUnavailable if away else ServerError
        error: RecallError = kind(
            f"{address} answered {came.status}, and not as a recall server does. Is that its address?"
        )
    else:
        code, message = data["code"], str(data.get("message", ""))
        error = from_code(code, message) or _kind_of(came.status, code)(f"{message} ({code})")
        details, options, stats = (data.get(name) for name in ("details", "options", "stats"))
        error.details = details if isinstance(details, dict) else {}
        error.options = tuple(map(str, options)) if isinstance(options, list) else ()
        error.stats = stats if isinstance(stats, dict) else {}
        error.result = data.get("result")
    if isinstance(error, ServerError):
        error.status = came.status
    return error


def _kind_of(status: int, code: str) -> type[ServerError]:
    if code in AWAY:
        return ServerUnavailable
    return ServerRefused if status in (401, 403, 413, 415, 421) else ServerError


def _written(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except (TypeError, ValueError, UnicodeEncodeError) as e:
        raise InvalidArgument(f"This cannot be sent as JSON: {e}") from e


class Wire:
    """Connections to one server. Threads and event loops may share it."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
        async_transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.address = checked_server(address, "The address of a server", "Give a token as token=...", InvalidArgument)
        token = token.strip() if isinstance(token, str) else token  # a file that holds one ends its line
        if token is not None and (not isinstance(token, str) or TOKEN.fullmatch(token) is None):
            raise InvalidArgument("token must be the text that `recall token add` printed.")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InvalidArgument(f"retries must be a whole number from 0 on, not {retries!r}.")
        self._token, self._retries = token, retries
        self._transport, self._async_transport = transport, async_transport
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._of_loops = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"Wire({self.address!r}{', token=…' if self._token else ''})"

    def __reduce__(self) -> Any:
        """Pickle the address, the token and the retries. Connections are made anew."""
        return functools.partial(Wire, retries=self._retries), (self.address, self._token)

    def ask(self, asked: Asked) -> Any:
        """Return the JSON that answers a request. Raises as `exchange` does."""
        flow = exchange(self.address, asked, retries=self._retries)
        came: Answer | Exception | None = None
        try:
            while True:
                step = flow.send(came)
                time.sleep(step.pause)
                try:
                    came = self._sent(step)
                except httpx.HTTPError as e:
                    came = e
        except StopIteration as done:
            return done.value

    async def aask(self, asked: Asked) -> Any:
        """Ask without blocking the event loop. Cancelling it ends the request."""
        flow = exchange(self.address, asked, retries=self._retries)
        came: Answer | Exception | None = None
        try:
            while True:
                step = flow.send(came)
                await asyncio.sleep(step.pause)
                try:
                    came = await asyncio.wait_for(self._asent(step), max(step.until - time.monotonic(), 0.001))
                except asyncio.TimeoutError:
                    came = httpx.ReadTimeout("late")
                except httpx.HTTPError as e:
                    came = e
        except StopIteration as done:
            return done.value

    def close(self) -> None:
        """Close the connections; a later request makes new ones. `aclose` closes those of an event loop."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of this event loop, and those of threads."""
        client = self._of_loops.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()
        self.close()

    # -- sending ---------------------------------------------------------------------------------------------------

    def _sent(self, step: Send) -> Answer:
        parts = []
        with self._connected().stream(**self._request(step)) as reply:
            for part in reply.iter_bytes():
                if time.monotonic() > step.until:  # it must be whole in time, however slowly its parts come
                    raise httpx.ReadTimeout("late")
                parts.append(part)
        return _answer(reply, b"".join(parts))

    async def _asent(self, step: Send) -> Answer:
        reply = await self._aconnected().request(**self._request(step))
        return _answer(reply, reply.content)

    def _request(self, step: Send) -> dict[str, Any]:
        headers, now = {"accept": "application/json"}, time.monotonic()
        content = step.content(now)
        if content is not None:
            headers["content-type"] = "application/json"
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        return {
            "method": step.asked.method,
            "url": f"{self.address}{step.asked.path}",
            "params": dict(step.asked.params),
            "content": content,
            "headers": headers,
            "timeout": httpx.Timeout(max(step.until - now, 0.001)),
        }

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx.Client(limits=CONNECTIONS, transport=self._transport)
            return self._client

    def _aconnected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        found = self._of_loops.get(loop)
        if found is None:
            found = self._of_loops[loop] = httpx.AsyncClient(limits=CONNECTIONS, transport=self._async_transport)
        return found


def _answer(reply: httpx.Response, body: bytes) -> Answer:
    again = reply.headers.get("retry-after", "")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    return Answer(
        status=reply.status_code, again_s=float(again) if again.isascii() and again.isdigit() else None, data=data
    )
