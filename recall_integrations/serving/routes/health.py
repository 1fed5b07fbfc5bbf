"""`GET /health/live`, `/health/retrieval` and `/metrics`: for operators and load balancers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from recall_integrations.errors import RecallError, installing
from recall_integrations.serving.auth import STATE, Admin, Caller
from recall_integrations.serving.problems import JSON, Refused, packed
from recall_integrations.serving.replies import Reply, problems
from recall_integrations.serving.served import Served
from recall_integrations.store.journal import last_seq

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
    large_scopes: dict[str, Any] | None = None
    waiting: int | None = None
    active: int | None = None


def router(served: Served) -> APIRouter:
    """Return the routes for health."""
    routes = APIRouter(tags=["operation"])

    @routes.get("/health/live", response_model=LiveReply, responses=problems(), summary="Is the process there?")
    async def live() -> Response:
        """Answer while the process runs, whatever the state of the store."""
        return Response(packed({"status": "ok"}), media_type=JSON)

    @routes.get("/health/retrieval", response_model=HealthReply, responses=problems(), summary="Can it recall?")
    async def retrieval(request: Request) -> Response:
        """Say whether memories can be found. Costs one look into the database; large scopes are checked every 5 s."""
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
        responses={**problems(404), 200: {"description": "Prometheus' text format.", "content": {"text/plain": {}}}},
        summary="Metrics",
    )
    async def metrics(_caller: Admin) -> Response:
        """Return the metrics of all scopes together."""
        if served.metrics is None:
            raise Refused(404, "MISSING_EXTRA", f"There are no metrics. Install them with: {installing('metrics')}")
        kind = getattr(served.metrics, "content_type", METRICS)
        return Response(await served.health.run(served.metrics.text), headers={"content-type": kind})

    return routes


def health_of(served: Served) -> dict[str, Any]:
    """Return the health of the store and of the components of the optimizer."""
    with served.store.reading(), served.store.engine.connect() as connection:
        last_seq(connection)
    large = served.store.large_scopes()
    behind = {name: lag for name, lag in served.store.indexes.lag.items() if lag}
    components = [
        {
            "component": one.component,
            "breaker": one.breaker,
            "failures": one.failures,
            "active": one.active,
            "hanging": one.hanging,
            "median_ms": one.median_ms,
        }
        for one in served.optimizer.health()
    ]
    whole = all(one["breaker"] == "closed" for one in components)
    well = not behind and whole and served.ready and not large.get("left_out")
    return {
        "status": "ok" if well else "degraded" if served.ready else "unavailable",
        "behind": behind,
        "components": components,
        **({"large_scopes": large} if large else {}),
        "waiting": served.reads.waiting + served.writes.waiting,
        "active": served.reads.active + served.writes.active,
    }
