"""`GET /facts`: the facts of a scope, and the time in which each held."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.delivery.as_data import facts_data
from recall_integrations.delivery.showing import Showing, Shown, shown_facts
from recall_integrations.privacy.door import Door
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.serving.asked import Time, at_most, moment, scope_of
from recall_integrations.serving.auth import Reader
from recall_integrations.serving.problems import JSON, packed
from recall_integrations.serving.replies import Reply, problems
from recall_integrations.serving.routes.memories import REDACT_MS, Mode, Where
from recall_integrations.serving.served import Served
from recall_integrations.store.clock import utc_now
from recall_integrations.types import NAME_CHARS_MAX, Scope
from recall_integrations.types.facts import Fact

SKIP_MAX = 2**31 - 1
About = Annotated[
    str | None, Query(description="Only of them; me = the user.", max_length=NAME_CHARS_MAX, examples=["Priya"])
]
Which = Annotated[
    str | None,
    Query(
        description="Only this slot: its name, or what people call it.",
        min_length=1,
        max_length=NAME_CHARS_MAX,
        examples=["employer"],
    ),
]


class FactReply(Reply):
    """A value of a slot, in one stretch of time."""

    subject: str = Field(description="Of whom; empty = the user.")
    slot: str = Field(description="Of what; `open:…` = one that the schema does not have.")
    value: str
    holds: bool = Field(description="Whether it held at the time that is asked for.")
    valid_from: str | None = Field(None, description="When it began to hold; null = nobody says since when.")
    valid_to: str | None = Field(None, description="When it ceased to; null = it has not.")
    told_at: str = Field(description="When we were told.")
    memory_id: str
    said_by: list[str] = Field(description="All memories that say it, in the order of their times.")
    superseded_by: str | None = Field(None, description="Id of the memory that ended it.")
    ended: str = Field(description="Why: superseded, retracted, corrected; empty = it has not.")
    confidence: float
    by: str = Field(description="What read it: rule, relation, given, llm.")


class FactsReply(Reply):
    """Facts by subject, slot and time."""

    scope: str
    as_of: str
    facts: list[FactReply]
    more: bool = Field(description="Whether there are more behind these: ask again with `skip`.")


def router(served: Served) -> APIRouter:
    """Return the routes for facts."""
    routes, showing = APIRouter(tags=["read"]), Showing()

    def shown(found: list[Fact], where: Scope, mode: str) -> list[Fact]:
        """Return facts as a privacy mode shows them."""
        scope_id = served.store.scope_id(where)
        if scope_id is None:
            return []
        memories = served.store.fetch_ids(scope_id, list({fact.memory_id for fact in found}))
        door = Door(mode, served.optimizer.config_of(where).privacy.compiled)
        return shown_facts(found, memories, Shown(door, Deadline.after(REDACT_MS), showing))

    @routes.get("/facts", response_model=FactsReply, responses=problems(), summary="What is held true")
    async def facts(
        caller: Reader,
        scope: Where = None,
        as_of: Annotated[Time | None, Query(description="What held then; default now.")] = None,
        subject: About = None,
        slot: Which = None,
        history: Annotated[bool, Query(description="What held before, and what will, too.")] = False,
        skip: Annotated[int, Query(ge=0, le=SKIP_MAX)] = 0,
        limit: Annotated[int, Query(ge=1)] = 100,
        privacy: Mode = None,
    ) -> Response:
        """List the facts of a scope: since when each holds, and which memories say so."""
        where, mode = caller.where(scope_of(scope)), caller.mode(privacy)
        when, most = moment(as_of, "as_of"), at_most(limit, served.limits.memories_max, "limit")
        at = utc_now() if when is None else when

        def read() -> bytes:
            found = served.store.facts(where, subject=subject, slot=slot, as_of=when, history=history)
            some = shown(list(found[skip : skip + most]), where, mode)
            reply: dict[str, Any] = {"scope": scope_text(where), "as_of": at.isoformat()}
            return packed({**reply, "facts": facts_data(some, at), "more": len(found) > skip + most})

        return Response(await served.reads.run(read), media_type=JSON)

    return routes
