"""Errors as HTTP replies: a status, a stable code, a message that says what to do. Never a traceback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from recall_integrations import errors
from recall_integrations.delivery.showing import OPTIONS
from recall_integrations.errors import RecallError

JSON, MEDIA_TYPE = "application/json", "application/problem+json"
BUSY_S = 1  # after that, who was sent away may ask again
# The first class that fits; those that come before are more special.
_STATUS: tuple[tuple[type[RecallError], int], ...] = (
    (errors.NotFound, 404),
    (errors.InvalidInput, 422),
    (errors.NotSearched, 503),
    (errors.RecallTimeout, 504),
    (errors.MissingExtra, 501),
    (errors.ConfigError, 500),
    (errors.StoreCorrupt, 500),
    (errors.StoreError, 503),
    (errors.EmbeddingError, 503),
    (errors.IndexUnavailable, 503),
    (errors.DegradationFailed, 503),
    (errors.PrivacyViolation, 503),
)


class Refused(RecallError):
    """An error for a request that is refused, or that failed."""

    code = "REFUSED"

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.said_code = status, code
        self.headers = dict(headers or {})
        self.more = dict(more or {})


def busy(message: str, seconds: float = BUSY_S) -> Refused:
    """Return the error for a request that is in order and finds no place now."""
    return Refused(503, "OVERLOADED", message, headers={"Retry-After": str(max(1, round(seconds)))})


def status_of(error: RecallError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def problem_of(error: RecallError) -> dict[str, Any]:
    """Return an error as a problem (RFC 9457) with our `code`, `message`, `options`, `details`, `stats`, `result`."""
    status = status_of(error)
    options = list(error.options) or (list(OPTIONS) if status in (503, 504) else [])
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": error.said_code if isinstance(error, Refused) else error.code,
        "message": str(error.args[0]) if error.args else str(error),
        "options": options,
        "details": dict(error.details),
        "stats": dict(error.stats),
        **(error.more if isinstance(error, Refused) else {}),
        **({"result": error.result} if isinstance(error.result, Mapping) else {}),  # as a route that shows it wrote it
    }


def packed(payload: object) -> bytes:
    """Write plain data as the body of a reply."""
    return json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str).encode()


def headers_of(error: RecallError) -> dict[str, str]:
    """Return the headers that belong to an error."""
    if isinstance(error, Refused):
        return error.headers
    return {"Retry-After": str(BUSY_S)} if status_of(error) == 503 else {}
