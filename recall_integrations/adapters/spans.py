"""A recall as LlamaIndex's instrumentation sees it: a span and an event for each stage and arm, and for what fails."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.exception import ExceptionEvent
from llama_index.core.instrumentation.span import active_span_id
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.event_handlers import NullEventHandler

from recall_integrations.errors import NotSearched

OWNER = "OptimizedRecallRetriever"
dispatcher = get_dispatcher(__name__)
_NOBODY = (NullEventHandler, NullSpanHandler)  # what the root has from the begin


class RecallStepEvent(BaseEvent):
    """A stage or an arm of a recall has ended.

    Args:
        step: its name: `parse`, …, `arm.lexical`.
        inputs, outputs: what it was given and what it found, as JSON has it.
    """

    step: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "RecallStepEvent"


class RecallNotSearchedEvent(BaseEvent):
    """A recall has given an empty list because it could look at nothing, which says nothing of what is remembered.

    Args:
        message: why.
    """

    message: str

    @classmethod
    def class_name(cls) -> str:
        """Class name."""
        return "RecallNotSearchedEvent"


def _given(step: str, inputs: Mapping[str, Any]) -> None:
    """What handlers are told that a span was called with."""


_SIGNATURE = inspect.signature(_given)


class Span:
    """A step of a recall that is told to the dispatcher (`types.watching.Step`).

    Args:
        span_id: its span.
        name, inputs: of the step; empty for the recall itself, whose span is LlamaIndex's.
    """

    def __init__(self, span_id: str | None, name: str = "", inputs: Mapping[str, Any] | None = None) -> None:
        self._id, self._name, self._inputs = span_id, name, dict(inputs or {})

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Span:
        """A span of a stage or an arm begins."""
        inner = Span(f"{OWNER}.{name}-{uuid.uuid4()}", name, inputs)
        dispatcher.span_enter(
            id_=str(inner._id), bound_args=_SIGNATURE.bind(name, inner._inputs), parent_id=self._id, tags={}
        )
        return inner

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """It has ended, or was dropped with an error."""
        span_id, bound = str(self._id), _SIGNATURE.bind(self._name, self._inputs)
        if error is None:
            event = RecallStepEvent(step=self._name, inputs=self._inputs, outputs=dict(outputs), span_id=span_id)
            dispatcher.event(event)
            dispatcher.span_exit(id_=span_id, bound_args=bound, result=dict(outputs))
        else:
            dispatcher.event(ExceptionEvent(exception=error, span_id=span_id))
            dispatcher.span_drop(id_=span_id, bound_args=bound, err=error)


def span() -> Span | None:
    """What tells the dispatcher of a recall inside of the span that is open; `None` where nobody listens."""
    return Span(active_span_id.get()) if _listened() else None


def event_not_searched(error: NotSearched) -> None:
    """Tell the dispatcher that nothing could be looked at."""
    dispatcher.event(RecallNotSearchedEvent(message=str(error), span_id=active_span_id.get()))


@contextmanager
def errors_told() -> Iterator[None]:
    """What fails inside is an event too: LlamaIndex itself says only that retrieving began."""
    try:
        yield
    except Exception as e:
        dispatcher.event(ExceptionEvent(exception=e, span_id=active_span_id.get()))
        raise


def _listened() -> bool:
    """Whether a handler would be called."""
    here = dispatcher
    while True:
        if any(not isinstance(h, _NOBODY) for h in (*here.event_handlers, *here.span_handlers)):
            return True
        if not here.propagate:
            return False
        here = here.parent
