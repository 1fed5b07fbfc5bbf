"""A pool of threads that does the work of requests, a bounded number at once, so that the event loop never waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from recall_integrations.resilience.bulkhead import Bulkhead
from recall_integrations.serving.problems import busy

T = TypeVar("T")


class Pool:
    """Places for calls: requests take turns, first come, first served. Used from one event loop at a time."""

    def __init__(self, name: str, places: int, queue: int, wait_s: float) -> None:
        self._threads = Bulkhead(name, 2 * places)  # a place is free a moment before its thread is
        self._places = asyncio.Semaphore(places)
        self._queue, self._wait_s = queue, wait_s
        self.waiting = self.active = 0

    async def enter(self) -> None:
        """Wait for a place; the caller frees it with `leave`."""
        if self._places.locked():
            await self._wait()
        else:
            await self._places.acquire()
        self.active += 1

    async def _wait(self) -> None:
        if self.waiting >= self._queue:
            raise busy(f"{self.waiting} requests wait already. Ask again in a moment, or fewer at once.")
        self.waiting += 1
        try:
            await asyncio.wait_for(self._places.acquire(), self._wait_s)
        except asyncio.TimeoutError:
            raise busy(f"There was no place within {self._wait_s:g} seconds. Ask again later, or less.") from None
        finally:
            self.waiting -= 1

    def leave(self, _done: object = None) -> None:
        """Free a place."""
        self.active -= 1
        self._places.release()

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in a thread and return its result. Its place is free when it ends, whoever waits."""
        await self.enter()
        running = asyncio.wrap_future(self._threads.submit(call))
        running.add_done_callback(self._ended)
        return await asyncio.shield(running)

    def _ended(self, running: asyncio.Future[T]) -> None:
        if not running.cancelled():
            running.exception()  # nobody may be there to ask for it
        self.leave()
