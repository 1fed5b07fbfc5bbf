"""docs/ranking.md and the reference of ranking features: tables are the package's, examples print what the page says.

`python tests/integration/test_ranking_document.py` writes the tables, the lifts and the outputs anew.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.config import STRATEGIES
from recall_integrations.indexes.kind import GATES, Kind
from recall_integrations.ranking import rank as stage
from recall_integrations.ranking.features.compute import FEATURES

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "ranking.md"
REFERENCE = DOCS / "reference" / "ranking-features.md"
BLOCK = re.compile(r"```python\n(.*?)```(\n\n```text\n)(.*?)```", re.DOTALL)
LIFTS = {
    "edge": stage.EDGE_LIFT,
    "title": stage.TITLE_LIFT,
    "type_filter": stage.TYPE_LIFT,
    "owner": stage.OWN_LIFT,
    "denial": stage.DENIAL_LIFT,
    "exact": stage.EXACT_LIFT,
    "router": stage.MODE_LIFT,
    "recency": stage.RECENCY_LIFT,
}
NUMBER = re.compile(r"-?\d*\.\d+")
BAR = re.compile(r" ?█+")
TOLERANCE = 0.006  # cosines of quantised vectors, times a weight, rounded


def table(head: Sequence[str], align: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """In Markdown. A bar inside a cell is escaped."""
    lines = (head, align, *([cell.replace("|", "\\|") for cell in row] for row in rows))
    written = ["| " + " | ".join(line) + " |\n" for line in lines]
    written[1] = "|" + "|".join(align) + "|\n"
    return re.sub(r"\|  (?=\|)", "| ", "".join(written))


def number(value: float | None) -> str:
    return "" if value is None else f"{value:g}".replace("-", "−")


def features() -> str:
    """Every feature with its formula, its fixed weight behind each gate, the floor of its spread, and its group."""
    rows = []
    for one in FEATURES:
        weight = ", ".join(f"{gate} {number(one.weight[gate])}" for gate in GATES if gate in one.weight)
        rows.append((f"`{one.name}`", one.formula, weight, number(one.floor), one.group))
    return table(("feature", "formula", "weight", "floor", "group"), ("---", "---", "---", "---:", "---"), rows)


def gates() -> str:
    """What weights may stand behind."""
    return table(("gate", "factor"), ("---", "---"), ((f"`{name}`", what) for name, what in GATES.items()))


def shares() -> str:
    """What gates are made of, as the docstring says it."""
    said = dict(re.findall(r"^ +(\w+): (.*)\.$", Kind.__doc__ or "", re.MULTILINE))
    rows = ((f"`{field.name}`", said[field.name]) for field in dataclasses.fields(Kind))
    return table(("share", "of memories"), ("---", "---"), rows)


def evidence() -> str:
    """What an arm's weight scales."""
    rows = (
        (f"`{arm}`", ", ".join(f"`{name}`" for name in names)) for arm, names in stage.evidence_of(BUILT_IN).items()
    )
    return table(("arm", "evidence"), ("---", "---"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "FEATURES": features,
    "GATES": gates,
    "SHARES": shares,
    "EVIDENCE": evidence,
}


def outputs(page: str) -> list[str]:
    """What each Python block prints; they share their names."""
    names: dict[str, Any] = {}
    printed = []
    for block in BLOCK.finditer(page):
        above = "\n" * page.count("\n", 0, block.start(1))  # so that a traceback shows the page's line
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(above + block[1], str(PAGE), "exec"), names)
        printed.append(out.getvalue())
    return printed


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_are_those_of_the_package(name: str) -> None:
    assert TABLES[name]() in REFERENCE.read_text(encoding="utf-8")


def test_weights_are_of_features_and_stand_behind_gates() -> None:
    assert {gate for own in FEATURES.weights.values() for gate in own} <= set(GATES)
    assert set(GATES) == set(Kind().gates(0))


def test_every_lift_and_strategy_is_listed(page: str) -> None:
    lifts = page.split("## What the plan lifts", 1)[1].split("\n## ", 1)[0]
    for source, lift in LIFTS.items():
        assert re.search(rf"^\| `{source}` \| {lift:g} ", lifts, re.MULTILINE), source
    assert re.search(rf"^\| `owner` .*, −{stage.OTHER_LIFT:g} where", lifts, re.MULTILINE)
    listed = page.split("## Which strategy", 1)[1].split("\n## ", 1)[0]
    assert set(re.findall(r"^\| `(\w+)` ", listed, re.MULTILINE)) == set(STRATEGIES)


@pytest.mark.usefixtures("no_hurry")
def test_the_worked_example_prints_what_the_page_says(page: str) -> None:
    blocks = BLOCK.findall(page)
    assert len(blocks) == page.count("```python") >= 4
    for (_, _, said), printed in zip(blocks, outputs(page), strict=True):
        assert BAR.sub("", NUMBER.sub("#", printed)) == BAR.sub("", NUMBER.sub("#", said))
        wanted, got = ([float(n) for n in NUMBER.findall(text)] for text in (said, printed))
        assert got == pytest.approx(wanted, abs=TOLERANCE)


def rewritten(text: str) -> str:
    """The page with the lifts and outputs of the package as it is."""
    for source, lift in LIFTS.items():
        text = re.sub(rf"^(\| `{source}` \| )[\d.]+(?= )", rf"\g<1>{lift:g}", text, flags=re.MULTILINE)
    found = iter(outputs(text))
    return BLOCK.sub(lambda m: f"```python\n{m[1]}```{m[2]}{next(found)}```", text)


def with_tables(text: str) -> str:
    """The reference with the tables of the package as it is."""
    for made in TABLES.values():
        head = re.escape(made().split("\n", 1)[0])
        text = re.sub(rf"{head}\n(?:\|.*\n)*", lambda _, new=made(): new, text)
    return text


if __name__ == "__main__":
    for path, anew in ((PAGE, rewritten), (REFERENCE, with_tables)):
        path.write_text(anew(path.read_text(encoding="utf-8")), encoding="utf-8")
