"""`POST /recall` in two forms: as JSON for anybody, and `/recall/record` as `RecallClient` reads it."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from recall_integrations.delivery.as_data import result_data
from recall_integrations.delivery.travel import packed_marks, packed_record
from recall_integrations.errors import RecallError
from recall_integrations.serving.models import (
    Budget,
    Reader,
    RecallAsked,
    RecallReply,
    Reply,
    day_or_moment,
    problems,
    scope_of,
)
from recall_integrations.serving.problems import Refused, problem_of, status_of
from recall_integrations.serving.routes.health import AboutReply, about_of
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import RecallResult, Scope

FORMAT = 1


class RecordReply(Reply):
    """A `RecallResult` as `RecallClient` reads it. Programs in other languages read the reply of `POST /recall`."""

    format: int
    result: dict[str, Any]
    marks: dict[str, Any]
    server: AboutReply


def router(served: Served) -> APIRouter:
    """Return the routes for recalls."""
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
            raise self.problem(e) from None

    def problem(self, error: RecallError) -> RecallError:
        """Return an error, with the hits found so far if it is of a `strict` recall."""
        if error.result is None:
            return error
        said = problem_of(error, {"result": self.found_so_far(error.result)})
        more = {key: value for key, value in said.items() if key not in ("status", "code", "message")}
        return Refused(status_of(error), said["code"], said["message"], more=more)


class Recorded(Run):
    """A recall whose result travels whole, as `delivery.travel` writes it."""

    def data(self, result: RecallResult) -> dict[str, Any]:
        record, marks = packed_record(result), packed_marks(result)
        return {"format": FORMAT, "result": record, "marks": marks, "server": about_of(self.served)}

    def found_so_far(self, result: RecallResult) -> dict[str, Any]:
        """Return the result as a part of a problem, which has no marks beside it: highlights are made now."""
        for hit in result.hits:
            _ = hit.highlights
        record: dict[str, Any] = packed_record(result)
        return record
