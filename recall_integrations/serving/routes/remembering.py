"""`POST /remember` and `POST /forget`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, FiniteFloat

from recall_integrations.adapters.rows import memory_of
from recall_integrations.errors import InvalidArgument, InvalidInput, InvalidMemory
from recall_integrations.serving.asked import Asked, Listed, Time, WhichScope, at_most, filters_of, scope_of
from recall_integrations.serving.auth import Caller, Writer
from recall_integrations.serving.limits import Limits
from recall_integrations.serving.problems import JSON, Refused, packed
from recall_integrations.serving.replies import Reply, problems
from recall_integrations.serving.served import Served
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope


class MemoryGiven(Asked):
    """A memory to store. Only `text` is required."""

    text: str = Field(min_length=1)
    id: str | None = Field(None, description="One that is there already is replaced. Default: a new one.")
    type: str | None = Field(None, examples=["fact"])
    actor: str | None = Field(None, description="Who said or did it.")
    role: str | None = None
    channel: str | None = None
    event_at: Time | None = Field(None, description="When it happened.")
    created_at: Time | None = None
    expires_at: Time | None = None
    importance: FiniteFloat | None = Field(None, ge=0, le=1)
    entities: Listed[str] | None = None
    relations: Listed[Listed[str | float]] | None = Field(
        None, description="[subject, predicate, object], and a confidence if you like."
    )
    thread: str | None = Field(None, description="The conversation or document it comes from.")
    position: int | None = Field(None, ge=-(2**62) + 1, le=2**62 - 1)
    refs: Listed[str] | None = None
    metadata: dict[str, Any] | None = None


class RememberAsked(Asked):
    """One memory, or several. A plain text is a memory, too."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"memory": "The deploy is on Friday", "scope": "u1"},
                {"memories": [{"text": "Priya prefers tea", "id": "m1", "type": "preference"}], "scope": "u1"},
            ]
        },
    )

    memory: MemoryGiven | str | None = None
    memories: Listed[MemoryGiven | str] | None = Field(None, min_length=1)
    scope: WhichScope = None
    on_duplicate: Literal["keep", "replace", "skip"] = Field(
        "keep", description="What becomes of one that says what another says, whatever their ids."
    )


class RememberReply(Reply):
    """The ids of the memories, in order."""

    ids: list[str]


class ForgetAsked(Asked):
    """A request to forget: `ids`, memories that meet `filters`, `everything` of the scope, or all of `user_id`."""

    ids: Listed[str] | None = None
    filters: dict[str, Any] | None = None
    everything: bool = False
    user_id: str | None = Field(None, description="In every scope of this user.")
    scope: WhichScope = None
    dry_run: bool = Field(False, description="Only count.")


class ForgetReply(Reply):
    """The number of memories that were forgotten, or would be."""

    forgotten: int
    dry_run: bool


def router(served: Served) -> APIRouter:
    """Return the routes that change a store."""
    routes = APIRouter(tags=["write"])

    @routes.post("/remember", response_model=RememberReply, responses=problems(), summary="Remember")
    async def remember(asked: RememberAsked, caller: Writer) -> Response:
        """Store memories: they are durable, and can be recalled, when this answers. With ids, asking again changes
        nothing more.
        """
        where = caller.where(scope_of(asked.scope))
        if (asked.memory is None) == (asked.memories is None):
            raise InvalidArgument("Give `memory`, or some `memories`, and not both.")
        given = [asked.memory] if asked.memory is not None else asked.memories or []
        at_most(len(given), served.limits.memories_max, "The number of memories")
        store = served.store

        def write() -> bytes:
            memories = [_memory(one, place, served.limits) for place, one in enumerate(given)]
            ids = store.remember_many(memories, scope=where, on_duplicate=asked.on_duplicate)
            return packed({"ids": list(ids)})

        return Response(await served.writes.run(write), media_type=JSON)

    @routes.post("/forget", response_model=ForgetReply, responses=problems(), summary="Forget")
    async def forget(asked: ForgetAsked, caller: Writer) -> Response:
        """Forget memories: no recall finds them when this answers. Asking again removes nothing more."""
        at_most(len(asked.ids or ()), served.limits.memories_max, "The number of ids")
        gone = _forgetting(served.store, asked, caller)

        def write() -> bytes:
            return packed({"forgotten": gone(), "dry_run": asked.dry_run})

        return Response(await served.writes.run(write), media_type=JSON)

    return routes


def _memory(given: MemoryGiven | str | None, place: int, limits: Limits) -> Memory:
    """Read a memory from a body."""
    row = {"text": given} if isinstance(given, str) else given.model_dump(exclude_none=True) if given else {}
    try:
        if len(row.get("text", "")) > limits.text_max:
            raise InvalidMemory(f"text has {len(row['text']):,} characters; this server takes {limits.text_max:,}")
        return memory_of(row, Scope())[1]
    except InvalidInput as e:
        raise InvalidMemory(f"memories[{place}]: {e}") from e


def _forgetting(store: MemoryStore, asked: ForgetAsked, caller: Caller) -> Callable[[], int]:
    """Return a call that forgets, or counts, what a request names."""
    filters = filters_of(asked.filters)
    ways = [asked.ids is not None, asked.user_id is not None, asked.everything]
    if sum(ways) + (filters is not None and not any(ways)) != 1 or (filters is not None and (ways[0] or ways[2])):
        raise InvalidArgument("Say what to forget, by one of: ids, filters, everything, user_id (with filters or not).")
    if asked.user_id is not None:
        user = asked.user_id
        if asked.scope is not None:
            raise InvalidArgument("user_id means all scopes of a user: leave out scope.")
        if not caller.covers(user):
            raise Refused(403, "FORBIDDEN", "This token does not reach all scopes of that user. Name a scope.")
        if not asked.dry_run:
            return lambda: store.forget(user_id=user, filters=filters)
        return lambda: sum(store.count(scope=s, filters=filters) for s, _ in store.scopes() if s.user_id == user)
    where = caller.where(scope_of(asked.scope))
    if asked.ids is not None:
        ids = list(dict.fromkeys(asked.ids))
        if asked.dry_run:
            return lambda: sum(store.get(one, scope=where) is not None for one in ids)
        return lambda: store.forget(ids, scope=where)
    if asked.dry_run:
        return lambda: store.count(scope=where, filters=filters)
    return lambda: store.forget(scope=where, filters=filters)
