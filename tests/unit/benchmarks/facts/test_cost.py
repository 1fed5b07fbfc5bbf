"""`recall bench facts --cost`: what facts cost."""

from __future__ import annotations

import io
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.facts import cost
from recall_integrations import Memory, Scope
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question

AT = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def collection() -> Collection:
    return Collection(
        name="one",
        scope=Scope(user_id="one"),
        memories=tuple(Memory(f"My gym is Ironworks {i}", id=f"m{i}", event_at=AT) for i in range(5)),
        questions=(Question(id="q", text="what is my gym?", relevant=("m4",), asked_at=AT),),
    )


def test_both_are_measured_in_turns(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedding: Any
) -> None:
    monkeypatch.setattr(cost, "BATCH", 2)
    monkeypatch.setattr(
        "benchmarks.datasets.loading.load",
        lambda _path, name: EvaluationData(name=name, collections=(collection,)),
    )
    out, file = io.StringIO(), tmp_path / "cost.json"
    found = cost.run(tmp_path, Console(file=out, width=120), json_path=file, embedding=embedding)
    assert (found[cost.WRITES].count, found[cost.SINGLE_WRITES].count, found[cost.RECALLS].count) == (5, 2, 1)
    assert all(one.ratio > 0 and one.with_facts > 0 and one.without > 0 for one in found.values())
    assert json.loads(file.read_text())["costs"][cost.WRITES]["count"] == 5
    assert "1.20" in out.getvalue()


def test_turns_change_who_is_first() -> None:
    order: list[str] = []
    calls = [lambda: order.append("a"), lambda: order.append("b")]
    for turn in (0, 1):
        assert min(cost._in_turns(calls, turn)) >= 0
    assert order == ["b", "a", "a", "b"]


def test_where_nothing_is_asked_there_is_nothing_to_measure(collection: Collection) -> None:
    with pytest.raises(InvalidArgument, match="nothing to be asked"):
        cost.measure([])
