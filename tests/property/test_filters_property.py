"""Filters against a reader of metadata that is as plain as can be: nothing else passes, and k come where k pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.config import STRATEGIES, RetrievalConfig
from recall_integrations.planning.planner import RULES, make_plan
from recall_integrations.recall import plan as planning
from recall_integrations.types.filters import conditions_of
from tests.meeting import matches
from tests.quick import examples

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)
WORDS = "kestrel launch budget garden invoice train lisbon coffee review owl piano doctor rent recipe taxes".split()
# Whatever the arms look for: names, times, types, words that nobody has.
QUERIES = (
    "when did Priya launch the kestrel",
    "what does Sam like about the garden budget, not the taxes?",
    "what happened last week",
    "my preferences",
    "zebra quagga okapi",
    "INV-2044 piano",
    "garden budget",
    '"owl recipe"',
    "Priya's preferences about Sam and the kestrel launch invoice of the doctor in Lisbon",
    "tell me something",
    "what did Priya say to Sam about the doctor on April 20th",
)
KEYS = ("a", "b", "c", "deep.key", "日本")
scalars = st.one_of(
    st.integers(-2, 3),
    st.sampled_from([0.5, 1.0, -0.0, 2**53 + 1, float(2**53), 10**30]),
    st.booleans(),
    st.sampled_from(["", "x", "xy", "Xy", "1", "true", "2026-03-12", "2026-03-12T10:00:00Z", "2026-03-12T09:00-02:00"]),
)
values = st.one_of(scalars, st.none(), st.lists(st.one_of(scalars, st.none()), max_size=3), st.just({"x": 1}))
metadata = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
bounds = st.one_of(
    st.integers(-2, 3),
    st.sampled_from([0.5, 2**53, 2**53 + 1, 10**30, "x", "2026-03-12", "2026-03-12T10:30+00:00"]),
    st.just(datetime(2026, 3, 12, 10, tzinfo=timezone.utc)),
)
listed = st.lists(scalars, max_size=4)
operators = st.one_of(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), bounds)).filter(bool),
    *(st.fixed_dictionaries({op: values}) for op in ("$eq", "$ne")),
    *(st.fixed_dictionaries({op: listed}) for op in ("$in", "$nin", "$contains_any", "$contains_all")),
    *(st.fixed_dictionaries({op: scalars}) for op in ("$contains", "$not_contains")),
    *(st.fixed_dictionaries({op: st.booleans()}) for op in ("$exists", "$empty")),
)
of_keys = st.dictionaries(
    st.sampled_from([*KEYS, "never"]),
    st.one_of(scalars, operators, operators.map(lambda o: {"$not": o})),
    min_size=1,
    max_size=2,
)


def joined(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        inner,
        *(st.fixed_dictionaries({op: several}) for op in ("$and", "$or", "$nor")),
        inner.map(lambda c: {"$not": c}),
    )


conditions = joined(joined(of_keys))


# -- the oracle: what docs/filters.md says, in as few words


def same(one: Any, other: Any) -> bool:
    if isinstance(other, datetime):
        return moment(one) == other
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    return (type(one) in (int, float) and type(other) in (int, float) and one == other) or (
        one == other and type(one) is type(other)
    )


def moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def compared(op: str, value: Any, bound: Any) -> bool:
    if isinstance(bound, datetime) or (isinstance(bound, str) and moment(bound)):
        value, bound = moment(value), moment(bound)
        if value is None:
            return False
    elif (
        isinstance(bound, str) != isinstance(value, str)
        or isinstance(value, bool)
        or not isinstance(value, str | int | float)
    ):
        return False
    return bool({"$gt": value > bound, "$gte": value >= bound, "$lt": value < bound, "$lte": value <= bound}[op])


def contains(value: Any, item: Any) -> bool:
    if isinstance(value, list):
        return any(same(v, item) for v in value)
    return isinstance(value, str) and isinstance(item, str) and item in value


def holds(op: str, operand: Any, has: bool, value: Any) -> bool:
    if op == "$not":
        return not all(holds(o, v, has, value) for o, v in operand.items())
    if op in ("$ne", "$nin", "$not_contains"):
        return not holds({"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}[op], operand, has, value)
    if op == "$exists":
        return has == operand
    if op == "$empty":
        return (not has or value is None or value in ("", [])) == operand
    if not has:
        return False
    if op == "$eq":
        return same(value, operand)
    if op == "$in":
        return any(same(value, item) for item in operand)
    if op == "$contains":
        return contains(value, operand)
    if op == "$contains_any":
        return any(contains(value, item) for item in operand)
    if op == "$contains_all":
        return isinstance(value, str | list) and all(contains(value, item) for item in operand)
    return compared(op, value, operand)


def passes(condition: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
    for key, wanted in condition.items():
        if key == "$not":
            met = not passes(wanted, held)
        elif key in ("$and", "$or", "$nor"):
            each = [passes(part, held) for part in wanted]
            met = all(each) if key == "$and" else any(each) == (key == "$or")
        else:
            asked = wanted if isinstance(wanted, dict) else {"$eq": wanted}
            met = all(holds(op, operand, key in held, held.get(key)) for op, operand in asked.items())
        if not met:
            return False
    return True


@settings(max_examples=examples(600), deadline=None)
@given(condition=conditions, held=metadata)
def test_one_memory(condition: dict[str, Any], held: dict[str, Any]) -> None:
    assert matches(conditions_of(condition), held) == passes(condition, held)


# -- a store


class Home:
    """A store and what is in it."""

    def __init__(self, config: RecallConfig) -> None:
        self.store = MemoryStore.open(config=config, clock=lambda: NOW)
        self.held: dict[str, dict[str, Any]] = {}

    def put(self, held: list[dict[str, Any]], start: int = 0) -> None:
        rng = np.random.default_rng(start + len(held))
        memories = [
            Memory(
                " ".join(rng.choice(WORDS, 6)),
                id=f"m{start + i:03}",
                metadata=one,
                type=str(rng.choice(["fact", "preference", "event"])),
                actor=str(rng.choice(["Priya", "Sam"])),
                thread=f"t{i % 3}",
                event_at=NOW - timedelta(days=int(rng.integers(0, 40))),
            )
            for i, one in enumerate(held)
        ]
        self.store.remember_many(memories)
        self.held.update({str(m.id): dict(m.metadata) for m in memories})

    def forget(self, at: int) -> None:
        if self.held:
            gone = sorted(self.held)[at % len(self.held)]
            self.store.forget(gone)
            del self.held[gone]

    def passing(self, condition: dict[str, Any]) -> set[str]:
        return {i for i, held in self.held.items() if passes(condition, held)}

    def masked(self, condition: dict[str, Any]) -> set[str]:
        view = self.store.view(self.store.scope_id(Scope()) or 0)
        mask = self.store.reader.filter_mask(view, Filters(metadata=condition), NOW)
        assert mask is not None
        return {view.ids[row] for row in np.flatnonzero(mask).tolist()}


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    first=st.lists(metadata, min_size=1, max_size=20),
    more=st.lists(metadata, min_size=1, max_size=5),
    asked=st.lists(conditions, min_size=1, max_size=8),
    forgotten=st.integers(0, 30),
    least=st.booleans(),
)
def test_the_index(
    first: list[dict[str, Any]], more: list[dict[str, Any]], asked: list[dict[str, Any]], forgotten: int, least: bool
) -> None:
    home = Home(RecallConfig())
    with home.store:
        if least:
            home.store.reader.filtering._index._budget = 0
        home.put(first)
        for condition in asked:
            assert home.masked(condition) == home.passing(condition)
        home.put(more, start=100)
        home.forget(forgotten)
        home.put(first[:1], start=0)  # which replaces one, or brings it back
        for condition in asked:
            assert home.masked(condition) == home.passing(condition)


class Down:
    """An arm that does not work."""

    name = "down"

    def search(self, request: ArmRequest) -> ArmResult:
        raise RuntimeError("down")


def down(*names: str) -> list[ArmSpec]:
    return [ArmSpec(name=name, make=lambda _store, _config: Down, by_words=True) for name in names]


CONFIGS: dict[str, Callable[[], RecallConfig]] = {
    **{name: partial(RecallConfig().with_settings, [("ranking.strategy", name)]) for name in STRATEGIES},
    "nothing fits into memory": lambda: RecallConfig(retrieval=RetrievalConfig(cache_mb=0)),
}
ARMS_DOWN = ((), ("semantic",), ("lexical", "graph"), ("semantic", "lexical", "temporal"))
PLANS = [rule.plan for rule in RULES]
SELECTIVE = ({"n": {"$lt": 7}}, {"n": 3}, {"rare": {"$exists": True}}, {"n": {"$gte": 20}, "even": True}, {"never": 1})


@pytest.fixture(params=CONFIGS)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    made = Home(CONFIGS[request.param]())
    with made.store:
        made.put([{"n": i, "even": i % 2 == 0, **({"rare": 1} if i % 19 == 0 else {})} for i in range(60)])
        yield made


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("broken", ARMS_DOWN, ids=lambda names: "+".join(names) or "none")
def test_k_come_where_k_pass(home: Home, broken: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = QueryOptimizer(home.store, config=home.store.config, arms=down(*broken))
    for i, query in enumerate(QUERIES):
        for j, condition in enumerate(SELECTIVE):
            plan = PLANS[(i + j) % len(PLANS)]
            monkeypatch.setattr(planning, "make_plan", partial(make_plan, given=plan))
            result = optimizer.recall(query, k=5, filters=condition, now=NOW, time_budget_ms=60_000)
            found, wanted = [hit.memory.id for hit in result.hits], home.passing(condition)
            assert result.plan.name == plan
            assert set(found) <= wanted, (query, condition)
            assert len(found) == len(set(found)) == min(5, len(wanted)), (query, condition, plan)
            assert [n.reason for n in result.notes] == ([] if wanted else ["filters.key", "filters.nothing"])


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("broken", ARMS_DOWN, ids=lambda names: "+".join(names) or "none")
def test_a_filter_of_another_kind(broken: tuple[str, ...]) -> None:
    home = Home(RecallConfig())
    with home.store:
        home.put([{"n": i} for i in range(60)])
        optimizer = QueryOptimizer(home.store, arms=down(*broken))
        for filters in (
            Filters(types=["fact"]),
            Filters(threads=["t1"]),
            Filters(actors=["priya"], types=["event"]),
            Filters(recency_days=5),
            Filters(metadata={"n": {"$lt": 30}}, actors=["SAM"]),
        ):
            view = home.store.view(home.store.scope_id(Scope()) or 0)
            mask = home.store.reader.filter_mask(view, filters, NOW)
            assert mask is not None
            passing = {view.ids[row] for row in np.flatnonzero(mask).tolist()}
            for query in QUERIES:
                found = [h.memory.id for h in optimizer.recall(query, k=4, filters=filters, now=NOW).hits]
                assert set(found) <= passing and len(found) == min(4, len(passing)), (query, filters)
