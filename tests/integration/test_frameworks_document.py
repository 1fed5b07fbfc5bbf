"""docs/frameworks.md: its examples share names and print what it says. docs/documents-and-nodes.md: the proofs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from recall_integrations.adapters.shapes import FIELDS, NODE, OURS
from tests.pages import prints_what_it_says

ROOT = Path(__file__).resolve().parents[2]
HOW_TO, REFERENCE = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("frameworks", "documents-and-nodes")
)


@pytest.mark.usefixtures("no_hurry")
def test_the_examples_print_what_the_page_says() -> None:
    assert prints_what_it_says("frameworks.md") == 7


def test_every_promise_has_a_test_that_is_there() -> None:
    proofs = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", REFERENCE)
    assert len(proofs) > 8
    for file, test in proofs:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        named = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert not test or test in named, f"{file}::{test}"


def test_the_pages_name_every_key_and_every_field() -> None:
    table = REFERENCE[REFERENCE.index("| key | what |") : REFERENCE.index('Keys without "only" in their line')]
    assert set(re.findall(r"`(recall_\w+)`", table)) == set(OURS) - {NODE}
    fields = HOW_TO[HOW_TO.index("Its fields:") : HOW_TO.index("A field that a memory lacks is empty")]
    assert {name.split("[")[0] for name in re.findall(r"`([\w\[\]]+)`", fields)} == set(FIELDS)
