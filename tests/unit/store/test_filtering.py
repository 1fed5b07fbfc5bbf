from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from recall_integrations.indexes.windows import window_mask
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, MemoryType, Scope
from tests.rows import each_row

NOW = datetime(2024, 5, 15, tzinfo=timezone.utc)


def passing(store: MemoryStore, **filters: Any) -> set[str]:
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    view = store.view(scope_id)
    mask = store.reader.filter_mask(view, Filters(**filters), NOW)
    assert mask is not None and mask.shape == (view.size,)
    return {view.ids[row] for row in range(view.size) if mask[row]}


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.fixture
def mixed(store: MemoryStore) -> MemoryStore:
    store.remember_many(
        [
            Memory(
                "1", id="a", type=MemoryType.FACT, actor="Priya", channel="slack", thread="t1", event_at=days_ago(1)
            ),
            Memory("2", id="b", type=MemoryType.EVENT, actor="Sam", channel="mail", thread="t1", event_at=days_ago(10)),
            Memory(
                "3", id="c", type=MemoryType.FACT, actor="Priya", channel="mail", thread="t2", created_at=days_ago(5)
            ),
        ]
    )
    store.remember(Memory("4", id="z", actor="Priya", channel="slack", thread="t1"), scope=Scope(user_id="u"))
    return store


@each_row(
    ("filters", "expected"),
    [
        ({"types": ["fact"]}, "ac"),
        ({"types": ["fact", "event"]}, "abc"),
        ({"types": ["skill"]}, ""),
        ({"actors": ["Priya"]}, "ac"),
        ({"actors": ["priya"]}, "ac"),
        ({"actors": ["  PRIYA "]}, "ac"),
        ({"actors": ["Pri"]}, ""),
        ({"channels": ["mail"]}, "bc"),
        ({"threads": ["t1"]}, "ab"),
        ({"entities": ["priya"]}, "ac"),
        ({"entities": ["Priya", "Sam"]}, "abc"),
        ({"entities": ["Nobody"]}, ""),
        ({"types": ["fact"], "channels": ["mail"]}, "c"),
        ({"types": ["fact"], "actors": ["Sam"]}, ""),
        ({"after": days_ago(5)}, "ac"),
        ({"before": days_ago(5)}, "b"),
        ({"after": days_ago(10), "before": days_ago(1)}, "bc"),
        ({"recency_days": 5}, "ac"),
        ({"recency_days": 0.5}, ""),
        ({"recency_days": 1e12}, "abc"),
        ({"recency_days": 1e300}, "abc"),
        ({"actors": [f"nobody {i}" for i in range(3000)]}, ""),
    ],
)
def test_fields(mixed: MemoryStore, filters: dict[str, Any], expected: str) -> None:
    assert passing(mixed, **filters) == set(expected)


def test_no_filter_is_no_mask(mixed: MemoryStore) -> None:
    scope_id = mixed.scope_id(Scope())
    assert scope_id is not None
    assert mixed.reader.filter_mask(mixed.view(scope_id), Filters(), NOW) is None


def test_dead_rows_do_not_pass(mixed: MemoryStore) -> None:
    mixed.forget("a")
    assert passing(mixed, actors=["Priya"]) == {"c"}


VALUES: dict[str, Any] = {
    "int": 1,
    "float": 1.5,
    "one": 1.0,
    "true": True,
    "false": False,
    "zero": 0,
    "text": "1",
    "word": "true",
    "list": [1],
    "listed": "[1]",
    "null": None,
    "big": 2**60,
    "bigger": 2**60 + 1,
    "huge": 10**30,
}


@each_row(
    ("value", "expected"),
    [
        (1, {"int", "one"}),
        (1.0, {"int", "one"}),
        (1.5, {"float"}),
        (True, {"true"}),
        (False, {"false"}),
        (0, {"zero"}),
        ("1", {"text"}),
        ("true", {"word"}),
        ("[1]", {"listed"}),
        ("None", set()),
        (2**60, {"big"}),
        (2**60 + 1, {"bigger"}),
        (10**30, {"huge"}),
        (10**400, set()),
    ],
)
def test_metadata_values_are_exact(store: MemoryStore, value: Any, expected: set[str]) -> None:
    store.remember_many([Memory("x", id=name, metadata={"k": v}) for name, v in VALUES.items()])
    store.remember(Memory("x", id="without", metadata={"other": 1}))
    assert passing(store, metadata={"k": value}) == expected


@each_row(
    "key",
    [
        "a.b",
        "a[0]",
        "it's",
        'say "hi"',
        "back\\slash",
        "$",
        "$.a",
        "é",
        "日本",
        "a b",
        "'; DROP TABLE memories; --",
        "%",
        "?",
    ],
)
def test_metadata_keys_are_only_names(store: MemoryStore, key: str) -> None:
    store.remember_many([Memory("x", id="yes", metadata={key: "v"}), Memory("x", id="no", metadata={"a": {"b": "v"}})])
    assert passing(store, metadata={key: "v"}) == {"yes"}
    assert passing(store, metadata={key: "w"}) == set()


def test_metadata_text_of_any_script(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id=v, metadata={"k": v}) for v in ("日本", "é", "🎉", "e\u0301")])
    assert passing(store, metadata={"k": "é"}) == {"é"}
    assert passing(store, metadata={"k": "🎉"}) == {"🎉"}


def test_several_metadata_keys_are_combined_with_and(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id="a", metadata={"k": 1, "l": 2}), Memory("x", id="b", metadata={"k": 1})])
    assert passing(store, metadata={"k": 1, "l": 2}) == {"a"}


def test_window_mask_is_half_open(mixed: MemoryStore, clock: Callable[[], datetime]) -> None:
    scope_id = mixed.scope_id(Scope())
    assert scope_id is not None
    view = mixed.view(scope_id)
    assert window_mask(view, days_ago(10), days_ago(5)).tolist() == [False, True, False]
    assert window_mask(view, None, None).all()


def test_roles(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("1", id="a", actor="Human"),
            Memory("2", id="b", actor="Claude", role="assistant"),
            Memory("3", id="c", actor="Sam"),
            Memory("4", id="d", role="tool"),
        ]
    )
    expected = {("user",): "a", ("user", "AI"): "ab", ("tool", "system"): "d", ("system",): ""}
    for roles, ids in expected.items():
        assert passing(store, roles=roles) == set(ids)
    assert passing(store, roles="assistant") == {"b"}


def held(store: MemoryStore, condition: dict[str, Any]) -> set[str]:
    return passing(store, metadata=condition)


def test_the_index_follows_what_is_written(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id="a", metadata={"k": 1}), Memory("x", id="b", metadata={"k": 2})])
    assert held(store, {"k": 1}) == {"a"}
    store.remember(Memory("x", id="c", metadata={"k": 1, "l": "new"}))
    assert held(store, {"k": 1}) == {"a", "c"}
    assert held(store, {"l": "new"}) == {"c"}
    store.remember(Memory("y", id="a", metadata={"k": 2}))  # which replaces it
    assert held(store, {"k": 1}) == {"c"} and held(store, {"k": {"$ne": 1}}) == {"a", "b"}
    store.forget("c")
    assert held(store, {"k": 1}) == set() and held(store, {"l": {"$exists": True}}) == set()


def test_nothing_is_read_again(store: MemoryStore) -> None:
    from sqlalchemy import event

    store.remember_many([Memory("x", id=str(i), metadata={"k": i % 5, "l": i}) for i in range(50)])
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert len(held(store, {"k": 1})) == 10
    assert len([s for s in statements if "metadata" in s]) == 1
    assert len(held(store, {"k": 2})) == 10 and len(held(store, {"k": {"$gt": 2}})) == 20
    assert len([s for s in statements if "metadata" in s]) == 1
    store.remember(Memory("x", id="new", metadata={"k": 2}))
    statements.clear()
    assert len(held(store, {"k": 2})) == 11
    (again,) = [s for s in statements if "metadata" in s]
    assert "num >" in again


def test_another_tenants_keys_are_not_seen(store: MemoryStore) -> None:
    other = Scope(user_id="u")
    store.remember(Memory("x", id="a", metadata={"k": 1}))
    store.remember(Memory("x", id="b", metadata={"secret": 1, "k": 1}), scope=other)
    view = store.view(store.scope_id(Scope()) or 0)
    assert held(store, {"k": 1}) == {"a"}
    assert store.reader.absent_keys(view, Filters(metadata={"secret": 1, "k": 1})) == ["secret"]


def test_values_of_forgotten_memories_leave(tmp_path: Any, embedding: Any) -> None:
    from recall_integrations.store.memory_store import MemoryStore as Store

    with Store.open(tmp_path / "s", embedding=embedding) as store:
        store.remember_many([Memory(f"x{i}", id=str(i), metadata={"k": f"value {i}"}) for i in range(1_200)])
        assert held(store, {"k": "value 1100"}) == {"1100"}
        for i in range(0, 1_050, 50):
            store.forget([str(n) for n in range(i, i + 50)])
        assert held(store, {"k": {"$in": ["value 5", "value 1100"]}}) == {"1100"}
        index = store.reader.filtering._index
        (scope,) = index._kept.values()
        assert [len(column) for column in scope.columns.values()] == [150]
        assert len(next(iter(scope.columns.values()))._values) == 150


def test_what_does_not_fit_is_not_kept(store: MemoryStore) -> None:
    store.remember_many([Memory("x", id=str(i), metadata={"k": i, "l": f"text {i}"}) for i in range(100)])
    index = store.reader.filtering._index
    index._budget = 20_000

    def size() -> int:
        return sum(scope.bytes for scope in index._kept.values())

    assert held(store, {"k": 7}) == {"7"} and size() > 0
    assert held(store, {"l": "text 8"}) == {"8"} and 0 < size() <= 20_000
    index._budget = 0
    for _ in range(2):
        assert held(store, {"k": {"$lt": 2}, "l": "text 1"}) == {"1"}
        assert size() == 0


def test_what_does_not_fit_is_read_once_for_a_filter(store: MemoryStore) -> None:
    from sqlalchemy import event

    store.remember_many([Memory(f"tea {i}", id=str(i), metadata={"k": i}) for i in range(50)])
    optimizer = QueryOptimizer(store)
    store.reader.filtering._index._budget = 0
    statements: list[str] = []
    event.listen(store.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    for _ in range(3):
        result = optimizer.recall("tea", filters=Filters(metadata={"k": 7, "none": {"$exists": False}}))
        assert [hit.memory.id for hit in result.hits] == ["7"]
        assert [note.reason for note in result.notes] == ["filters.key"]
        assert len([s for s in statements if "CAST(memories.metadata" in s]) == 1


def test_compacting_forgets_what_filters_have_read(tmp_path: Any, embedding: Any) -> None:
    from recall_integrations.store.memory_store import MemoryStore as Store

    with Store.open(tmp_path / "s", embedding=embedding) as store:
        store.remember_many([Memory("x", id="a", metadata={"k": "gone"}), Memory("y", id="b", metadata={"k": "here"})])
        assert held(store, {"k": "gone"}) == {"a"}
        before = store.reader.filtering
        store.forget("a")
        store.compact()
        assert store.reader.filtering is not before
        assert held(store, {"k": {"$exists": True}}) == {"b"}
