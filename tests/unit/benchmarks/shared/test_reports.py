"""A report is written where one is wanted, and it is said where it is."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.shared.reports import write_report
from recall_integrations.errors import InvalidArgument


def test_a_report_that_nobody_asked_for_is_not_written() -> None:
    out = Console(file=io.StringIO())
    write_report(None, {"a": 1}, out)
    assert out.file.getvalue() == ""  # type: ignore[attr-defined]


def test_a_report_is_written_and_named(tmp_path: Path) -> None:
    out = Console(file=io.StringIO(), width=1_000)
    write_report(tmp_path / "r.json", {"a": {"b": [1, 2]}, "c": "é"}, out)
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == {"a": {"b": [1, 2]}, "c": "é"}
    assert f"Report written to {tmp_path / 'r.json'}" in out.file.getvalue()  # type: ignore[attr-defined]


def test_a_report_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="Cannot write the report"):
        write_report(tmp_path / "none" / "r.json", {}, Console(file=io.StringIO()))
