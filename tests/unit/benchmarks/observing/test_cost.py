"""`recall bench observability`: what it measures, on a store of a few memories."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.observing import cost
from recall_integrations.errors import InvalidArgument


@pytest.mark.slow
def test_each_way_to_observe_is_measured_beside_none(tmp_path: Path) -> None:
    out, report = io.StringIO(), tmp_path / "report.json"
    costs = cost.run(Console(file=out, width=200), memories=50, queries_per_plan=1, rounds=1, json_path=report)
    assert set(costs) == {"off", "off, again", "metrics", "traces", "logs", "all"}
    assert costs["off"].more_ms == costs["off"].cpu_more == 0
    assert all(each.median_ms > 0 and each.cpu_ms > 0 for each in costs.values())
    assert "Bound: all of it on costs a recall at most 10% more" in out.getvalue()
    assert set(json.loads(report.read_text())["costs"]) == set(costs)


def test_numbers_under_one_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least 1"):
        cost.run(Console(file=io.StringIO()), rounds=0)
