from __future__ import annotations

import os
from pathlib import Path

import pytest

from recall_integrations.store import chroma_files


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.bin").write_bytes(b"abc")
    (tmp_path / "sub" / "b.bin").write_bytes(b"def")
    (tmp_path / "x.lock").touch()
    chroma_files.seal(tmp_path, {})
    return tmp_path


def test_untouched(sealed: Path) -> None:
    problem, entries = chroma_files.broken_seal(sealed)
    assert problem is None and sorted(entries) == ["a.bin", "sub/b.bin"]


def test_copied_files_have_new_times_only(sealed: Path) -> None:
    os.utime(sealed / "a.bin", (1, 1))
    assert chroma_files.broken_seal(sealed)[0] is None


def test_changed_shortened_and_lost_files(sealed: Path) -> None:
    (sealed / "a.bin").write_bytes(b"abX")
    assert "a.bin" in (chroma_files.broken_seal(sealed)[0] or "")
    (sealed / "a.bin").write_bytes(b"ab")
    assert "a.bin" in (chroma_files.broken_seal(sealed)[0] or "")
    (sealed / "a.bin").unlink()
    assert "missing" in (chroma_files.broken_seal(sealed)[0] or "")


def test_new_files_are_none_of_its_business(sealed: Path) -> None:
    (sealed / "new.bin").touch()
    assert chroma_files.broken_seal(sealed)[0] is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a.bin": 3}', '{"a.bin": []}', "\0"])
def test_unreadable_seal(sealed: Path, content: str) -> None:
    (sealed / chroma_files.SEAL).write_text(content)
    assert "seal" in (chroma_files.broken_seal(sealed)[0] or "")


def test_without_a_seal_nothing_is_wrong(sealed: Path) -> None:
    chroma_files.unseal(sealed)
    chroma_files.unseal(sealed)
    (sealed / "a.bin").write_bytes(b"changed")
    assert chroma_files.broken_seal(sealed) == (None, {})
    assert chroma_files.broken_seal(sealed / "nowhere") == (None, {})
    chroma_files.seal(sealed / "nowhere", {})


def test_opening_that_never_ended(sealed: Path) -> None:
    chroma_files.mark_trying(sealed, True)
    assert "did not end" in (chroma_files.broken_seal(sealed)[0] or "")
    chroma_files.mark_trying(sealed, False)
    assert chroma_files.broken_seal(sealed)[0] is None
