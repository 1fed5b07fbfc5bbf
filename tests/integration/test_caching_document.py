"""docs/caching.md: its settings are the defaults, and the tests that it names as proof are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import yaml

from recall_integrations.config import RecallConfig

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "caching.md").read_text(encoding="utf-8")


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
