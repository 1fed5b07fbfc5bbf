"""`recall mcp` makes a store where there is none, and says so where no client reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from recall_integrations import MemoryStore
from recall_integrations.cli import main
from recall_integrations.frameworks import mcp as server


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What would be served; nothing is."""
    given: list[object] = []
    monkeypatch.setattr(server, "serve", lambda made, *_how, **_more: given.append(made))
    return given


def test_a_new_store_is_told_of_once_and_not_to_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: list[object]
) -> None:
    monkeypatch.chdir(tmp_path)
    first, again = (CliRunner().invoke(main, ["mcp", "new"]) for _ in range(2))
    assert (first.exit_code, first.stdout, first.stderr) == (0, "", f"Made a new store at {tmp_path / 'new'}\n")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "")
    assert len(served) == 2
    MemoryStore.open(tmp_path / "new").close()


def test_where_none_can_be_made_none_is_told_of(tmp_path: Path, served: list[object]) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(main, ["mcp", str(tmp_path / "file")])
    assert (done.exit_code, done.stdout, served) == (1, "", [])
    assert "Made" not in done.stderr
