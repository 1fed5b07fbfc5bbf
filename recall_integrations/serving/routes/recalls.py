"""`POST /recall` in four forms: whole or as a stream of events, as JSON for anybody or as `RecallClient` reads it.

    event: begin    data: {"step": 4, "in": 1, "name": "arm.lexical", "at_ms": 1.2, "inputs": {…}}
    event: end      data: {"step": 4, "name": "arm.lexical", "at_ms": 1.9, "outputs": {…}, "error": null}
    event: hits     data: {"arm": "lexical", "found": 12, "hits": [{"id": "m1", "score": 7.1}, …]}
    event: result   data: the reply of `POST /recall`
    event: problem  data: the error that it answers

The last event of a stream is `result` or `problem`. A client that goes away cancels the recall.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Response
from starlette import types as asgi

from recall_integrations.delivery.as_data import result_data
from recall_integrations.delivery.travel import packed_marks, packed_record
from recall_integrations.errors import RecallError
from recall_integrations.serving.models import Budget, Reader, RecallAsked, RecallReply, Reply, problems, scope_of
from recall_integrations.serving.problems import Refused, packed, problem_of, status_of
from recall_integrations.serving.routes.health import AboutReply, about_of
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Caller
from recall_integrations.types import RecallResult, Scope

EVENTS = "text/event-stream"
ARM = "arm."
FORMAT = 1
Event = tuple[str, Mapping[str, Any]]


class RecordReply(Reply):
    """A `RecallResult` as `RecallClient` reads it. Programs in other languages read the reply of `POST /recall`."""

    format: int
    result: dict[str, Any]
    marks: dict[str, Any]
    server: AboutReply


def router(served: Served) -> APIRouter:
    """Return the routes for recalls."""
    routes = APIRouter(responses=problems(504))
    events: dict[int | str, dict[str, Any]] = {
        200: {"description": "Events: begin, end, hits, then result or problem.", "content": {EVENTS: {}}}
    }

    @routes.post("/recall", response_model=RecallReply, tags=["recall"], summary="Find memories")
    async def recall(asked: RecallAsked, caller: Reader) -> Response:
        """Find the memories that answer a query, best first, each with the reason."""
        return await served.reads.reply(Run(served, asked, caller).answer)

    @routes.post(
        "/recall/stream", response_class=Response, responses=events, tags=["recall"],
        summary="Find memories, and see how",
    )  # fmt: skip
    async def stream(asked: RecallAsked, caller: Reader) -> Response:
        """Stream the steps of a recall as they begin and end, hits as arms return, then the result."""
        return Stream(Run(served, asked, caller))

    @routes.post("/recall/record", response_model=RecordReply, tags=["client"], summary="Find, for clients")
    async def record(asked: RecallAsked, caller: Reader) -> Response:
        """Recall, and return the whole result, to the last digit."""
        return await served.reads.reply(Recorded(served, asked, caller).answer)

    @routes.post(
        "/recall/record/stream", response_class=Response, responses=events, tags=["client"],
        summary="Find, and see how, for clients",
    )  # fmt: skip
    async def record_stream(asked: RecallAsked, caller: Reader) -> Response:
        """Stream the steps of a recall, then the whole result, to the last digit."""
        return Stream(Recorded(served, asked, caller))

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
        usual_ms = served.optimizer.config_of(self.scopes[0]).limits.time_budget_ms
        self.budget = Budget(asked.time_budget_ms, usual_ms, served.limits)

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

    async def watched(self, watch: Told) -> RecallResult:
        return await self.served.optimizer.arecall(**self.arguments, time_budget_ms=self.budget.left_ms, watch=watch)

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


class Told:
    """A step (`types.watching.Step`) that sends its events to an event loop, from any thread."""

    def __init__(
        self,
        tell: Callable[[Event], None],  # called in the event loop
        loop: asyncio.AbstractEventLoop,
        began: float,  # monotonic seconds
        number: int = 0,
        name: str = "",
        numbers: itertools.count[int] | None = None,
    ) -> None:
        self._tell, self._loop, self._began = tell, loop, began
        self._number, self._name = number, name
        self._numbers = itertools.count(1) if numbers is None else numbers

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Told:
        number = next(self._numbers)
        self._say("begin", {"step": number, "in": self._number, "name": name, "at_ms": self._at, "inputs": inputs})
        return Told(self._tell, self._loop, self._began, number, name, self._numbers)

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """End the step, and send the hits if it is an arm."""
        said = None if error is None else str(error)
        data = {"step": self._number, "name": self._name, "at_ms": self._at, "outputs": outputs, "error": said}
        self._say("end", data)
        if self._name.startswith(ARM) and "best" in outputs:
            arm = self._name.removeprefix(ARM)
            self._say("hits", {"arm": arm, "found": outputs["found"], "hits": outputs["best"]})

    @property
    def _at(self) -> float:
        return round((time.monotonic() - self._began) * 1e3, 3)

    def _say(self, event: str, data: Mapping[str, Any]) -> None:
        self._loop.call_soon_threadsafe(self._tell, (event, data))


class Stream(Response):
    """The reply to a recall that is watched: a stream of events."""

    media_type = EVENTS

    def __init__(self, run: Run) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._run, self._pool = run, run.served.reads

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        await self._pool.enter()  # refused before anything is sent
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        told = Told(events.put_nowait, asyncio.get_running_loop(), time.monotonic())
        recall = asyncio.ensure_future(self._run.watched(told))
        recall.add_done_callback(self._pool.leave)  # who reads slowly holds no place
        recall.add_done_callback(lambda _: events.put_nowait(None))
        gone = asyncio.ensure_future(_gone(receive))
        gone.add_done_callback(lambda _: recall.cancel())
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while (event := await events.get()) is not None:
                await send({"type": "http.response.body", "body": written(event), "more_body": True})
            if not recall.cancelled():
                await send({"type": "http.response.body", "body": await self._last(recall)})
        finally:
            recall.cancel()
            gone.cancel()

    async def _last(self, recall: asyncio.Future[RecallResult]) -> bytes:
        """Write the last event in a thread: it is the largest."""
        try:
            return await self._pool.run(lambda: written(self._ended(recall)))
        except Refused as e:
            return written(("problem", problem_of(e)))

    def _ended(self, recall: asyncio.Future[RecallResult]) -> Event:
        error = recall.exception()
        if error is None:
            return "result", self._run.data(recall.result())
        if not isinstance(error, RecallError):
            error = Refused(500, "INTERNAL", f"Something failed that should not ({type(error).__name__}).")
        return "problem", problem_of(self._run.problem(error))


def written(event: Event) -> bytes:
    """Write an event as it is sent. JSON has no line breaks of its own."""
    name, data = event
    return b"event: %s\ndata: %s\n\n" % (name.encode(), packed(data))


async def _gone(receive: asgi.Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
