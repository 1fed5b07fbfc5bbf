"""docs/privacy.md: its example prints what it says. docs/privacy-modes.md: the tests that it names are there."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from recall_integrations import RecallConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
MODES = (ROOT / "docs" / "privacy-modes.md").read_text(encoding="utf-8")


def unnumbered(text: str) -> str:
    """Placeholders without their numbers, lines without what cannot be seen at their ends."""
    return "\n".join(line.rstrip() for line in re.sub(r"\[(\w+)-\d+\]", r"[\1]", text).splitlines())


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    shown = 0
    for code, said in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, "docs/privacy.md", "exec"), {"__name__": "page"})
        assert unnumbered(out.getvalue()) == unnumbered(said)
        shown += 1
    assert shown >= 1


def test_the_settings_are_read() -> None:
    (written,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    config = RecallConfig.from_mapping(yaml.safe_load(written)["recall"])
    ((name, pattern),) = config.privacy.compiled
    assert name == "badge" and pattern.search("B-1234 was here")


def test_every_promise_has_a_test_that_is_there() -> None:
    table = MODES[MODES.index("## What is promised") :]
    proofs = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", table)
    assert len(proofs) > 10
    for file, test in proofs:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert test in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}, test
