"""The directory of a store, held open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore
from recall_integrations.store.directory import below, size_of
from recall_integrations.store.doctor.findings import directory_of


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
    listed = os.scandir

    def goes_before_it_is_listed(path: Any) -> Any:
        if isinstance(path, str | Path) and Path(path).name == "semantic.1":
            (Path(path) / "data.bin").unlink()
            Path(path).rmdir()
        return listed(path)

    monkeypatch.setattr(os, "scandir", goes_before_it_is_listed)
    assert size_of(tmp_path) == 10


@pytest.mark.parametrize(("error", "said"), [(FileNotFoundError, "ok"), (PermissionError, "problem")])
def test_what_went_is_not_closed_and_what_may_not_be_looked_at_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], said: str
) -> None:
    (tmp_path / "data.bin").touch()
    lstat = Path.lstat

    def fails(path: Path) -> os.stat_result:
        if path.name == "data.bin":
            raise error
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", fails)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "data.bin")
    assert directory_of(tmp_path).state == said
