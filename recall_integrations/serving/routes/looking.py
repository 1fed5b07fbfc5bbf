"""`/look/`: the page that shows a recall, and its data. Scopes and privacy are those of every other route.

The page is static and holds no data of the store; it fetches all data with the caller's token. It is no part
of OpenAPI: these routes belong to the page, and change with it.
"""

from __future__ import annotations

import time
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
from recall_integrations.privacy.door import Door
from recall_integrations.privacy.modes import MODES
from recall_integrations.serving.asked import PRIVACY, Listed, RecallAsked, at_most, budget_of, moment
from recall_integrations.serving.auth import Caller, Reader
from recall_integrations.serving.looking.asked import looked
from recall_integrations.serving.looking.names import NAMES_MAX, names
from recall_integrations.serving.looking.times import LISTED, one, timeline
from recall_integrations.serving.problems import JSON, packed
from recall_integrations.serving.routes.recalling import LEAST_MS, arguments_of
from recall_integrations.serving.served import Served
from recall_integrations.store.clock import utc_now
from recall_integrations.types import Filters, Scope

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
    """Read the files of the page, by name."""
    found = {}
    for path in files("recall_integrations.serving").joinpath("page").iterdir():
        kind = _KINDS.get(f".{path.name.rpartition('.')[2]}")
        if kind is not None:
            found[path.name] = (path.read_bytes(), kind)
    return found


def _recalls(routes: APIRouter, served: Served) -> None:
    """Add the routes that return a recall to look at, and the same recall without some of its sources."""

    @routes.post("/look/recall")
    async def recall(asked: RecallAsked, caller: Reader) -> Response:
        began, optimizer = time.monotonic(), served.optimizer
        arguments, scope = _of_one(served, asked, caller)
        budget = budget_of(asked.time_budget_ms, optimizer.config.limits.time_budget_ms, served.limits)

        def answer() -> dict[str, Any]:
            left = max(LEAST_MS, budget - (time.monotonic() - began) * 1e3)
            return looked(optimizer, scope=scope, deadline_ms=budget, time_budget_ms=left, **arguments)

        return await _answered(served, answer)

    @routes.post("/look/without")
    async def without(asked: WithoutAsked, caller: Reader) -> Response:
        began, optimizer = time.monotonic(), served.optimizer
        arguments, scope = _of_one(served, asked, caller)
        own = budget_of(asked.time_budget_ms, optimizer.config.limits.time_budget_ms, served.limits)
        budget = min(asked.budget_ms, served.limits.time_ms_max)
        for name in ("context", "query_vector", "strict"):  # they change nothing about places
            arguments.pop(name)

        def answer() -> dict[str, Any]:
            left = max(LEAST_MS, budget - (time.monotonic() - began) * 1e3)
            found = counterfactuals(
                optimizer, scope=scope, leave_out=asked.leave_out, budget_ms=left, time_budget_ms=own, **arguments
            )
            return counterfactuals_data(found)

        return await _answered(served, answer)


def _browsing(routes: APIRouter, served: Served) -> None:
    """Add the routes for scopes, names, memories in time, one memory, and recent activity."""

    @routes.get("/look/about")
    async def about(caller: Reader) -> Response:
        return await _answered(served, lambda: _about(served, caller))

    @routes.get("/look/names")
    async def of_names(
        caller: Reader,
        scope: Text = "",
        privacy: PRIVACY | None = None,
        around: Text = "",
        limit: Annotated[int, Query(ge=1, le=NAMES_MAX)] = 40,
    ) -> Response:
        where, door = _where(served, caller, scope, privacy)
        return await _answered(served, lambda: names(served.store, where, door, limit=limit, around=around))

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
        filters = _filters(types=type, actors=actor, entities=entity)
        first, last = moment(start or None, "start"), moment(end or None, "end")
        if first is not None and last is not None and first >= last:
            raise InvalidArgument("start must be before end. Choose another part of the time line.")
        most = at_most(limit, served.limits.k_max, "limit")
        return await _answered(
            served,
            lambda: timeline(
                served.store, where, door, utc_now(), filters=filters, start=first, end=last, limit=most, skip=skip
            ),
        )

    @routes.get("/look/memory")
    async def of_memory(caller: Reader, id: Text, scope: Text = "", privacy: PRIVACY | None = None) -> Response:
        where, door = _where(served, caller, scope, privacy)
        return await _answered(served, lambda: one(served.store, where, id, door))

    @routes.get("/look/live")
    async def live(caller: Reader) -> Response:
        return await _answered(served, lambda: _live(served, caller))


async def _answered(served: Served, answer: Callable[[], dict[str, Any]]) -> Response:
    """Make an answer and write it as JSON in the pool of reads."""
    body = await served.reads.run(lambda: packed(answer()))
    return Response(body, headers={**HEADERS, "Cache-Control": "no-store"}, media_type=JSON)


def _of_one(served: Served, asked: RecallAsked, caller: Caller) -> tuple[dict[str, Any], Scope]:
    """Return the arguments of a recall of one scope without the scope, and the scope.

    Raises:
        InvalidInput, Refused: as `arguments_of`; or the request names several scopes.
    """
    if asked.scopes is not None:
        raise InvalidArgument("One scope is looked at at a time. Give `scope`, not `scopes`.")
    arguments, scopes = arguments_of(served, asked, caller)
    arguments.pop("scope")
    return arguments, scopes[0]


def _where(served: Served, caller: Caller, scope: str, privacy: str | None) -> tuple[Scope, Door]:
    """Return the scope to read, and the privacy mode that its memories pass.

    Raises:
        InvalidScope, Refused: `scope` is no scope, or the caller does not reach it.
    """
    where = caller.where(parse_scope(scope) if scope else None)
    return where, Door(caller.mode(privacy), served.optimizer.config.privacy.compiled)


def _filters(**given: str) -> Filters | None:
    return as_filters({name: [value] for name, value in given.items() if value} or None)


def _about(served: Served, caller: Caller) -> dict[str, Any]:
    """Return the scopes and privacy modes that the caller may choose."""
    counts = dict(served.store.scopes())
    reached = caller.everywhere(counts)[:SCOPES_MAX]
    return {
        "version": __version__,
        "tokens": served.tokens is not None,
        "privacy": list(MODES[MODES.index(caller.privacy) :]),
        "scopes": [{"scope": scope_text(s), "name": _called(s), "memories": counts[s]} for s in reached],
        "deadline_ms": served.optimizer.config.limits.time_budget_ms,
    }


def _called(scope: Scope) -> str:
    """Join the parts of a scope that are set."""
    return " / ".join(part for part in (scope.user_id, scope.agent_id, scope.namespace) if part) or "everybody"


def _live(served: Served, caller: Caller) -> dict[str, Any]:
    """Return recent activity as far as the caller may see it: with a token, recalls of its scopes.

    All scopes share the components: their load would tell of other tenants.
    """
    if caller.grants is None or "admin" in caller.rights:
        return served.live.data(served.optimizer.health())
    return served.live.data((), lambda scope: bool(caller.everywhere([scope])))
