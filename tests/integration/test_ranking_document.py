"""docs/ranking.md: its tables are the package's, and its worked example is run and prints what it says.

`python tests/integration/test_ranking_document.py` writes the features' table, the lifts and the outputs anew.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from recall_integrations.config import STRATEGIES
from recall_integrations.ranking import stage
from recall_integrations.ranking.features import FORMULAS
from recall_integrations.ranking.ranker import FLOORS, PLAIN_WEIGHTS, SPREAD_WEIGHTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranking.md"
BLOCK = re.compile(r"```python\n(.*?)```(\n\n```text\n)(.*?)```", re.DOTALL)
HEAD = "| feature | formula | weight | floor |\n|---|---|---:|---:|\n"
LIFTS = {
    "edge": stage.EDGE_LIFT,
    "type_filter": stage.TYPE_LIFT,
    "router": stage.MODE_LIFT,
    "recency": stage.TIME_LIFT,
    "exact": stage.EXACT_LIFT,
}
NUMBER = re.compile(r"-?\d*\.\d+")
TOLERANCE = 0.006  # cosines of quantised vectors, times a weight, rounded


def table() -> str:
    """Every feature with its formula, the un-learned ranker's weight, and the floor of its spread."""
    rows = []
    for name, formula in FORMULAS.items():
        weight = f"{SPREAD_WEIGHTS[name]:g} z" if name in SPREAD_WEIGHTS else f"{PLAIN_WEIGHTS.get(name, 0):g}"
        floor = f"{FLOORS[name]:g}" if name in FLOORS else ""
        rows.append(f"| `{name}` | {formula} | {'' if weight == '0' else weight.replace('-', '−')} | {floor} |\n")
    return HEAD + "".join(rows)


def outputs(page: str) -> list[str]:
    """What each Python block prints; they share their names."""
    names: dict[str, Any] = {}
    printed = []
    for code, _, _ in BLOCK.findall(page):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, str(PAGE), "exec"), names)
        printed.append(out.getvalue())
    return printed


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_every_feature_and_weight_is_in_the_table(page: str) -> None:
    assert table() in page
    assert set(SPREAD_WEIGHTS) | set(PLAIN_WEIGHTS) <= set(FORMULAS)


def test_every_lift_and_strategy_is_listed(page: str) -> None:
    lifts = page.split("## What the plan lifts", 1)[1].split("\n## ", 1)[0]
    for source, lift in LIFTS.items():
        assert re.search(rf"^\| `{source}` \| {lift:g} ", lifts, re.MULTILINE), source
    assert set(re.findall(r"^\| `(\w+)` ", page.split("## Which strategy", 1)[1], re.MULTILINE)) == set(STRATEGIES)


def test_the_worked_example_prints_what_the_page_says(page: str) -> None:
    blocks = BLOCK.findall(page)
    assert len(blocks) == page.count("```python") >= 7
    for (_, _, said), printed in zip(blocks, outputs(page), strict=True):
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", said)
        wanted, got = ([float(n) for n in NUMBER.findall(text)] for text in (said, printed))
        assert got == pytest.approx(wanted, abs=TOLERANCE)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for source, lift in LIFTS.items():
        text = re.sub(rf"^(\| `{source}` \| )[\d.]+", rf"\g<1>{lift:g}", text, flags=re.MULTILINE)
    text = re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), text)
    found = iter(outputs(text))
    text = BLOCK.sub(lambda m: f"```python\n{m[1]}```{m[2]}{next(found)}```", text)
    PAGE.write_text(text, encoding="utf-8")
