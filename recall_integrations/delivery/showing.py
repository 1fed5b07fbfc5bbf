"""Redacts texts as a privacy mode asks, in the time there is: a text that could not be checked is not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeVar

from recall_integrations.privacy.door import Door
from recall_integrations.resilience.bulkhead import Bulkhead, Busy
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Degradation, Memory

R = TypeVar("R")
T = TypeVar("T")
AT_ONCE_CHARS = 2_000  # number of characters that are checked in milliseconds, whatever they are
EACH = 100  # characters that a name, a reference or a relation counts for: each is checked by itself
STAGE = "privacy"
BUSY_SECONDS = 0.005
QUERY_SHARE = 0.25  # share of the time that is left, to redact a long query: without it nothing is known yet


class Showing:
    """Threads in which long texts are redacted. Threads of recalls share it."""

    def __init__(self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.threads = Bulkhead("redact", 4, hanging_max=4)
        self.waiting = waiting


class Shown:
    """Redacts what is shown of one recall."""

    def __init__(self, door: Door, deadline: Deadline, beside: Showing) -> None:
        self._door, self._deadline, self._beside = door, deadline, beside
        self._late = self._failed = 0
        self._told: list[Degradation] = []

    def look(self, memories: Iterable[Memory]) -> None:
        """Redact short memories ahead of `of`."""
        if not self._door.open and not self._door.blocked:
            self._door.look(memory for memory in memories if _size(memory, texts=True) <= AT_ONCE_CHARS)

    def of(self, memory: Memory) -> Memory:
        """Return the memory as it may be seen. A memory that takes too long to redact is blocked instead."""
        door = self._door
        if door.open:
            return memory
        shown = self._timed(_size(memory, texts=not door.blocked), door.memory, memory, self._deadline)
        return door.bare(_few(memory)) if shown is None else shown

    def text(self, text: str) -> str:
        """Return the text as it may be seen; empty where that takes too long."""
        if self._door.open:
            return text
        return self._timed(len(text), self._door.text, text, self._deadline) or ""

    def query(self, text: str) -> None:
        """Redact the query, which comes before everything else; where that takes too long, nothing of it is shown."""
        if self._door.open:
            return
        own = self._deadline.child(self._deadline.remaining_ms() * QUERY_SHARE)
        if self._timed(len(text), self._door.query, text, own) is None:
            self._door.withhold(text)
            reason = "error" if self._failed else "timeout"
            self._late = self._failed = 0
            detail = "The query could not be redacted in time; it is not shown."
            self._told.append(Degradation(stage=STAGE, reason=reason, detail=detail))

    def _timed(self, size: int, function: Callable[[T], R], given: T, deadline: Deadline) -> R | None:
        """Return what the door lets through; `None` where it took too long, or failed."""
        if size <= AT_ONCE_CHARS:
            return function(given)
        with self._beside.waiting():
            checking = self._checking(function, given, deadline)
            done = deadline.wait_for(checking)
        if done and checking.exception() is None:
            return checking.result()
        self._beside.threads.give_up(checking)
        self._failed += done and not isinstance(checking.exception(), Busy)
        self._late += not done or isinstance(checking.exception(), Busy)
        return None

    def _checking(self, function: Callable[[T], R], given: T, deadline: Deadline) -> Future[R]:
        """Start a redaction and return its future; while all threads are busy, wait."""
        while True:
            checking = self._beside.threads.submit(function, given)
            if not (checking.done() and isinstance(checking.exception(), Busy)) or deadline.wait(BUSY_SECONDS):
                return checking

    @property
    def problems(self) -> list[Degradation]:
        """Problems of texts that were withheld."""
        said = (("timeout", self._late, "There was no time to redact"), ("error", self._failed, "It failed to redact"))
        return [
            *self._told,
            *(
                Degradation(stage=STAGE, reason=why, detail=f"{what} {n} memories; they are shown without their text.")
                for why, n, what in said
                if n
            ),
        ]


def _few(memory: Memory) -> Memory:
    """Return a memory without what even a blocked memory would have to redact."""
    return memory if len(memory.refs) * EACH <= AT_ONCE_CHARS else replace(memory, refs=())


def _size(memory: Memory, *, texts: bool) -> int:
    if not texts:
        return EACH * (1 + len(memory.refs))
    listed = len(memory.entities) + len(memory.refs) + 3 * len(memory.relations)
    return len(memory.text) + EACH * listed + (len(str(memory.metadata)) if memory.metadata else 0)
