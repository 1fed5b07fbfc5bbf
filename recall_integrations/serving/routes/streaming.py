"""`POST /recall/stream`: a recall while it runs, as server-sent events.

    event: begin    data: {"step": 4, "in": 1, "name": "arm.lexical", "at_ms": 1.2, "inputs": {…}}
    event: end      data: {"step": 4, "name": "arm.lexical", "at_ms": 1.9, "outputs": {…}, "error": null}
    event: hits     data: {"arm": "lexical", "found": 12, "hits": [{"id": "m1", "score": 7.1}, …]}
    event: result   data: the reply of `POST /recall`
    event: problem  data: the error that it answers

The last event is `result` or `problem`. A client that goes away cancels the recall.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Response
from starlette.types import Receive, Scope, Send

from recall_integrations.errors import RecallError
from recall_integrations.serving.asked import RecallAsked, budget_of
from recall_integrations.serving.auth import Reader
from recall_integrations.serving.pool import Pool
from recall_integrations.serving.problems import Refused, packed, problem_of
from recall_integrations.serving.replies import problems
from recall_integrations.serving.routes.recalling import LEAST_MS, arguments_of, recalled, with_result
from recall_integrations.serving.served import Served
from recall_integrations.types import RecallResult

EVENTS = "text/event-stream"
ARM = "arm."
Event = tuple[str, Mapping[str, Any]]
_SAID: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events: begin, end, hits, then result or problem.", "content": {EVENTS: {}}}
}


def router(served: Served) -> APIRouter:
    """Return the route for recalls that are watched."""
    routes = APIRouter(tags=["recall"])

    @routes.post(
        "/recall/stream",
        response_class=Response,
        responses={**problems(504), **_SAID},
        summary="Find memories, and see how",
    )
    async def stream(asked: RecallAsked, caller: Reader) -> Response:
        """Stream the steps of a recall as they begin and end, hits as arms return, then the result."""
        began, optimizer = time.monotonic(), served.optimizer
        arguments, scopes = arguments_of(served, asked, caller)
        budget = budget_of(asked.time_budget_ms, optimizer.config_of(scopes[0]).limits.time_budget_ms, served.limits)

        async def recall(watch: Told) -> RecallResult:
            left = max(LEAST_MS, budget - (time.monotonic() - began) * 1e3)
            return await optimizer.arecall(**arguments, time_budget_ms=left, watch=watch)

        def last(found: RecallResult | RecallError) -> Event:
            if isinstance(found, RecallError):
                return "problem", problem_of(with_result(found, scopes, asked))
            return "result", recalled(found, scopes, asked)

        return Stream(served.reads, recall, last)

    return routes


class Told:
    """A step (`types.watching.Step`) that sends its events to an event loop, from any thread."""

    def __init__(
        self,
        tell: Callable[[Event], None],
        loop: asyncio.AbstractEventLoop,
        began: float,
        number: int = 0,
        name: str = "",
        numbers: itertools.count[int] | None = None,
    ) -> None:
        self._tell, self._loop, self._began = tell, loop, began
        self._number, self._name = number, name
        self._numbers = itertools.count(1) if numbers is None else numbers

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Told:
        """Begin a step inside of this one."""
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
    """The reply: a stream of events."""

    media_type = EVENTS

    def __init__(
        self,
        pool: Pool,
        recall: Callable[[Told], Any],
        last: Callable[[RecallResult | RecallError], Event],
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._pool, self._recall, self._last = pool, recall, last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._pool.enter()  # refused before anything is sent
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        told = Told(events.put_nowait, asyncio.get_running_loop(), time.monotonic())
        recall = asyncio.ensure_future(self._recall(told))
        recall.add_done_callback(self._pool.leave)  # who reads slowly holds no place
        recall.add_done_callback(lambda _: events.put_nowait(None))
        gone = asyncio.ensure_future(_gone(receive))
        gone.add_done_callback(lambda _: recall.cancel())
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while (event := await events.get()) is not None:
                await send({"type": "http.response.body", "body": written(event), "more_body": True})
            if not recall.cancelled():
                await send({"type": "http.response.body", "body": await self._last_event(recall)})
        finally:
            recall.cancel()
            gone.cancel()

    async def _last_event(self, recall: asyncio.Future[RecallResult]) -> bytes:
        """Write the last event in a thread: it is the largest."""
        try:
            return await self._pool.run(lambda: written(self._ended(recall)))
        except Refused as e:
            return written(self._last(e))

    def _ended(self, recall: asyncio.Future[RecallResult]) -> Event:
        error = recall.exception()
        if error is None:
            return self._last(recall.result())
        if not isinstance(error, RecallError):
            return self._last(Refused(500, "INTERNAL", f"Something failed that should not ({type(error).__name__})."))
        return self._last(error)


def written(event: Event) -> bytes:
    """Write an event as it is sent. JSON has no line breaks of its own."""
    name, data = event
    return b"event: %s\ndata: %s\n\n" % (name.encode(), packed(data))


async def _gone(receive: Receive) -> None:
    """Wait until the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
