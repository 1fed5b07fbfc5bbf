"""`/health/live`, `/health/retrieval`, `/metrics` for operators and load balancers; `/about`, `/embed` for clients."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from recall_integrations.errors import InvalidArgument, RecallError
from recall_integrations.serving.models import Admin, Asked, Listed, Reader, Reply, problems
from recall_integrations.serving.problems import JSON, Refused, packed
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import STATE, Caller
from recall_integrations.store.journal import last_seq
from recall_integrations.types import checked_text

TEXTS_MAX = 64
METRICS = "text/plain; version=0.0.4; charset=utf-8"


class LiveReply(Reply):
    """A sign that the process answers."""

    status: str


class HealthReply(Reply):
    """Health of retrieval.

    `ok`; `degraded`: recalls are answered, and something is left out; `unavailable` (503): they are not. Details
    are shown to everybody without tokens, else to callers with the right `admin`.
    """

    status: str
    behind: dict[str, int] | None = None
    components: list[dict[str, Any]] | None = None
    waiting: int | None = None
    active: int | None = None


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


def router(served: Served) -> APIRouter:
    """Return the routes for health."""
    routes = APIRouter(responses=problems())

    @routes.get("/health/live", response_model=LiveReply, tags=["operation"], summary="Is the process there?")
    async def live() -> Response:
        """Answer while the process runs, whatever the state of the store."""
        return JSONResponse({"status": "ok"})

    @routes.get("/health/retrieval", response_model=HealthReply, tags=["operation"], summary="Can it recall?")
    async def retrieval(request: Request) -> Response:
        """Say whether memories can be found. Costs one look into the database."""
        caller: Caller | None = getattr(request.state, STATE, None)
        try:
            health = await served.health.run(lambda: health_of(served))
        except RecallError as e:
            health = {"status": "unavailable", "code": e.code}
        if caller is None or "admin" not in caller.rights:
            health = {"status": health["status"]}
        status = 503 if health["status"] == "unavailable" else 200
        return Response(packed(health), status_code=status, media_type=JSON)

    @routes.get(
        "/metrics",
        response_class=Response,
        tags=["operation"],
        responses={**problems(404), 200: {"description": "Prometheus' text format.", "content": {"text/plain": {}}}},
        summary="Metrics",
    )
    async def metrics(_caller: Admin) -> Response:
        """Return the metrics of all scopes together."""
        if served.metrics is None:
            raise Refused(404, "MISSING_EXTRA", "There are no metrics: the server lacks the extra `metrics`.")
        kind = getattr(served.metrics, "content_type", METRICS)
        return Response(await served.health.run(served.metrics.text), headers={"content-type": kind})

    @routes.post("/embed", response_model=EmbedReply, tags=["client"], summary="Embed")
    async def embed(asked: EmbedAsked, caller: Reader) -> Response:
        """Return vectors that can be given as `query_vector`."""
        for place, text in enumerate(asked.texts):
            checked_text(text, f"texts[{place}]", InvalidArgument, limit=int(served.limits.text_max), blank_ok=True)
        return await served.reads.reply(
            lambda: {"vectors": served.store.embedding.embed_documents(asked.texts).tolist()}, caller.tenant(None)
        )

    @routes.get("/about", response_model=AboutReply, tags=["client"], summary="How this server is set")
    async def about(_caller: Reader) -> Response:
        """Return the settings that clients need."""
        return JSONResponse(about_of(served))

    return routes


def about_of(served: Served) -> dict[str, Any]:
    """Return the settings of the server that clients need."""
    config, store = served.optimizer.config, served.store
    return {
        "timezone": config.timezone,
        "embedding": store.fingerprint,
        "dimensions": store.dimensions,
        "time_budget_ms": config.limits.time_budget_ms,
    }


def health_of(served: Served) -> dict[str, Any]:
    """Return the health of the store and of the components of the optimizer."""
    with served.store.reading(), served.store.engine.connect() as connection:
        last_seq(connection)
    behind = {name: lag for name, lag in served.store.indexes.lag.items() if lag}
    components = [
        {key: value for key, value in asdict(one).items() if key != "why"}  # which may quote
        for one in served.optimizer.health()
    ]
    whole = all(one["breaker"] == "closed" for one in components)
    well = not behind and whole and served.ready
    return {
        "status": "ok" if well else "degraded" if served.ready else "unavailable",
        "behind": behind,
        "components": components,
        "waiting": served.reads.waiting + served.writes.waiting,
        "active": served.reads.active + served.writes.active,
    }
