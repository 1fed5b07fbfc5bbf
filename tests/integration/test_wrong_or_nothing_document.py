"""docs/wrong-or-nothing.md: each command prints what its row says, on the store that the page makes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recall_integrations.cli import main
from tests.pages import DOCS, printed

PAGE = DOCS / "wrong-or-nothing.md"
ROW = re.compile(r"^\| (?P<symptom>.*?) \| `(?P<command>recall .*?)` \| `(?P<said>.*?)` \| (?P<remedy>.*) \|$", re.M)


def run(line: str) -> Result:
    return CliRunner().invoke(main, shlex.split(line)[1:])


@pytest.mark.usefixtures("no_hurry")
def test_each_symptom_shows_its_cause_and_each_remedy_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    assert [out for _, out in printed(PAGE)] != []
    rows = list(ROW.finditer(PAGE.read_text(encoding="utf-8")))
    assert len(rows) == 11
    for row in rows:
        assert row["said"] in run(row["command"]).output, row["symptom"]
        for remedy in re.findall(r"`(recall \w+ ann-store.*?)`", row["remedy"]):
            done = run(remedy)
            assert done.exit_code == 0, (row["symptom"], done.output)
