from __future__ import annotations

import dataclasses
import pickle
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from recall_integrations import types
from recall_integrations.errors import InvalidArgument, InvalidFilter, InvalidMemory, InvalidScope
from recall_integrations.types import Filters, Memory, MemoryType, Relation, Scope, TemporalWindow
from tests.rows import each_row

UTC = timezone.utc
NAIVE = datetime(2024, 1, 1)
AWARE = datetime(2024, 1, 1, tzinfo=UTC)


@each_row(
    ("field", "value"),
    [
        ("text", ""),
        ("text", " \n\t"),
        ("text", None),
        ("text", 7),
        ("text", b"bytes"),
        ("text", "half \ud83d"),
        ("text", "x" * (types.TEXT_CHARS_MAX + 1)),
        ("id", ""),
        ("id", "x" * 10_240),
        ("id", "a\x00"),
        ("id", "a\n"),
        ("id", 7),
        ("type", "thought"),
        ("type", None),
        ("type", ["fact"]),
        ("actor", ""),
        ("actor", 7),
        ("channel", "a\tb"),
        ("thread", "x" * 2000),
        ("event_at", NAIVE),
        ("event_at", "2024-01-01"),
        ("event_at", AWARE.date()),
        ("created_at", NAIVE),
        ("importance", float("nan")),
        ("importance", float("inf")),
        ("importance", -0.1),
        ("importance", 1.1),
        ("importance", True),
        ("importance", "high"),
        ("importance", None),
        ("position", 1.5),
        ("position", True),
        ("position", 2**62),
        ("entities", "Priya"),
        ("entities", [""]),
        ("entities", [7]),
        ("entities", 7),
        ("refs", "doc"),
        ("relations", Relation("a", "b", "c")),
        ("relations", [("a", "b", "c")]),
        ("relations", 7),
        ("metadata", []),
        ("metadata", {"when": AWARE}),
        ("metadata", {"x": float("nan")}),
        ("metadata", {"x": "\ud800"}),
        ("metadata", {("a",): 1}),
    ],
)
def test_memory_that_cannot_be_stored(field: str, value: Any) -> None:
    given: dict[str, Any] = {"text": "hello", field: value}
    with pytest.raises(InvalidMemory) as caught:
        Memory(**given)
    assert field.rstrip("s") in str(caught.value).lower() or field == "type"


def test_memory_takes_what_people_write() -> None:
    memory = Memory(
        "hello",
        type="fact",  # type: ignore[arg-type]
        entities=["B", "A", "B"],  # type: ignore[arg-type]
        importance=1,
        relations=[Relation("a", "r", "b")],  # type: ignore[arg-type]
        metadata={"k": (1, 2)},
    )
    assert memory.type is MemoryType.FACT and str(memory.type) == "fact"
    assert memory.entities == ("B", "A") and isinstance(memory.importance, float)
    assert memory.relations == (Relation("a", "r", "b"),) and memory.metadata == {"k": [1, 2]}
    assert Memory("x", entities={"b", "a"}).entities == ("a", "b")  # type: ignore[arg-type]
    assert Memory("x", relations=None).relations == ()  # type: ignore[arg-type]


def test_metadata_is_a_copy() -> None:
    given: dict[str, Any] = {"k": []}
    memory = Memory("x", metadata=given)
    given["k"].append(1)
    assert memory.metadata == {"k": []}


@each_row("kind", [k for k in vars(types).values() if dataclasses.is_dataclass(k)])
def test_records_are_frozen_and_slotted(kind: type[Any]) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert hasattr(kind, "__slots__")


def test_records_hash_and_pickle() -> None:
    for record in (
        Memory("x", metadata={"k": 1}),
        Scope(user_id="u"),
        Filters(types=(MemoryType.FACT,), metadata={"k": 1}),
    ):
        assert pickle.loads(pickle.dumps(record)) == record
        assert hash(record) == hash(pickle.loads(pickle.dumps(record)))


@each_row("value", [None, 7, " ", "x" * 2000, "a\x7f", "\udfff", b"u"])
def test_bad_scope(value: Any) -> None:
    for part in ("user_id", "agent_id", "namespace"):
        with pytest.raises(InvalidScope, match=part):
            Scope(**{part: value})


def test_scopes_are_told_apart() -> None:
    assert len({Scope(), Scope("a"), Scope("", "a"), Scope("", "", "a"), Scope("a", "a")}) == 5
    assert str(Scope()) == "-/-/-" and str(Scope("u", namespace="n")) == "u/-/n"


@each_row("confidence", [0, -1, 1.1, float("nan"), "sure", None])
def test_bad_confidence(confidence: Any) -> None:
    with pytest.raises(InvalidMemory, match="confidence"):
        Relation("a", "b", "c", confidence)


@each_row("parts", [("", "b", "c"), ("a", " ", "c"), ("a", "b", None), ("a", "b\n", "c")])
def test_bad_relation(parts: tuple[Any, Any, Any]) -> None:
    with pytest.raises(InvalidMemory):
        Relation(*parts)


@each_row(
    "given",
    [
        {"types": ["thought"]},
        {"entities": "Priya"},
        {"actors": [7]},
        {"after": NAIVE},
        {"before": "yesterday"},
        {"after": AWARE, "before": AWARE},
        {"recency_days": 0},
        {"recency_days": -1},
        {"recency_days": float("nan")},
        {"recency_days": float("inf")},
        {"recency_days": True},
        {"recency_days": "7"},
        {"metadata": [1]},
        {"metadata": {"k": None}},
        {"metadata": {"k": [1]}},
        {"metadata": {"k": float("nan")}},
        {"metadata": {7: 1}},
        {"metadata": {"": 1}},
    ],
)
def test_bad_filters(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilter):
        Filters(**given)


def test_filters() -> None:
    assert not Filters() and Filters(recency_days=1) and Filters(metadata={"k": False}) and Filters(types="fact")  # type: ignore[arg-type]
    assert Filters(types=["fact", "fact"]).types == (MemoryType.FACT,)  # type: ignore[arg-type]


def test_window() -> None:
    window = TemporalWindow(start=AWARE, end=AWARE + timedelta(days=1), span=(0, 0), confidence=1)
    assert window.holds(AWARE) and not window.holds(AWARE + timedelta(days=1))
    for start, end in ((NAIVE, None), (None, NAIVE), (AWARE, AWARE)):
        with pytest.raises(InvalidArgument):
            TemporalWindow(start=start, end=end, span=(0, 0), confidence=1)
