"""The application: routes behind the gate. An ASGI application like any other, for a web server of your own.

from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served

app = create_app(Served(store=store, optimizer=QueryOptimizer(store)))
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import time
import traceback
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from recall_integrations import __version__
from recall_integrations.config.checking import is_loopback
from recall_integrations.errors import ConfigError, InvalidArgument, RecallError, extra
from recall_integrations.serving.problems import MEDIA_TYPE, Refused, headers_of, packed, problem_of, status_of
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import HEADER, SEND_TOKEN, STATE, Caller

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
UNLESS_SAID = (  # no reply is a page, and none is kept on the way, unless it says so itself
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PAGES = ("/look", "/look/")


class Gate:
    """The application behind a gate."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self._app, self._served = app, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        began, headers = time.perf_counter(), dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request_id = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex.encode()
        state = scope.setdefault("state", {})
        state["request_id"] = request_id.decode()
        reply = _Reply(scope, receive, send, request_id, began)
        try:
            caller = await self._admitted(scope, headers)
            state[STATE] = caller
            body = await self._body(headers, receive, known=caller is not None)
            if caller is not None and body:
                self._served.rates.spend(caller.name, len(body))
            await self._app(scope, _replayed(body, receive), reply)
        except RecallError as e:
            await reply.problem(e)
        except UnicodeEncodeError:
            await reply.problem(
                InvalidArgument("The request holds half of a character (a surrogate). Send whole ones.")
            )
        except Exception as e:  # noqa: BLE001 - the last place where a client can be told; its message may quote
            last = traceback.extract_tb(e.__traceback__)[-1]
            log.error("%s failed: %s in %s, line %s", state["request_id"], type(e).__name__, last.name, last.lineno)
            await reply.problem(Refused(500, "INTERNAL", "Something failed that should not. Its kind is in the log."))
        if log.isEnabledFor(logging.INFO):  # the path without what is asked for, which comes after it
            route = getattr(scope.get("route"), "path", "-")
            took = (time.perf_counter() - began) * 1e3
            log.info("%s %s %s %d %.1f ms", state["request_id"], scope["method"], route, reply.status, took)

    async def _admitted(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Return the caller of a request; `None` = the request has no token."""
        served = self._served
        host = headers.get(b"host", b"").decode("latin-1")
        if served.tokens is None and not _is_here(host, served.hosts):
            raise Refused(
                421,
                "WRONG_HOST",
                "This server answers to names of this machine only, such as 127.0.0.1. Serve with tokens for others.",
            )
        origin = headers.get(b"origin")
        if origin is not None and not _same(origin.decode("latin-1"), host):
            raise Refused(403, "CROSS_ORIGIN", "Pages of other origins may not ask this server.")
        # An image or a script of another page is asked for without an origin. Who follows a link to our page sees it.
        if headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site") and not _is_page(scope, headers):
            raise Refused(403, "CROSS_ORIGIN", "Pages of other sites may not ask this server.")
        if b"content-length" in headers and b"transfer-encoding" in headers:
            said = "A request says its length, or that it comes in parts: not both, since readers differ where it ends."
            raise _closing(400, "INVALID_ARGUMENT", said)
        address = (scope.get("client") or ("",))[0]
        caller = await self._caller(headers, str(address))
        await self._count(caller.name if caller is not None else str(address))
        return caller

    async def _count(self, caller: str) -> None:
        wait_s = self._served.rates.wait_s(caller)
        if wait_s:
            raise Refused(
                429,
                "TOO_MANY_REQUESTS",
                f"More than {self._served.limits.rate:g} requests a second. Ask again in {wait_s:.2f} seconds.",
                headers={"Retry-After": str(math.ceil(wait_s))},
            )

    async def _caller(self, headers: Mapping[bytes, bytes], address: str) -> Caller | None:
        served = self._served
        if served.tokens is None:
            return Caller(name=address or "here", privacy=served.privacy)
        given = headers.get(b"authorization")
        if given is None:
            return None
        kind, _, token = given.decode("latin-1").partition(" ")
        try:
            found = served.tokens.find(token.strip()) if kind.lower() == "bearer" else None
        except ConfigError as e:  # it names files of ours, and whoever asks may be anybody
            log.error("Nobody is let in: %s", e)
            raise Refused(503, "NOT_READY", "The tokens of this server cannot be read. Its log says why.") from None
        if found is None:
            await self._count(address)  # who guesses is counted as well
            raise Refused(
                401,
                "UNAUTHORIZED",
                "That is no token of this server, or it is over. Make one: recall token add",
                headers=HEADER,
            )
        return Caller.with_token(found, served.privacy)

    async def _body(self, headers: Mapping[bytes, bytes], receive: Receive, *, known: bool) -> bytes | None:
        """Return the body if it is not too large, and refuse it as soon as it is. `None`: the client has gone."""
        limits = self._served.limits
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > limits.body_max:
            raise _too_large(limits.body_max)
        if length == b"0" and b"transfer-encoding" not in headers:
            return b""
        if not known:
            raise _closing(401, "UNAUTHORIZED", SEND_TOKEN, **HEADER)
        try:
            return await asyncio.wait_for(_read(receive, limits.body_max), limits.body_s)
        except asyncio.TimeoutError:
            said = f"The request did not arrive within {limits.body_s:g} seconds. Send it again, or less at once."
            raise _closing(408, "TOO_SLOW", said) from None


async def _read(receive: Receive, most: int) -> bytes | None:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> Refused:
    return _closing(413, "BODY_TOO_LARGE", f"A request may have {most:,} bytes. Send less at once.")


def _closing(status: int, code: str, message: str, **headers: str) -> Refused:
    """Return an error that ends the connection, since what is left of the body is not read."""
    return Refused(status, code, message, headers={**headers, "Connection": "close"})


def _replayed(body: bytes | None, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        if body is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class _Reply:
    """A reply that is sent with the headers common to all replies."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, request_id: bytes, began: float) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._request_id, self._began = request_id, began
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            took = (time.perf_counter() - self._began) * 1e3
            given = list(message.get("headers", ()))
            said = {name for name, _ in given}
            message["headers"] = [
                *given,
                *(header for header in UNLESS_SAID if header[0] not in said),
                (b"x-request-id", self._request_id),
                (b"server-timing", b"total;dur=%d" % took),
                (b"x-content-type-options", b"nosniff"),
            ]
        await self._send(message)

    async def problem(self, error: RecallError) -> None:
        """Reply with an error, unless a reply has begun."""
        if not self.status:
            await _response(error)(self._scope, self._receive, self)


def _is_page(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Say whether a browser opens the page itself, which asks nothing yet."""
    navigates = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    return navigates and scope["method"] == "GET" and scope["path"] in PAGES


def _is_here(host: str, others: tuple[str, ...]) -> bool:
    """Say whether a request was meant for this machine. A foreign page may let its own name point to 127.0.0.1."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and (is_loopback(name) or name in others)


def _same(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


ERRORS_SHOWN = 5
BODY_NOT_JSON = ("missing", "model_attributes_type", "model_type", "dict_type")  # kinds of mistakes of a whole body
DESCRIPTION = "Long-term memory over HTTP: remember, recall, and see why each memory was found."


def create_app(served: Served) -> FastAPI:
    """Return the application that serves a store.

    Args:
        served: the store and its settings. The store stays open when the application ends.

    Raises:
        MissingExtra: FastAPI is not installed.
    """
    with extra("serve", "Serving over HTTP"):
        from fastapi import FastAPI
        from fastapi.exceptions import RequestValidationError
        from starlette.exceptions import HTTPException

        from recall_integrations.serving.routes import health, looking, memories, recalls

    app = FastAPI(
        title="recall", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", redirect_slashes=False,
    )  # fmt: skip
    for routes in (recalls, memories, health, looking):
        app.include_router(routes.router(served))
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Gate, served=served)
    _described(app, served)
    return app


def _described(app: FastAPI, served: Served) -> None:
    """Add the schema of problems to OpenAPI, and that of tokens where the server uses them."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        from recall_integrations.serving.models import Problem

        schema = plain()
        parts = schema.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        if served.tokens is not None:
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
        return schema

    app.openapi = described  # type: ignore[method-assign]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def _response(error: RecallError) -> Response:
    from fastapi import Response

    body, headers = packed(problem_of(error)), headers_of(error)
    return Response(body, status_code=status_of(error), headers=headers, media_type=MEDIA_TYPE)


async def _invalid(_request: Request, error: Exception) -> Response:
    """Reply with pydantic's messages without the values they quote: a value may be a memory, and replies are logged."""
    found: list[dict[str, Any]] = getattr(error, "errors", list)()
    said = [_mistake(one) for one in found[:ERRORS_SHOWN]]
    more = f" And {len(found) - ERRORS_SHOWN} more." if len(found) > ERRORS_SHOWN else ""
    return _response(Refused(422, "INVALID_ARGUMENT", f"{'; '.join(said)}.{more}"))


def _mistake(one: dict[str, Any]) -> str:
    """Return one mistake and its place; in our words where pydantic's do not say what to do."""
    kind, place = one["type"], ".".join(str(part) for part in one["loc"][1:])
    if kind == "json_invalid":
        return f"body: It is not JSON, from character {place} on"
    if not place and kind in BODY_NOT_JSON:
        return "body: It must be a JSON object, sent with the header 'content-type: application/json'"
    if kind == "extra_forbidden":
        return f"{place}: There is no such key; /openapi.json lists those there are"
    return f"{place or 'body'}: {one['msg']}"


async def _http(_request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    codes = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 400: "INVALID_ARGUMENT"}
    message = f"{HTTPStatus(status).phrase}. What there is: /openapi.json"
    headers = getattr(error, "headers", None)
    return _response(Refused(status, codes.get(status, "HTTP_ERROR"), message, headers=headers))
