"""docs/frameworks.md: its examples share their names, each prints what the page says, and its proofs are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from recall_integrations.adapters.shapes import FIELDS, NODE, OURS
from tests.pages import prints_what_it_says

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("frameworks.md") == 7


def test_every_promise_has_a_test_that_is_there() -> None:
    proofs = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(proofs) > 8
    for file, test in proofs:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        named = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not test or test in named, f"{file}::{test}"


def test_the_page_names_every_key_and_every_field() -> None:
    table = PAGE[PAGE.index("| key | what |") : PAGE.index("All but those of the last five lines")]
    assert set(re.findall(r"`(recall_\w+)`", table)) == set(OURS) - {NODE}
    fields = PAGE[PAGE.index("Its fields:") : PAGE.index("What a memory does not have is empty")]
    assert {name.split("[")[0] for name in re.findall(r"`([\w\[\]]+)`", fields)} == set(FIELDS)
