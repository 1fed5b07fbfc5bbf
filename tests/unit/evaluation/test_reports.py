"""A file is written whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from recall_integrations.evaluation import reports
from recall_integrations.evaluation.reports import write_whole


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "recall.yaml"
    write_whole(file, "first")
    file.chmod(0o600)

    def full(_number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(reports.os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            write_whole(file, "second")
    assert file.read_text(encoding="utf-8") == "first"
    write_whole(file, "third")
    assert file.read_text(encoding="utf-8") == "third"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "said")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "said"


def test_a_file_that_can_be_written_but_not_replaced_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(_self: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", busy)
    write_whole(tmp_path / "file", "said")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "said"
    assert len(list(tmp_path.iterdir())) == 1
