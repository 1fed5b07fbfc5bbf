"""`/memories`, `/facts`, `/count`: read memories and what they state. `/remember…`, `/forget`: change them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import ConfigDict, Field, FiniteFloat

from recall_integrations.adapters.rows import memory_data, memory_of
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.delivery.as_data import facts_data
from recall_integrations.delivery.showing import Showing, Shown, shown_facts
from recall_integrations.errors import InvalidArgument, InvalidFilter, InvalidMemory, NotFound, RecallError
from recall_integrations.privacy.door import Door, screened, screened_name
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.serving.models import (
    PRIVACY,
    WHERE,
    Asked,
    Budget,
    DayOrTime,
    Listed,
    MemoryReply,
    Reader,
    Reply,
    Time,
    WhichScope,
    Writer,
    at_most,
    day_or_moment,
    filters_of,
    problems,
    scope_of,
)
from recall_integrations.serving.problems import JSON, Refused, packed, status_of
from recall_integrations.serving.served import Limits, Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.store.given import Chat, checked, in_batches
from recall_integrations.types import NAME_CHARS_MAX, Filters, Memory, Scope, utc_now
from recall_integrations.types.facts import Conversation

REDACT_MS = 5_000.0  # what is not redacted by then is shown without its text
SKIP_MAX = 2**31 - 1
NO_LLM = "This server has no language model. Start it with one: recall serve STORE --llm MODULE:NAME."
Where = Annotated[str | None, Query(description=WHERE, max_length=10_000)]
Mode = Annotated[PRIVACY | None, Query(description="What is withheld; default the least that the server withholds.")]
_ABOUT = "Only of them; me = the user."
About = Annotated[str | None, Query(description=_ABOUT, max_length=NAME_CHARS_MAX, examples=["Priya"])]
_WHICH = "Only this slot: its name, or what people call it."
Which = Annotated[str | None, Query(description=_WHICH, min_length=1, max_length=NAME_CHARS_MAX, examples=["employer"])]


class ListReply(Reply):
    """A page of memories, in the order in which they were written."""

    memories: list[MemoryReply]
    after: str | None


class FactReply(Reply):
    """A value of a slot, in one stretch of time."""

    subject: str = Field(description="Of whom; empty = the user.")
    slot: str = Field(description="Of what; `open:…` = one that the schema does not have.")
    value: str
    holds: bool = Field(description="Whether it held at the time that is asked for.")
    valid_from: str | None = Field(None, description="When it began to hold; null = nobody says since when.")
    valid_to: str | None = Field(None, description="When it ceased to; null = it has not.")
    told_at: str = Field(description="When we were told.")
    memory_id: str
    said_by: list[str] = Field(description="All memories that say it, in the order of their times.")
    superseded_by: str | None = Field(None, description="Id of the memory that ended it.")
    ended: str = Field(description="Why: superseded, retracted, corrected; empty = it has not.")
    confidence: float
    by: str = Field(description="What read it: rule, relation, given, llm.")


class FactsReply(Reply):
    """Facts by subject, slot and time."""

    scope: str
    as_of: str
    facts: list[FactReply]
    more: bool = Field(description="Whether there are more behind these: ask again with `skip`.")


class CountAsked(Asked):
    """A request to count memories."""

    scope: WhichScope = None
    filters: dict[str, Any] | None = Field(None, description="As in POST /recall.")


class CountReply(Reply):
    """The number of memories."""

    count: int


class MemoryGiven(Asked):
    """A memory to store. Only `text` is required."""

    text: str = Field(min_length=1)
    id: str | None = Field(None, description="One that is there already is replaced. Default: a new one.")
    type: str | None = Field(None, examples=["fact"])
    actor: str | None = Field(None, description="Who said or did it.")
    role: str | None = None
    channel: str | None = None
    event_at: Time | None = Field(None, description="When it happened.")
    created_at: Time | None = None
    expires_at: Time | None = None
    importance: FiniteFloat | None = Field(None, ge=0, le=1)
    entities: Listed[str] | None = None
    relations: Listed[Listed[str | float]] | None = Field(
        None, description="[subject, predicate, object], and a confidence if you like."
    )
    thread: str | None = Field(None, description="The conversation or document it comes from.")
    position: int | None = Field(None, ge=-(2**62) + 1, le=2**62 - 1)
    refs: Listed[str] | None = None
    metadata: dict[str, Any] | None = None


class RememberAsked(Asked):
    """One memory, or several. A plain text is a memory, too."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"memory": "The deploy is on Friday", "scope": "u1"},
                {"memories": [{"text": "Priya prefers tea", "id": "m1", "type": "preference"}], "scope": "u1"},
            ]
        },
    )

    memory: MemoryGiven | str | None = None
    memories: Listed[MemoryGiven | str] | None = Field(None, min_length=1)
    scope: WhichScope = None
    on_duplicate: Literal["keep", "replace", "skip"] = Field(
        "keep", description="What becomes of one that says what another says, whatever their ids."
    )


class RememberReply(Reply):
    """The ids of the memories, in order."""

    ids: list[str]


class ForgetAsked(Asked):
    """A request to forget: `ids`, memories that meet `filters`, `everything` of the scope, or all of `user_id`."""

    ids: Listed[str] | None = None
    filters: dict[str, Any] | None = None
    everything: bool = False
    user_id: str | None = Field(None, description="In every scope of this user.")
    scope: WhichScope = None
    dry_run: bool = Field(False, description="Only count.")


class ForgetReply(Reply):
    """The number of memories that were forgotten, or would be."""

    forgotten: int
    dry_run: bool


class ConversationAsked(Asked):
    """A conversation to remember."""

    turns: Listed[dict[str, Any] | str] = Field(
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
    """Return the routes for stored memories and facts."""
    routes, showing = APIRouter(responses=problems()), Showing()

    def shown(where: Scope, mode: str) -> Shown:
        """Return what shows memories as a privacy mode allows."""
        door = Door(mode, served.optimizer.config_of(where).privacy.compiled)
        return Shown(door, Deadline.after(REDACT_MS), showing)

    _reading(routes, served, shown)
    _stating(routes, served, shown)
    _writing(routes, served)
    _conversing(routes, served)
    return routes


def _filters(served: Served, given: dict[str, Any] | None, mode: str) -> Filters | None:
    """Read filters, which act on what a privacy mode shows."""
    found = filters_of(given)
    return None if found is None else screened(found, Door(mode, served.optimizer.config.privacy.compiled))


def _reading(routes: APIRouter, served: Served, shown: Callable[[Scope, str], Shown]) -> None:
    def listed(memories: list[Memory], where: Scope, mode: str) -> list[dict[str, Any]]:
        showed = shown(where, mode)
        return [memory_data(showed.of(memory)) for memory in memories]

    @routes.get("/memories", response_model=ListReply, tags=["read"], summary="Memories, page by page")
    async def listing(
        caller: Reader,
        scope: Where = None,
        limit: Annotated[int, Query(ge=1)] = 50,
        after: Annotated[str | None, Query(description="`after` of the page before.", max_length=32)] = None,
        filters: Annotated[str | None, Query(description="As in POST /recall, written as JSON.")] = None,
        privacy: Mode = None,
    ) -> Response:
        """List the memories of a scope; `after` of the reply is where the next page begins, null = last page."""
        where, mode = caller.where(scope_of(scope)), caller.mode(privacy)
        wanted = _filters(served, _object(filters), mode)
        most = at_most(limit, served.limits.memories_max, "limit")

        def read() -> dict[str, Any]:
            found = served.store.list(scope=where, filters=wanted, limit=most, after=after)
            return {"memories": listed(found, where, mode), "after": found.after}

        return await served.reads.reply(read, caller.tenant(where))

    @routes.get(
        "/memories/{memory_id:path}", response_model=MemoryReply, responses=problems(404), tags=["read"],
        summary="One memory",
    )  # fmt: skip
    async def one(
        memory_id: Annotated[str, Path(min_length=1)], caller: Reader, scope: Where = None, privacy: Mode = None
    ) -> Response:
        """Return the memory with this id."""
        where, mode = caller.where(scope_of(scope)), caller.mode(privacy)

        def read() -> dict[str, Any]:
            found = served.store.get(memory_id, scope=where)
            if found is None:
                raise NotFound("There is no memory of that id in this scope.")
            return listed([found], where, mode)[0]

        return await served.reads.reply(read, caller.tenant(where))


def _stating(routes: APIRouter, served: Served, shown: Callable[[Scope, str], Shown]) -> None:
    @routes.get("/facts", response_model=FactsReply, tags=["read"], summary="What is held true")
    async def facts(
        caller: Reader,
        scope: Where = None,
        as_of: Annotated[DayOrTime | None, Query(description="What held then; default now.")] = None,
        subject: About = None,
        slot: Which = None,
        history: Annotated[bool, Query(description="What held before, and what will, too.")] = False,
        skip: Annotated[int, Query(ge=0, le=SKIP_MAX)] = 0,
        limit: Annotated[int, Query(ge=1)] = 100,
        privacy: Mode = None,
    ) -> Response:
        """List the facts of a scope: since when each holds, and which memories say so."""
        where, mode = caller.where(scope_of(scope)), caller.mode(privacy)
        screened_name(subject, "subject", Door(mode, served.optimizer.config.privacy.compiled))
        when = day_or_moment(as_of, "as_of", served.optimizer.config_of(where).timezone)
        most = at_most(limit, served.limits.memories_max, "limit")
        at = utc_now() if when is None else when

        def read() -> dict[str, Any]:
            found = served.store.facts(where, subject=subject, slot=slot, as_of=when, history=history)
            some, scope_id = list(found[skip : skip + most]), served.store.scope_id(where)
            if scope_id is None:
                some = []
            else:
                memories = served.store.reader.fetch_ids(scope_id, list({fact.memory_id for fact in some}))
                some = shown_facts(some, memories, shown(where, mode))
            reply: dict[str, Any] = {"scope": scope_text(where), "as_of": at.isoformat()}
            return {**reply, "facts": facts_data(some, at), "more": len(found) > skip + most}

        return await served.reads.reply(read, caller.tenant(where))

    @routes.post("/count", response_model=CountReply, tags=["client"], summary="Count")
    async def count(asked: CountAsked, caller: Reader) -> Response:
        """Count the memories of a scope, or those that meet filters."""
        where, filters = caller.where(scope_of(asked.scope)), _filters(served, asked.filters, caller.mode(None))
        tenant = caller.tenant(where)
        return await served.reads.reply(lambda: {"count": served.store.count(scope=where, filters=filters)}, tenant)


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidFilter('filters must be a JSON object, such as {"types": ["fact"]}.')
    return found


def _writing(routes: APIRouter, served: Served) -> None:
    @routes.post("/remember", response_model=RememberReply, tags=["write"], summary="Remember")
    async def remember(asked: RememberAsked, caller: Writer) -> Response:
        """Store memories: they are durable, and can be recalled, when this answers. With ids, asking again changes
        nothing more.
        """
        where = caller.where(scope_of(asked.scope))
        if (asked.memory is None) == (asked.memories is None):
            raise InvalidArgument("Give `memory`, or some `memories`, and not both.")
        given = [asked.memory] if asked.memory is not None else asked.memories or []
        at_most(len(given), served.limits.memories_max, "The number of memories")
        if asked.on_duplicate != "keep" and caller.mode(None) != "allow":
            told = "on_duplicate tells whether somebody has stored that text, which is withheld here. Leave it out."
            raise Refused(403, "PRIVACY_VIOLATION", told)

        def write() -> Iterator[dict[str, Any] | None]:
            made = (_memory(one, place, served.limits) for place, one in enumerate(given))
            memories, ids = list(checked(list(made), None, Chat(), utc_now)), list[str]()
            for batch in in_batches(memories, len(memories)):
                try:
                    ids += served.store.remember_many(batch, scope=where, on_duplicate=asked.on_duplicate)
                except RecallError as e:
                    raise (_some_stored(e, ids, len(memories)) if ids else e) from None
                yield {"ids": ids} if len(ids) == len(memories) else None

        return await served.writes.reply_in_turns(write(), caller.tenant(where))

    @routes.post("/forget", response_model=ForgetReply, tags=["write"], summary="Forget")
    async def forget(asked: ForgetAsked, caller: Writer) -> Response:
        """Forget memories: no recall finds them when this answers. Asking again removes nothing more."""
        at_most(len(asked.ids or ()), served.limits.memories_max, "The number of ids")
        gone = _forgetting(served, asked, caller)
        tenant = caller.tenant(None if asked.scope is None else scope_of(asked.scope))
        return await served.writes.reply(lambda: {"forgotten": gone(), "dry_run": asked.dry_run}, tenant)


def _conversing(routes: APIRouter, served: Served) -> None:
    @routes.post(
        "/remember/conversation", response_model=Conversation, tags=["write"], summary="Remember a conversation"
    )
    async def conversation(asked: ConversationAsked, caller: Writer) -> Response:
        """Store turns, and what the server's language model reads in them: what is new, and what no longer holds.
        Without `wait` the reply has the thread alone.
        """
        caller.must("read")  # the model sees old memories, and the reply names them
        where, limits = caller.where(scope_of(asked.scope)), served.limits
        if not served.optimizer.has_llm:
            raise InvalidArgument(NO_LLM)
        at_most(len(asked.turns), limits.memories_max, "The number of turns")
        for place, turn in enumerate(asked.turns):
            if len(str(turn)) > limits.text_max:
                raise InvalidMemory(f"turns[{place}] is too long: this server takes {limits.text_max:,} characters.")
        thread = served.store.new_id() if asked.thread is None else asked.thread
        options = {"scope": where, "thread": thread, "privacy": caller.mode(asked.privacy), "again": asked.again}
        budget = Budget(asked.time_budget_ms, limits.time_ms_max, limits)
        if asked.wait or asked.time_budget_ms is not None:  # what nobody waits for may wait behind others
            options["time_budget_ms"] = budget.ms

        def begin() -> Future[Conversation]:
            return served.optimizer.remember_in_background(asked.turns, **options)

        reading = await served.writes.run(begin, caller.tenant(where))
        found = Conversation(thread=thread)
        if asked.wait:  # a client that goes away stops nothing
            found = await asyncio.shield(asyncio.wrap_future(reading))
        return Response(packed(asdict(found)), media_type=JSON)


def _some_stored(error: RecallError, ids: list[str], total: int) -> RecallError:
    """Return the error of a request of which the first memories are stored, with their ids."""
    told = f"{error} The first {len(ids)} of {total} memories were stored (`stored`). Send the others again."
    return Refused(status_of(error), error.code, told, more={"stored": ids})


def _memory(given: MemoryGiven | str | None, place: int, limits: Limits) -> Memory:
    """Read a memory from a body."""
    row = {"text": given} if isinstance(given, str) else given.model_dump(exclude_none=True) if given else {}
    try:
        if len(row.get("text", "")) > limits.text_max:
            raise InvalidMemory(f"text has {len(row['text']):,} characters; this server takes {limits.text_max:,}")
        return memory_of(row, Scope())[1]
    except RecallError as e:
        raise InvalidMemory(f"memories[{place}]: {e}") from e


def _forgetting(served: Served, asked: ForgetAsked, caller: Caller) -> Callable[[], int]:
    """Return a call that forgets, or counts, what a request names."""
    store, filters = served.store, _filters(served, asked.filters, caller.mode(None))
    ways = [asked.ids is not None, asked.user_id is not None, asked.everything]
    if sum(ways) + (filters is not None and not any(ways)) != 1 or (filters is not None and (ways[0] or ways[2])):
        raise InvalidArgument("Say what to forget, by one of: ids, filters, everything, user_id (with filters or not).")
    if asked.user_id is not None:
        user = asked.user_id
        if asked.scope is not None:
            raise InvalidArgument("user_id means all scopes of a user: leave out scope.")
        if not caller.covers(user):
            raise Refused(403, "FORBIDDEN", "This token does not reach all scopes of that user. Name a scope.")
        if not asked.dry_run:
            return lambda: store.forget(user_id=user, filters=filters)
        return lambda: sum(store.count(scope=s, filters=filters) for s, _ in store.scopes() if s.user_id == user)
    where = caller.where(scope_of(asked.scope))
    if asked.ids is not None:
        ids = list(dict.fromkeys(asked.ids))
        if asked.dry_run:
            return lambda: sum(store.get(one, scope=where) is not None for one in ids)
        return lambda: store.forget(ids, scope=where)
    if asked.dry_run:
        return lambda: store.count(scope=where, filters=filters)
    return lambda: store.forget(scope=where, filters=filters)
