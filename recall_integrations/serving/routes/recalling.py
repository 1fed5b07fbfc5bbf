"""`POST /recall`."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter, Response

from recall_integrations.delivery.as_data import result_data
from recall_integrations.errors import RecallError
from recall_integrations.serving.asked import RecallAsked, budget_of, scope_of
from recall_integrations.serving.auth import Caller, Reader
from recall_integrations.serving.problems import JSON, Refused, packed, problem_of, status_of
from recall_integrations.serving.replies import RecallReply, problems
from recall_integrations.serving.served import Served
from recall_integrations.types import RecallResult, Scope

LEAST_MS = 1.0  # what is left to a recall that has waited for longer than it has: it gives the least there is


def router(served: Served) -> APIRouter:
    """Return the route for recalls."""
    routes = APIRouter(tags=["recall"])

    @routes.post("/recall", response_model=RecallReply, responses=problems(504), summary="Find memories")
    async def recall(asked: RecallAsked, caller: Reader) -> Response:
        """Find the memories that answer a query, best first, each with the reason."""
        began, optimizer = time.monotonic(), served.optimizer
        arguments, scopes = arguments_of(served, asked, caller)
        budget = budget_of(asked.time_budget_ms, optimizer.config_of(scopes[0]).limits.time_budget_ms, served.limits)

        def answer() -> bytes:
            left = max(LEAST_MS, budget - (time.monotonic() - began) * 1e3)
            try:
                return packed(recalled(optimizer.recall(**arguments, time_budget_ms=left), scopes, asked))
            except RecallError as e:
                raise with_result(e, scopes, asked) from None

        return Response(await served.reads.run(answer), media_type=JSON)

    return routes


def arguments_of(served: Served, asked: RecallAsked, caller: Caller) -> tuple[dict[str, Any], list[Scope]]:
    """Return the arguments of a recall without its time budget, and the scopes that it searches."""
    arguments = asked.arguments(served.limits) | {"privacy": caller.mode(asked.privacy)}
    if asked.scopes is None:
        scopes = [caller.where(scope_of(asked.scope))]
        return arguments | {"scope": scopes[0]}, scopes
    if asked.scope is not None or not asked.scopes:
        raise Refused(422, "INVALID_SCOPE", "Give `scope`, or some `scopes`, and not both.")
    scopes = [caller.where(scope_of(one)) for one in asked.scopes]
    return arguments | {"scopes": scopes}, scopes


def recalled(result: RecallResult, scopes: list[Scope], asked: RecallAsked) -> dict[str, Any]:
    """Return the reply to a recall."""
    return result_data(result, scopes[0], asked.k, highlights=asked.highlights)


def with_result(error: RecallError, scopes: list[Scope], asked: RecallAsked) -> RecallError:
    """Return an error of a `strict` recall with the hits found so far as `result`."""
    if error.result is None:
        return error
    problem = problem_of(error, {"result": recalled(error.result, scopes, asked)})
    standard = ("status", "code", "message")
    more = {key: value for key, value in problem.items() if key not in standard}
    return Refused(status_of(error), problem["code"], problem["message"], more=more)
