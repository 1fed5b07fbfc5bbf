"""What is counted of recalls, how it reads, and what never gets into a label."""

from __future__ import annotations

import pickle
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope, errors
from recall_integrations.config import LimitsConfig, RewritingConfig
from recall_integrations.learning.learner import Step
from recall_integrations.observability.metrics import ByPlan, Metrics
from recall_integrations.types import CacheOutcome, Degradation, ParsedQuery, RecallResult, RerankOutcome, RetrievalPlan
from recall_integrations.types.observing import ArmSeen, Feedback, PartSeen, RecallEvent
from tests.needs import program

LOCAL = ("recall_reranker_latency_ms", "recall_retrieval_latency_ms")  # named so by the optimizer's design
CALM = LimitsConfig(time_budget_ms=60_000)  # a busy machine must not cut a recall short
WHOLE = RecallConfig(limits=CALM)


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory("Priya Raman runs the deploy of Project Kestrel", entities=["Priya Raman", "Project Kestrel"]),
                Memory("The deploy failed because a certificate had expired"),
                Memory("Call the dentist at +1 415 555 0134"),
            ]
        )
        store.add_entity("Priya Raman", aliases=["Priya"])
        yield store


def values(metrics: Metrics) -> dict[str, float]:
    """Series as they are written, with their values."""
    found = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for s in family.samples:
            inside = ",".join(f"{k}={v}" for k, v in sorted(s.labels.items()))
            found[f"{s.name}{{{inside}}}" if inside else s.name] = s.value
    return found


def event(**changes: Any) -> RecallEvent:
    parsed = ParsedQuery(original="a", **changes.pop("parsed", {}))
    result = RecallResult(hits=(), query=parsed, plan=RetrievalPlan(name=changes.pop("plan", "precise"), arms=()))
    for name in ("degraded", "rewrite", "rerank", "cache", "timings_ms"):
        if name in changes:
            object.__setattr__(result, name, changes.pop(name))
    given = {"took_ms": 4.0, "privacy": "allow", "k": 5, "scopes": (), "thresholds": {}, "parts": (), "error": None}
    return RecallEvent(**{**given, "result": result, **changes})


def test_a_recall_is_counted_under_the_names_of_the_design(store: MemoryStore) -> None:
    metrics = Metrics(instance="here")
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[metrics])
    result = optimizer.recall("what does Priya run?")
    seen = values(metrics)
    plan = result.plan.name
    assert seen[f"recall_optimizer_plan_selected_total{{plan={plan}}}"] == 1
    assert seen[f"recall_retrieval_latency_ms_count{{plan={plan}}}"] == 1
    assert sum(v for k, v in seen.items() if k.startswith("l4_retrieval_latency_seconds_count")) == 1
    assert seen["l4_hybrid_scoring_distribution_count"] == len(result.hits)
    assert seen["l4_retrieval_throughput_qps{instance_id=here}"] > 0
    assert seen["l4_entity_overlap_effectiveness{overlap_range=all}"] > seen.get(
        "l4_entity_overlap_effectiveness{overlap_range=none}", 0
    )
    assert seen["l4_coverage_entities"] == 1.0
    optimizer.recall("what does Priya run?", filters={"types": ["fact"]})  # none of them mentions her
    assert values(metrics)["l4_coverage_entities"] == 0.5
    assert seen["recall_recalls_total{outcome=ok}"] == 1
    assert seen["recall_stage_latency_seconds_count{stage=parse}"] == 1
    assert seen["recall_arm_latency_seconds_count{arm=lexical}"] == 1
    assert seen["recall_arm_hits_total{arm=lexical}"] >= 1
    assert seen["recall_admissions_total{level=0}"] == 1
    assert not [k for k in seen if "created" in k or k.startswith("recall_ndcg")]


def test_times_are_those_of_the_recall(store: MemoryStore) -> None:
    metrics = Metrics()
    result = QueryOptimizer(store, config=WHOLE, observers=[metrics]).recall("deploy")
    took = next(v for k, v in values(metrics).items() if k.startswith("recall_retrieval_latency_ms_sum"))
    assert result.timings_ms["total"] <= took < result.timings_ms["total"] + 1_000


def test_hits_of_the_cache_are_counted_and_count_nothing_twice(store: MemoryStore) -> None:
    metrics = Metrics()
    optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached", limits=CALM), observers=[metrics])
    assert "recall_cache_hit_rate" not in values(metrics)
    for _ in range(4):
        optimizer.recall("what broke the deploy?")
    seen = values(metrics)
    assert seen["recall_cache_hit_rate"] == 0.75
    assert (seen["recall_cache_lookups_total{outcome=hit}"], seen["recall_cache_lookups_total{outcome=miss}"]) == (3, 1)
    assert seen["recall_stage_latency_seconds_count{stage=rank}"] == 1
    assert sum(v for k, v in seen.items() if k.startswith("recall_rewrites_total")) == 1


def test_a_recall_of_several_scopes_is_one_recall_of_several_plans(store: MemoryStore) -> None:
    metrics = Metrics()
    QueryOptimizer(store, config=WHOLE, observers=[metrics]).recall("deploy", scopes=[Scope(), Scope(user_id="nobody")])
    seen = values(metrics)
    assert seen["recall_recalls_total{outcome=ok}"] == 1
    assert sum(v for k, v in seen.items() if k.startswith("recall_optimizer_plan_selected_total")) == 2


def test_what_the_llm_costs_and_why_it_is_not_asked(store: MemoryStore) -> None:
    def gone(_prompt: str) -> str:
        raise ConnectionError("no network")

    metrics, asking = Metrics(), RewritingConfig(mode="full")
    with MemoryStore.open() as own:
        own.remember("The deploy failed because a certificate had expired")
        optimizer = QueryOptimizer(
            own, llm=gone, config=RecallConfig(limits=CALM, rewriting=asking), observers=[metrics]
        )
        for _ in range(5):
            optimizer.recall("anything about that deploy problem", time_budget_ms=60_000)
        seen = values(metrics)
    assert seen["recall_rewrites_total{reason=failure.error}"] == 3
    assert seen["recall_rewrites_total{reason=circuit_open}"] == 2
    assert seen["recall_breaker_state{component=rewrite,state=open}"] == 1
    assert seen["recall_degraded_total{reason=llm_error,stage=rewrite}"] == 3
    assert seen["l4_degradation_trigger_rate_total{degradation_type=skip.breaker}"] == 2
    assert seen["recall_recalls_total{outcome=degraded}"] == 5


def test_reranks_have_their_own_time(store: MemoryStore) -> None:
    metrics = Metrics()
    done = RerankOutcome(reranker="own", reason="success", used=True, duration_ms=12.0)
    metrics.recalled(event(rerank=done), None)
    metrics.recalled(event(rerank=done, cache=CacheOutcome(strategy="hit", reason="same")), None)
    seen = values(metrics)
    assert (seen["recall_reranker_latency_ms_count"], seen["recall_reranker_latency_ms_sum"]) == (1, 12)
    assert seen["recall_reranks_total{reason=success}"] == 1


def test_errors_have_their_codes(store: MemoryStore) -> None:
    metrics = Metrics()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[metrics])
    with pytest.raises(errors.InvalidQuery):
        optimizer.recall("  ")
    with pytest.raises(errors.InvalidArgument):
        optimizer.recall("a", k=0, privacy="redact")
    metrics.recalled(event(result=None, error=ValueError("x")), None)
    seen = values(metrics)
    assert seen["recall_errors_total{code=invalid_query}"] == 1
    assert seen["recall_errors_total{code=invalid_argument}"] == 1
    assert seen["recall_errors_total{code=other}"] == 1
    assert (seen["recall_recalls_total{outcome=refused}"], seen["recall_recalls_total{outcome=error}"]) == (2, 1)


def test_what_was_asked_for_is_no_trouble() -> None:
    metrics = Metrics()
    metrics.recalled(event(degraded=(Degradation(stage="deliver", reason="score_min"),)), None)
    metrics.recalled(event(degraded=(Degradation(stage="admission", reason="minimal"),)), None)
    seen = values(metrics)
    assert seen["recall_recalls_total{outcome=degraded}"] == 1
    assert "l4_degradation_trigger_rate_total{degradation_type=score_min}" not in seen
    assert seen["l4_degradation_trigger_rate_total{degradation_type=minimal}"] == 1


@pytest.mark.parametrize(("mode", "outcome"), [("redact", "redacted"), ("block", "withheld")])
def test_what_is_withheld_is_counted(store: MemoryStore, mode: str, outcome: str) -> None:
    metrics = Metrics()
    result = QueryOptimizer(store, config=WHOLE, observers=[metrics]).recall("dentist number", k=1, privacy=mode)
    assert len(result.hits) == 1
    assert values(metrics)[f"recall_privacy_hits_total{{outcome={outcome},privacy_mode={mode}}}"] == 1


def test_ten_thousand_odd_values_make_no_more_series() -> None:
    metrics = Metrics()
    metrics.recalled(event(), None)
    before = None
    for i in range(10_000):
        odd = f'user-{i}@example.com \n"x\\'
        metrics.recalled(
            event(
                plan=odd,
                privacy="allow",
                degraded=(Degradation(stage=odd, reason=odd), Degradation(stage=f"arm.{odd}", reason=odd)),
                timings_ms={odd: 1.0, f"arm.{odd}": 1.0},
                rerank=RerankOutcome(reason=odd, duration_ms=1),
                parts=(PartSeen(level=7 + i, arms=(ArmSeen(name=odd, began_s=0, took_ms=1, found=1, placed=1),)),),
            ),
            None,
        )
        if i == 0:
            before = len(values(metrics))
    seen = values(metrics)
    assert len(seen) == before
    assert not [k for k in seen if "example" in k]
    assert seen["recall_optimizer_plan_selected_total{plan=other}"] == 10_000
    assert seen["recall_arm_latency_seconds_count{arm=other}"] == 10_000


def test_no_scope_and_no_word_is_in_the_exposition() -> None:
    metrics, private = Metrics(), Scope(user_id="u-secret", agent_id="a-secret", namespace="n-secret")
    with MemoryStore.open() as store:
        store.remember(Memory("Zanzibar is the secret", id="id-secret", entities=["Zanzibar"]), scope=private)
        metrics.watch(store)
        optimizer = QueryOptimizer(store, config=WHOLE, observers=[metrics])
        for mode in ("allow", "redact", "block"):
            assert optimizer.recall("secret of Zanzibar", scope=private, privacy=mode).hits
        text = metrics.text().decode()
    assert "secret" not in text and "anzibar" not in text


def test_stages_and_arms_of_ones_own_may_be_named() -> None:
    metrics = Metrics(names=["near"])
    metrics.recalled(event(timings_ms={"near": 2.0, "arm.near": 1.0}), None)
    seen = values(metrics)
    assert seen["recall_stage_latency_seconds_count{stage=near}"] == 1
    assert seen["recall_arm_latency_seconds_count{arm=near}"] == 1


def test_a_store_is_shown_until_it_is_closed() -> None:
    metrics, store = Metrics(), MemoryStore.open()
    store.remember_many(["one", "two"], scope=Scope(user_id="a"))
    metrics.watch(store, "notes")
    store.remember("three", scope=Scope(user_id="b"))
    seen = values(metrics)
    assert seen["recall_store_memories{store=notes}"] == 3
    assert seen["recall_store_scopes{store=notes}"] == 2
    assert seen["recall_store_changes_total{store=notes}"] == 3
    assert seen["recall_store_bytes{store=notes}"] > 1_000
    assert seen["recall_index_lag{index=semantic,store=notes}"] == 0
    assert seen["recall_store_up{store=notes}"] == 1
    assert seen["recall_hydration_lookups_total{outcome=hit,store=notes}"] == 0
    QueryOptimizer(store, config=WHOLE).recall("one", scope=Scope(user_id="a"))
    assert values(metrics)["recall_hydration_lookups_total{outcome=miss,store=notes}"] > 0
    store.close()
    assert not [k for k in values(metrics) if "notes" in k]


def test_a_store_that_cannot_be_read_costs_its_numbers_only() -> None:
    class Broken:
        def figures(self) -> dict[str, Any]:
            raise errors.StoreError("the disk is gone")

    metrics, broken = Metrics(), Broken()
    metrics.watch(broken)
    seen = values(metrics)
    assert seen["recall_store_up{store=main}"] == 0
    assert "recall_store_memories{store=main}" not in seen
    with pytest.raises(errors.InvalidArgument, match="MemoryStore.open"):
        metrics.watch(object())  # type: ignore[arg-type]


def test_each_has_a_registry_of_its_own_or_says_what_is_wrong() -> None:
    shared = CollectorRegistry()
    Metrics(), Metrics(), Metrics(shared)
    with pytest.raises(errors.InvalidArgument, match="one of its own"):
        Metrics(shared)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(errors.MissingExtra, match=re.escape("[metrics]")):
        Metrics()


def test_a_copy_counts_by_itself() -> None:
    metrics = Metrics(names=["near"])
    metrics.recalled(event(), None)
    copy = pickle.loads(pickle.dumps(metrics))
    copy.recalled(event(timings_ms={"near": 1.0}), None)
    assert values(copy)["recall_optimizer_plan_selected_total{plan=precise}"] == 1
    assert values(copy)["recall_stage_latency_seconds_count{stage=near}"] == 1


def test_threads_lose_no_count() -> None:
    metrics = Metrics()
    given = event(timings_ms={"parse": 1.0, "total": 1.0})

    def many() -> None:
        for _ in range(500):
            metrics.recalled(given, None)

    threads = [threading.Thread(target=many) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = values(metrics)
    assert seen["recall_optimizer_plan_selected_total{plan=precise}"] == 3_000
    assert seen["recall_stage_latency_seconds_count{stage=parse}"] == 3_000


def test_the_exposition_passes_promtool(store: MemoryStore) -> None:
    promtool = program("promtool", why="needs promtool: apt-get install prometheus")
    metrics = Metrics()
    metrics.watch(store)
    QueryOptimizer(store, config=WHOLE, observers=[metrics]).recall("what does Priya run?")
    done = subprocess.run([promtool, "check", "metrics"], input=metrics.text(), capture_output=True, timeout=60)
    said = [line for line in (done.stdout + done.stderr).decode().splitlines() if line]
    expected = [f"{name} metric names should not contain abbreviated units" for name in LOCAL]
    assert said == expected


def test_every_reason_of_the_documentation_is_known() -> None:
    from recall_integrations.observability.metrics import REASONS

    page = (Path(__file__).resolve().parents[3] / "docs" / "reliability.md").read_text(encoding="utf-8")
    tables = page.partition("\n## What `degraded` says\n")[2].partition("\n## ")[0]
    codes = {
        code
        for line in tables.splitlines()
        if line.startswith("| `")
        for code in re.findall(r"`([a-z_.]+)`(?=[, |])", line.split("|")[1])
    }
    # Those of the LLM and of the reranker stand behind each other, below the table.
    codes |= set(
        re.findall(
            r"`((?:skip|failure)\.[a-z_.]+)`",
            tables.partition("`result.rewrite.reason`")[2].partition("A [conversation]")[0],
        )
    )
    known = {"admission", "load", "privacy", "parse", "store"}  # stages, named beside a reason
    assert len(codes) > 40
    assert codes - known <= REASONS


# -- learning ----------------------------------------------------------------------------------------------------------


def step(kind: str, scope: Scope | None = None, **figures: tuple[float, int]) -> Step:
    return Step(scope=scope, step=kind, version="v1", ndcg_by_plan=figures)


def test_steps_of_learning_and_feedback_are_counted_from_zero() -> None:
    metrics = Metrics()
    before = values(metrics)
    assert before["recall_learning_steps_total{step=rolled_back}"] == 0 == before["recall_feedback_total{kind=rating}"]
    for kind in ("started", "rolled_back", "rolled_back", "another"):
        metrics.learned(step(kind))
    metrics.judged(Feedback(result_id="r", gains={}, kinds=("helpful", "rating")))
    seen = values(metrics)
    assert seen["recall_learning_steps_total{step=rolled_back}"] == 2
    assert seen["recall_learning_steps_total{step=other}"] == 1
    assert seen["recall_feedback_total{kind=helpful}"] == 1 == seen["recall_feedback_total{kind=rating}"]


def test_ndcg_by_plan_is_that_of_all_judged_recalls_whatever_was_learned_how_often() -> None:
    metrics = Metrics()
    metrics.learned(step("started", Scope("u1"), precise=(0.2, 10), balanced=(0.5, 4)))
    metrics.learned(step("nothing", Scope("u2"), precise=(0.8, 30), strange=(0.5, 1)))
    assert values(metrics)["recall_ndcg_by_plan{plan=precise}"] == pytest.approx(0.65)
    metrics.learned(step("promoted", Scope("u1"), precise=(0.6, 10)))  # instead of what was known of it
    metrics.learned(step("promoted", None, precise=(0.0, 99)))  # of all together: not once more
    seen = values(metrics)
    assert seen["recall_ndcg_by_plan{plan=precise}"] == pytest.approx(0.75)
    assert not any("strange" in name for name in seen)


def test_figures_of_scopes_are_bounded() -> None:
    by_plan = ByPlan(most=2)
    for i, value in enumerate((0.1, 0.5, 0.7)):
        by_plan.put(i, {"precise": (value, 5)})
    assert by_plan.means()["precise"] == pytest.approx(0.6)


@pytest.mark.parametrize(("version", "by"), [("rules", "rules"), ("v3", "own")])
def test_recalls_are_counted_by_what_answered(version: str, by: str) -> None:
    metrics = Metrics()
    told = event()
    assert told.result is not None
    object.__setattr__(told.result, "version", version)
    metrics.recalled(told, None)
    seen = values(metrics)
    assert {name: value for name, value in seen.items() if name.startswith("recall_served_total") and value} == {
        f"recall_served_total{{by={by}}}": 1
    }


def test_an_optimizer_tells_of_feedback(store: MemoryStore) -> None:
    metrics = Metrics()
    optimizer = QueryOptimizer(store, config=WHOLE, observers=[metrics])
    result = optimizer.recall("what does Priya run?")
    optimizer.feedback(result, helpful=[str(result.hits[0].memory.id)], rating=True)
    with pytest.raises(errors.InvalidArgument):
        optimizer.feedback(result)
    seen = values(metrics)
    assert seen["recall_feedback_total{kind=helpful}"] == 1 == seen["recall_feedback_total{kind=rating}"]
    assert seen["recall_feedback_total{kind=wrong}"] == 0
