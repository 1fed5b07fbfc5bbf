"""`POST /remember/conversation`: the turns of a conversation, and what the server's LLM reads in them."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field, FiniteFloat

from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.serving import models
from recall_integrations.serving.models import PRIVACY, Asked, Listed, WhichScope, Writer
from recall_integrations.serving.problems import JSON, packed
from recall_integrations.serving.served import Served
from recall_integrations.types.conversations import Conversation

NO_LLM = "This server has no language model. Start it with one: recall serve STORE --llm MODULE:NAME."


class ConversationAsked(Asked):
    """A conversation to remember."""

    turns: Listed[dict[str, Any] | str] = Field(
        min_length=1,
        description="In order: messages with `role`, `content` and `timestamp`, or plain texts.",
        examples=[[{"role": "user", "content": "I live in Berlin"}]],
    )
    scope: WhichScope = None
    thread: str | None = Field(None, description="The conversation: the same to go on with it. Default: a new one.")
    privacy: PRIVACY | None = Field(None, description="What the model does not see; default as for replies.")
    time_budget_ms: FiniteFloat | None = Field(None, gt=0, description="Until when the model reads.")
    again: bool = Field(False, description="Read turns that were there before as well.")
    wait: bool = Field(True, description="Answer when the model has read; false: once the turns are stored.")


def router(served: Served) -> APIRouter:
    """Return the route for conversations."""
    routes = APIRouter(responses=models.problems())

    @routes.post(
        "/remember/conversation", response_model=Conversation, tags=["write"], summary="Remember a conversation"
    )
    async def conversation(asked: ConversationAsked, caller: Writer) -> Response:
        """Store turns, and what the server's language model reads in them: what is new, and what no longer holds.
        Without `wait` the reply has the thread alone.
        """
        caller.must("read")  # the model sees old memories, and the reply names them
        where, limits = caller.where(models.scope_of(asked.scope)), served.limits
        if not served.optimizer.has_llm:
            raise InvalidArgument(NO_LLM)
        models.at_most(len(asked.turns), limits.memories_max, "The number of turns")
        for place, turn in enumerate(asked.turns):
            if len(str(turn)) > limits.text_max:
                raise InvalidMemory(f"turns[{place}] is too long: this server takes {limits.text_max:,} characters.")
        thread = served.store.new_id() if asked.thread is None else asked.thread
        options = {"scope": where, "thread": thread, "privacy": caller.mode(asked.privacy), "again": asked.again}
        options["time_budget_ms"] = models.Budget(asked.time_budget_ms, limits.time_ms_max, limits).ms

        def begin() -> Future[Conversation]:
            return served.optimizer.remember_in_background(asked.turns, **options)

        reading = await served.writes.run(begin, caller.tenant(where))
        found = Conversation(thread=thread)
        if asked.wait:  # a client that goes away stops nothing
            found = await asyncio.shield(asyncio.wrap_future(reading))
        return Response(packed(asdict(found)), media_type=JSON)

    return routes
