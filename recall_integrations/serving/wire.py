"""Asking a server: connections, retries, the deadline, and failures as errors of our tree.

`Wire.ask` blocks, `Wire.aask` does not; both go by one policy (`resilience/failures.py`).
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx
from tenacity import AsyncRetrying, RetryCallState, Retrying

from recall_integrations.config.checking import checked_server
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
from recall_integrations.resilience.failures import policy, raised

CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)
RETRIES = 3
PAUSE_S = 0.1  # before the first retry at most, beside what the server wants
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
class Answer:
    """An answer: the status, the seconds after which to ask again, and the JSON."""

    status: int
    again_s: float | None
    data: Any


Came: TypeAlias = "Answer | httpx.HTTPError"


def _came(state: RetryCallState) -> Came:
    assert state.outcome is not None
    came: Came = state.outcome.result()
    return came


def _read(address: str, asked: Asked, came: Came) -> Any:
    """Return the JSON of an answer, or raise the error that it tells of."""
    if isinstance(came, Answer) and came.status < 400:
        return came.data
    raise _error(address, asked, came)[0]


def _error(address: str, asked: Asked, came: Came) -> tuple[RecallError, float | None]:
    """Return the error of a try, and the seconds after which it may be asked again; `None` = it need not be."""
    if isinstance(came, httpx.TimeoutException) and not isinstance(came, httpx.ConnectTimeout):
        late = (
            f"The server at {address} did not answer within {asked.seconds:g} s. Give it more time, or look after it."
        )
        return RecallTimeout(late), None
    if not isinstance(came, Answer):
        away = f"The server at {address} cannot be reached ({type(came).__name__})."
        return ServerUnavailable(f"{away} Start it (recall serve STORE), or give another address."), 0.0
    error = _told(address, came)
    if came.again_s is not None and came.status in BUSY and error.result is None:
        return error, came.again_s
    return error, 0.0 if isinstance(error, ServerUnavailable) else None


def _told(address: str, came: Answer) -> RecallError:
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
        """Return the JSON that answers a request, or raise the error that the last try tells of."""
        until = time.monotonic() + asked.seconds
        return _read(self.address, asked, Retrying(**self._policy(asked, until))(self._sent, asked, until))

    async def aask(self, asked: Asked) -> Any:
        """Ask without blocking the event loop. Cancelling it ends the request."""
        until = time.monotonic() + asked.seconds
        came: Came = await AsyncRetrying(**self._policy(asked, until))(self._asent, asked, until)
        return _read(self.address, asked, came)

    def _policy(self, asked: Asked, until: float) -> dict[str, Any]:
        def again_s(state: RetryCallState) -> float | None:
            came = _came(state)
            fine = isinstance(came, Answer) and came.status < 400
            return None if fine else _error(self.address, asked, came)[1]

        return policy(
            self._retries + 1,
            retry=lambda state: raised(state) is None and again_s(state) is not None,
            pause_s=PAUSE_S,
            pause_max_s=math.inf,
            until=until,
            at_least_s=lambda state: again_s(state) or 0.0,
            retry_error_callback=_came,
        )

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

    def _sent(self, asked: Asked, until: float) -> Came:
        parts = []
        try:
            with self._connected().stream(**self._request(asked, until)) as reply:
                for part in reply.iter_bytes():
                    if time.monotonic() > until:  # it must be whole in time, however slowly its parts come
                        return httpx.ReadTimeout("late")
                    parts.append(part)
        except httpx.HTTPError as e:
            return e
        return _answer(reply, b"".join(parts))

    async def _asent(self, asked: Asked, until: float) -> Came:
        try:
            request = self._aconnected().request(**self._request(asked, until))
            reply = await asyncio.wait_for(request, max(until - time.monotonic(), 0.001))
        except asyncio.TimeoutError:
            return httpx.ReadTimeout("late")
        except httpx.HTTPError as e:
            return e
        return _answer(reply, reply.content)

    def _request(self, asked: Asked, until: float) -> dict[str, Any]:
        headers, left = {"accept": "application/json"}, until - time.monotonic()
        body = asked.body(left) if callable(asked.body) else asked.body
        content = None if body is None else _written(body)
        if content is not None:
            headers["content-type"] = "application/json"
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        return {
            "method": asked.method,
            "url": f"{self.address}{asked.path}",
            "params": dict(asked.params),
            "content": content,
            "headers": headers,
            "timeout": httpx.Timeout(max(left, 0.001)),
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
