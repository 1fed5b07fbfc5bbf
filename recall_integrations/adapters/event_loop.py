"""An event loop in a thread of its own, for clients written for an event loop and called from threads without one.

One for the process: clients keep connections that belong to the loop they were first used in.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")
LONGEST_SECONDS = 600.0  # the longest time limit that can be set: nobody waits any more, so it is cancelled
_lock = threading.Lock()
_running: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has its parent's loop, and nobody who runs it


def awaited(answer: Awaitable[T]) -> T:
    """Wait for an awaitable and return its result. Blocks the thread; errors of the awaitable are raised here."""

    async def waiting() -> T:
        return await asyncio.wait_for(answer, LONGEST_SECONDS)

    return asyncio.run_coroutine_threadsafe(waiting(), _loop()).result()


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _running.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = _running[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="recall-event-loop", daemon=True).start()
        return loop
