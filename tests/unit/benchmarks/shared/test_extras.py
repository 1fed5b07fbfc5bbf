from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.quality import comparison
from benchmarks.shared import extras
from recall_integrations.errors import MissingExtra

CONSOLE = Console(file=io.StringIO())


def test_check_imports_nothing_that_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, extras.METRICS, None)
    extras.check("json")
    with pytest.raises(MissingExtra, match=r"ir_measures.*\[bench\]"):
        extras.check("json", extras.METRICS)


def test_quality_says_what_is_missing_before_it_reads_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def no_work(*_a: object, **_k: object) -> None:
        raise AssertionError("began to work before it knew that it can finish")

    monkeypatch.setitem(sys.modules, extras.METRICS, None)
    monkeypatch.setattr(comparison, "load", no_work)
    with pytest.raises(MissingExtra, match=r"\[bench\]"):
        comparison.run(tmp_path, CONSOLE)
