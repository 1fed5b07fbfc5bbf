"""docs/command-line.md: its commands run in order on the store that the page makes, and print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from recall_integrations.cli import main
from tests.pages import DOCS, blocks, examples

PAGE = DOCS / "command-line.md"
ELSEWHERE = ("demo", "serve", "mcp", "move", "bench")  # they serve, need a server or a checkout, or take long
_PAIR = re.compile(r"```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def run(line: str) -> str:
    done = CliRunner().invoke(main, shlex.split(line, comments=True)[1:])
    assert done.exit_code == 0, (line, done.output)
    return done.output


def shows(shown: str, printed: str) -> bool:
    """Whether this is what was printed, but for what `…` leaves out."""
    there = "\n".join(line.rstrip() for line in printed.splitlines() if line.strip())
    parts = (re.escape(part) for part in re.sub(r"\n+", "\n", shown).strip().split("…"))
    return re.fullmatch(".*?".join(parts), there, re.DOTALL) is not None


@pytest.mark.usefixtures("no_hurry")
def test_every_example_works_on_the_store_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rows, queries = blocks(PAGE, "json")
    Path("conversations.jsonl").write_text(rows, encoding="utf-8")
    Path("queries.jsonl").write_text(queries, encoding="utf-8")
    workshop = examples(DOCS / "learning.md")[0].code.replace("MemoryStore.open()", 'MemoryStore.open("workshop")')
    names: dict[str, Any] = {"__name__": "page"}
    exec(workshop, names)
    names["store"].close()
    compared = 0
    for commands, shown in _PAIR.findall(PAGE.read_text(encoding="utf-8")):
        printed = "".join(run(line) for line in commands.splitlines() if line.split()[1] not in ELSEWHERE)
        if shown:
            compared += 1
            assert shows(shown, printed), f"{commands}{printed}"
    assert compared == 10


def test_what_is_left_out_may_be_anything_and_the_rest_may_not() -> None:
    assert shows("a …\n…\nz\n", "a 1\nb\n\nz  \n") and shows("a\n\nb\n", "a\nb\n")
    assert not shows("a …\nz\n", "b 1\nz\n") and not shows("a\n", "a\nb\n")
