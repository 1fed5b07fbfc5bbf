"""Spans of a recall: which there are, where they hang, and what they hold."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Relation, Scope, errors
from recall_integrations.arms import ArmSpec
from recall_integrations.config import LimitsConfig, RewritingConfig
from recall_integrations.observability.tracing import Tracing
from recall_integrations.recall import RecallState, Stage, Turn
from tests.rows import each_row

SECRET = "Zanzibar"
PHRASED = "the rollout that went wrong"
CALM = LimitsConfig(time_budget_ms=60_000)  # a busy machine must not cut a recall short
WHOLE = RecallConfig(limits=CALM)


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory(
                    f"Priya leads the deploy in {SECRET}",
                    id="id-secret",
                    entities=["Priya", SECRET],
                    relations=[Relation("Priya", "manager_of", "Sam")],
                ),
                Memory("The deploy failed because a certificate had expired", type="summary"),
                Memory("Chapter one: the rollout went wrong", type="chunk"),
                Memory("Sam brought cake"),
            ]
        )
        yield store


class Kept(Tracing):
    """Knows whom to wait for."""

    source: Any = None

    def attached(self, source: object) -> None:
        self.source = source


class Seen:
    """A provider of its own, and what reached it."""

    kept: Kept

    def __init__(self, **options: Any) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(**options)
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @property
    def all(self) -> tuple[ReadableSpan, ...]:
        self.kept.source.flush()
        return self._exporter.get_finished_spans()

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.all}

    def tracing(self, **options: Any) -> Tracing:
        self.kept = Kept(self.provider, **options)
        return self.kept


def parent_of(seen: Seen, name: str) -> str | None:
    spans = seen.spans
    parent = spans[name].parent
    return next((n for n, s in spans.items() if parent and s.context and s.context.span_id == parent.span_id), None)


def all_values(seen: Seen) -> str:
    said: list[Any] = []
    for span in seen.spans.values():
        said += [span.name, dict(span.attributes or {}), span.status.description]
        said += [[event.name, dict(event.attributes or {})] for event in span.events]
    return json.dumps(said, default=str)


def test_a_span_for_the_recall_each_stage_and_each_arm(store: MemoryStore) -> None:
    seen = Seen()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[seen.tracing()])
    result = optimizer.recall("what does Priya lead?")
    stages = [f"recall.{stage.name}" for stage in optimizer.stages]
    arms = [f"recall.{name}" for name in result.timings_ms if name.startswith("arm.")]
    assert sorted(seen.spans) == sorted(["recall", *stages, *arms])
    assert {parent_of(seen, name) for name in stages} == {"recall"}
    assert {parent_of(seen, name) for name in arms} == {"recall.arms"}
    spans = seen.spans
    for name in (*stages, *arms):
        parent = spans[parent_of(seen, name) or ""]
        # Two clocks: the spans of arms are laid out by the one that is read twice.
        assert parent.start_time - 1e6 <= spans[name].start_time <= spans[name].end_time <= parent.end_time + 1e6


def test_the_fields_of_the_designs_are_attributes(store: MemoryStore) -> None:
    seen = Seen()
    result = QueryOptimizer(store, config=WHOLE, observers=[seen.tracing()]).recall("who does Priya manage?", k=3)
    said = seen.spans["recall"].attributes or {}
    assert said["recall.plan"] == result.plan.name
    assert said["recall.routerMode"] == result.query.router.mode
    assert said["recall.stagesLatency.parse"] == result.timings_ms["parse"]
    assert said["recall.rerankUsed"] is False
    assert said["recall.thresholdsUsed.precise"] == 0.8
    parts = [said[f"recall.contributionShares.{p}"] for p in ("chunks", "observations", "summaries")]
    assert sum(parts) == pytest.approx(1, abs=0.01)
    assert said["recall.graphSeeds"] >= 1
    assert said["recall.graphEdgesUsed"] >= 1
    assert said["recall.graphBoostApplied"] is True
    assert (said["recall.rewriteStrategy"], said["recall.rewriteReason"]) == ("disabled", "skip.disabled")
    assert (said["recall.finalTopK"], said["recall.budgetApplied"]) == (len(result.hits), False)
    assert said["gen_ai.operation.name"] == "retrieval"
    assert said["gen_ai.retrieval.top_k"] == 3
    deliver = seen.spans["recall.deliver"].attributes or {}
    assert (deliver["db.system.name"], deliver["db.operation.name"]) == ("sqlite", "SELECT")
    graph = seen.spans["recall.arm.graph"].attributes or {}
    assert graph["recall.graphSeeds"] == said["recall.graphSeeds"]


@each_row("privacy", ["allow", "redact", "block"])
def test_no_content_unless_it_is_asked_for_and_allowed(store: MemoryStore, privacy: str) -> None:
    for content in (False, True):
        seen = Seen()
        optimizer = QueryOptimizer(store, config=WHOLE, observers=[seen.tracing(content=content)])
        assert optimizer.recall(f"Priya in {SECRET}", privacy=privacy).hits
        values = all_values(seen)
        told = content and privacy == "allow"
        assert (SECRET in values, "id-secret" in values) == (told, told)
    if privacy == "allow":
        said = seen.spans["recall"].attributes or {}
        assert said["gen_ai.retrieval.query.text"] == f"Priya in {SECRET}"
        assert json.loads(str(said["gen_ai.retrieval.documents"]))[0]["id"] == "id-secret"
        assert said["recall.rationaleIds.entities"]
        assert "id-secret" in said["recall.rationaleIds.evidence"]


def test_a_scope_is_a_digest(store: MemoryStore) -> None:
    seen = Seen()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[seen.tracing()])
    digests = []
    for user in ("somebody", "somebody", "else"):
        optimizer.recall("cake", scope=Scope(user_id=user))
        digests.append((seen.spans["recall"].attributes or {})["recall.scopeDigest"])
    assert digests[0] == digests[1] != digests[2]
    assert "somebody" not in all_values(seen)


def test_the_span_of_the_caller_is_the_parent_of_sync_and_async(store: MemoryStore) -> None:
    seen = Seen()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[seen.tracing()])
    with seen.provider.get_tracer("app").start_as_current_span("request"):
        outside = trace.get_current_span()
        optimizer.recall("cake")
        assert trace.get_current_span() is outside
    assert parent_of(seen, "recall") == "request"

    other = Seen()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[other.tracing()])

    async def ask() -> None:
        with other.provider.get_tracer("app").start_as_current_span("request"):
            await optimizer.arecall("cake")

    asyncio.run(ask())
    assert parent_of(other, "recall") == "request"
    assert not trace.get_current_span().get_span_context().is_valid


def test_spans_of_the_llms_client_are_inside_of_the_stage_that_asks(store: MemoryStore) -> None:
    seen, threads = Seen(), set()

    class ChatThing:
        model = "small-1"

        def invoke(self, _prompt: str) -> str:
            threads.add(threading.current_thread().name)
            with seen.provider.get_tracer("client").start_as_current_span("chat small-1"):
                return PHRASED

    config = RecallConfig(limits=CALM, rewriting=RewritingConfig(mode="full"))
    optimizer = QueryOptimizer(store, llm=ChatThing(), config=config, observers=[seen.tracing()])
    result = optimizer.recall("anything about that deploy problem", time_budget_ms=60_000)
    assert threads and threading.current_thread().name not in threads
    assert parent_of(seen, "chat small-1") in ("recall.ask", "recall.rewrite")
    said = seen.spans["recall"].attributes or {}
    assert said["recall.rewriteReason"] == result.rewrite.reason
    assert (said["recall.rewriteProvider"], said["recall.rewriteModel"]) == ("ChatThing", "small-1")
    assert said["gen_ai.request.model"] == "small-1"
    assert said["recall.rewriteDurationMs"] > 0


def test_what_degrades_is_an_event_with_its_reason_and_no_detail(store: MemoryStore) -> None:
    def gone(_prompt: str) -> str:
        raise ConnectionError(f"no network to {SECRET}")

    seen = Seen()
    config = RecallConfig(limits=CALM, rewriting=RewritingConfig(mode="full"))
    optimizer = QueryOptimizer(store, llm=gone, config=config, observers=[seen.tracing()])
    optimizer.recall("anything about that deploy problem", time_budget_ms=60_000)
    (event,) = seen.spans["recall.rewrite"].events
    assert dict(event.attributes or {}) == {"recall.stage": "rewrite", "recall.reason": "llm_error"}
    assert list((seen.spans["recall"].attributes or {})["recall.degraded"]) == ["rewrite:llm_error"]
    assert SECRET not in all_values(seen)


class Essential(Stage):
    name, after, essential = "own", "rank", True

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        raise ValueError(f"broken by {state.query.original}")


@pytest.mark.parametrize("content", [False, True])
def test_an_error_ends_the_spans_that_are_open(store: MemoryStore, content: bool) -> None:
    seen = Seen()
    optimizer = QueryOptimizer(store, stages=[Essential()], config=WHOLE, observers=[seen.tracing(content=content)])
    with pytest.raises(ValueError, match="broken"):
        optimizer.recall(SECRET)
    for name in ("recall", "recall.own"):
        span = seen.spans[name]
        assert span.status.status_code is trace.StatusCode.ERROR
        assert (span.attributes or {})["error.type"] == "ValueError"
        assert str(dict(span.events[0].attributes or {})["exception.type"]).endswith("ValueError")
    assert (SECRET in all_values(seen)) == content
    assert not trace.get_current_span().get_span_context().is_valid


def test_an_arm_that_fails_or_is_late_has_a_span_that_says_so(store: MemoryStore) -> None:
    let_go = threading.Event()

    class Bad:
        name = "bad"

        def search(self, request: object) -> Any:
            raise errors.IndexUnavailable("no")

    class Slow:
        name = "slow"

        def search(self, request: object) -> Any:
            let_go.wait(30)

    seen = Seen()
    specs = [ArmSpec(name=arm.name, make=lambda *_, arm=arm: arm) for arm in (Bad, Slow)]
    try:
        optimizer = QueryOptimizer(store, arms=specs, observers=[seen.tracing()])
        optimizer.recall("cake", time_budget_ms=400)
    finally:
        let_go.set()
    assert (seen.spans["recall.arm.bad"].attributes or {})["error.type"] == "index_unavailable"
    assert (seen.spans["recall.arm.slow"].attributes or {})["error.type"] == "timeout"
    assert parent_of(seen, "recall.arm.slow") == "recall.arms"


def test_an_answer_of_the_cache_is_one_span(store: MemoryStore) -> None:
    seen = Seen()
    optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached", limits=CALM), observers=[seen.tracing()])
    optimizer.recall("cake for all")
    first = len(seen.all)
    optimizer.recall("cake for all")
    assert len(seen.all) == first + 1
    assert (seen.spans["recall"].attributes or {})["recall.cacheStrategy"] == "hit"


def test_what_is_not_sampled_costs_no_spans_of_stages(store: MemoryStore) -> None:
    begun: list[str] = []
    seen = Seen(sampler=ALWAYS_OFF)
    tracing = seen.tracing()
    start: Callable[..., Any] = tracing.tracer.start_span

    class Counted:
        def start_span(self, name: str, **given: Any) -> Any:
            begun.append(name)
            return start(name, **given)

    tracing.tracer = Counted()
    assert QueryOptimizer(store, config=WHOLE, observers=[tracing]).recall("cake").hits
    assert seen.spans == {}
    assert begun == ["recall"]


def test_without_a_provider_nothing_is_made(store: MemoryStore) -> None:
    assert QueryOptimizer(store, config=WHOLE, observers=[Tracing()]).recall("cake").hits


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(errors.MissingExtra, match=re.escape("[tracing]")):
        Tracing()


def test_a_copy_uses_the_provider_of_its_process() -> None:
    assert isinstance(pickle.loads(pickle.dumps(Tracing(content=True))), Tracing)
