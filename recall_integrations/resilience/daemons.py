"""Threads for what users bring: an LLM, a cross-encoder, an embedding. Such a call may never return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Busy(RuntimeError):
    """All threads wait for calls that have not returned."""


class DaemonThreads:
    """A thread per call, at most `limit` at once, none of which keeps the process from ending.

    `concurrent.futures` joins its threads when the interpreter ends, so one hung call would hold it for ever. When all
    threads are taken, a call fails at once instead of queueing behind calls that hang.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._free = threading.BoundedSemaphore(limit)
        self._limit = limit
        self._name = name

    def submit(self, call: Callable[..., T], *args: object) -> Future[T]:
        """Start the call; the future holds its result, its exception, or `Busy`."""
        future: Future[T] = Future()
        if not self._free.acquire(blocking=False):
            future.set_exception(Busy(f"All {self._limit} threads wait for calls that have not returned."))
            return future

        def run() -> None:
            try:
                if future.set_running_or_notify_cancel():
                    future.set_result(call(*args))
            except BaseException as e:  # noqa: BLE001 - handed to whoever waits
                future.set_exception(e)
            finally:
                self._free.release()

        threading.Thread(target=run, name=self._name, daemon=True).start()
        return future
