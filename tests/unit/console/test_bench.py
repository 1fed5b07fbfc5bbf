"""`recall bench` where there is no checkout: it says in words what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from recall_integrations.cli import main
from recall_integrations.console.commands import measure as repository
from tests.rows import each_row


@pytest.fixture(autouse=True)
def no_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the wheel has it: neither the folder above the package nor the current one is a checkout."""
    monkeypatch.setattr(repository, "__file__", str(tmp_path / "site/recall_integrations/console/commands/x.py"))
    monkeypatch.chdir(tmp_path)


def test_the_help_says_what_it_needs() -> None:
    result = CliRunner().invoke(main, ["bench", "--help"])
    assert result.exit_code == 0
    assert "Needs a checkout of the repository" in result.stdout and "Commands:" not in result.stdout
    assert "Clone it and run the command there." in " ".join(result.stdout.split())


@each_row("command", [["latency"], ["quality", "."], ["temporal", "--help"], ["haste"]])
def test_a_command_is_missed_in_words(command: list[str]) -> None:
    result = CliRunner().invoke(main, ["bench", *command])
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output
    assert "lives in the repository" in result.stderr and "Clone it and run the command there." in result.stderr
