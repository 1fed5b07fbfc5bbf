"""docs/reliability.md: its example prints what the page says, and the tests that it names as proof are there."""

from __future__ import annotations

import ast
import contextlib
import io
import re
from pathlib import Path

from recall_integrations.config import RecallConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says() -> None:
    shown = 0
    for code, said in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, "docs/reliability.md", "exec"), {"__name__": "page"})
        assert out.getvalue() == said
        shown += 1
    assert shown == 1


def test_every_promise_has_a_test_that_is_there() -> None:
    table = PAGE[PAGE.index("## What is promised") : PAGE.index("## What `degraded` says")]
    rows = [row for row in table.splitlines() if row.startswith("| ") and not row.startswith("| promise")]
    assert len(rows) > 15
    for row in rows:
        proofs = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert proofs, row
        for file, test in proofs:
            if not test:
                assert (ROOT / file).is_file(), file
                continue
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            named = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
            assert test in named, f"{file}::{test}"


def test_the_settings_are_the_defaults() -> None:
    breakers, limits = RecallConfig().breakers, RecallConfig().limits
    assert f"failures_max: {breakers.failures_max} " in PAGE and f"open_s: {breakers.open_s:g} " in PAGE
    assert f"`limits.workers` ({limits.workers})" in PAGE


def test_every_code_of_the_package_that_a_result_may_show_is_explained() -> None:
    said = set(re.findall(r"`([a-z_.]+)`", PAGE))
    written = set()
    for path in (ROOT / "recall_integrations").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        written |= set(re.findall(r'"((?:skip|failure|success)\.[a-z_]+|circuit_open)"', text))
        written |= set(re.findall(r'Degradation\([^)]*reason="([a-z_.]+)"', text))
    assert len(written) > 15 and sorted(written - said) == []
