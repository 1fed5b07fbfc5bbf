"""What is counted when redaction changes memories."""

from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from benchmarks.privacy.alarms import HOSTILE, alarms, hostile, run
from recall_integrations.types import Memory


def test_memories_that_change_are_counted_by_kind() -> None:
    memories = [
        Memory("call 415-555-2671 or 415-555-2672"),
        Memory("at 10:30 on 2024-05-01", metadata={"email": "a@example.com"}),
        Memory("nothing here"),
    ]
    found = alarms("made up", memories, show=1)
    assert (found.memories, found.changed, found.kinds) == (3, 2, {"phone": 2, "email": 1})
    assert found.shown == (("phone", "call »415-555-2671« or 415-555-2672"),)


def test_hostile_texts_are_timed() -> None:
    costs = dict(hostile(1_000))
    assert set(costs) == set(HOSTILE)
    assert all(cost >= 0 for cost in costs.values())


def test_the_report_has_both(tmp_path: Path) -> None:
    (tmp_path / "memories.jsonl").write_text(json.dumps({"id": "m1", "text": "write to a@example.com"}) + "\n")
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query": "who", "relevant": ["m1"]}) + "\n")
    out = io.StringIO()
    report = tmp_path / "report.json"
    run(tmp_path, Console(file=out, width=200), datasets=("jsonl",), show=1, chars=1_000, json_path=str(report))
    written = json.loads(report.read_text())
    assert written["alarms"][0]["kinds"] == {"email": 1}
    assert "»a@example.com«" in out.getvalue()
