"""`POST /feedback`: whether a recall helped. `/learning`: what was learned from feedback, and how to undo it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field, FiniteFloat

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.errors import InvalidArgument, NotFound
from recall_integrations.learning.as_data import feedback_data, state_data, status_data, step_data
from recall_integrations.learning.learner import Learner
from recall_integrations.learning.shelf import State
from recall_integrations.serving.models import (
    Asked,
    Listed,
    Reader,
    Reply,
    Time,
    WhichScope,
    Writer,
    moment,
    problems,
    scope_of,
)
from recall_integrations.serving.routes.memories import Where
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


class EventReply(Reply):
    """A step of learning."""

    at: str | None
    step: str = Field(description="started, promoted, rolled_back, extended, nothing")
    version: str | None
    because: str


class StateReply(Reply):
    """The version that serves a scope, and the one on trial."""

    scope: str
    serving: str = Field(description="`rules`, or a version.")
    tried: str | None = Field(description="The version that a share of the queries gets.")
    since: str | None
    learned_at: str | None
    held_back: bool = Field(description="It was rolled back by hand: nothing is learned until one is promoted.")
    steps: list[EventReply]


class StatusReply(StateReply):
    """The state of learning in a scope."""

    versions: list[str]
    judged: int
    helpful: int
    replayed: int
    ndcg: dict[str, dict[str, float]]
    ndcg_by_plan: dict[str, float]
    signatures: dict[str, int]


class LearningReply(Reply):
    """The state of learning in several scopes."""

    mode: str = Field(description="Only `learned` answers by what was learned.")
    scopes: list[StatusReply]


class RunAsked(Asked):
    """A request to learn now."""

    scope: WhichScope = None
    everything: bool = Field(False, description="Every scope: for the right `admin`.")
    force: bool = Field(False, description="Whatever was learned lately, and decide now about what is tried.")


class StepReply(Reply):
    """One step of learning in a scope."""

    scope: str
    step: str
    version: str | None
    because: str
    judged: int
    took_ms: float


class RunReply(Reply):
    """The steps of a run of learning."""

    steps: list[StepReply]


class RollbackAsked(Asked):
    """A request to take back the version on trial, or else the one that serves."""

    scope: WhichScope = None


class PromoteAsked(RollbackAsked):
    """A request to let a version serve."""

    version: str = Field(min_length=2, max_length=10, examples=["v2"])


def router(served: Served) -> APIRouter:
    """Return the routes for feedback and learning."""
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

        return await served.writes.reply(judge)

    _status(routes, served)
    _changing(routes, served)
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


def _status(routes: APIRouter, served: Served) -> None:
    @routes.get("/learning", response_model=LearningReply, summary="What was learned")
    async def status(
        caller: Reader,
        scope: Where = None,
        everything: Annotated[bool, Query(description="Every scope: for `admin`.")] = False,
    ) -> Response:
        """Return the version that serves a scope, the one on trial, the quality of both, and the last steps."""
        if everything:
            caller.must("admin")
        where = None if everything else caller.where(scope_of(scope))

        def read() -> dict[str, Any]:
            every = served.optimizer.learner().status(where)
            if caller.grants is not None:
                reached = caller.everywhere(one.scope for one in every)
                every = tuple(one for one in every if one.scope in reached)
            reply: dict[str, Any] = {"mode": served.optimizer.config.mode}
            return {**reply, "scopes": [status_data(one) for one in every]}

        return await served.reads.reply(read)


def _changing(routes: APIRouter, served: Served) -> None:
    @routes.post("/learning/run", response_model=RunReply, summary="Learn now")
    async def run(asked: RunAsked, caller: Writer) -> Response:
        """Learn from feedback, and decide about the version on trial. The server also does it by itself."""
        if asked.everything:
            caller.must("admin")
            if asked.scope is not None:
                raise InvalidArgument("Give `scope` or `everything`, and not both.")
        where = None if asked.everything else caller.where(scope_of(asked.scope))

        return await served.learns.reply(
            lambda: {"steps": [step_data(one) for one in served.learning.run(where, force=asked.force)]}
        )

    async def changed(asked: RollbackAsked, caller: Caller, change: Callable[[Learner, Scope], State]) -> Response:
        where = caller.where(scope_of(asked.scope))
        return await served.writes.reply(
            lambda: {"scope": scope_text(where), **state_data(change(served.optimizer.learner(), where))}
        )

    @routes.post("/learning/promote", response_model=StateReply, summary="Let a version serve")
    async def promote(asked: PromoteAsked, caller: Writer) -> Response:
        """Let a version answer all recalls of the scope from the next one on."""
        return await changed(asked, caller, lambda learner, where: learner.promote(asked.version, where))

    @routes.post("/learning/rollback", response_model=StateReply, summary="Take it back")
    async def rollback(asked: RollbackAsked, caller: Writer) -> Response:
        """Let the version before serve again; the scope learns nothing until a version is promoted."""
        return await changed(asked, caller, lambda learner, where: learner.rollback(where))
