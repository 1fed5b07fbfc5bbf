"""docs/looking-after.md: the tests that it names are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "looking-after.md").read_text(encoding="utf-8")


def test_every_promise_has_a_test_that_is_there() -> None:
    proofs = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(proofs) > 5
    for file, test in proofs:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert test in {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}, test
