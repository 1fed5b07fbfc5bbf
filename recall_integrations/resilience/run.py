"""What one recall gathers on its way: what went wrong and how long each stage took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from recall_integrations.errors import RecallError
from recall_integrations.records import Degradation
from recall_integrations.resilience.deadline import Deadline


@dataclass(slots=True)
class Run:
    """What one recall gathers on its way."""

    deadline: Deadline
    degraded: list[Degradation] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside; a stage that runs again adds up."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.timings_ms[name] = self.timings_ms.get(name, 0.0) + (time.perf_counter() - begin) * 1e3

    def failed(self, stage: str, error: BaseException, code: str | None = None) -> None:
        """Note that a stage failed: by `code`, or by that of the error."""
        named = code or (error.code.lower() if isinstance(error, RecallError) else "error")
        self.degraded.append(Degradation(stage=stage, reason=named, detail=f"{type(error).__name__}: {error}"))
