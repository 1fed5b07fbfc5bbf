"""A recall as LlamaIndex's instrumentation sees it: a span and an event for each stage, arm and error."""

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
    """The event that a stage or an arm of a recall has ended."""

    step: str  # name of the stage or arm: `parse`, …, `arm.lexical`
    inputs: dict[str, Any]  # its input and its result, as JSON types
    outputs: dict[str, Any]

    @classmethod
    def class_name(cls) -> str:
        return "RecallStepEvent"


class RecallNotSearchedEvent(BaseEvent):
    """The event that a recall returned an empty list because it could look at nothing; memories may exist."""

    message: str  # the reason

    @classmethod
    def class_name(cls) -> str:
        return "RecallNotSearchedEvent"


def _given(step: str, inputs: Mapping[str, Any]) -> None:
    """Serve as the signature of spans: handlers see these arguments."""


_SIGNATURE = inspect.signature(_given)


class Span:
    """A step of a recall that the dispatcher sees (`types.watching.Step`)."""

    def __init__(self, span_id: str | None, name: str = "", inputs: Mapping[str, Any] | None = None) -> None:
        self._id, self._name, self._inputs = span_id, name, dict(inputs or {})

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Span:
        inner = Span(f"{OWNER}.{name}-{uuid.uuid4()}", name, inputs)
        dispatcher.span_enter(
            id_=str(inner._id), bound_args=_SIGNATURE.bind(name, inner._inputs), parent_id=self._id, tags={}
        )
        return inner

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        span_id, bound = str(self._id), _SIGNATURE.bind(self._name, self._inputs)
        if error is None:
            event = RecallStepEvent(step=self._name, inputs=self._inputs, outputs=dict(outputs), span_id=span_id)
            dispatcher.event(event)
            dispatcher.span_exit(id_=span_id, bound_args=bound, result=dict(outputs))
        else:
            dispatcher.event(ExceptionEvent(exception=error, span_id=span_id))
            dispatcher.span_drop(id_=span_id, bound_args=bound, err=error)


def span() -> Span | None:
    """Return the step for a recall inside of the open span; `None` where nobody listens."""
    return Span(active_span_id.get()) if _listened() else None


def event_not_searched(error: NotSearched) -> None:
    """Tell the dispatcher that nothing could be looked at."""
    dispatcher.event(RecallNotSearchedEvent(message=str(error), span_id=active_span_id.get()))


@contextmanager
def errors_told() -> Iterator[None]:
    """Send an event for an error in the block: LlamaIndex itself only says that retrieving began."""
    try:
        yield
    except Exception as e:
        dispatcher.event(ExceptionEvent(exception=e, span_id=active_span_id.get()))
        raise


def _listened() -> bool:
    here = dispatcher
    while True:
        if any(not isinstance(h, _NOBODY) for h in (*here.event_handlers, *here.span_handlers)):
            return True
        if not here.propagate:
            return False
        here = here.parent
