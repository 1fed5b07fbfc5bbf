"""docs/reliability.md: the tests that it names as proof are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from recall_integrations.config import RecallConfig
from recall_integrations.resilience.guard import LIMIT

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
ENGINES = ("directory", "PostgreSQL", "both", "any")


@cache
def functions(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def promises() -> list[str]:
    """Rows of the table."""
    table = PAGE[PAGE.index("## What is promised") : PAGE.index("## What `degraded` says")]
    rows = [row for row in table.splitlines() if row.startswith("| ") and not row.startswith("| promise")]
    assert len(rows) > 15
    return rows


def test_the_engine_of_every_promise_is_one_that_the_page_explains() -> None:
    engines = set()
    for row in promises():
        cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
        assert len(cells) == 3 and cells[1] in ENGINES, row
        engines.add(cells[1])
    assert engines == set(ENGINES)
    (explained,) = [line for line in PAGE.splitlines() if line.startswith("The engine is the one")]
    assert all(engine in explained for engine in ENGINES)


def test_every_promise_has_a_test_that_is_there() -> None:
    for row in promises():
        proofs = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row)
        assert proofs, row
        for file, test in proofs:
            if not test:
                assert (ROOT / file).is_file(), file
                continue
            assert test in functions(file), f"{file}::{test}"


def test_the_settings_are_the_defaults() -> None:
    breakers = RecallConfig().breakers
    assert f"failures_max: {breakers.failures_max} " in PAGE and f"open_s: {breakers.open_s:g} " in PAGE
    assert "eight calls at once" in PAGE and LIMIT == 8


def test_every_code_of_the_package_that_a_result_may_show_is_explained() -> None:
    said = set(re.findall(r"`([a-z_.]+)`", PAGE))
    written = set()
    for path in (ROOT / "recall_integrations").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        written |= set(re.findall(r'"((?:skip|failure|success)\.[a-z_]+|circuit_open)"', text))
        written |= set(re.findall(r'Degradation\([^)]*reason="([a-z_.]+)"', text))
    assert len(written) > 15 and sorted(written - said) == []
