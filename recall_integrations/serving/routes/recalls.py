"""`POST /recall` in two forms, as JSON for anybody and as `RecallClient` reads it; `POST /feedback`: did it help?"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field, FiniteFloat

from recall_integrations.delivery.as_data import feedback_data, packed_marks, packed_record, result_data
from recall_integrations.errors import NotFound, RecallError
from recall_integrations.serving.models import (
    Asked,
    Budget,
    Listed,
    Reader,
    RecallAsked,
    RecallReply,
    Reply,
    Time,
    WhichScope,
    Writer,
    day_or_moment,
    moment,
    problems,
    scope_of,
)
from recall_integrations.serving.problems import Refused
from recall_integrations.serving.routes.health import AboutReply, about_of
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import RecallResult, Scope
from recall_integrations.types.judged import GAINS_MAX

FORMAT = 1


class RecordReply(Reply):
    """A `RecallResult` as `RecallClient` reads it. Programs in other languages read the reply of `POST /recall`."""

    format: int
    result: dict[str, Any]
    marks: dict[str, Any]
    server: AboutReply


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
    """Return the routes for recalls, and for what people say of them."""
    routes = APIRouter(responses=problems(504))

    @routes.post("/recall", response_model=RecallReply, tags=["recall"], summary="Find memories")
    async def recall(asked: RecallAsked, caller: Reader) -> Response:
        """Find the memories that answer a query, best first, each with the reason."""
        run = Run(served, asked, caller)
        return await served.reads.reply(run.answer, run.tenant)

    @routes.post("/recall/record", response_model=RecordReply, tags=["client"], summary="Find, for clients")
    async def record(asked: RecallAsked, caller: Reader) -> Response:
        """Recall, and return the whole result, to the last digit."""
        run = Recorded(served, asked, caller)
        return await served.reads.reply(run.answer, run.tenant)

    @routes.post(
        "/feedback", response_model=FeedbackReply, responses=problems(404), tags=["learning"],
        summary="Say whether it helped",
    )  # fmt: skip
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


class Run:
    """A recall that a request asks for: its arguments without the budget, its scopes, and its time budget."""

    def __init__(self, served: Served, asked: RecallAsked, caller: Caller) -> None:
        self.served, self.asked = served, asked
        self.arguments = asked.arguments(served.limits) | {"privacy": caller.mode(asked.privacy)}
        if asked.scopes is None:
            self.scopes: list[Scope] = [caller.where(scope_of(asked.scope))]
            self.arguments["scope"] = self.scopes[0]
        elif asked.scope is not None or not asked.scopes:
            raise Refused(422, "INVALID_SCOPE", "Give `scope`, or some `scopes`, and not both.")
        else:
            self.arguments["scopes"] = self.scopes = [caller.where(scope_of(one)) for one in asked.scopes]
        self.tenant = caller.tenant(self.scopes[0])
        config = served.optimizer.config_of(self.scopes[0])
        self.arguments["as_of"] = day_or_moment(asked.as_of, "as_of", asked.timezone or config.timezone)
        one = asked.scopes is None  # as in `recall`, a recall of several does not wait for the model
        model_ms = served.optimizer.checked_request("?", scope=self.scopes[0]).llm_wait_ms if one else 0.0
        self.budget = Budget(asked.time_budget_ms, config.limits.time_budget_ms + model_ms, served.limits)

    def data(self, result: RecallResult) -> dict[str, Any]:
        return result_data(result, self.scopes[0], self.asked.k, highlights=self.asked.highlights)

    def found_so_far(self, result: RecallResult) -> dict[str, Any]:
        """Return the result of a `strict` recall that raised, as a part of its problem."""
        return self.data(result)

    def answer(self) -> dict[str, Any]:
        try:
            return self.data(self.served.optimizer.recall(**self.arguments, time_budget_ms=self.budget.left_ms))
        except RecallError as e:
            if e.result is not None:
                e.result = self.found_so_far(e.result)
            raise


class Recorded(Run):
    """A recall whose result travels whole, as `delivery.as_data` writes it."""

    def data(self, result: RecallResult) -> dict[str, Any]:
        record, marks = packed_record(result), packed_marks(result)
        return {"format": FORMAT, "result": record, "marks": marks, "server": about_of(self.served)}

    def found_so_far(self, result: RecallResult) -> dict[str, Any]:
        """Return the result as a part of a problem, which has no marks beside it: highlights are made now."""
        for hit in result.hits:
            _ = hit.highlights
        record: dict[str, Any] = packed_record(result)
        return record


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
