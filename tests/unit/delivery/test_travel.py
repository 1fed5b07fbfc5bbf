"""Records that travel as JSON are the same on the other side."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Relation, Scope, TemporalWindow
from recall_integrations.delivery.as_data import packed_record, record_of
from recall_integrations.errors import ServerError
from recall_integrations.types import (
    Contribution,
    Degradation,
    Highlight,
    Hit,
    ParsedQuery,
    RecallResult,
    RetrievalPlan,
    unchecked_memory,
)
from tests.rows import each_row

WHEN = datetime(2026, 3, 12, 9, 30, tzinfo=timezone(timedelta(hours=2)))
MEMORY = Memory(
    "Priya moved it",
    id="m1",
    type="event",
    actor="Priya",
    role="user",
    event_at=WHEN,
    entities=["Priya"],
    relations=[Relation("Priya", "knows", "Sam", 0.5)],
    position=-3,
    metadata={"a": [1, None, {"b": "ä"}], "c": 0.1},
)
HIT = Hit(
    memory=MEMORY,
    score=0.1 + 0.2,
    reason="says: moved",
    contributions=(Contribution(source="lexical", rank=1, score=math.inf, added=-0.5, note="x"),),
    duplicates=("m2",),
    context=(Memory("before", id="m0"),),
    scope=Scope("u", "a/b", "%"),
    highlights=(Highlight(start=0, end=5, kind="name", of="Priya", weight=0.25),),
)


def sent(record: Any) -> Any:
    """What is on the other side."""
    return record_of(type(record), json.loads(json.dumps(packed_record(record), allow_nan=False)))


def test_a_hit_is_the_same_to_the_last_bit() -> None:
    assert sent(HIT) == HIT and repr(sent(HIT).score) == repr(HIT.score)
    assert sent(replace(HIT, scope=None)).scope is None
    assert sent(MEMORY) == MEMORY and type(sent(MEMORY).type) is type(MEMORY.type)


def test_what_is_withheld_is_withheld() -> None:
    bare = unchecked_memory(**{f.name: getattr(MEMORY, f.name) for f in fields(Memory)} | {"text": "", "actor": None})
    assert sent(bare) == bare


def test_numbers_that_json_lacks_travel() -> None:
    for score in (math.inf, -math.inf):
        assert sent(Contribution(source="x", score=score)).score == score
    assert math.isnan(sent(Contribution(source="x", score=math.nan)).score)


def test_a_time_is_the_same_moment() -> None:
    window = TemporalWindow(start=WHEN.astimezone(ZoneInfo("Europe/Berlin")), confidence=0.3)
    assert sent(window) == window and sent(window).start.utcoffset() == timedelta(hours=1)


def test_a_result_with_parts_travels() -> None:
    plan = RetrievalPlan(name="precise", arms=(), prefers=("fact",))  # type: ignore[arg-type]
    part = RecallResult(hits=(), query=ParsedQuery(original="x"), plan=RetrievalPlan(name="precise", arms=()))
    whole = replace(part, hits=(HIT,), parts=(part, part), degraded=(Degradation(stage="a", reason="b"),))
    assert sent(whole) == whole
    assert packed_record(plan)["prefers"] == ["fact"]


def test_what_was_recalled_travels() -> None:
    with MemoryStore.open() as store:
        store.remember_many(["Call 415-555-0132 on Friday", Memory("ABC-123 is open", type="fact")])
        optimizer = QueryOptimizer(store)
        for query in ("what about ABC-123 last week, not Fridays?", "deplyment", "数据库"):
            for privacy in ("allow", "redact", "block"):
                result = optimizer.recall(query, privacy=privacy)
                assert replace(sent(result), hits=result.hits) == result


@given(st.text(), st.floats(), st.integers(-(10**12), 10**12), st.none() | st.text())
def test_any_values_travel(text: str, score: float, rank: int, note: str | None) -> None:
    part = Contribution(source=text, score=score, rank=rank, note=note or "")
    try:
        found = sent(part)
    except UnicodeEncodeError:
        return
    assert found == part or math.isnan(score)


@each_row("data", [None, 7, [], {"memory": 3}, {"memory": {}, "score": "x"}, {"score": 0.5}, {"memory": []}])
def test_what_is_none_is_an_error_that_names_versions(data: Any) -> None:
    with pytest.raises(ServerError, match="same version"):
        record_of(Hit, data)


def test_keys_of_a_newer_server_are_passed_over() -> None:
    assert record_of(Hit, {**packed_record(HIT), "new": 1}) == HIT
