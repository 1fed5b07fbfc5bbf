"""The benchmark of the result cache on a tiny scope."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.speed import caching
from recall_integrations.errors import InvalidArgument


@pytest.mark.parametrize("wrong", [{"memories": 0}, {"queries_per_plan": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match="at least 1"):
        caching.run(Console(file=io.StringIO()), **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_whole_run_on_a_tiny_scope(tmp_path: Path) -> None:
    out, file = Console(file=io.StringIO(), width=160), tmp_path / "cache.json"
    report = caching.run(out, memories=60, queries_per_plan=2, json_path=file)
    assert list(report.latency)[:3] == [caching.PLAIN, caching.MISS, caching.SAME]
    assert report.outcomes["hit:same"] == report.latency[caching.SAME].queries
    assert report.outcomes.get("hit:alike", 0) == getattr(report.latency.get(caching.ALIKE), "queries", 0)
    assert json.loads(file.read_text())["outcomes"] == report.outcomes
