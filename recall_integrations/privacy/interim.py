"""One recall's redactor over the functions of `redactor.py`, with patterns of the user's own."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from recall_integrations.privacy import redactor
from recall_integrations.types import Memory, Relation, unchecked_memory


class Redactor:
    """Hides personal data and secrets. Threads may share one.

    Args:
        own: patterns of the user's own, by name; what one finds becomes `[name-1]`, the same for the same text.

    Attributes:
        count: how many were hidden so far.
    """

    def __init__(self, own: Sequence[tuple[str, re.Pattern[str]]] = ()) -> None:
        self._own, self.count = tuple(own), 0
        self._numbers: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def text(self, text: str) -> str:
        """The text with what was found hidden."""
        for name, pattern in self._own:
            text = pattern.sub(lambda match, name=name: self._placeholder(name, match[0]), text)  # type: ignore[misc]
        hidden, count = redactor.redact(text)
        with self._lock:
            self.count += count
        return hidden

    def memory(self, memory: Memory) -> Memory:
        """The memory with what was found hidden in every text of it."""
        if not self._own:
            return redactor.apply(memory, "redact")
        values: dict[str, Any] = {f.name: getattr(memory, f.name) for f in fields(Memory)}
        for name in ("text", "actor", "channel", "thread", "entities", "refs", "metadata"):
            values[name] = self._each(values[name])
        values["relations"] = tuple(
            Relation(self.text(r.subject), self.text(r.predicate), self.text(r.object), r.confidence)
            for r in memory.relations
        )
        return redactor.apply(unchecked_memory(**values), "redact")

    def _each(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self._each(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._each(item) for item in value)
        return value

    def _placeholder(self, name: str, found: str) -> str:
        with self._lock:
            self.count += 1
            same = [number for (kind, _), number in self._numbers.items() if kind == name]
            return f"[{name}-{self._numbers.setdefault((name, found), len(same) + 1)}]"
