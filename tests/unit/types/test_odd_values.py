"""Values that are numbers, texts or mappings, but odd ones: taken as what they mean, or refused with what to do."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from recall_integrations import Filters, Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer, Relation, Scope
from recall_integrations.errors import InvalidArgument, InvalidFilter, InvalidMemory
from recall_integrations.types.numbers import real, shown, whole
from tests.rows import each_row


@pytest.fixture
def optimizer(store: MemoryStore) -> QueryOptimizer:
    store.remember_many([Memory("tea is ready", id="a", metadata={"n": 5}), Memory("tea is cold", id="b")])
    return QueryOptimizer(store, clock=lambda: datetime(2026, 11, 22, tzinfo=timezone.utc))


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth - 1):
        value = {"in": value}
    return value


@each_row("given", [np.int64(3), np.uint8(3), 3])
def test_a_whole_number_of_any_library_is_one(given: object) -> None:
    assert whole(given) == 3 and type(whole(given)) is int


@each_row("given", [True, np.bool_(True), 3.0, "3", None, np.arange(3)])
def test_what_is_no_whole_number_stays_what_it_is(given: object) -> None:
    assert whole(given) is given


def test_a_number_too_large_for_a_float_is_infinite() -> None:
    assert (real(10**400), real(-(10**400)), real(np.float32(0.5))) == (float("inf"), float("-inf"), 0.5)


def test_a_message_can_show_every_value() -> None:
    assert shown(10**5_000) == "a number of about 5,000 digits"
    assert len(shown("x" * 1_000)) == 60


def test_numbers_of_numpy_are_arguments_of_a_recall(optimizer: QueryOptimizer) -> None:
    wanted = optimizer.recall("tea", k=1, time_budget_ms=5_000.0, tokens_max=100, context=0)
    found = optimizer.recall(
        "tea", k=np.int64(1), time_budget_ms=np.float32(5_000), tokens_max=np.int32(100), context=np.int8(0)
    )
    assert found.hits == wanted.hits and len(found.hits) == 1
    retriever = OptimizedRecallRetriever(optimizer=optimizer, k=np.int64(1))
    assert retriever.k == 1 and len(retriever.invoke("tea")) == 1
    assert len(retriever.invoke("tea", k=np.int64(2))) == 2


@each_row("name", ["k", "time_budget_ms", "tokens_max", "context"])
@each_row("value", [10**400, 10**5_000, np.nan, np.bool_(True), "5"])
def test_a_number_that_cannot_be_used_is_named(optimizer: QueryOptimizer, name: str, value: object) -> None:
    if name == "tokens_max" and isinstance(value, int):
        assert len(optimizer.recall("tea", tokens_max=value).hits) == 2  # every text fits into that
        return
    with pytest.raises(InvalidArgument, match=name):
        optimizer.recall("tea", **{name: value})  # type: ignore[arg-type]


def test_numbers_of_numpy_are_fields_of_a_memory(store: MemoryStore) -> None:
    store.remember(Memory("odd", id="o", importance=np.float32(0.25), position=np.int64(7), thread="t"))  # type: ignore[arg-type]
    found = store.get("o")
    assert found is not None and (found.importance, found.position) == (0.25, 7)


@pytest.mark.parametrize("field", ["importance", "position"])
def test_a_field_that_no_column_holds_is_refused(field: str) -> None:
    with pytest.raises(InvalidMemory, match=field):
        Memory("odd", **{field: 10**5_000})  # type: ignore[arg-type]
    with pytest.raises(InvalidMemory, match="confidence"):
        Relation("a", "b", "c", 10**400)


def test_filters_take_numbers_of_numpy(optimizer: QueryOptimizer) -> None:
    for value in (np.int64(5), np.float64(5)):
        assert [h.memory.id for h in optimizer.recall("tea", filters=Filters(metadata={"n": value})).hits] == ["a"]
    assert Filters(recency_days=np.float32(2)).recency_days == 2
    with pytest.raises(InvalidFilter, match="recency_days"):
        Filters(recency_days=10**400)


def test_a_filter_by_thousands_of_keys_says_how_many_it_may_have(optimizer: QueryOptimizer) -> None:
    with pytest.raises(InvalidFilter, match=r"3,000 keys; the limit is 100. Filter by fewer"):
        Filters(metadata={f"key {i}": i for i in range(3_000)})
    most = Filters(metadata={f"key {i}": i for i in range(100)})
    assert optimizer.recall("tea", filters=most).hits == ()


def test_metadata_that_is_nested_too_deep_is_refused(store: MemoryStore) -> None:
    for depth in (101, 600, 100_000):
        with pytest.raises(InvalidMemory, match="nested deeper than 100"):
            Memory("deep", metadata=nested(depth))
    store.remember(Memory("deep", id="d", metadata=nested(100)))
    found = store.get("d")
    assert found is not None and found.metadata == nested(100)


def test_metadata_that_holds_itself_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["one"] = loop["two"] = loop
    with pytest.raises(InvalidMemory, match="nested"):
        Memory("loop", metadata=loop)


def test_scopes_that_differ_read_differently(store: MemoryStore) -> None:
    scopes = [Scope(), Scope("-", "-", "-"), Scope("-"), Scope("a/b"), Scope("a", "b"), Scope('"-"'), Scope("/")]
    assert len({str(scope) for scope in scopes}) == len(scopes)
    assert str(Scope("-", "", "n")) == '"-"/-/n'
    for scope in scopes:
        store.remember("tea", scope=scope)
    assert len({row["scope"] for row in store.stats()["scopes"]}) == len(scopes)
