"""How long answers are kept, how many, and that nobody can change one for another."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from recall_integrations.indexes.times import to_micros
from recall_integrations.recall.caching import Kept, Key, ResultCache, copied
from recall_integrations.recall.runner import RecallState
from recall_integrations.store.revisions import Revisions
from recall_integrations.types import Hit, Memory, ParsedQuery, RecallResult, RetrievalPlan, Scope
from recall_integrations.types.observing import RecallRequest

A, B = Scope(user_id="a"), Scope(user_id="b")


class Timer:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """A cache with a clock of its own."""

    def __init__(self, request: RecallRequest, entries_max: int = 3) -> None:
        self.request, self.timer, self.revisions = request, Timer(), Revisions()
        self.cache = ResultCache(self.revisions, 30.0, entries_max, self.timer)

    def kept(self, name: str = "") -> Kept:
        plan = RetrievalPlan(name="balanced", arms=())
        result = RecallResult(hits=(), query=ParsedQuery(original=name), plan=plan)
        return Kept(result=result, now=to_micros(self.request.now), made_at=self.timer())

    def put(self, name: str, scope: Scope = A) -> bool:
        return self.cache.put(key(name, scope), self.kept(name), self.revisions.of(scope))

    def get(self, name: str, scope: Scope = A, later_s: float = 0.0) -> str | None:
        found = self.cache.get(key(name, scope), replace(self.request, now=self.request.now + timedelta(0, later_s)))
        return None if found is None else found.result.query.original


def key(name: str, scope: Scope = A) -> Key:
    return Key(scope, name.encode())


@pytest.fixture
def bench(begun: RecallState) -> Bench:
    return Bench(begun.request)


def test_an_answer_is_kept_for_its_time(bench: Bench) -> None:
    bench.put("tea")
    bench.timer.now += 29.9
    assert bench.get("tea") == "tea"
    bench.timer.now += 0.1
    assert bench.get("tea") is None
    assert len(bench.cache) == 0


@pytest.mark.parametrize(("later_s", "there"), [(0, True), (30, True), (30.1, False), (-0.1, False)])
def test_an_answer_is_for_its_moment_and_a_little_later(bench: Bench, later_s: float, there: bool) -> None:
    bench.put("tea")
    assert (bench.get("tea", later_s=later_s) is not None) is there


def test_the_least_recently_used_leaves(bench: Bench) -> None:
    for name in ("one", "two", "three"):
        bench.put(name)
    assert bench.get("one") == "one"
    bench.put("four")
    assert [name for name in ("one", "two", "three", "four") if bench.get(name)] == ["one", "three", "four"]


def test_a_write_drops_the_answers_of_its_scope_alone(bench: Bench) -> None:
    bench.put("tea", A), bench.put("tea", B)
    with bench.revisions.writing(A):
        assert (bench.get("tea", A), bench.get("tea", B)) == (None, "tea")
    assert len(bench.cache) == 1
    with bench.revisions.writing(None):
        assert len(bench.cache) == 0


def test_an_answer_from_before_a_write_is_not_kept(bench: Bench) -> None:
    before = bench.revisions.of(A)
    with bench.revisions.writing(A):
        assert not bench.cache.put(key("tea"), bench.kept(), before)
        assert not bench.put("tea")
    assert not bench.cache.put(key("tea"), bench.kept(), before)
    assert bench.put("tea")


def test_a_copy_shares_nothing_that_can_be_changed() -> None:
    memory = Memory("tea", metadata={"a": {"b": [1, {"c": 2}]}})
    hit = Hit(memory=memory, score=1.0, context=(memory,))
    result = RecallResult(hits=(hit,), query=ParsedQuery(original=""), plan=RetrievalPlan(name="x", arms=()))
    own = copied(result)
    assert own == result
    for changed in (own.hits[0].memory, own.hits[0].context[0]):
        changed.metadata["a"]["b"][1]["c"] = 3
        changed.metadata["new"] = 1  # type: ignore[index]
    assert memory.metadata == {"a": {"b": [1, {"c": 2}]}}
