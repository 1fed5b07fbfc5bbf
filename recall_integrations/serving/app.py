"""The application: routes behind the gate. An ASGI application like any other, for a web server of your own.

from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served

app = create_app(Served(store=store, optimizer=QueryOptimizer(store)))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recall_integrations import __version__
from recall_integrations.errors import RecallError
from recall_integrations.frameworks.extras import extra

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

    from recall_integrations.serving.served import Served

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
    from recall_integrations.serving.gate import Gate

    app = FastAPI(
        title="recall", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None,
        openapi_url="/openapi.json", redirect_slashes=False,
    )  # fmt: skip
    for routes in _routers(served):
        app.include_router(routes)
    app.add_exception_handler(RecallError, _told)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(Gate, served=served)
    _described(app, served)
    return app


def _routers(served: Served) -> list[Any]:
    """Return the router of each module in `routes/`."""
    from recall_integrations.serving.routes import (
        experience,
        facts,
        health,
        learning,
        looking,
        memories,
        recalling,
        records,
        remembering,
        streaming,
    )

    modules = (recalling, streaming, remembering, memories, facts, experience, learning, records, health, looking)
    return [module.router(served) for module in modules]


def _described(app: FastAPI, served: Served) -> None:
    """Add the schema of problems to OpenAPI, and that of tokens where the server uses them."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        from recall_integrations.serving.replies import Problem

        schema = plain()
        parts = schema.setdefault("components", {})
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        if served.tokens is not None:
            parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
        return schema

    app.openapi = described  # type: ignore[method-assign]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


async def _told(_request: Request, error: Exception) -> Response:
    from fastapi import Response

    from recall_integrations.serving.problems import MEDIA_TYPE, headers_of, packed, problem_of, status_of

    assert isinstance(error, RecallError)
    body, headers = packed(problem_of(error)), headers_of(error)
    return Response(body, status_code=status_of(error), headers=headers, media_type=MEDIA_TYPE)


async def _invalid(request: Request, error: Exception) -> Response:
    """Reply with pydantic's messages without the values they quote: a value may be a memory, and replies are logged."""
    from recall_integrations.serving.problems import Refused

    found: list[dict[str, Any]] = getattr(error, "errors", list)()
    said = [_mistake(one) for one in found[:ERRORS_SHOWN]]
    more = f" And {len(found) - ERRORS_SHOWN} more." if len(found) > ERRORS_SHOWN else ""
    return await _told(request, Refused(422, "INVALID_ARGUMENT", f"{'; '.join(said)}.{more}"))


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


async def _http(request: Request, error: Exception) -> Response:
    from recall_integrations.serving.problems import TITLES, Refused

    status = getattr(error, "status_code", 500)
    codes = {404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED", 400: "INVALID_ARGUMENT"}
    message = f"{TITLES.get(status, 'Error')}. What there is: /openapi.json"
    headers = getattr(error, "headers", None)
    return await _told(request, Refused(status, codes.get(status, "HTTP_ERROR"), message, headers=headers))
