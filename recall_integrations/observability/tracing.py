"""Writes recalls as spans of OpenTelemetry: `recall`, inside of it one for each stage, and one for each arm.

A stage's span is the current one while it runs, also in threads of ours, so that clients that make spans themselves
have their place. How to read them: docs/read-a-trace.md.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Sequence
from typing import Any

from recall_integrations.errors import extra
from recall_integrations.observability.logs import code_of, fields, flat, rationale
from recall_integrations.records import record
from recall_integrations.types import Degradation
from recall_integrations.types.observing import ArmSeen, Look, RecallEvent, RecallObserver

PREFIX = "recall."
ARMS = "arms"
SCOPE = "recall_integrations"
DOCUMENTS_MAX = 20  # documents whose ids and scores are told, where content is asked for
# The conventions for databases (the operation, and the system), and for generative AI (which are in development).
NEAREST = {"db.system.name": "chroma", "db.operation.name": "query"}
RETRIEVAL = {"gen_ai.operation.name": "retrieval"}
OF_STAGES = {
    "embed": {"gen_ai.operation.name": "embeddings"},
    "deliver": {"db.system.name": "sqlite", "db.operation.name": "SELECT"},
}


class Tracing(RecallObserver):
    """Makes spans of recalls. Threads share it.

    Args:
        tracer_provider: provider of OpenTelemetry; default the global one, as it is when this is made or set later.
        content: whether spans hold the query, the hits (ids, scores, texts) and the messages of errors. Under
            `privacy="redact"` and `"block"` they never do.

    Attributes:
        tracer: makes the spans.
        trace, context: modules of OpenTelemetry.

    Raises:
        MissingExtra: `opentelemetry-api` is not installed.
    """

    def __init__(self, tracer_provider: Any = None, *, content: bool = False) -> None:
        with extra("tracing", "Tracing"):
            import opentelemetry.context
            import opentelemetry.trace
        self.trace, self.context = opentelemetry.trace, opentelemetry.context
        self.tracer = self.trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
        self._content = content

    def __reduce__(self) -> Any:
        """Pickle as a copy that, in a worker process, uses the global provider of that process."""
        return functools.partial(Tracing, content=self._content), ()

    def begin(self) -> Look:
        """Begin the span of a recall: it is the current one from here on."""
        return _Spans(self)

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """Complete the spans of a recall with its outcome, and end them."""
        assert isinstance(look, _Spans)
        look.tell(event, self._content)

    def failed(self, span: Any, reason: str) -> None:
        """Mark a span as failed, by a code."""
        span.set_attribute("error.type", reason)
        span.set_status(self.trace.Status(self.trace.StatusCode.ERROR, reason))


@record(slots=True, eq=False)
class _Stage:
    """A stage of a recall with its span, which is ended when the recall has ended."""

    name: str
    span: Any
    ended_ns: int | None = None
    failed: bool = False
    degraded: Sequence[Degradation] = ()


class _Spans:
    """The spans of one recall."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing, self._stages = tracing, list[_Stage]()
        self._begun_s, self._begun_ns = time.perf_counter(), time.time_ns()
        self._ended_ns: int | None = None
        outside = tracing.context.get_current()
        self._root = tracing.tracer.start_span("recall", context=outside, start_time=self._begun_ns)
        self._within = tracing.trace.set_span_in_context(self._root, outside)
        self._token = tracing.context.attach(self._within)
        self._open: Any = None

    def stage(self, name: str) -> None:
        span = self._root  # where the recall is not sampled, its stages cost nothing
        if span.is_recording():
            span = self._tracing.tracer.start_span(
                f"recall.{name}", context=self._within, start_time=self._now(), attributes=OF_STAGES.get(name)
            )
        self._stages.append(_Stage(name, span))
        self._open = self._tracing.context.attach(self._tracing.trace.set_span_in_context(span, self._within))

    def ended(self, name: str, failed: bool, degraded: Sequence[Degradation]) -> None:
        self._tracing.context.detach(self._open)
        self._open = None
        stage = self._stages[-1]
        stage.ended_ns, stage.failed, stage.degraded = self._now(), failed, degraded

    def over(self) -> None:
        self._ended_ns = self._now()
        if self._open is not None:  # a stage raised, and the recall with it
            self._tracing.context.detach(self._open)
        self._tracing.context.detach(self._token)

    def tell(self, event: RecallEvent, content: bool) -> None:
        if not self._root.is_recording():
            return
        told = content and event.privacy == "allow"
        runs = [part.arms for part in event.parts]
        for stage in self._stages:
            if stage.ended_ns is None:
                self._raised(stage.span, event.error, told)
                stage.ended_ns = self._ended_ns
            if stage.name == ARMS and runs:
                self._arms(stage, runs.pop(0))
            for problem in stage.degraded:  # by their codes; details may quote, and are left out
                codes = {"recall.stage": problem.stage, "recall.reason": problem.reason}
                stage.span.add_event("recall.degraded", codes)
            if stage.failed:
                self._tracing.failed(stage.span, stage.degraded[-1].reason if stage.degraded else "skipped")
            stage.span.end(end_time=stage.ended_ns)
        self._root.set_attributes(_attributes(event, told))
        if event.error is not None:
            self._raised(self._root, event.error, told)
        self._root.end(end_time=self._ended_ns)

    def _now(self) -> int:
        return self._begun_ns + int((time.perf_counter() - self._begun_s) * 1e9)

    def _arms(self, stage: _Stage, arms: Sequence[ArmSeen]) -> None:
        """Write a span for each arm, inside of that of their stage."""
        said = {problem.stage: problem.reason for problem in stage.degraded}
        within = self._tracing.trace.set_span_in_context(stage.span, self._within)
        for arm in arms:
            start = self._begun_ns + int((arm.began_s - self._begun_s) * 1e9)
            attributes: dict[str, Any] = {} if arm.by != "hnsw" else dict(NEAREST)
            if arm.found is not None:
                attributes["recall.found"] = arm.found
            if arm.seeds:
                attributes |= {"recall.graphSeeds": arm.seeds, "recall.graphEdgesUsed": arm.edges}
            span = self._tracing.tracer.start_span(
                f"recall.arm.{arm.name}", context=within, start_time=start, attributes=attributes
            )
            if arm.found is None:
                self._tracing.failed(span, said.get(arm.name, "error"))
            span.end(end_time=start + int(arm.took_ms * 1e6))

    def _raised(self, span: Any, error: BaseException | None, told: bool) -> None:
        """Mark a span as failed by an error. Its message may quote the query."""
        if told and error is not None:
            span.record_exception(error)
        elif error is not None:
            kind = type(error)
            span.add_event("exception", {"exception.type": f"{kind.__module__}.{kind.__qualname__}"})
        self._tracing.failed(span, "error" if error is None else code_of(error))


def _attributes(event: RecallEvent, told: bool) -> dict[str, Any]:
    said = {**RETRIEVAL, "gen_ai.retrieval.top_k": event.k, **flat(fields(event), PREFIX)}
    result = event.result
    if result is None:
        return said
    if result.rewrite.duration_ms and not result.cache.hit:
        model = said.get("recall.rewriteModel") or said.get("recall.rewriteProvider")
        if model:
            said["gen_ai.request.model"] = model
    if told:  # by the conventions for retrieval
        first = result.hits[:DOCUMENTS_MAX]
        documents = [{"id": hit.memory.id, "score": round(hit.score, 4), "content": hit.memory.text} for hit in first]
        said |= {
            "gen_ai.retrieval.query.text": result.query.original,
            "gen_ai.retrieval.documents": json.dumps(documents, ensure_ascii=False),
            "recall.rewrites": list(result.query.rewrites),
            **flat(rationale(result), "recall.rationaleIds."),
        }
    return said
