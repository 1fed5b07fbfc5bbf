from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RewritingConfig, Scope
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.recall import RecallState, Stage, Turn

ASKED = "who likes green tea?"


class Noted:
    """What is told, in order: `(place, inputs)` when a step begins, `(place, outputs, error)` when it ends."""

    def __init__(self, place: str = "", log: list[tuple[Any, ...]] | None = None) -> None:
        self.place, self.log = place, [] if log is None else log

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Noted:
        inner = Noted(f"{self.place}/{name}", self.log)
        self.log.append((inner.place, dict(inputs)))
        return inner

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        self.log.append((self.place, dict(outputs), error))

    @property
    def begun(self) -> list[str]:
        return [entry[0] for entry in self.log if len(entry) == 2]

    @property
    def ended(self) -> dict[str, tuple[dict[str, Any], BaseException | None]]:
        return {entry[0]: entry[1:] for entry in self.log if len(entry) == 3}


class Broken(Noted):
    def begin(self, name: str, inputs: Mapping[str, Any]) -> Noted:
        raise ValueError("the tracer is down")


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many([Memory("Priya likes green tea", id="a"), Memory("Sam likes coffee", id="b")])
        yield opened


def told(optimizer: QueryOptimizer, **given: Any) -> Noted:
    noted = Noted()
    optimizer.recall(ASKED, watch=noted, time_budget_ms=60_000, **given)
    return noted


def test_every_stage_and_arm_is_told_as_it_begins_and_ends(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    noted = told(optimizer)
    result = optimizer.recall(ASKED)
    stages = [f"/{stage.name}" for stage in optimizer.stages]
    assert [place for place in noted.begun if "/arms/" not in place] == stages
    arms = {place for place in noted.begun if place.startswith("/arms/")}
    assert {"/arms/arm.semantic", "/arms/arm.lexical"} <= arms
    assert set(noted.ended) == {*stages, *arms}
    assert noted.log[0] == ("/parse", {"query": ASKED})
    outputs, error = noted.ended["/deliver"]
    assert [hit["id"] for hit in outputs["hits"]] == [hit.memory.id for hit in result.hits] and error is None
    assert noted.ended["/arms/arm.lexical"][0]["best"][0]["id"] == "a"
    assert noted.ended["/plan"][0]["plan"] == result.plan.name
    json.dumps([entry[1] for entry in noted.log])


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_words_and_ids_are_told_to_those_only_who_may_see_them(store: MemoryStore, mode: str) -> None:
    noted = told(QueryOptimizer(store), privacy=mode)
    assert "/arms/arm.lexical" in noted.begun
    assert all(entry[1] == {} for entry in noted.log)


@pytest.mark.parametrize("mode", ["allow", "redact"])
def test_an_arm_that_fails_and_one_that_is_late_are_told_once(store: MemoryStore, mode: str) -> None:
    release = threading.Event()

    class Own:
        def __init__(self, name: str) -> None:
            self.name = name

        def search(self, request: ArmRequest) -> ArmResult:
            if self.name == "late":
                release.wait(60)
                return ArmResult.empty(self.name)
            raise ValueError("no index for lena@example.com")

    specs = [ArmSpec(name=name, make=lambda _s, _c, name=name: lambda: Own(name)) for name in ("late", "failing")]
    optimizer = QueryOptimizer(store, arms=specs)
    noted = Noted()
    result = optimizer.recall(ASKED, watch=noted, time_budget_ms=300, privacy=mode)
    before = list(noted.log)
    assert {d.stage for d in result.degraded} >= {"late", "failing"}
    error = noted.ended["/arms/arm.failing"][1]
    assert error is not None and ("lena@example.com" in str(error)) is (mode == "allow")
    assert noted.ended["/arms/arm.late"][1] is not None
    release.set()
    optimizer.close()
    assert noted.log == before


def test_a_stage_that_fails_is_told_with_its_error(store: MemoryStore) -> None:
    class Failing(Stage):
        name, after = "own", "rank"

        def run(self, state: RecallState, turn: Turn) -> RecallState:
            raise ValueError("no")

    noted = told(QueryOptimizer(store, stages=[Failing()]))
    outputs, error = noted.ended["/own"]
    assert outputs["degraded"][0]["reason"] == "error"
    assert error is not None and "no" in str(error)
    assert noted.ended["/deliver"][1] is None


def test_who_looks_on_costs_nobody_the_answer(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    result = optimizer.recall(ASKED, watch=Broken())
    assert [hit.memory.id for hit in result.hits] == [hit.memory.id for hit in optimizer.recall(ASKED).hits]
    assert [(d.stage, d.reason) for d in result.degraded] == [("observer", "error")]


def test_an_answer_that_was_kept_is_told_as_one(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store, config=RecallConfig(mode="cached"))
    assert "/parse" in told(optimizer).begun
    again = told(optimizer)
    assert again.begun == ["/cache"]
    assert [hit["id"] for hit in again.ended["/cache"][0]["hits"]] == ["a", "b"]


def test_a_rewrite_is_told_with_the_arms_that_search_for_it(store: MemoryStore) -> None:
    config = RecallConfig(rewriting=RewritingConfig(mode="full"))
    optimizer = QueryOptimizer(store, llm=lambda _prompt: "the one who drinks green tea", config=config)
    noted = Noted()
    optimizer.recall("something about green tea drinkers", watch=noted, time_budget_ms=60_000)
    outputs, _ = noted.ended["/rewrite"]
    assert outputs["phrasings"] == ["the one who drinks green tea"]
    assert "/rewrite/arm.lexical" in noted.begun


def test_of_several_scopes_each_is_a_step_with_its_stages(store: MemoryStore) -> None:
    other = Scope(user_id="u2")
    store.remember(Memory("Lena likes green tea", id="c"), scope=other)
    optimizer = QueryOptimizer(store)
    noted = Noted()
    result = optimizer.recall(ASKED, scopes=[Scope(), other], watch=noted, time_budget_ms=60_000)
    assert {hit.memory.id for hit in result.hits} >= {"a", "c"}
    assert [entry[1] for entry in noted.log if entry[0] == "/scope" and len(entry) == 2] == [
        {"scope": str(Scope())},
        {"scope": str(other)},
    ]
    assert noted.begun.count("/scope/parse") == noted.begun.count("/scope/deliver") == 2
    assert [hit["id"] for hit in noted.ended["/scope"][0]["hits"]] == ["c"]
    broken = optimizer.recall(ASKED, scopes=[Scope(), other], watch=Broken())
    assert broken.hits and {(d.stage.split(":")[0], d.reason) for d in broken.degraded} == {("observer", "error")}


async def test_async_is_told_the_same(store: MemoryStore) -> None:
    optimizer = QueryOptimizer(store)
    noted = Noted()
    await optimizer.arecall(ASKED, watch=noted, time_budget_ms=60_000)
    assert sorted(noted.begun) == sorted(told(optimizer).begun)
