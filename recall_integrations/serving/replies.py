"""Models of replies, for OpenAPI. Replies are made as plain data and written once; checking them against these models
on the way would cost more than the recall. A test does it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from recall_integrations.serving.problems import MEDIA_TYPE


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


class HighlightReply(Reply):
    """A place in the text of a memory that supports the hit: characters from `start` until before `end`."""

    start: int
    end: int
    kind: str = Field(description="word, near, name, time; passage: what a long text says most in")
    of: str
    weight: float


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
    highlights: list[HighlightReply]
    superseded_by: str | None = Field(None, description="Id of the memory that says what took its place.")
    valid_from: str | None = Field(None, description="Since when what it says of a slot holds.")
    valid_to: str | None = Field(None, description="Until when it held; null = it holds, or it says nothing of a slot.")


class DegradedReply(Reply):
    """A step that was skipped, cut short or failed."""

    stage: str
    reason: str
    detail: str


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
    degraded: list[DegradedReply]
    notes: list[dict[str, Any]]
    timings_ms: dict[str, float | None]
    id: str = Field(description="By which `POST /feedback` names this answer.")
    version: str = Field(description="What chose plan and weights: `rules`, or what was learned: `v3`, `shared v2`.")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors that a route may answer beside its reply, for OpenAPI."""
    said = {
        401: "No valid token.",
        403: "Not allowed with this token, or from this origin.",
        404: "It is not there.",
        408: "The request took too long to arrive.",
        413: "The request is too large.",
        421: "Asked under a name that is not of this machine.",
        422: "The request cannot be used; nothing was changed.",
        429: "Too many requests; see Retry-After.",
        500: "Something failed.",
        503: "Not now: too much to do, or a part of the store is not available; see Retry-After.",
        504: "Not in time (`strict`).",
    }
    everywhere = (400, 401, 403, 408, 413, 421, 422, 429, 500, 503)
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": said.get(status, "It cannot be read."), "content": content}
        for status in sorted({*everywhere, *statuses})
    }
