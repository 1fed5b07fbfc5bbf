"""The directory of a store, held open."""

from __future__ import annotations

from pathlib import Path

import pytest

from recall_integrations import Memory, MemoryStore


def test_a_process_may_change_its_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, then = tmp_path / "first", tmp_path / "then"
    first.mkdir()
    then.mkdir()
    monkeypatch.chdir(first)
    with MemoryStore.open("memories") as store:
        monkeypatch.chdir(then)
        store.remember(Memory("Tea is ready", id="a"))
        assert store.get("a")
    assert list(then.iterdir()) == []  # no lock, and nothing else
    with MemoryStore.open(first / "memories") as store:
        assert store.get("a")
