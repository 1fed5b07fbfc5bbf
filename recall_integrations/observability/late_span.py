"""A span that is made when somebody needs it. Imported only where OpenTelemetry is there.

A span of the SDK takes 15 microseconds, and several times that amid other work. Those of a recall are therefore made
together when it ends. Until then a `LateSpan` stands for the span of a stage: a client that makes a span of its own
inside of the stage asks for its context, and only then the real one is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from opentelemetry import trace


class LateSpan(trace.Span):
    """Stands for a span. Threads share it.

    Args:
        make: makes the real span.
    """

    def __init__(self, make: Callable[[], trace.Span]) -> None:
        self._make, self._made = make, None
        self._lock = threading.Lock()

    _made: trace.Span | None

    def made(self) -> trace.Span:
        """Return the span, made on the first call."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def get_span_context(self) -> trace.SpanContext:
        """Return the span's context; see `Span`, as for all other methods."""
        return self.made().get_span_context()

    def is_recording(self) -> bool:
        return True

    def set_attributes(self, attributes: Any) -> None:
        self.made().set_attributes(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.made().set_attribute(key, value)

    def add_event(self, name: str, attributes: Any = None, timestamp: int | None = None) -> None:
        self.made().add_event(name, attributes, timestamp)

    def add_link(self, context: trace.SpanContext, attributes: Any = None) -> None:
        self.made().add_link(context, attributes)

    def update_name(self, name: str) -> None:
        self.made().update_name(name)

    def set_status(self, status: Any, description: str | None = None) -> None:
        self.made().set_status(status, description)

    def record_exception(
        self, exception: BaseException, attributes: Any = None, timestamp: int | None = None, escaped: bool = False
    ) -> None:
        self.made().record_exception(exception, attributes, timestamp, escaped)

    def end(self, end_time: int | None = None) -> None:
        self.made().end(end_time)
