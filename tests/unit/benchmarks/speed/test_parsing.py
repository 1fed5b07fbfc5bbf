"""The parse benchmark on a tiny scope, and that its steps are timed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.speed import parsing
from benchmarks.speed.synthetic import END
from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.query import parser
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from tests.rows import each_row


def test_every_guarded_step_is_timed_and_known() -> None:
    parser = QueryParser(RecallConfig())
    with parsing.stepwise() as times:
        parser.parse("what did Sam say last week?", END, ScopeKnowledge())
    assert set(times) <= set(parsing.STEPS)
    assert {"temporal", "negation", "identifiers", "router", "conversational"} <= set(times)
    assert min(times.values()) > 0
    before = dict(times)
    parser.parse("what did Sam say last week?", END, ScopeKnowledge())
    assert times == before


def test_a_step_that_fails_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "find_negations", lambda _text: 1 / 0)
    with parsing.stepwise() as times:
        QueryParser(RecallConfig()).parse("not Sam", END, ScopeKnowledge())
    assert times["failed"] == 1


@each_row("wrong", [{"memories": 0}, {"entities": 0}, {"queries": 0}, {"memories": 5, "entities": 6}])
def test_wrong_arguments_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong)) if len(wrong) == 1 else "6 entities"):
        parsing.run(Console(file=io.StringIO()), **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_whole_run_on_a_tiny_scope(tmp_path: Path) -> None:
    out = Console(file=io.StringIO(), width=160)
    file = tmp_path / "parse.json"
    report = parsing.run(out, memories=60, entities=20, queries=14, json_path=file)
    assert (report.memories, report.queries, report.degraded) == (60, 14, 0)
    assert report.entities >= 20
    assert list(report.steps) == [*parsing.STEPS, "other", "parse", "plan"]
    assert report.kinds["all"].count == 14
    assert [t.count for kind, t in report.kinds.items() if kind != "all"] == [2] * 7
    assert 0 < report.steps["parse"].p50 <= report.kinds["all"].p50 <= report.kinds["all"].p99
    assert min(report.cold.values()) > 0
    text = out.file.getvalue()  # type: ignore[attr-defined]
    for part in ("60 memories", "temporal", "spelling", "other", "Target p50", "A fresh process"):
        assert part in text
    assert json.loads(file.read_text(encoding="utf-8"))["steps"]["plan"]["count"] == 14
