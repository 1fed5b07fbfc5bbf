"""`recall serve` and `recall token`, used wrongly."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from recall_integrations import MemoryStore
from recall_integrations.cli import main


@pytest.mark.parametrize(
    "wrong",
    [
        ["--llm", "no_such_module:model"],
        ["--llm", "without_a_name"],
        ["--reranker", "no_such_module:model"],
        ["--config", "wrong.yaml"],
        ["--directory", "columns"],
    ],
)
def test_what_cannot_be_loaded_is_told_before_a_store_is_made(
    wrong: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wrong.yaml").write_text("recall: {plannner: {}}")
    done = CliRunner().invoke(main, ["serve", "new", "--port", "0", *wrong])
    assert done.exit_code == 1 and done.stderr.startswith("Error: ")
    assert not Path("new").exists()


def test_workers_get_the_arguments_of_whoever_started_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, ...]] = []

    class Workers:
        def __init__(self, arguments: tuple[str, ...], *_given: object, **_options: object) -> None:
            told.append(arguments)

        def run(self) -> bool:
            return True

    monkeypatch.setattr("recall_integrations.serving.start.Workers", Workers)
    monkeypatch.setattr("sys.argv", ["-c", "what", "else"])
    given = ["--debug", "serve", str(tmp_path / "new"), "--port", "0", "--workers", "2"]
    assert CliRunner().invoke(main, given).exit_code == 0
    assert told == [tuple(given)]


def test_a_file_without_tokens_says_how_to_make_one(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    done = CliRunner().invoke(main, ["token", "list", str(file)])
    assert done.exit_code == 0 and done.stdout == ""
    assert "holds no token" in done.stderr and "recall token add" in done.stderr
    assert not file.exists()


@pytest.mark.parametrize("package", ["fastapi", "uvicorn"])
@pytest.mark.parametrize("command", ["serve", "look"])
def test_without_its_extra_it_names_it(
    command: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    if command == "look":
        MemoryStore.open(tmp_path / "new").close()
    done = CliRunner().invoke(main, [command, str(tmp_path / "new"), "--port", "0"])
    assert done.exit_code == 1
    assert re.search(r"Install it with: .*install .*\[serve\]\"$", done.stderr.strip())
    assert command == "look" or not (tmp_path / "new").exists()


def test_one_store_is_looked_at_or_the_demo(tmp_path: Path) -> None:
    for wrong in ([], [str(tmp_path), "--demo"], ["--demo", "--embedding", "x"]):
        done = CliRunner().invoke(main, ["look", *wrong])
        assert done.exit_code == 1 and "--demo" in done.stderr, wrong
