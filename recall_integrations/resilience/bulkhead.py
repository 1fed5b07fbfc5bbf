"""Threads for calls that may hang: one set for each component, so that none takes another's.

A language model, a cross-encoder, a remote embedding or an index may never return. `concurrent.futures` joins its
threads when the interpreter ends, so one hung call would hold the process for ever; these are daemons.
"""

from __future__ import annotations

import contextvars
import functools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from recall_integrations.records import record

T = TypeVar("T")
LIMIT = 8
HANGING_MAX = 32
IDLE_SECONDS = 60.0  # a thread without work ends after that


class Busy(RuntimeError):
    """The error that no further call may begin."""


@record(slots=True, eq=False)
class _Task:
    future: Future[Any]
    run: Callable[[], Callable[[], None]]
    given_up: bool = False


class Bulkhead:
    """Runs so many calls of one component at once, in daemon threads. Threads share it.

    A call that cannot begin fails at once instead of queueing behind calls that hang. A call that is given up
    (`give_up`) frees its place: it counts as hanging until it returns. While more than `hanging_max` hang, none begins.
    """

    def __init__(self, name: str, limit: int = LIMIT, hanging_max: int = HANGING_MAX) -> None:
        self.name = name
        self._limit, self._hanging_max = limit, hanging_max
        self._lock = threading.Lock()
        self._tasks: dict[Future[Any], _Task] = {}
        self._active = self._hanging = 0
        self._idle: list[queue.SimpleQueue[_Task]] = []

    @property
    def active(self) -> int:
        """Number of calls that somebody waits for."""
        with self._lock:
            return self._active

    @property
    def hanging(self) -> int:
        """Number of calls that were given up and have not returned."""
        with self._lock:
            return self._hanging

    def submit(self, call: Callable[..., T], *args: object) -> Future[T]:
        """Start the call; the future holds its result, whatever it raised, or `Busy`. Context variables go along."""
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def run() -> Callable[[], None]:
            if not future.set_running_or_notify_cancel():
                return lambda: None
            try:
                result = context.run(call, *args)
            except BaseException as e:  # noqa: BLE001 - handed to whoever waits: `SystemExit` of a component, too
                return functools.partial(future.set_exception, e)
            return functools.partial(future.set_result, result)

        with self._lock:
            refused = self._refused()
            if refused is None:
                self._active += 1
                task = self._tasks[future] = _Task(future, run)
                worker = self._idle.pop() if self._idle else None
        if refused is not None:
            future.set_exception(Busy(refused))
        elif worker is not None:
            worker.put(task)
        else:
            self._start(task)
        return future

    def give_up(self, future: Future[Any]) -> None:
        """Note that nobody waits for this call any more: its place is free. A second time changes nothing."""
        future.cancel()  # if it has not begun
        with self._lock:
            task = self._tasks.get(future)
            if task is not None and not task.given_up:
                task.given_up = True
                self._active -= 1
                self._hanging += 1

    def _refused(self) -> str | None:
        if self._hanging > self._hanging_max:
            return f"{self._hanging} calls of {self.name} have not returned."
        if self._active >= self._limit:
            return f"{self._limit} calls of {self.name} are under way."
        return None

    def _start(self, task: _Task) -> None:
        try:
            inbox: queue.SimpleQueue[_Task] = queue.SimpleQueue()
            inbox.put(task)
            threading.Thread(target=self._work, args=(inbox,), name=f"recall-{self.name}", daemon=True).start()
        except RuntimeError as e:  # no thread can be started
            self._ended(task)
            task.future.set_exception(Busy(f"No thread can be started for {self.name}: {e}"))

    def _work(self, inbox: queue.SimpleQueue[_Task]) -> None:
        task = inbox.get()
        while True:
            tell = task.run()
            self._ended(task)  # its place is free before anybody knows that it ended
            tell()
            del tell, task  # an idle thread keeps nothing alive
            with self._lock:
                self._idle.append(inbox)
            try:
                task = inbox.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                task = inbox.get()  # somebody has just taken this thread

    def _ended(self, task: _Task) -> None:
        with self._lock:
            del self._tasks[task.future]
            if task.given_up:
                self._hanging -= 1
            else:
                self._active -= 1
