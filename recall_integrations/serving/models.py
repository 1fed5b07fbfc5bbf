"""Bodies of requests, functions that read them, and models of replies.

Models of requests check the kind of a value; whoever uses it checks the rest. Replies are made as plain data and
written once: checking them against their models on the way would cost more than the recall. A test does it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, ConfigDict, FailFast, Field, FiniteFloat, model_validator

from recall_integrations.adapters.filters import as_filters
from recall_integrations.adapters.scopes import SYNTAX, parse_scope
from recall_integrations.errors import InvalidArgument
from recall_integrations.recall.checking import day_end
from recall_integrations.serving.problems import MEDIA_TYPE, Refused
from recall_integrations.serving.served import Limits
from recall_integrations.serving.tokens import HEADER, SEND_TOKEN, STATE, Caller
from recall_integrations.types import Degradation, Filters, Highlight, Scope, TemporalWindow, checked_scope
from recall_integrations.types.messages import iso

LEAST_MS = 1.0
PRIVACY = Literal["allow", "redact", "block"]
WHERE = f"The tenant: {SYNTAX} Or an object with `user_id`, `agent_id`, `namespace`. With a token: default its scope."
Time = Annotated[
    str, Field(description="ISO 8601 with an offset.", examples=["2026-03-01T12:00:00+00:00"], max_length=64)
]
DAY = "ISO 8601: a time with an offset, or a day, which counts whole, in `timezone` or that of the settings."
DayOrTime = Annotated[str, Field(description=DAY, examples=["2026-03-01"], max_length=64)]


T = TypeVar("T")


class _First(FailFast):
    """`FailFast` that can be hashed, as members of a union must be."""

    def __hash__(self) -> int:
        return hash(_First)


Listed = Annotated[list[T], _First()]  # the first mistake is told: a million of them would hold up everybody
UNKNOWN_TOLD = 5  # keys that are told one by one, for the same reason


class Asked(BaseModel):
    """A body of a request: without unknown keys, and without text where a number belongs."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) > len(cls.model_fields) + UNKNOWN_TOLD:
            raise ValueError(f"{len(given):,} keys are given, and there are {len(cls.model_fields)}")
        return given


def _having(right: str) -> Any:
    async def caller(request: Request) -> Caller:
        """Return the caller of a request, which must have a right."""
        found: Caller | None = getattr(request.state, STATE, None)
        if found is None:
            raise Refused(401, "UNAUTHORIZED", SEND_TOKEN, headers=HEADER)
        found.must(right)
        return found

    return Depends(caller)


Reader = Annotated[Caller, _having("read")]
Writer = Annotated[Caller, _having("write")]
Admin = Annotated[Caller, _having("admin")]


class ScopeParts(Asked):
    """A scope by its parts."""

    user_id: str = ""
    agent_id: str = ""
    namespace: str = ""


WhichScope = Annotated[str | ScopeParts | None, Field(description=WHERE, examples=["u1"])]


class WindowGiven(Asked):
    """A span of time from `start` until before `end`; a bound that is left out is open."""

    start: Time | None = None
    end: Time | None = None
    alternatives: list[Annotated[list[Time | None], Field(min_length=2, max_length=2)]] = Field(
        default=[], max_length=64, description="`[start, end]` of each of several times, in order."
    )


class RecallAsked(Asked):
    """The body of a recall."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"examples": [{"query": "What did Priya say about the deploy?", "k": 3, "scope": "u1"}]},
    )

    query: str = Field(min_length=1, description="A question, or words.")
    k: int = Field(5, ge=1, description="How many hits.")
    scope: WhichScope = None
    scopes: Listed[str | ScopeParts] | None = Field(
        None, max_length=32, description="Instead of `scope`: what is found in each of them, in one ranking."
    )
    filters: dict[str, Any] | None = Field(
        None,
        description="Hard conditions: `types`, `entities`, `actors`, `roles`, `channels`, `threads`, `after`, "
        "`before`, `recency_days`, `current_only`; any other key is one of the metadata.",
        examples=[{"types": ["fact"], "source": "wiki", "year": {"$gte": 2020}}],
    )
    now: Time | None = Field(None, description="What 'yesterday' is relative to; default the clock.")
    timezone: str | None = Field(None, description="Where 'yesterday' is read.", examples=["Europe/Berlin"])
    window: WindowGiven | Literal[False] | None = Field(
        None, description="The time that is asked for, instead of what the query says; false: no dates are read."
    )
    as_of: DayOrTime | None = Field(None, description="Where the query asks how things are, when; default `now`.")
    time_budget_ms: FiniteFloat | None = Field(None, gt=0, description="The deadline, waiting for a place included.")
    tokens_max: int | None = Field(None, ge=1, description="Keep the texts together within so many tokens.")
    privacy: PRIVACY | None = Field(None, description="What is withheld; default the least that the server withholds.")
    context: int = Field(0, ge=0, le=50, description="Memories before and after each hit in its thread.")
    query_vector: Listed[FiniteFloat] | None = Field(None, description="The query's embedding, if you have it.")
    score_min: float | None = Field(None, ge=0, le=1, description="Leave out hits that score less.")
    highlights: bool = Field(False, description="Say which places of the texts speak for them.")
    strict: bool = Field(False, description="An error where the default leaves something out and names it.")

    def arguments(self, limits: Limits) -> dict[str, Any]:
        """Return the arguments of `QueryOptimizer.recall` without those that hang on the scope or on the caller."""
        as_given = ("query", "timezone", "tokens_max", "context", "query_vector", "score_min", "strict")
        return {
            **{name: getattr(self, name) for name in as_given},
            "k": at_most(self.k, limits.k_max, "k"),
            "filters": filters_of(self.filters),
            "now": moment(self.now, "now"),
            "window": window_of(self.window),
        }


# -- reading them ------------------------------------------------------------------------------------------------------


def at_most(value: int, most: int, name: str) -> int:
    """Return `value` if it is at most `most`."""
    if value > most:
        raise InvalidArgument(f"{name} is {value:,}; this server gives at most {most:,} at once. Ask for fewer.")
    return value


def moment(text: str | None, name: str, also: str = "") -> datetime | None:
    """Read a time; `None` stays `None`."""
    if text is None:
        return None
    found = iso(text)
    if found is None or found.tzinfo is None:
        raise InvalidArgument(f"{name} must be {also}a time with an offset, such as 2026-03-01T12:00:00+00:00.")
    return found


def day_or_moment(text: str | None, name: str, zone: str) -> datetime | None:
    """Read a time, or a day, which is its last moment in a time zone; `None` stays `None`."""
    return None if text is None else day_end(text, zone) or moment(text, name, "a day, or ")


def scope_of(given: str | ScopeParts | None) -> Scope | None:
    """Return the scope that a request names; `None` where it names none."""
    if given is None:
        return None
    return parse_scope(given) if isinstance(given, str) else checked_scope(given.model_dump())


def filters_of(given: Mapping[str, Any] | None) -> Filters | None:
    """Read filters whose times are text."""
    return as_filters({key: value for key, value in given.items() if value is not None}) if given else None


def window_of(given: WindowGiven | Literal[False] | None) -> TemporalWindow | Literal[False] | None:
    """Return the window that a request asks for."""
    if not isinstance(given, WindowGiven):
        return given
    each = [[moment(at, "window.alternatives") for at in pair] for pair in given.alternatives]
    start, end = moment(given.start, "window.start"), moment(given.end, "window.end")
    if each:
        start, end = start or each[0][0], end or each[-1][1]
    return TemporalWindow(start=start, end=end, alternatives=tuple((first, last) for first, last in each))


class Budget:
    """The time budget of a recall in milliseconds, from when its request came: the wait for a place is part of it."""

    def __init__(self, asked_ms: float | None, usual_ms: float, limits: Limits) -> None:
        if asked_ms is not None and asked_ms > limits.time_ms_max:
            raise InvalidArgument(f"A recall may have {limits.time_ms_max:,.0f} ms here. Give it less.")
        self.ms = usual_ms if asked_ms is None else asked_ms
        self._began = time.monotonic()

    @property
    def took_ms(self) -> float:
        return (time.monotonic() - self._began) * 1e3

    @property
    def left_ms(self) -> float:
        """What is left; a recall that has waited for longer than it has gives the least there is."""
        return max(LEAST_MS, self.ms - self.took_ms)


# -- replies -----------------------------------------------------------------------------------------------------------


class Reply(BaseModel):
    """A reply. Keys may be added."""

    model_config = ConfigDict(extra="allow")


class Problem(Reply):
    """A failed request (RFC 9457), and what may be done about it."""

    type: str = "about:blank"
    title: str
    status: int
    code: str = Field(description="Stable, for programs.", examples=["INVALID_ARGUMENT"])
    message: str = Field(description="What was wrong, and what to do.")
    options: list[str] = Field([], description="retry_with_reduced_scope, skip_experience_path, return_minimal")
    details: dict[str, Any] = {}
    stats: dict[str, Any] = {}


class MemoryReply(Reply):
    """A memory."""

    id: str
    text: str
    type: str
    actor: str | None = None
    role: str | None = None
    channel: str | None = None
    event_at: str | None = None
    created_at: str | None = None
    expires_at: str | None = None
    importance: float
    entities: list[str]
    relations: list[list[Any]]
    thread: str | None = None
    position: int | None = None
    refs: list[str]
    metadata: dict[str, Any]


class ContributionReply(Reply):
    """The share of one source in the score of a hit."""

    source: str
    name: str
    rank: int | None = None
    score: float | None = None
    added: float | None = None


class HitReply(Reply):
    """A memory that was found."""

    id: str
    score: float
    reason: str
    scope: str | None = None
    memory: MemoryReply
    contributions: list[ContributionReply]
    duplicates: list[str]
    context: list[MemoryReply]
    highlights: list[Highlight]
    superseded_by: str | None = Field(None, description="Id of the memory that says what took its place.")
    valid_from: str | None = Field(None, description="Since when what it says of a slot holds.")
    valid_to: str | None = Field(None, description="Until when it held; null = it holds, or it says nothing of a slot.")


class RecallReply(Reply):
    """A whole recall: what `recall search --json` prints."""

    format: int
    query: str
    scope: str
    k: int | None
    now: str | None
    plan: str
    reason: str
    confidence: float | None
    searched: bool = Field(
        True, description="False: nothing could be looked at, so no hits say nothing of what is remembered. Ask again."
    )
    hits: list[HitReply]
    parsed: dict[str, Any]
    arms: list[dict[str, Any]]
    rules: list[dict[str, Any]]
    rewrite: dict[str, Any]
    rerank: dict[str, Any]
    facts: dict[str, Any] | None = Field(None, description="What facts decided; null = no state is asked for.")
    cache: dict[str, Any]
    degraded: list[Degradation]
    notes: list[dict[str, Any]]
    timings_ms: dict[str, float | None]
    id: str = Field(description="By which `POST /feedback` names this answer.")
    version: str = Field(description="What chose plan and weights: `rules`, or what was learned: `v3`.")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors that a route may answer beside its reply, for OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    all_of = {400, 401, 403, 408, 413, 421, 422, 429, 500, 503, *statuses}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in sorted(all_of)}
