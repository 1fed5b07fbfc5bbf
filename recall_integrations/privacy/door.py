"""The one door through which everything leaves a recall: to the caller, an LLM, a reranker, an observer or a log."""

from __future__ import annotations

from recall_integrations.privacy import redactor
from recall_integrations.types import Memory


class Door:
    """Lets through what the privacy mode of one recall allows.

    Args:
        mode: `allow`, `redact` or `block`.

    Raises:
        InvalidArgument: an unknown mode.
    """

    def __init__(self, mode: str = "allow") -> None:
        self.mode = redactor.check_mode(mode)
        self.redactor = redactor.Redactor()

    @property
    def open(self) -> bool:
        """Whether everything goes through."""
        return self.mode == "allow"

    @property
    def blocked(self) -> bool:
        """Whether no text goes through."""
        return self.mode == "block"

    def text(self, text: str) -> str:
        """The text as it may be seen: itself, redacted, or empty."""
        if self.open or self.blocked:
            return text if self.open else ""
        return self.redactor.text(text)

    def memory(self, memory: Memory) -> Memory:
        """The memory as it may be seen."""
        if self.open:
            return memory
        return self.redactor.withheld(memory) if self.blocked else self.redactor.memory(memory)
