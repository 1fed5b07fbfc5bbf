"""An arm is a registration: asked where it applies, ranked by what it finds, explained, and named where it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timezone

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult
from recall_integrations.arms import ArmRequest, ArmResult, ArmSpec
from recall_integrations.arms.retrievers import BUILT_IN, own_lifts, registered
from recall_integrations.config import ARMS
from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.rank import evidence_of
from tests.rows import each_row

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
TEXTS = ("The shed is green", "The shed is red", "The shed is blue", "Tea is in the kitchen")


class Fixed:
    """Finds the memories with these ids, each with the score given."""

    name = "own"

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores

    def search(self, request: ArmRequest) -> ArmResult:
        rows = np.asarray([i for i, known in enumerate(request.view.ids) if known in self._scores], dtype=np.int64)
        scores = np.asarray([self._scores[request.view.ids[row]] for row in rows.tolist()], dtype=np.float32)
        return request.result(self.name, rows, scores)


class Broken:
    name = "own"

    def search(self, request: ArmRequest) -> ArmResult:
        raise RuntimeError("boom")


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many([Memory(text, id=str(i), event_at=NOW) for i, text in enumerate(TEXTS)])
        yield opened


def spec(arm: object, **fields: object) -> ArmSpec:
    return ArmSpec(**{"name": "own", "make": lambda _store, _config: lambda: arm, **fields})  # type: ignore[arg-type]


def ask(store: MemoryStore, *arms: ArmSpec, query: str = "shed") -> RecallResult:
    with closing(QueryOptimizer(store, arms=arms)) as optimizer:
        return optimizer.recall(query, k=4, now=NOW)


def test_what_it_finds_comes_first_and_says_why(store: MemoryStore) -> None:
    plain = [hit.memory.id for hit in ask(store).hits]
    result = ask(store, spec(Fixed({"0": 1.0}), reason="on the list"))
    assert plain[0] != "0" == result.hits[0].memory.id
    assert result.hits[0].reason.startswith("on the list")
    part = next(c for c in result.hits[0].contributions if c.source == "own")
    assert (part.rank, part.score) == (1, 1.0) and part.added > 0
    assert "asks own too" in result.plan.reason and result.degraded == ()
    assert all("on the list" not in hit.reason for hit in result.hits[1:])


def test_it_brings_candidates_that_nothing_else_finds(store: MemoryStore) -> None:
    result = ask(store, spec(Fixed({"3": 1.0}), lift=20.0))
    assert result.hits[0].memory.id == "3"


@each_row(("fields", "factor"), [({"lift": 4.0}, 2.0), ({"weight": 3.0}, 3.0), ({"lift": 0.0}, 0.0)])
def test_its_lift_and_weight_scale_what_it_adds(store: MemoryStore, fields: dict[str, float], factor: float) -> None:
    def added(*arms: ArmSpec) -> float:
        hits = {hit.memory.id: hit for hit in ask(store, *arms).hits}
        return sum(c.added for c in hits["2"].contributions if c.source == "own")

    assert added(spec(Fixed({"2": 0.5}), **fields)) == pytest.approx(factor * added(spec(Fixed({"2": 0.5}))))


def test_it_is_not_asked_where_it_does_not_apply(store: MemoryStore) -> None:
    result = ask(store, spec(Broken(), applies=lambda parsed, _plan: "tea" in parsed.original))
    assert result.degraded == () and result.plan.arm("own") is None


@pytest.mark.parametrize("make", [lambda: Broken(), lambda: 1 / 0])
def test_one_that_fails_costs_its_results_only(store: MemoryStore, make: Callable[[], object]) -> None:
    own = ArmSpec(name="own", make=lambda _store, _config: make)  # type: ignore[arg-type,return-value]
    result = ask(store, own)
    assert [(d.stage, d.reason) for d in result.degraded] == [("own", "error")]
    assert [h.memory.id for h in result.hits] == [h.memory.id for h in ask(store).hits]


def test_one_with_the_name_of_a_built_in_arm_takes_its_place(store: MemoryStore) -> None:
    lexical = Fixed({})
    lexical.name = "lexical"
    specs = registered([spec(lexical, name="lexical")])
    assert [s.name for s in specs] == list(ARMS) and specs[1] is not BUILT_IN[1]


@each_row(
    ("arms", "message"),
    [
        (["semantic"], "ArmSpec objects, not str"),
        ([spec(Broken(), name="no name")], "letters, digits"),
        ([spec(Broken(), name="")], "letters, digits"),
        ([spec(Broken()), spec(Broken())], "two arms 'own'"),
    ],
)
def test_what_is_no_arm_is_an_error(store: MemoryStore, arms: list[ArmSpec], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        QueryOptimizer(store, arms=arms)


def test_built_in_arms_are_those_of_the_settings() -> None:
    assert tuple(s.name for s in BUILT_IN) == ARMS
    assert own_lifts(BUILT_IN) == {}
    assert evidence_of([spec(Broken())]) == {"own": ("own",)}
    assert RecallConfig().planner.arms == ARMS


def test_one_that_cannot_say_whether_it_applies_costs_itself_only(store: MemoryStore) -> None:
    result = ask(store, spec(Fixed({"2": 1.0}), applies=lambda _parsed, _plan: 1 / 0))
    assert [(d.stage, d.reason) for d in result.degraded] == [("own", "error")]
    assert [h.memory.id for h in result.hits] == [h.memory.id for h in ask(store).hits]
