"""Memories as a privacy mode lets them be seen, in the time there is: what could not be checked is not shown."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from recall_integrations.privacy import redactor as privacy
from recall_integrations.resilience.bulkhead import Bulkhead, Busy
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Degradation, Memory

AT_ONCE_CHARS = 2_000  # are checked in milliseconds, whatever they are
EACH = 100  # characters that a name, a reference or a relation counts for: each is checked by itself
STAGE = "privacy"
BUSY_SECONDS = 0.005


class Showing:
    """Where long texts are redacted. Threads share it.

    Args:
        waiting: what surrounds a wait: the caller does not compute meanwhile.
    """

    def __init__(self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.threads = Bulkhead("redact", 4, hanging_max=4)
        self.waiting = waiting


class Shown:
    """The memories of one recall.

    Args:
        mode: of privacy.
        deadline: of the recall.
        beside: where long ones are redacted.
    """

    def __init__(self, mode: str, deadline: Deadline, beside: Showing) -> None:
        self._mode, self._deadline, self._beside = mode, deadline, beside
        self._late = self._failed = 0

    def of(self, memory: Memory) -> Memory:
        """The memory as it may be seen. One that takes too long to redact is blocked instead."""
        if self._mode == "allow":
            return memory
        if _size(memory) <= AT_ONCE_CHARS:
            return privacy.apply(memory, self._mode)
        with self._beside.waiting():
            checking = self._checking(memory)
            done = self._deadline.wait_for(checking)
        if done and checking.exception() is None:
            return checking.result()
        self._beside.threads.give_up(checking)
        self._failed += done and not isinstance(checking.exception(), Busy)
        self._late += not done or isinstance(checking.exception(), Busy)
        return privacy.apply(_bare(memory), "block")

    def _checking(self, memory: Memory) -> Future[Memory]:
        """The redaction under way; while as many as may be are, one waits."""
        while True:
            checking = self._beside.threads.submit(privacy.apply, memory, self._mode)
            if not (checking.done() and isinstance(checking.exception(), Busy)) or self._deadline.wait(BUSY_SECONDS):
                return checking

    @property
    def problems(self) -> list[Degradation]:
        """That something was withheld."""
        said = (("timeout", self._late, "There was no time to redact"), ("error", self._failed, "It failed to redact"))
        return [
            Degradation(stage=STAGE, reason=why, detail=f"{what} {n} memories; they are shown without their text.")
            for why, n, what in said
            if n
        ]


def _bare(memory: Memory) -> Memory:
    """Without what `block` would have to redact."""
    return memory if len(memory.refs) * EACH <= AT_ONCE_CHARS else replace(memory, refs=())


def _size(memory: Memory) -> int:
    listed = len(memory.entities) + len(memory.refs) + 3 * len(memory.relations)
    return len(memory.text) + EACH * listed + (len(str(memory.metadata)) if memory.metadata else 0)
