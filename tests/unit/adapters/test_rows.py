from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations.adapters.rows import memory_data, memory_of, parse_line, stable_id
from recall_integrations.errors import InvalidInput, InvalidMemory, InvalidScope
from recall_integrations.types import Memory, Relation, Scope
from tests.rows import each_row

FULL = Memory(
    "I prefer tea",
    id="m1",
    type="preference",  # type: ignore[arg-type]
    actor="Priya",
    channel="slack",
    event_at=datetime(2026, 3, 1, 12, tzinfo=timezone.utc),
    created_at=datetime(2026, 3, 2, 12, 30, 0, 500, tzinfo=timezone.utc),
    importance=0.9,
    entities=("Project Kestrel",),
    relations=(Relation("Priya", "manager_of", "Sam", 0.5),),
    thread="t",
    position=3,
    refs=("doc:1",),
    metadata={"a": [1, None]},
)


def test_what_search_prints_can_be_imported() -> None:
    line = json.dumps(memory_data(FULL)).encode()
    assert memory_of(parse_line(line), Scope()) == (Scope(), FULL)


def test_only_text_is_needed_and_null_is_left_out() -> None:
    _, memory = memory_of({"text": "hello", "actor": None, "importance": None}, Scope())
    assert memory == Memory("hello")


@each_row("text", ["2026-03-01T12:00:00Z", "2026-03-01T13:00:00+01:00", " 2026-03-01 12:00+00:00 "])
def test_times_are_iso_with_an_offset(text: str) -> None:
    _, memory = memory_of({"text": "x", "event_at": text}, Scope())
    assert memory.event_at == FULL.event_at


def test_relations_are_lists_or_objects() -> None:
    rows = [["a", "b", "c"], ["a", "b", "c", 0.5], {"subject": "a", "predicate": "b", "object": "c"}]
    _, memory = memory_of({"text": "x", "relations": rows}, Scope())
    assert memory.relations == (Relation("a", "b", "c"), Relation("a", "b", "c", 0.5), Relation("a", "b", "c"))


def test_the_row_s_scope_goes_over_the_default_part_by_part() -> None:
    scope, _ = memory_of({"text": "x", "agent_id": "b"}, Scope("u", "a", "n"))
    assert scope == Scope("u", "b", "n")


@each_row(
    ("row", "message"),
    [
        ({}, "'text' is missing"),
        ({"text": ""}, "text is empty"),
        ({"text": 7}, "must be text"),
        ({"text": "x", "speaker": "Ann"}, "unknown key 'speaker'.*metadata"),
        ({"text": "x", "event_time": "2026-01-01"}, "unknown key 'event_time'. Did you mean 'event_at'?"),
        ({"text": "x", "event_at": "2026-03-01T12:00:00"}, "'event_at' has no offset"),
        ({"text": "x", "event_at": "yesterday"}, "'event_at' must be an ISO 8601 time.*'yesterday'"),
        ({"text": "x", "created_at": 1_700_000_000}, "'created_at' must be an ISO 8601 time"),
        ({"text": "x", "type": "opinion"}, "opinion.*Use one of"),
        ({"text": "x", "importance": 3}, "importance"),
        ({"text": "x", "entities": "Priya"}, "list of names"),
        ({"text": "x", "relations": "a b c"}, "'relations' must be a list"),
        ({"text": "x", "relations": [["a", "b"]]}, "item of 'relations'"),
        ({"text": "x", "relations": [{"subject": "a", "verb": "b", "object": "c"}]}, "item of 'relations'"),
        ({"text": "x", "relations": ["abc"]}, "item of 'relations'"),
        ({"text": "x", "metadata": [1]}, "metadata must be a mapping"),
        ({"text": "x", "id": 7}, "Memory.id must be text"),
    ],
)
def test_a_bad_value_is_named(row: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidMemory, match=message):
        memory_of(row, Scope())


def test_a_bad_scope_is_named() -> None:
    with pytest.raises(InvalidScope, match="user_id"):
        memory_of({"text": "x", "user_id": 7}, Scope())


@each_row(
    ("raw", "message"),
    [
        (b'{"text": "x"', "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[1]", "must be a JSON object, not a list"),
        (b'"x"', "must be a JSON object, not text"),
        (b"null", "must be a JSON object, not null"),
        (b'{"text": "x", "text": "y"}', "key 'text' comes twice"),
        (b"[" * 100_000, "not JSON"),
        (b'{"position": ' + b"9" * 10_000 + b"}", "not JSON"),
    ],
)
def test_a_line_that_is_no_object_is_named(raw: bytes, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_line(raw)


def test_the_stable_id_depends_on_content_scope_and_occurrence_and_nothing_else() -> None:
    one = stable_id({"text": "x", "type": "fact"}, Scope(), 1)
    assert one == stable_id({"type": "fact", "text": "x"}, Scope(), 1)
    others = [
        stable_id({"text": "x", "type": "fact"}, Scope(), 2),
        stable_id({"text": "x", "type": "fact"}, Scope("u"), 1),
        stable_id({"text": "x"}, Scope(), 1),
    ]
    assert len({one, *others}) == 4
