"""The directory of a store, held open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recall_integrations import Memory, MemoryStore
from recall_integrations.store.directory import below, size_of


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


def test_what_goes_while_a_directory_is_looked_through_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("semantic.1", "semantic.2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.bin").write_bytes(bytes(10))
    assert [path.name for path in below(tmp_path)] == ["semantic.1", "semantic.2", "data.bin", "data.bin"]
    assert size_of(tmp_path) == 20
    is_file = Path.is_file

    def goes_meanwhile(path: Path) -> bool:
        if path.name == "semantic.1":
            shutil.rmtree(path)
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", goes_meanwhile)
    assert size_of(tmp_path) == 10
