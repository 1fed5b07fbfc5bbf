"""`/look/`: the page that shows a recall, and its data. Scopes and privacy are those of every other route.

The page is static and holds no data of the store; it fetches all data with the caller's token. It is no part
of OpenAPI: these routes belong to the page, and change with it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from recall_integrations import __version__
from recall_integrations.adapters.filters import as_filters
from recall_integrations.adapters.scopes import parse_scope, scope_text
from recall_integrations.counterfactual.recalls import BUDGET_MS, counterfactuals, counterfactuals_data
from recall_integrations.errors import InvalidArgument
from recall_integrations.privacy.door import MODES, Door, screened
from recall_integrations.serving.looking import LISTED, NAMES_MAX, looked, names, one, timeline
from recall_integrations.serving.models import PRIVACY, Budget, Listed, Reader, RecallAsked, at_most, moment
from recall_integrations.serving.routes.recalls import Run
from recall_integrations.serving.served import Served, Tenant
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import Scope, utc_now

PARTS_MAX = 64  # recalls of one call, besides the whole one
SCOPES_MAX = 500  # that are offered
SKIP_MAX = 1_000_000
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)
HEADERS = {  # and what the gate adds
    "Content-Security-Policy": _POLICY,
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
Text = Annotated[str, Query(max_length=512)]


class WithoutAsked(RecallAsked):
    """The body of a recall, with sources to leave out."""

    leave_out: Listed[Annotated[Listed[str], Field(min_length=1, max_length=PARTS_MAX)]] | None = Field(
        None, max_length=PARTS_MAX
    )
    budget_ms: float = Field(BUDGET_MS, ge=1, allow_inf_nan=False)


def router(served: Served) -> APIRouter:
    """Return the routes for the page and its data."""
    routes = APIRouter(include_in_schema=False)
    pages = _pages()

    @routes.get("/")
    @routes.get("/look")
    async def leads_there() -> Response:
        # Relative: what stands in front of us may have put a prefix there.
        return Response(status_code=307, headers={**HEADERS, "Location": "look/"})

    _recalls(routes, served)
    _browsing(routes, served)

    @routes.get("/look/{name:path}")
    async def page(name: str) -> Response:
        found = pages.get(name or "index.html")
        if found is None:
            return Response("There is no such page. The first one: /look/\n", 404, HEADERS, "text/plain")
        return Response(found[0], headers={**HEADERS, "Cache-Control": "no-cache"}, media_type=found[1])

    return routes


def _pages() -> dict[str, tuple[bytes, str]]:
    found = {}
    for path in files("recall_integrations.serving").joinpath("page").iterdir():
        kind = _KINDS.get(f".{path.name.rpartition('.')[2]}")
        if kind is not None:
            found[path.name] = (path.read_bytes(), kind)
    return found


def _recalls(routes: APIRouter, served: Served) -> None:
    def of_one(asked: RecallAsked, caller: Caller) -> Run:
        """Return a recall of one scope; the scope is no longer among its arguments."""
        if asked.scopes is not None:
            raise InvalidArgument("One scope is looked at at a time. Give `scope`, not `scopes`.")
        run = Run(served, asked, caller)
        run.arguments.pop("scope")
        return run

    @routes.post("/look/recall")
    async def recall(asked: RecallAsked, caller: Reader) -> Response:
        run = of_one(asked, caller)

        def answer() -> dict[str, Any]:
            return looked(
                served.optimizer, scope=run.scopes[0], deadline_ms=run.budget.ms, time_budget_ms=run.budget.left_ms,
                **run.arguments,
            )  # fmt: skip

        return await _answered(served, run.tenant, answer)

    @routes.post("/look/without")
    async def without(asked: WithoutAsked, caller: Reader) -> Response:
        run = of_one(asked, caller)
        whole = Budget(min(asked.budget_ms, served.limits.time_ms_max), BUDGET_MS, served.limits)
        for name in ("context", "query_vector", "strict"):  # they change nothing about places
            run.arguments.pop(name)

        def answer() -> dict[str, Any]:
            found = counterfactuals(
                served.optimizer, scope=run.scopes[0], leave_out=asked.leave_out, budget_ms=whole.left_ms,
                time_budget_ms=run.budget.ms, **run.arguments,
            )  # fmt: skip
            return counterfactuals_data(found)

        return await _answered(served, run.tenant, answer)


def _browsing(routes: APIRouter, served: Served) -> None:
    @routes.get("/look/about")
    async def about(caller: Reader) -> Response:
        return await _answered(served, caller.tenant(None), lambda: _about(served, caller))

    @routes.get("/look/names")
    async def of_names(
        caller: Reader,
        scope: Text = "",
        privacy: PRIVACY | None = None,
        around: Text = "",
        limit: Annotated[int, Query(ge=1, le=NAMES_MAX)] = 40,
    ) -> Response:
        where, door = _where(served, caller, scope, privacy)
        return await _answered(
            served, caller.tenant(where), lambda: names(served.store, where, door, limit=limit, around=around)
        )

    @routes.get("/look/timeline")
    async def in_time(
        caller: Reader,
        scope: Text = "",
        privacy: PRIVACY | None = None,
        start: Text = "",
        end: Text = "",
        type: Text = "",
        actor: Text = "",
        entity: Text = "",
        limit: Annotated[int, Query(ge=1)] = LISTED,
        skip: Annotated[int, Query(ge=0, le=SKIP_MAX)] = 0,
    ) -> Response:
        where, door = _where(served, caller, scope, privacy)
        given = {"types": type, "actors": actor, "entities": entity}
        filters = screened(as_filters({name: [value] for name, value in given.items() if value}), door)
        first, last = moment(start or None, "start"), moment(end or None, "end")
        if first is not None and last is not None and first >= last:
            raise InvalidArgument("start must be before end. Choose another part of the time line.")
        most = at_most(limit, served.limits.k_max, "limit")
        return await _answered(
            served,
            caller.tenant(where),
            lambda: timeline(
                served.store, where, door, utc_now(), filters=filters, start=first, end=last, limit=most, skip=skip
            ),
        )

    @routes.get("/look/memory")
    async def of_memory(caller: Reader, id: Text, scope: Text = "", privacy: PRIVACY | None = None) -> Response:
        where, door = _where(served, caller, scope, privacy)
        return await _answered(served, caller.tenant(where), lambda: one(served.store, where, id, door))


async def _answered(served: Served, tenant: Tenant, answer: Callable[[], dict[str, Any]]) -> Response:
    return await served.reads.reply(answer, tenant, headers={**HEADERS, "Cache-Control": "no-store"})


def _where(served: Served, caller: Caller, scope: str, privacy: str | None) -> tuple[Scope, Door]:
    """Return the scope to read, and the privacy mode that its memories pass."""
    where = caller.where(parse_scope(scope) if scope else None)
    return where, Door(caller.mode(privacy), served.optimizer.config.privacy.compiled)


def _about(served: Served, caller: Caller) -> dict[str, Any]:
    """Return the scopes and privacy modes that the caller may choose, the one without a user last, and its rights."""
    counts = dict(served.store.scopes())
    reached = sorted(caller.everywhere(counts), key=lambda scope: scope == Scope())[:SCOPES_MAX]
    return {
        "version": __version__,
        "tokens": served.tokens is not None,
        "may": list(caller.rights),
        "privacy": list(MODES[MODES.index(caller.privacy) :]),
        "scopes": [{"scope": scope_text(s), "name": _called(s), "memories": counts[s]} for s in reached],
        "deadline_ms": served.optimizer.config.limits.time_budget_ms,
    }


def _called(scope: Scope) -> str:
    return " / ".join(part for part in (scope.user_id, scope.agent_id, scope.namespace) if part) or "without a user"
