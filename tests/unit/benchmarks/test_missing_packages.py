"""A benchmark says which package it lacks before the long run, not after it."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peers import systems
from benchmarks.planning import rules
from benchmarks.quality import all_kinds
from benchmarks.speed import latency, parsing
from recall_integrations.errors import MissingExtra

CONSOLE = Console(file=io.StringIO())


def without(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)


def no_work(*_a: object, **_k: object) -> None:
    raise AssertionError("began to work before it knew that it can finish")


def test_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "psutil")
    monkeypatch.setattr(latency, "measure", no_work)
    with pytest.raises(MissingExtra, match=r"psutil.*\[bench\]"):
        latency.run(CONSOLE, sizes=(5,), peers=False)
    monkeypatch.setattr(parsing, "measure", no_work)
    with pytest.raises(MissingExtra, match="psutil"):
        parsing.run(CONSOLE)


def test_latency_needs_the_peers_only_where_they_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil", reason="psutil (extra `bench`) is not installed")
    without(monkeypatch, "langchain_chroma")
    monkeypatch.setattr(latency, "measure", no_work)
    with pytest.raises(MissingExtra, match="langchain_chroma"):
        latency.run(CONSOLE, sizes=(5,))
    with pytest.raises(AssertionError, match="began to work"):
        latency.run(CONSOLE, sizes=(5,), peers=False)


def test_quality_of_kinds_and_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without(monkeypatch, "ir_measures")
    monkeypatch.setattr(all_kinds.kinds, "read", no_work)
    for run in (all_kinds.run, rules.run):
        with pytest.raises(MissingExtra, match=r"ir_measures.*\[bench\]"):
            run(tmp_path, CONSOLE)


def test_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "langchain_chroma")
    with pytest.raises(MissingExtra, match=r"langchain_chroma.*\[bench\]"):
        systems.compared()
