"""Routes for `RecallClient` beside the public ones: whole results, counts, vectors, and the server's settings.

`POST /recall/record` answers with the whole `RecallResult` as `delivery.travel` writes it, to the last digit.
"""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from recall_integrations.delivery.travel import packed_marks, packed_record
from recall_integrations.errors import InvalidArgument, RecallError
from recall_integrations.serving.asked import Asked, Listed, RecallAsked, WhichScope, budget_of, filters_of, scope_of
from recall_integrations.serving.auth import Reader
from recall_integrations.serving.problems import JSON, Refused, packed, problem_of, status_of
from recall_integrations.serving.replies import Reply, problems
from recall_integrations.serving.routes.recalling import LEAST_MS, arguments_of
from recall_integrations.serving.routes.streaming import EVENTS, Stream, Told
from recall_integrations.serving.served import Served
from recall_integrations.types import RecallResult, checked_text

TEXTS_MAX = 64
FORMAT = 1


class CountAsked(Asked):
    """A request to count memories."""

    scope: WhichScope = None
    filters: dict[str, Any] | None = Field(None, description="As in POST /recall.")


class CountReply(Reply):
    """The number of memories."""

    count: int


class EmbedAsked(Asked):
    """Texts to embed."""

    texts: Listed[str] = Field(min_length=1, max_length=TEXTS_MAX)


class EmbedReply(Reply):
    """A vector for each text, of the embedding model of the store."""

    vectors: list[list[float]]


class AboutReply(Reply):
    """Settings of the server that clients need."""

    timezone: str
    embedding: str
    dimensions: int
    time_budget_ms: float


class RecordReply(Reply):
    """A `RecallResult` as `RecallClient` reads it. Programs in other languages read the reply of `POST /recall`."""

    format: int
    result: dict[str, Any]
    marks: dict[str, Any]
    server: AboutReply


def router(served: Served) -> APIRouter:
    """Return the routes for `RecallClient`."""
    routes = APIRouter(tags=["client"])

    @routes.post("/recall/record", response_model=RecordReply, responses=problems(504), summary="Find, for clients")
    async def record(asked: RecallAsked, caller: Reader) -> Response:
        """Recall, and return the whole result, to the last digit."""
        began, optimizer = time.monotonic(), served.optimizer
        arguments, scopes = arguments_of(served, asked, caller)
        budget = budget_of(asked.time_budget_ms, optimizer.config_of(scopes[0]).limits.time_budget_ms, served.limits)

        def answer() -> bytes:
            left = max(LEAST_MS, budget - (time.monotonic() - began) * 1e3)
            try:
                return packed(_record(served, optimizer.recall(**arguments, time_budget_ms=left)))
            except RecallError as e:
                raise _with_record(e) from None

        return Response(await served.reads.run(answer), media_type=JSON)

    @routes.post(
        "/recall/record/stream",
        response_class=Response,
        responses={**problems(504), 200: {"description": "Events as of /recall/stream.", "content": {EVENTS: {}}}},
        summary="Find, and see how, for clients",
    )
    async def stream(asked: RecallAsked, caller: Reader) -> Response:
        """Stream the steps of a recall, then the whole result, to the last digit."""
        began, optimizer = time.monotonic(), served.optimizer
        arguments, scopes = arguments_of(served, asked, caller)
        budget = budget_of(asked.time_budget_ms, optimizer.config_of(scopes[0]).limits.time_budget_ms, served.limits)

        async def recall(watch: Told) -> RecallResult:
            left = max(LEAST_MS, budget - (time.monotonic() - began) * 1e3)
            return await optimizer.arecall(**arguments, time_budget_ms=left, watch=watch)

        def last(found: RecallResult | RecallError) -> tuple[str, dict[str, Any]]:
            if isinstance(found, RecallError):
                return "problem", problem_of(_with_record(found))
            return "result", _record(served, found)

        return Stream(served.reads, recall, last)

    _others(routes, served)
    return routes


def _others(routes: APIRouter, served: Served) -> None:
    @routes.post("/count", response_model=CountReply, responses=problems(), summary="Count")
    async def count(asked: CountAsked, caller: Reader) -> Response:
        """Count the memories of a scope, or those that meet filters."""
        where, filters = caller.where(scope_of(asked.scope)), filters_of(asked.filters)
        found = await served.reads.run(lambda: served.store.count(scope=where, filters=filters))
        return Response(packed({"count": found}), media_type=JSON)

    @routes.post("/embed", response_model=EmbedReply, responses=problems(), summary="Embed")
    async def embed(asked: EmbedAsked, _caller: Reader) -> Response:
        """Return vectors that can be given as `query_vector`."""
        for place, text in enumerate(asked.texts):
            checked_text(text, f"texts[{place}]", InvalidArgument, limit=int(served.limits.text_max), blank_ok=True)

        def made() -> bytes:
            return packed({"vectors": served.store.embedding.embed_documents(asked.texts).tolist()})

        return Response(await served.reads.run(made), media_type=JSON)

    @routes.get("/about", response_model=AboutReply, responses=problems(), summary="How this server is set")
    async def about(_caller: Reader) -> Response:
        """Return the settings that clients need."""
        return Response(packed(about_of(served)), media_type=JSON)


def about_of(served: Served) -> dict[str, Any]:
    """Return the settings of the server that clients need."""
    config, store = served.optimizer.config, served.store
    return {
        "timezone": config.timezone,
        "embedding": store.fingerprint,
        "dimensions": store.dimensions,
        "time_budget_ms": config.limits.time_budget_ms,
    }


def _record(served: Served, result: RecallResult) -> dict[str, Any]:
    record, marks = packed_record(result), packed_marks(result)
    return {"format": FORMAT, "result": record, "marks": marks, "server": about_of(served)}


def _with_record(error: RecallError) -> RecallError:
    """Return an error of a `strict` recall with the hits found so far."""
    if error.result is None:
        return error
    for hit in error.result.hits:
        _ = hit.highlights  # made now, for a problem carries nothing beside the result
    problem = problem_of(error, {"result": packed_record(error.result)})
    more = {key: value for key, value in problem.items() if key not in ("status", "code", "message")}
    return Refused(status_of(error), problem["code"], problem["message"], more=more)
