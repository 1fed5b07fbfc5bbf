"""Chroma's HTTP client with time limits; the original waits as long as the server likes.

Only callers that ask a server import this module, since it loads chromadb.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
from chromadb.api import ServerAPI
from chromadb.api.fastapi import FastAPI
from chromadb.config import Settings, System
from overrides import override

from recall_integrations.database.connections import remaining
from recall_integrations.errors import RecallTimeout
from recall_integrations.indexes.vector_server import BODY, of_a_request

REFUSED = frozenset({401, 403})
TOO_LARGE, TOO_MANY = 413, 429


class BadStatus(Exception):
    """The server, or a proxy before it, answered with an error status."""

    def __init__(self, status: int, limit: str = "") -> None:
        super().__init__(f"it answered with status {status}")
        self.status, self.limit = status, limit


class Limited(FastAPI):  # type: ignore[misc, unused-ignore]
    """Chroma's client of a server, which waits no longer than `connections.within` allows the thread."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self._session.event_hooks = {"response": [_checked]}

    @override
    def _make_request(self, method: str, path: str, **given: Any) -> Any:
        left = remaining()
        if not left:
            raise RecallTimeout("No time is left to ask the Chroma server.")
        if left != math.inf:
            given["timeout"] = left
        return super()._make_request(method, path, **given)

    def let_go(self) -> None:
        """Close the connections."""
        self._session.close()


def _checked(response: httpx.Response) -> None:
    """Raise for a failure that no collection caused, without the answer's text, which may repeat a token."""
    status = response.status_code
    if status == TOO_LARGE:
        raise BadStatus(status, BODY)
    if status == TOO_MANY:
        raise BadStatus(status, of_a_request(response.read().decode("utf-8", "replace")))
    if status in REFUSED or status >= 500 or 300 <= status < 400:
        raise BadStatus(status)


def connect(address: str, headers: Mapping[str, str]) -> Limited:
    """Return a client of the server without asking the server anything."""
    settings = Settings(
        anonymized_telemetry=False,
        allow_reset=False,
        chroma_api_impl=f"{__name__}.{Limited.__name__}",
        chroma_server_host=address,
        chroma_server_http_port=urlsplit(address).port or 8_000,  # asked for, and not used beside a whole address
        chroma_server_headers=dict(headers),
    )
    return cast(Limited, System(settings).instance(cast(Any, ServerAPI)))
