"""Temporary directories of nodes: those that nobody has any more are removed, and no others."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest
from filelock import FileLock

from recall_integrations.store import nodes
from recall_integrations.store.directory import LOCK
from recall_integrations.store.nodes import PREFIX, YOUNG_S, sweep_places

NOW = time.time()


def left(root: Path, name: str, age_s: float = 10 * YOUNG_S) -> Path:
    """What a node left that was killed."""
    path = root / name
    (path / "columns").mkdir(parents=True)
    (path / "columns" / "c1").write_text("x")
    (path / LOCK).touch()
    os.utime(path, (NOW - age_s, NOW - age_s))
    return path


def test_what_killed_nodes_left_goes(tmp_path: Path) -> None:
    dead, never_locked = left(tmp_path, f"{PREFIX}a"), left(tmp_path, f"{PREFIX}b")
    (never_locked / LOCK).unlink()
    os.utime(never_locked, (NOW - 600, NOW - 600))
    assert sweep_places(tmp_path, NOW) == [dead, never_locked]
    assert not list(tmp_path.iterdir()) and sweep_places(tmp_path, NOW) == []


def test_what_somebody_has_or_may_have_stays(tmp_path: Path) -> None:
    held, young = left(tmp_path, f"{PREFIX}held"), left(tmp_path, f"{PREFIX}young", age_s=YOUNG_S / 2)
    other = left(tmp_path, "somebody-else")
    (tmp_path / f"{PREFIX}file").write_text("no directory")
    target = left(tmp_path, "target")
    (tmp_path / f"{PREFIX}link").symlink_to(target)
    lock = FileLock(str(held / LOCK), thread_local=False)
    with lock:
        os.utime(held, (NOW - 600, NOW - 600))
        assert sweep_places(tmp_path, NOW) == []
    assert all((path / "columns" / "c1").exists() for path in (held, young, other, target))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users here")
def test_what_another_user_left_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left(tmp_path, f"{PREFIX}a")
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert sweep_places(tmp_path, NOW) == []


def test_a_new_one_sweeps_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    dead = left(tmp_path, f"{PREFIX}a")
    made = nodes.temporary_place(lambda: NOW)
    assert made.is_dir() and made.parent == tmp_path and not dead.exists()
