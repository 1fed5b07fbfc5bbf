"""`POST /recall` in two forms, as JSON for anybody and as `RecallClient` reads it; `POST /feedback`: did it help?
`/experience/search`: memories as experience units (slices of `render_context_reply.v0`), under strict budgets.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, FiniteFloat

from recall_integrations.delivery.as_data import feedback_data, packed_marks, packed_record, result_data
from recall_integrations.delivery.showing import OPTIONS, complaint
from recall_integrations.errors import NotFound, RecallError
from recall_integrations.indexes.times import to_micros
from recall_integrations.serving.models import (
    PRIVACY,
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
    at_most,
    day_or_moment,
    moment,
    problems,
    scope_of,
)
from recall_integrations.serving.problems import Refused
from recall_integrations.serving.routes.health import AboutReply, about_of
from recall_integrations.serving.routes.memories import Where
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import Filters, Hit, RecallResult, Scope
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

    _experience(routes, served)
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


# -- experience --------------------------------------------------------------------------------------------------------

TOP_K = 5


class Budgets(Asked):
    """Limits of an answer."""

    tokens_max: int | None = Field(None, ge=1)
    time_ms: FiniteFloat | None = Field(None, gt=0)
    experience_top_k: int | None = Field(None, ge=1)


class ActorAsked(Asked):
    """The actor of a memory."""

    type: str | None = Field(None, description="A role: user, assistant, system, tool.")


class FiltersAsked(Asked):
    """Hard conditions."""

    entities: Listed[str] | None = None
    recency_days: FiniteFloat | None = Field(None, gt=0)
    channel: str | None = None
    actor: ActorAsked | None = None


class ExperienceAsked(Asked):
    """The intent of an agent, and the limits of a search for experience."""

    intent: str = Field(min_length=1)
    budgets: Budgets | None = None
    privacy_mode: PRIVACY | None = None
    filters: FiltersAsked | None = None
    scope: WhichScope = None


class UnitReply(Reply):
    """An experience unit. Under `block` it has only id, score and references, which are redacted."""

    unit_id: str
    summary: str | None = None
    refs: list[str] | None = None
    score: float
    recency_ts_ms: int | None = Field(None, description="When it happened, or else was stored; since 1970.")
    entity_overlap_score: float | None = Field(None, description="Share of the asked or named entities that it has.")
    reason: str | None = None
    privacy_redacted: bool | None = None


class StatsReply(Reply):
    """Time and number of results."""

    t_ms: float
    time_elapsed_ms: float
    partial_results: int


class ExperienceReply(Reply):
    """The experience that was found. `error` says why it is incomplete, if it is."""

    request_id: str
    latency_ms: float
    experience: list[UnitReply]
    effective_top_k: int
    degradation_applied: bool
    stats: StatsReply
    error: dict[str, Any] | None = None


Text = Annotated[str | None, Query()]


def _experience(routes: APIRouter, served: Served) -> None:
    @routes.get("/experience/search", response_model=ExperienceReply, tags=["experience"], summary="Find experience")
    async def search(
        request: Request,
        caller: Reader,
        intent: Annotated[str, Query(min_length=1)],
        top_k: Annotated[int, Query(ge=1)] = TOP_K,
        entities: Annotated[str | None, Query(description="Names, with commas between them.")] = None,
        recency_days: Annotated[FiniteFloat | None, Query(gt=0)] = None,
        channel: Text = None,
        actor_type: Text = None,
        privacy_mode: Annotated[PRIVACY | None, Query()] = None,
        tokens_max: Annotated[int | None, Query(ge=1)] = None,
        time_ms: Annotated[FiniteFloat | None, Query(gt=0)] = None,
        scope: Where = None,
    ) -> Response:
        """Find memories of similar tasks."""
        names = [name.strip() for name in (entities or "").split(",") if name.strip()]
        budgets = Budgets(tokens_max=tokens_max, time_ms=time_ms, experience_top_k=top_k)
        actor = ActorAsked(type=actor_type)
        filters = FiltersAsked(entities=names, recency_days=recency_days, channel=channel, actor=actor)
        asked = ExperienceAsked(intent=intent, budgets=budgets, privacy_mode=privacy_mode, filters=filters, scope=scope)
        return await _search(served, asked, caller, request.state.request_id)

    @routes.post("/experience/search", response_model=ExperienceReply, tags=["experience"], summary="Find experience")
    async def search_with(asked: ExperienceAsked, caller: Reader, request: Request) -> Response:
        """Find memories of similar tasks, with a body."""
        return await _search(served, asked, caller, request.state.request_id)


async def _search(served: Served, asked: ExperienceAsked, caller: Caller, request_id: str) -> Response:
    budgets = asked.budgets or Budgets.model_construct()
    wanted = asked.filters or FiltersAsked.model_construct()
    where, mode = caller.where(scope_of(asked.scope)), caller.mode(asked.privacy_mode)
    k = at_most(budgets.experience_top_k or TOP_K, served.limits.k_max, "top_k")
    budget = Budget(budgets.time_ms, served.optimizer.config_of(where).limits.time_budget_ms, served.limits)
    entities = wanted.entities or []
    role = None if wanted.actor is None else wanted.actor.type
    filters = Filters(
        entities=entities, recency_days=wanted.recency_days, roles=() if role is None else (role,),
        channels=() if wanted.channel is None else (wanted.channel,),
    )  # fmt: skip

    def answer() -> dict[str, Any]:
        result = served.optimizer.recall(
            asked.intent, k=k, scope=where, filters=filters, time_budget_ms=budget.left_ms,
            tokens_max=budgets.tokens_max, privacy=mode,
        )  # fmt: skip
        error, took = complaint(result, budget.ms), round(budget.took_ms, 3)
        if error is not None and not result.hits:
            error.stats = {"partial_results": 0, "time_elapsed_ms": took}
            raise error
        named, reduced = {name.casefold() for name in entities}, "reduced_top_k" in result.degradation_steps
        meant = named | {ref.name.casefold() for ref in result.query.entity_refs if ref.mention}
        reply: dict[str, Any] = {
            "request_id": request_id,
            "latency_ms": took,
            "experience": [_unit(hit, mode, named, meant) for hit in result.hits],
            "effective_top_k": min(k, len(result.hits)) if reduced else k,
            "degradation_applied": bool(result.degraded),
            "stats": {"t_ms": took, "time_elapsed_ms": took, "partial_results": len(result.hits)},
        }
        if error is not None:
            options = list(error.options or OPTIONS)
            said = {"code": error.code, "message": str(error), "details": dict(error.details), "options": options}
            reply["error"] = said
        return reply

    return await served.reads.reply(answer, caller.tenant(where))


def _unit(hit: Hit, mode: str, asked: set[str], meant: set[str]) -> dict[str, Any]:
    """Return a hit as an experience unit. Overlaps are read behind the privacy mode: a hidden name cannot overlap."""
    memory = hit.memory
    unit: dict[str, Any] = {"unit_id": memory.id, "refs": list(memory.refs), "score": round(hit.score, 6)}
    if mode == "block":
        return unit
    names = dict.fromkeys([*memory.entities, *([memory.actor] if memory.actor else [])])
    shared = [name for name in names if name.casefold() in asked]
    when = memory.event_at or memory.created_at
    unit |= {"summary": memory.text} | ({} if when is None else {"recency_ts_ms": to_micros(when) // 1_000})
    if meant:
        unit["entity_overlap_score"] = round(len(meant.intersection(map(str.casefold, names))) / len(meant), 6)
    said = f"entities overlap: {', '.join(shared)}; " if shared and not hit.reason.startswith("entities") else ""
    unit["reason"] = said + hit.reason
    if mode == "redact":
        unit["privacy_redacted"] = True
    return unit
