"""docs/caching.md: its example prints what the page says, and the tests that it names as proof are there."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest
import yaml

from recall_integrations.config import RecallConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "caching.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_example_prints_what_the_page_says() -> None:
    ((code, said),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "docs/caching.md", "exec"), {"__name__": "page"})
    assert out.getvalue() == said


def test_the_settings_are_the_defaults_but_for_the_mode() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert RecallConfig.from_mapping(yaml.safe_load(block)["recall"]) == RecallConfig(mode="cached")


def test_every_promise_has_a_test_that_is_there() -> None:
    rows = [row for row in PAGE.splitlines() if row.startswith("| ") and not row.startswith("| promise")]
    proofs = [re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row) for row in rows if "tests/" in row]
    assert len(proofs) > 10 and all(proofs)
    for file, test in (proof for found in proofs for proof in found):
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        named = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not test or test in named, f"{file}::{test}"
