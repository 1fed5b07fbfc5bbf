"""Bounds for waiting for a server: a connection that gets no answer in time is given up, as if it had been lost.

PostgreSQL's own timeouts are kept by the server, which may be what hangs: a machine that stands still, a disk that does
not answer, a firewall that drops what it let through before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

_end: ContextVar[float] = ContextVar("recall_answered_by", default=math.inf)  # monotonic seconds
_given_up: ContextVar[Callable[[], bool] | None] = ContextVar("recall_given_up", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let no statement of this thread wait longer than so many seconds inside the block, all of them together."""
    token = _end.set(min(_end.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _end.reset(token)


@contextmanager
def given_up_when(over: Callable[[], bool]) -> Iterator[None]:
    """Stop waiting for statements of this thread inside the block once `over` says so; it is asked ten times a second.

    For what may take hours, and is not worth it any more once the process wants to end.
    """
    token = _given_up.set(over)
    try:
        yield
    finally:
        _given_up.reset(token)


def remaining() -> float:
    """Return the seconds that this thread still waits for all statements together; infinite without a bound."""
    return max(_end.get() - time.monotonic(), 0.0)


@cache
def connection_class() -> Any:
    """Return the class of the driver's connections, which end themselves when their time is over."""
    import psycopg

    class Prompt(psycopg.Cursor[Any]):
        """A cursor whose statements are answered before they return, also where others go together (`sending`)."""

        def execute(self, *given: Any, **more: Any) -> Any:
            """Execute as the driver does, and wait for the answer."""
            super().execute(*given, **more)
            self._answered()
            return self

        def executemany(self, *given: Any, **more: Any) -> None:
            """Execute for several rows as the driver does, and wait for the answer."""
            super().executemany(*given, **more)
            self._answered()

        def _answered(self) -> None:
            together = getattr(self.connection, "together", None)
            if together is not None:
                together.sync()

    class Waiting(psycopg.Connection[Any]):
        """A connection that waits as long as `within` says."""

        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            self.cursor_factory = Prompt
            self.together: Any = None

        def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
            """Wait as the driver does; end the connection when the time is over."""
            end, over = _end.get(), _given_up.get()
            if end == math.inf and over is None:
                return super().wait(gen, *given, **more)
            try:
                return super().wait(_until(gen, end, over), *given, **more)
            except _Over:
                self.pgconn.finish()  # what it was doing is not known
                raise psycopg.OperationalError("the server did not answer in time") from None

        @classmethod
        def connect(cls, *given: Any, **more: Any) -> Any:
            """Connect as the driver does; raise where no time is left."""
            if time.monotonic() >= _end.get():
                raise psycopg.OperationalError("no time is left to connect")
            return super().connect(*given, **more)

    return Waiting


class _Over(Exception):
    """The time is over."""


def _until(
    gen: Generator[Any, Any, Any], end: float, over: Callable[[], bool] | None = None
) -> Generator[Any, Any, Any]:
    """Pass on what the driver waits for, ten times a second or more; raise `_Over` at `end`, or once `over` says so."""
    answer = None
    while True:
        try:
            state = next(gen) if answer is None else gen.send(answer)
        except StopIteration as done:
            return done.value
        answer = yield state
        if not answer and (time.monotonic() >= end or (over is not None and over())):
            raise _Over
