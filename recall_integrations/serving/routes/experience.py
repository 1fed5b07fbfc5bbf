"""`/experience/search`: memories as experience units (slices of `render_context_reply.v0`), under strict budgets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, FiniteFloat

from recall_integrations.delivery.searched import OPTIONS, complaint
from recall_integrations.indexes.times import to_micros
from recall_integrations.serving.models import (
    PRIVACY,
    Asked,
    Budget,
    Listed,
    Reader,
    Reply,
    WhichScope,
    at_most,
    problems,
    scope_of,
)
from recall_integrations.serving.routes.memories import Where
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import Filters, Hit

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


def router(served: Served) -> APIRouter:
    """Return the routes for experience."""
    routes = APIRouter(tags=["experience"], responses=problems(504))

    @routes.get("/experience/search", response_model=ExperienceReply, summary="Find experience")
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

    @routes.post("/experience/search", response_model=ExperienceReply, summary="Find experience")
    async def search_with(asked: ExperienceAsked, caller: Reader, request: Request) -> Response:
        """Find memories of similar tasks, with a body."""
        return await _search(served, asked, caller, request.state.request_id)

    return routes


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
