"""What a caller may choose of the read path: which arms are asked, and who orders the candidates."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult
from recall_integrations.config import ARMS, PlannerConfig
from recall_integrations.ranking.feature_sum import Ranking
from recall_integrations.ranking.features.compute import Features
from tests.rows import each_row

MEMORIES = [
    Memory("Priya moved the Kestrel launch to June", id="a", entities=("Kestrel",)),
    Memory("Kestrel needs a new logo", id="b", entities=("Kestrel",)),
    Memory("Sam waters the garden", id="c"),
    Memory("I prefer tea in the garden", id="d", type="preference"),
]
QUERIES = ("When does Kestrel launch?", "what are my garden preferences?", "garden", "tell me something")


class Counting:
    """An embedding that counts its queries."""

    fingerprint, dimensions, remote = "counting", 8, False

    def __init__(self) -> None:
        self.asked = 0

    def embed_query(self, _text: str) -> np.ndarray:
        self.asked += 1
        return self.embed_documents([""])[0]

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        return np.tile(np.eye(8, dtype=np.float32)[0], (len(texts), 1))


@dataclass(frozen=True)
class ById:
    """The last id first, or with `rising` the first."""

    rising: bool = False
    name = "by id"
    version = "1"
    detail = False

    def score(self, features: Features) -> Ranking:
        place = features.rows.astype(np.float32) * (-1 if self.rising else 1)
        return Ranking(scores=place, added={"place": place})


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many(MEMORIES)
        opened.warm()
        yield opened


def recalled(store: MemoryStore, query: str, *, ranker: ById | None = None, **settings: object) -> RecallResult:
    config = RecallConfig(**settings)  # type: ignore[arg-type]
    with closing(QueryOptimizer(store, config=config, ranker=ranker)) as optimizer:
        return optimizer.recall(query, k=4, time_budget_ms=60_000)


def ids(result: RecallResult) -> list[str | None]:
    return [hit.memory.id for hit in result.hits]


# -- arms --------------------------------------------------------------------------------------------------------------


@each_row("arm", ARMS)
@each_row("query", QUERIES)
def test_an_arm_that_is_left_out_is_not_asked(store: MemoryStore, arm: str, query: str) -> None:
    rest = tuple(other for other in ARMS if other != arm)
    result = recalled(store, query, planner=PlannerConfig(arms=rest))
    assert result.plan.arm(arm) is None
    assert f"arm.{arm}" not in result.timings_ms
    assert not result.degraded
    assert not any(part.source == arm and part.rank for hit in result.hits for part in hit.contributions)


@each_row("arm", ARMS)
@each_row("query", QUERIES)
def test_one_arm_alone_is_asked_whatever_the_plan(store: MemoryStore, arm: str, query: str) -> None:
    result = recalled(store, query, planner=PlannerConfig(arms=(arm,)))
    assert not result.degraded
    assert [planned.name for planned in result.plan.arms] == [arm]
    assert {name for name in result.timings_ms if name.startswith("arm.")} <= {f"arm.{arm}"}
    assert result.hits or arm != "semantic"  # which finds all that there is


def test_without_the_semantic_arm_no_vector_is_made() -> None:
    embedding = Counting()
    with MemoryStore.open(embedding=embedding) as store:
        store.remember_many(MEMORIES)
        for query in QUERIES:
            recalled(store, query, planner=PlannerConfig(arms=tuple(a for a in ARMS if a != "semantic")))
        assert embedding.asked == 0
        recalled(store, QUERIES[0])
        assert embedding.asked > 0


# -- the ranker --------------------------------------------------------------------------------------------------------


def test_the_ranker_that_is_given_orders_the_candidates(store: MemoryStore) -> None:
    for query in QUERIES[2:]:
        assert ids(recalled(store, query, ranker=ById())) == ids(recalled(store, query, ranker=ById(rising=True)))[::-1]
    parts = {p.source for hit in recalled(store, "garden", ranker=ById()).hits for p in hit.contributions}
    assert "place" in parts


def test_it_takes_the_place_of_the_strategy(store: MemoryStore) -> None:
    for name in ("rrf", "weighted", "fixed_weights"):
        ranking = RecallConfig().with_settings([("ranking.strategy", name)]).ranking
        assert ids(recalled(store, "garden", ranker=ById(), ranking=ranking)) == ["d", "c", "b", "a"]


def test_the_ranker_is_pickled_with_the_optimizer(store: MemoryStore) -> None:
    with closing(QueryOptimizer(store, ranker=ById(rising=True))) as optimizer:
        copy = pickle.loads(pickle.dumps(optimizer))
    with closing(copy):
        assert ids(copy.recall("garden", k=4)) == ["a", "b", "c", "d"]


def test_a_ranker_that_does_not_pickle_is_a_clear_error(store: MemoryStore) -> None:
    class Local(ById):
        """Pickle finds no class that is made in a function."""

    with closing(QueryOptimizer(store, ranker=Local())) as optimizer, pytest.raises(Exception, match="Local"):
        pickle.dumps(optimizer)
