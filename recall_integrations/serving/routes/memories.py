"""`GET /memories` and `GET /memories/{id}`: read the memories of a scope."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from recall_integrations.delivery.as_data import memory_data
from recall_integrations.delivery.showing import Showing, Shown
from recall_integrations.errors import InvalidFilter, NotFound
from recall_integrations.privacy.door import Door
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.serving.asked import PRIVACY, WHERE, at_most, filters_of, scope_of
from recall_integrations.serving.auth import Reader
from recall_integrations.serving.problems import JSON, packed
from recall_integrations.serving.replies import MemoryReply, Reply, problems
from recall_integrations.serving.served import Served
from recall_integrations.types import Memory, Scope

REDACT_MS = 5_000.0  # what is not redacted by then is shown without its text
Where = Annotated[str | None, Query(description=WHERE, max_length=10_000)]
Mode = Annotated[PRIVACY | None, Query(description="What is withheld; default the least that the server withholds.")]


class ListReply(Reply):
    """A page of memories, in the order in which they were written."""

    memories: list[MemoryReply]
    after: str | None


def router(served: Served) -> APIRouter:
    """Return the routes for stored memories."""
    routes, showing = APIRouter(tags=["read"]), Showing()

    def shown(memories: list[Memory], where: Scope, mode: str) -> list[dict[str, Any]]:
        """Return memories as a privacy mode shows them."""
        door = Door(mode, served.optimizer.config_of(where).privacy.compiled)
        showed = Shown(door, Deadline.after(REDACT_MS), showing)
        showed.look(memories)
        return [memory_data(showed.of(memory)) for memory in memories]

    @routes.get("/memories", response_model=ListReply, responses=problems(), summary="Memories, page by page")
    async def listing(
        caller: Reader,
        scope: Where = None,
        limit: Annotated[int, Query(ge=1)] = 50,
        after: Annotated[str | None, Query(description="`after` of the page before.", max_length=32)] = None,
        filters: Annotated[str | None, Query(description="As in POST /recall, written as JSON.")] = None,
        privacy: Mode = None,
    ) -> Response:
        """List the memories of a scope; `after` of the reply is where the next page begins, null = last page."""
        where, mode = caller.where(scope_of(scope)), caller.mode(privacy)
        wanted, most = filters_of(_object(filters)), at_most(limit, served.limits.memories_max, "limit")

        def read() -> bytes:
            found = served.store.list(scope=where, filters=wanted, limit=most, after=after)
            return packed({"memories": shown(found, where, mode), "after": found.after})

        return Response(await served.reads.run(read), media_type=JSON)

    @routes.get("/memories/{memory_id:path}", response_model=MemoryReply, responses=problems(404), summary="One memory")
    async def one(
        memory_id: Annotated[str, Path(min_length=1)],
        caller: Reader,
        scope: Where = None,
        privacy: Mode = None,
    ) -> Response:
        """Return the memory with this id."""
        where, mode = caller.where(scope_of(scope)), caller.mode(privacy)

        def read() -> bytes:
            found = served.store.get(memory_id, scope=where)
            if found is None:
                raise NotFound("There is no memory of that id in this scope.")
            return packed(shown([found], where, mode)[0])

        return Response(await served.reads.run(read), media_type=JSON)

    return routes


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidFilter('filters must be a JSON object, such as {"types": ["fact"]}.')
    return found
