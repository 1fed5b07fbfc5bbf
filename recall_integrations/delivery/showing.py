"""Memories as a privacy mode lets them be seen, in the time there is: what could not be checked is not shown."""

from __future__ import annotations

from recall_integrations.delivery import privacy
from recall_integrations.resilience.bulkhead import Bulkhead
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.types import Degradation, Memory

AT_ONCE_CHARS = 2_000  # are checked in milliseconds, whatever they are
STAGE = "privacy"
_threads = Bulkhead("redact", 4, hanging_max=4)


class Shown:
    """The memories of one recall.

    Args:
        mode: of privacy.
        deadline: of the recall.
    """

    def __init__(self, mode: str, deadline: Deadline) -> None:
        self._mode, self._deadline = mode, deadline
        self.withheld: list[str] = []

    def of(self, memory: Memory) -> Memory:
        """The memory as it may be seen. One that takes too long to redact is blocked instead."""
        if self._mode != "redact" or _size(memory) <= AT_ONCE_CHARS:
            return privacy.apply(memory, self._mode)
        checking = _threads.submit(privacy.apply, memory, self._mode)
        if self._deadline.wait_for(checking) and checking.exception() is None:
            return checking.result()
        _threads.give_up(checking)
        self.withheld.append(memory.id or "")
        return privacy.apply(memory, "block")

    @property
    def problems(self) -> list[Degradation]:
        """That something was withheld."""
        if not self.withheld:
            return []
        detail = f"There was no time to redact {len(self.withheld)} memories; they are shown without their text."
        return [Degradation(stage=STAGE, reason="timeout", detail=detail)]


def _size(memory: Memory) -> int:
    return len(memory.text) + (len(str(memory.metadata)) if memory.metadata else 0)
