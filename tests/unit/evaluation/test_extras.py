from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from recall_integrations.errors import MissingExtra
from recall_integrations.evaluation import extras, latency, parsing, quality, quality_kinds, rules

CONSOLE = Console(file=io.StringIO())


def without(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)


def no_work(*_a: object, **_k: object) -> None:
    raise AssertionError("began to work before it knew that it can finish")


def test_check_imports_nothing_that_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in extras.PEERS:
        without(monkeypatch, module)
    extras.check("json")
    with pytest.raises(MissingExtra, match=r"recall-integrations\[bench\]"):
        extras.check("json", peers=True)


def test_latency_says_what_is_missing_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "psutil")
    monkeypatch.setattr(latency, "measure", no_work)
    with pytest.raises(MissingExtra, match=r"psutil.*recall-integrations\[bench\]"):
        latency.run(CONSOLE, sizes=(5,), peers=False)
    monkeypatch.setattr(parsing, "measure", no_work)
    with pytest.raises(MissingExtra, match="psutil"):
        parsing.run(CONSOLE)


@pytest.mark.parametrize("module", ["ir_measures", "langchain_chroma"])
def test_quality_says_what_is_missing_before_it_reads_anything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    without(monkeypatch, module)
    monkeypatch.setattr(quality, "load", no_work)
    for run in (quality.run, quality_kinds.run):
        with pytest.raises(MissingExtra, match=r"recall-integrations\[bench\]"):
            run(tmp_path, CONSOLE)
    if module == "ir_measures":
        with pytest.raises(MissingExtra, match="ir_measures"):
            rules.run(tmp_path, CONSOLE)
