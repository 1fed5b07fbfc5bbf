"""`POST /feedback`: whether a recall helped."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field, FiniteFloat

from recall_integrations.errors import NotFound
from recall_integrations.learning.as_data import feedback_data
from recall_integrations.serving.models import (
    Asked,
    Listed,
    Reply,
    Time,
    WhichScope,
    Writer,
    moment,
    problems,
    scope_of,
)
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import Scope
from recall_integrations.types.judged import GAINS_MAX

Ids = Listed[str]
UNKNOWN = "There is no such recall here: a server remembers its last ones. Give `query` and `scope` as well."


class FeedbackAsked(Asked):
    """Feedback on a recall. At least one of `helpful`, `wrong`, `cited`, `rating`, `asked_again`."""

    result_id: str = Field(min_length=1, max_length=200, description="`id` of the reply to `POST /recall`.")
    helpful: Ids = Field([], max_length=GAINS_MAX, description="Ids of memories that answered.")
    wrong: Ids = Field([], max_length=GAINS_MAX, description="Ids of hits that had nothing to do with it.")
    cited: Ids = Field([], max_length=GAINS_MAX, description="Ids that the answer quotes; counts half as much.")
    rating: FiniteFloat | bool | None = Field(
        None, description="Of the whole answer, from 0 to 1; true and false are thumbs. Counts a third as much."
    )
    asked_again: bool = Field(False, description="Whether the user asked much the same at once.")
    scope: WhichScope = None
    query: str | None = Field(None, min_length=1, description="What was asked, where the server may not know it.")
    now: Time | None = Field(None, description="With `query`, its time.")


class FeedbackReply(Reply):
    """The feedback that is kept."""

    result_id: str
    kept: dict[str, dict[str, float]] = Field(description="Scope → memory → 1 it helped, 0 it did not.")
    ignored: list[str] = Field(description="Ids that name no memory there.")
    anew: bool = Field(description="Whether the query was asked again, since the recall was not known any more.")


def router(served: Served) -> APIRouter:
    """Return the route for feedback."""
    routes = APIRouter(tags=["learning"], responses=problems())

    @routes.post("/feedback", response_model=FeedbackReply, responses=problems(404), summary="Say whether it helped")
    async def feedback(asked: FeedbackAsked, caller: Writer) -> Response:
        """Keep feedback, without any text; it is durable in the reply. Several requests about one recall add up."""
        when = moment(asked.now, "now")

        def judge() -> dict[str, Any]:
            where = _of_recall(served, asked, caller)
            kept = served.optimizer.feedback(
                asked.result_id, helpful=asked.helpful, wrong=asked.wrong, cited=asked.cited, rating=asked.rating,
                asked_again=asked.asked_again, scope=where, query=asked.query, now=when, privacy=caller.mode(None),
            )  # fmt: skip
            return feedback_data(kept)

        return await served.writes.reply(judge, caller.tenant(None))

    return routes


def _of_recall(served: Served, asked: FeedbackAsked, caller: Caller) -> Scope:
    """Return the scope by which the recall is found, without telling anybody else whose it is."""
    given = scope_of(asked.scope)
    known = served.optimizer.scopes_of(asked.result_id)
    mine = bool(known) and len(caller.everywhere(known)) == len(known)
    if mine and (given is None or given in known):
        return known[0]
    where = caller.where(given)
    if asked.query is None:
        raise NotFound(UNKNOWN)
    return where
