"""LangGraph's items as memories, and what they are compared by."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations import Filters, MemoryStore
from recall_integrations.errors import InvalidMemory
from recall_integrations.frameworks.items import (
    NOT_INDEXED,
    OWN,
    Kept,
    channel_of,
    check_operators,
    described,
    kept_of,
    matches,
    meets,
    memory_id,
    memory_of,
    narrowing,
)
from recall_integrations.types import Memory
from tests.rows import each_row

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=timezone.utc)


def item(value: dict[str, Any], namespace: tuple[str, ...] = ("users", "u1"), key: str = "k") -> Kept:
    return Kept(namespace=namespace, key=key, value=value, created_at=NOW, updated_at=NOW, born=7)


@each_row(
    "value",
    [
        {},
        {"text": "tea", "n": 1, "f": 0.5, "ok": True, "none": None, "in": {"a": [1, {"b": []}]}},
        {"langgraph": {"place": "mine"}, "text": "tea"},
        {"": 1, "metadata": {}, "a.b": "ü 你 😀"},
    ],
)
def test_values_come_back_as_they_were(value: dict[str, Any]) -> None:
    kept = item(value)
    assert kept_of(memory_of(kept, "said")) == kept


def test_each_key_of_a_value_is_one_of_the_metadata() -> None:
    memory = memory_of(item({"langgraph": 1, "text": "tea"}), "tea")
    assert memory.metadata["text"] == "tea"
    assert memory.channel == '["users","u1"]'


def test_names_that_differ_have_ids_that_differ() -> None:
    names = [(), ("",), ("a",), ("a", "b"), ("a/b",), ("a,b",), ('a","b',), ("x" * 2_000,), ("x" * 2_001,), ("\ud800",)]
    assert len({memory_id(n, k) for n in names for k in ("a", "", "b")}) == 3 * len(names)
    assert len({channel_of(n) for n in names}) == len(names)
    for name in (*names, ("\x7f\n",)):
        assert kept_of(memory_of(item({}, name, "\x7f"), None)) == item({}, name, "\x7f")


def test_what_is_not_indexed_has_no_words() -> None:
    memory = memory_of(item({"text": "tea"}), None)
    assert (memory.text, memory.channel) == ("-", NOT_INDEXED)


@each_row("value", [{1: "a"}, {"a": {2: 3}}, {"a": [{None: 1}]}, {"a": {1, 2}}, {"a": float("nan")}])
def test_what_is_no_json_is_an_error_that_names_the_item(value: Any) -> None:
    with pytest.raises(InvalidMemory, match="The item 'k' of"):
        memory_of(item(value), "a")


@each_row("own", [None, 3, {}, {"place": 3}, {"place": "[]"}, {"place": '["a","k"]', "updated_at": "x"}])
def test_a_memory_that_is_no_item_is_none(own: Any) -> None:
    assert kept_of(Memory("tea", created_at=NOW, metadata={} if own is None else {OWN: own})) is None


@each_row(
    ("value", "text"),
    [
        ({"text": "I like tea"}, "I like tea"),
        ({"text": "I like tea", "n": 1}, "text: I like tea\nn: 1"),
        ({"who": {"name": "Priya", "age": None}, "tags": ["a", "b"]}, "who.name: Priya\ntags: a, b"),
        (
            {"notes": [{"by": "Sam", "text": "ok"}, "plain"], "ok": True},
            "notes: plain\nnotes.by: Sam\nnotes.text: ok\nok: true",
        ),
        ({"theme": "dark"}, "dark"),
        ({}, ""),
    ],
)
def test_a_value_reads_well(value: Any, text: str) -> None:
    assert described(value) == text


def test_comparing() -> None:
    value = {"n": 3, "s": "3", "tags": ["a", {"b": 1}], "who": {"name": "Priya", "n": None}, "flag": True}
    assert meets(value, None) and meets(value, {})
    assert meets(value, {"n": {"$gt": 2, "$lte": 3.0}}) and not meets(value, {"n": {"$lt": 3}})
    assert meets(value, {"s": {"$gte": 3}}) and meets(value, {"flag": 1}) and meets(value, {"missing": None})
    assert meets(value, {"who": {"name": "Priya"}}) and not meets(value, {"n": {"name": "Priya"}})
    assert meets(value, {"tags": ["a", {"b": {"$ne": 2}}]}) and not meets(value, {"tags": ["a"]})
    assert not meets(value, {"missing": {"$gt": 0}}) and not meets(value, {"who": {"$lt": 1}})
    with pytest.raises(ValueError, match="Unsupported operator"):
        check_operators({"who": {"name": {"$in": ["a"]}}})


CONDITIONS: list[Any] = [
    *("5", "tea", 5, 5.0, 1, 0, True, False, None, [5], {"a": 5}, 2**60),
    *({op: v} for op in ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte") for v in (5, 1, True, "5", None, 2.5)),
    {"$gt": 1, "$lte": 5},
]


def test_what_meets_a_filter_is_among_what_is_looked_through() -> None:
    values = [5, 5.0, 5.5, 1, 0, True, False, "5", "tea", "", None, [5], {"a": 5}, -3, 2**60]
    with MemoryStore.open() as store:
        memories = [Memory("tea", id=str(i), metadata={"k": v}) for i, v in enumerate(values)]
        store.remember_many([*memories, Memory("tea", id="none")])
        view = store.view(1)
        for wanted in CONDITIONS:
            filters = Filters(metadata=narrowing({"k": wanted}))
            mask = store.reader.filter_mask(view, filters, NOW)
            among = {i for row, i in enumerate(view.ids) if mask is None or mask[row]}
            meeting = {m.id for m in memories if meets(m.metadata, {"k": wanted})} | (
                {"none"} if meets({}, {"k": wanted}) else set()
            )
            assert meeting <= among, wanted
    assert narrowing({"a.b": "c", "$k": 1}) == narrowing(None) == {}


def test_namespaces() -> None:
    assert matches("prefix", ("a", "*"), ("a", "b", "c")) and not matches("prefix", ("a", "c"), ("a", "b", "c"))
    assert matches("suffix", ("*", "c"), ("a", "b", "c")) and not matches("suffix", ("b",), ("a", "b", "c"))
    assert not matches("prefix", ("a", "b"), ("a",))


def test_the_kind_of_a_match_is_looked_at_only_where_the_path_fits() -> None:
    assert matches("infix", ("a", "b"), ("a",)) is False
    with pytest.raises(ValueError, match="infix"):
        matches("infix", ("a",), ("a", "b"))
