"""An agent's memory in words, and as tools: `recall_memory`, `remember_this` and `forget_this`.

With `mode: learned` also `judge_recall`: which memories the agent has used, and which had nothing to do with the query.

Few arguments, dates as ISO 8601, answers in sentences that a model can go on with: each memory with its id, so that it
can be forgotten. A missing argument is the framework's own error; the answer says what the store refuses, with
what to do instead, so that the agent goes on. The MCP server has the words in common with the tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints, overload

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, create_model
from typing_extensions import TypedDict

from recall_integrations.delivery.showing import checked
from recall_integrations.errors import InvalidArgument, NotFound, NotSearched, RecallError, extra, refusing_unknown
from recall_integrations.frameworks.given import (
    WhichScope,
    optimizer_of,
    said,
    scope_now,
    score_min_of,
    within_chars,
    zone_of,
)
from recall_integrations.privacy.door import check_mode
from recall_integrations.types import Filters, Memory, MemoryType, Scope, checked_scope
from recall_integrations.types.messages import iso

if TYPE_CHECKING:
    from langchain_core.tools import StructuredTool
    from llama_index.core.tools import FunctionTool

    from recall_integrations.types import RecallResult

LIMIT_USUAL, LIMIT_MAX = 5, 20
NOTHING = "Nothing is remembered about that."
_DAY = len("2026-03-12")

JUDGE = (
    "Say which of the memories that you recalled you have used, and which had nothing to do with it, so that the right "
    "ones come first next time. Use it once you have answered."
)


def _kind(value: Any) -> Any:
    return value.lower() if isinstance(value, str) and value else value or "fact"


class Turn(TypedDict):
    """A turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str


# What models are told of each argument. They write null for what they leave out, and capitals; what stands behind a
# `BeforeValidator` is in no schema.
Maybe = Annotated[str, BeforeValidator(lambda value: value or "")]
Ids = Annotated[Sequence[str], BeforeValidator(lambda value: value or ())]
Query = Annotated[str, Field(description="What you want to know, as a question or a few words. Names and dates help.")]
Limit = Annotated[
    int,
    Field(ge=1, le=LIMIT_MAX, description="How many memories at most."),
    BeforeValidator(lambda value: LIMIT_USUAL if value is None else value),
]
Since = Annotated[Maybe, Field(description="Only from this day on, such as 2026-03-01.")]
Until = Annotated[Maybe, Field(description="Only up to and including this day, such as 2026-03-31.")]
AsOf = Annotated[
    Maybe, Field(description="How things were on this day, such as 2026-03-01. Leave it out for how they are now.")
]
Text = Annotated[str, Field(description="One complete sentence that can be understood without this conversation.")]
Kind = Annotated[
    str,
    BeforeValidator(_kind),
    WithJsonSchema({"type": "string", "enum": [t.value for t in MemoryType if t.value not in ("chunk", "summary")]}),
    Field(description="What kind of thing it is: fact, preference, event, skill or observation."),
]
HappenedOn = Annotated[Maybe, Field(description="When it happened or will happen, if known, such as 2026-03-12.")]
Turns = Annotated[Sequence[Turn], Field(min_length=1, description="What was said, in order.")]
Thread = Annotated[Maybe, Field(description="The thread, as it was shown where the conversation was stored before.")]
MemoryId = Annotated[str, Field(description="The id of the memory, as it is shown where it was recalled.")]
AnswerId = Annotated[
    str, Field(description="The id of the answer, which stands in the last line of what was recalled.")
]
Used = Annotated[Ids, Field(description="Ids of the memories that your answer is made from.")]
Wrong = Annotated[Ids, Field(description="Ids of the memories that had nothing to do with what you wanted to know.")]

RECALL = (
    "Search your long-term memory of this user. Use it before you answer anything that may have come up before: who "
    "they are, what they like, what was said, decided or planned."
)
REMEMBER = (
    "Store one thing in your long-term memory, when it will matter in later conversations. To correct something, "
    "forget the old memory and remember the new one."
)
CONVERSE = (
    "Store a conversation, and what is worth remembering of it: a language model reads what is new and what no longer "
    "holds. Use it at the end of a conversation, or with what was added since."
)
FORGET = "Remove one memory for good: it is wrong or out of date, or the user asks for it."


class AgentMemory:
    """The memory of one agent; questions and answers are words. Schemas of tools are made of the signatures.

    A failure is a `RecallError`, whose message says what to do instead.
    """

    def __init__(
        self, store: Any, scope: WhichScope = None, privacy: str = "allow", score_min: float | None = None
    ) -> None:
        self.optimizer = optimizer_of(store)
        self._score_min = score_min_of(self.optimizer, score_min)
        self.privacy = check_mode(privacy)
        self.store = self.optimizer.store
        self._zone = zone_of(self.optimizer)
        self._scope = scope if callable(scope) else checked_scope(scope)

    @property
    def scope(self) -> Scope:
        """The scope of the memory, now."""
        return scope_now(self._scope)

    def recall(
        self, query: Query, limit: Limit = LIMIT_USUAL, since: Since = "", until: Until = "", as_of: AsOf = ""
    ) -> str:
        """Return the memories about a query, a line each."""
        return self.shown(self.optimizer.recall(query, **self._asked(limit, since, until, as_of)))

    async def arecall(
        self, query: Query, limit: Limit = LIMIT_USUAL, since: Since = "", until: Until = "", as_of: AsOf = ""
    ) -> str:
        return self.shown(await self.optimizer.arecall(query, **self._asked(limit, since, until, as_of)))

    async def explain(
        self, query: Query, limit: Limit = LIMIT_USUAL, since: Since = "", until: Until = "", as_of: AsOf = ""
    ) -> str:
        """Recall, and say of each memory why it was found."""
        result = checked(await self.optimizer.arecall(query, **self._asked(limit, since, until, as_of)))
        parsed = result.query
        lines = [f"Plan: {result.plan.name} ({result.plan.reason})"]
        if parsed.entity_refs:
            lines.append(f"About: {', '.join(ref.name for ref in parsed.entity_refs)}")
        if parsed.temporal_window is not None:
            times = (
                " to ".join("…" if at is None else at.isoformat() for at in each)
                for each in parsed.temporal_window.times
            )
            lines.append(f"When: {', or '.join(times)}")
        lines += [f"Left out: {d.stage} ({d.reason})" for d in result.degraded]
        lines += within_chars(
            [
                f"{place}. {said(hit, self._zone)}\n   {hit.score:.2f}: {hit.reason}"
                for place, hit in enumerate(result.hits, start=1)
            ]
        )
        lines += self._answered(result)
        return "\n".join(lines if result.hits else [*lines, NOTHING])

    def remember(self, text: Text, type: Kind = "fact", happened_on: HappenedOn = "") -> str:
        """Store one memory, and return a sentence with its id."""
        moment = self._moment("happened_on", happened_on) if happened_on else None
        memory_id = self.store.remember(Memory(text, type=type, event_at=moment), scope=self.scope)
        return f"Remembered (id: {memory_id})."

    def remember_conversation(self, turns: Turns, thread: Thread = "") -> str:
        """Store turns and what the LLM reads in them; return a line for each memory."""
        result = self.optimizer.remember_conversation(
            turns, scope=self.scope, thread=_bare(thread, "thread:") or None, privacy=self.privacy
        )
        lines = [f"Stored {len(result.turns)} turns (thread: {result.thread})."]
        lines += [f"{one.decision}: {one.text} (id: {one.id})" for one in result.items if one.id is not None]
        if result.unread:
            lines.append(f"{len(result.unread)} of them were not read: {result.degraded[-1].detail}")
        return "\n".join(within_chars(lines))

    def forget(self, memory_id: MemoryId) -> str:
        memory_id = _bare(memory_id, "id:")
        if not self.store.forget(memory_id, scope=self.scope):
            raise NotFound(
                f"There is no memory with the id {memory_id!r}. Recall it first: each memory ends with its id."
            )
        return f"Forgotten (id: {memory_id})."

    @property
    def judged(self) -> bool:
        """True if recalls can be judged with effect: with `mode: learned`."""
        return self.optimizer.config.mode == "learned"

    def judge(self, answer_id: AnswerId, used: Used = (), wrong: Wrong = ()) -> str:
        """Judge a recall: `used` memories count as citations, `wrong` ones had nothing to do with the query."""
        answer_id, scope = _bare(answer_id, "answer:"), self.scope
        used, wrong = [_bare(one, "id:") for one in used], [_bare(one, "id:") for one in wrong]
        if scope not in self.optimizer.scopes_of(answer_id):
            raise NotFound(f"There was no answer {answer_id!r:.60} lately. Its id stands in the last line of it.")
        kept = self.optimizer.feedback(answer_id, cited=used, wrong=wrong, scope=scope, privacy=self.privacy)
        known = {one for of_ids in kept.gains.values() for one in of_ids}
        noted = ", ".join(one for one in dict.fromkeys((*used, *wrong)) if one in known) or "nothing"
        return f"Noted: {noted}." + (f" Not known: {', '.join(kept.ignored)}." if kept.ignored else "")

    def _asked(self, limit: int, since: str, until: str, as_of: str = "") -> dict[str, Any]:
        after = self._moment("since", since) if since else None
        before = self._moment("until", until, end=True) if until else None
        filters = Filters(after=after, before=before) if after or before else None
        then = self._moment("as_of", as_of, end=True) - timedelta(microseconds=1) if as_of else None
        return {
            "k": limit,
            "scope": self.scope,
            "filters": filters,
            "as_of": then,
            "privacy": self.privacy,
            "score_min": self._score_min,
        }

    def shown(self, result: RecallResult) -> str:
        if not checked(result).hits:
            return NOTHING
        lines = [f"{place}. {said(hit, self._zone)}" for place, hit in enumerate(result.hits, start=1)]
        return "\n".join([*within_chars(lines), *self._answered(result)])

    def _answered(self, result: RecallResult) -> list[str]:
        """Return the line with the answer's id for judging; empty where recalls are not judged."""
        return [f"(answer: {result.id})"] if self.judged and result.id else []

    def _moment(self, name: str, text: str, *, end: bool = False) -> datetime:
        moment = iso(text, self._zone)
        if moment is None:
            raise InvalidArgument(f"{name} is {text!r}, which is no date. Write it as 2026-03-12.")
        if end:
            whole_day = len(text.strip()) == _DAY and moment.time() == time()
            with suppress(OverflowError):  # the last day there is
                moment += timedelta(days=1) if whole_day else timedelta(microseconds=1)
        return moment


def _bare(text: str, label: str) -> str:
    """Return an id that a model copied, without its label."""
    return text.strip().strip("()").removeprefix(label).partition(";")[0].strip()


@overload
def memory_tools(
    store: Any,
    *,
    scope: WhichScope = None,
    framework: Literal["langchain"] = "langchain",
    score_min: float | None = None,
) -> list[StructuredTool]: ...


@overload
def memory_tools(
    store: Any, *, scope: WhichScope = None, framework: Literal["llamaindex"], score_min: float | None = None
) -> list[FunctionTool]: ...


@refusing_unknown
def memory_tools(
    store: Any, *, scope: WhichScope = None, framework: str = "langchain", score_min: float | None = None
) -> list[Any]:
    """Return the tools for an agent: three, and a fourth with `mode: learned`.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one.
        scope: of the memory; a function where it is known only when a tool is called.
        framework: `langchain` (and LangGraph) or `llamaindex`.
        score_min: least score of a memory that is shown, 0 to 1; default `ranking.score_min`, or .15 where that is 0.

    Raises:
        InvalidArgument: an unknown framework, or neither store nor optimizer.
    """
    memory = AgentMemory(store, scope, score_min=score_min)
    make: Callable[..., Any]
    if framework == "langchain":
        with extra("langchain-core", "A tool of LangChain"):
            from langchain_core.tools import StructuredTool

        make, names = StructuredTool.from_function, ("func", "coroutine", "args_schema")
    elif framework == "llamaindex":
        with extra("llama-index-core", "A tool of LlamaIndex"):
            from llama_index.core.tools import FunctionTool

        make, names = FunctionTool.from_defaults, ("fn", "async_fn", "fn_schema")
    else:
        raise InvalidArgument(f"framework is {framework!r}. Use 'langchain' (for LangGraph too) or 'llamaindex'.")
    tools: list[tuple[Any, ...]] = [
        ("recall_memory", RECALL, memory.recall, memory.arecall),
        ("remember_this", REMEMBER, memory.remember),
        ("forget_this", FORGET, memory.forget),
        *([("judge_recall", JUDGE, memory.judge)] if memory.judged else ()),
    ]
    made = []
    for name, says, *calls in tools:
        schema = _arguments(calls[0])
        given: dict[str, Any] = dict(zip(names, (*_checking(schema, *calls), schema), strict=True))
        made.append(make(name=name, description=says, **given))
    return made


def _arguments(call: Callable[..., str]) -> type[BaseModel]:
    """Return the model of a call's arguments; agents get four at most, and do without `as_of`."""
    hints = get_type_hints(call, include_extras=True)
    known = {name: argument.default for name, argument in signature(call).parameters.items() if name != "as_of"}
    fields: dict[str, Any] = {
        name: (hints[name], ... if default is Parameter.empty else default) for name, default in known.items()
    }
    return create_model("Arguments", **fields)


def _checking(
    schema: type[BaseModel], call: Callable[..., str], acall: Callable[..., Awaitable[str]] | None = None
) -> tuple[Callable[..., str], Callable[..., Awaitable[str]]]:
    """Return calls that check their arguments, which not all frameworks do, and answer with their errors."""

    def now(**given: Any) -> str:
        arguments = schema(**given).model_dump()
        try:
            return call(**arguments)
        except RecallError as e:
            return _refused(e)

    async def later(**given: Any) -> str:
        arguments = schema(**given).model_dump()
        try:
            return await (acall(**arguments) if acall is not None else asyncio.to_thread(call, **arguments))
        except RecallError as e:
            return _refused(e)

    return now, later


def _refused(error: RecallError) -> str:
    said = error.args[0] if error.args else error  # `str` of a KeyError is in quotes
    if isinstance(error, NotSearched):
        return f"{said} Try again in a moment; do not conclude that nothing is remembered."
    return f"That did not work. {said}"
