"""Writes recalls as spans of OpenTelemetry: one for the recall, inside of it one for each stage and each arm.

    optimizer = QueryOptimizer(store, observers=[Tracing()])

    recall
    ├─ recall.parse
    ├─ recall.plan
    ├─ recall.arms
    │  ├─ recall.arm.lexical
    │  └─ recall.arm.semantic
    ├─ recall.rank
    ├─ recall.rewrite         ◀ spans of an LLM's own client are inside of this one
    └─ recall.deliver

The span of a recall is inside of its caller's span. A stage's span is the current one while it runs, also
in threads of ours, so that clients that make spans themselves have their place. How to read them: docs/read-a-trace.md.
"""

from __future__ import annotations

import functools
import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry import trace

from recall_integrations.observability.extras import needed
from recall_integrations.observability.logs import code_of, fields, flat
from recall_integrations.types import Degradation, RecallResult
from recall_integrations.types.observing import ArmSeen, Look, RecallEvent, RecallObserver


class LateSpan(trace.Span):
    """Stands for a span. Threads share it."""

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


PREFIX = "recall."
ARMS = "arms"
SCOPE = "recall_integrations"
DOCUMENTS_MAX = 20  # documents whose ids and scores are told, where content is asked for
# The conventions for databases: the operation, and the system.
READS = {"db.system.name": "sqlite", "db.operation.name": "SELECT"}
NEAREST = {"db.system.name": "chroma", "db.operation.name": "query"}
# The conventions for generative AI (which are in development).
RETRIEVAL = {"gen_ai.operation.name": "retrieval"}
OF_STAGES = {
    "embed": {"gen_ai.operation.name": "embeddings"},
    "deliver": READS,
}


class Tracing(RecallObserver):
    """Makes spans of recalls. Threads share it.

    Args:
        tracer_provider: provider of OpenTelemetry; default the global one, as it is when this is made or set later.
        content: whether spans hold the query, the hits (ids, scores, texts) and the messages of errors. Under
            `privacy="redact"` and `"block"` they never do.

    Attributes:
        tracer: makes the spans.
        trace, context, late: modules of OpenTelemetry, and the class of late spans.

    Raises:
        MissingExtra: `opentelemetry-api` is not installed.
    """

    def __init__(self, tracer_provider: Any = None, *, content: bool = False) -> None:
        self.trace = needed("opentelemetry.trace", "tracing", "Tracing")
        self.context = needed("opentelemetry.context", "tracing", "Tracing")
        self.late = needed("recall_integrations.observability.tracing", "tracing", "Tracing").LateSpan
        self.tracer = self.trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._content = content

    def __reduce__(self) -> Any:
        """Pickle as a copy that, in a worker process, uses the global provider of that process."""
        return _copy, (self._content,)

    def begin(self) -> Look:
        """Make a late span of the recall the current one from here on."""
        return _Spans(self)

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """Write the spans of a recall, with its outcome."""
        assert isinstance(look, _Spans)
        look.tell(event, self._content)


class _Stage:
    """A stage of a recall, until its span is written."""

    __slots__ = ("began_ns", "degraded", "ended_ns", "failed", "name", "span")

    def __init__(self, name: str, began_ns: int, span: Any) -> None:
        self.name, self.began_ns, self.span = name, began_ns, span
        self.ended_ns: int | None = None
        self.failed = False
        self.degraded: Sequence[Degradation] = ()


class _Spans:
    """The spans of one recall. They are made when it has ended, but for those that are needed before."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing, self._stages = tracing, list[_Stage]()
        self._begun_s, self._begun_ns = time.perf_counter(), time.time_ns()
        self._ended_ns: int | None = None
        trace, context = tracing.trace, tracing.context
        outside = context.get_current()
        make = tracing.tracer.start_span
        self._root = tracing.late(functools.partial(make, "recall", context=outside, start_time=self._begun_ns))
        self._within = trace.set_span_in_context(self._root, outside)
        self._token = context.attach(self._within)
        self._open: Any = None

    def stage(self, name: str) -> None:
        """Begin the span of a stage; see `Look`."""
        began_ns = self._now()
        span = self._tracing.late(functools.partial(self._span, name, began_ns))
        self._stages.append(_Stage(name, began_ns, span))
        self._open = self._tracing.context.attach(self._tracing.trace.set_span_in_context(span, self._within))

    def ended(self, name: str, failed: bool, degraded: Sequence[Degradation]) -> None:
        """Note the end of a stage; see `Look`."""
        self._tracing.context.detach(self._open)
        self._open = None
        stage = self._stages[-1]
        stage.ended_ns, stage.failed, stage.degraded = self._now(), failed, degraded

    def over(self) -> None:
        """Note the end of the recall; see `Look`."""
        self._ended_ns = self._now()
        if self._open is not None:  # a stage raised, and the recall with it
            self._tracing.context.detach(self._open)
        self._tracing.context.detach(self._token)

    def tell(self, event: RecallEvent, content: bool) -> None:
        """Make the spans that are not made yet, and end all."""
        root = self._root.made()
        if not root.is_recording():
            return
        told = content and event.privacy == "allow"
        runs = [part.arms for part in event.parts]
        for stage in self._stages:
            if stage.ended_ns is None:
                self._failed(stage.span, event.error, told)
                stage.ended_ns = self._ended_ns
            self._tell(stage, runs.pop(0) if stage.name == ARMS and runs else ())
        root.set_attributes(_attributes(event, told))
        if event.error is not None:
            self._failed(root, event.error, told)
        root.end(end_time=self._ended_ns)

    def _now(self) -> int:
        return self._begun_ns + int((time.perf_counter() - self._begun_s) * 1e9)

    def _span(self, name: str, began_ns: int) -> Any:
        return self._tracing.tracer.start_span(
            f"recall.{name}", context=self._within, start_time=began_ns, attributes=OF_STAGES.get(name)
        )

    def _tell(self, stage: _Stage, arms: Sequence[ArmSeen]) -> None:
        span = stage.span.made()
        if arms:
            self._arms(arms, stage.degraded, self._tracing.trace.set_span_in_context(span, self._within))
        if stage.failed or stage.degraded:
            self._trouble(span, stage.failed, stage.degraded)
        span.end(end_time=stage.ended_ns)

    def _arms(self, arms: Sequence[ArmSeen], degraded: Sequence[Degradation], within: Any) -> None:
        said = {problem.stage: problem.reason for problem in degraded}
        trace = self._tracing.trace
        for arm in arms:
            start = self._begun_ns + int((arm.began_s - self._begun_s) * 1e9)
            attributes: dict[str, Any] = {} if arm.by != "hnsw" else dict(NEAREST)
            if arm.found is not None:
                attributes["recall.found"] = arm.found
            if arm.seeds:
                attributes["recall.graphSeeds"], attributes["recall.graphEdgesUsed"] = arm.seeds, arm.edges
            span = self._tracing.tracer.start_span(
                f"recall.arm.{arm.name}", context=within, start_time=start, attributes=attributes
            )
            if arm.found is None:
                reason = said.get(arm.name, "error")
                span.set_attribute("error.type", reason)
                span.set_status(trace.Status(trace.StatusCode.ERROR, reason))
            span.end(end_time=start + int(arm.took_ms * 1e6))

    def _trouble(self, span: Any, failed: bool, degraded: Sequence[Degradation]) -> None:
        """Write problems by their codes; details may quote, and are left out."""
        trace = self._tracing.trace
        for problem in degraded:
            span.add_event("recall.degraded", {"recall.stage": problem.stage, "recall.reason": problem.reason})
        if failed:
            reason = degraded[-1].reason if degraded else "skipped"
            span.set_attribute("error.type", reason)
            span.set_status(trace.Status(trace.StatusCode.ERROR, reason))

    def _failed(self, span: Any, error: BaseException | None, told: bool) -> None:
        """Mark a span as failed by an error. Its message may quote the query."""
        trace, code = self._tracing.trace, "error" if error is None else code_of(error)
        span.set_attribute("error.type", code)
        if told and error is not None:
            span.record_exception(error)
        elif error is not None:
            kind = type(error)
            span.add_event("exception", {"exception.type": f"{kind.__module__}.{kind.__qualname__}"})
        span.set_status(trace.Status(trace.StatusCode.ERROR, code))


def _copy(content: bool) -> Tracing:
    return Tracing(content=content)


def _attributes(event: RecallEvent, told: bool) -> dict[str, Any]:
    said = {**RETRIEVAL, "gen_ai.retrieval.top_k": event.k, **flat(fields(event), PREFIX)}
    result = event.result
    if result is None:
        return said
    if result.rewrite.duration_ms and not result.cache.hit:
        model = said.get("recall.rewriteModel") or said.get("recall.rewriteProvider")
        if model:
            said["gen_ai.request.model"] = model
    if told:
        said |= _content(result)
    return said


def _content(result: RecallResult) -> dict[str, Any]:
    """Return the query and its hits, by the conventions for retrieval."""
    first = result.hits[:DOCUMENTS_MAX]
    documents = [{"id": hit.memory.id, "score": round(hit.score, 4), "content": hit.memory.text} for hit in first]
    return {
        "gen_ai.retrieval.query.text": result.query.original,
        "gen_ai.retrieval.documents": json.dumps(documents, ensure_ascii=False),
        "recall.rationaleIds": [ref.entity_id for ref in result.query.entity_refs if ref.mention],
        "recall.rewrites": list(result.query.rewrites),
    }
