"""Imports go one way: the table of rooms in docs/architecture.md is the order, and this reads every import there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "recall_integrations"
# Lower rooms first. Rooms of one line of the table may import the ones before them in it.
ORDER = tuple(
    """
    errors patterns collector records types config resilience observability text languages privacy embeddings
    query database indexes facts reranking adapters store planning rewriting arms ranking learning delivery
    recall judging optimizer counterfactual ontop retriever testing frameworks serving evaluation console cli
    """.split()
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Modules of ours that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole.count(".") == 1 else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE.name)


def every_import(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_room_has_its_place() -> None:
    rooms = {room(path) for path in MODULES} - {"__init__"}
    assert rooms == set(ORDER)
    assert len(MODULES) > 200


@pytest.mark.parametrize("own", ORDER)
def test_a_room_imports_only_rooms_before_it(own: str) -> None:
    place = ORDER.index(own)
    wrong = []
    for path in (p for p in MODULES if room(p) == own):
        for module in imported(path):
            parts = module.split(".")
            if len(parts) == 1 or (not (PACKAGE / parts[1]).exists() and not (PACKAGE / f"{parts[1]}.py").exists()):
                continue  # a name of the surface
            if ORDER.index(parts[1]) > place:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


def test_the_package_imports_nothing_that_the_wheel_lacks() -> None:
    lacking = {"benchmarks", "scripts", "tests"}
    assert [p for p in MODULES if not lacking.isdisjoint(name.split(".")[0] for name in every_import(p))] == []


def test_the_benchmarks_import_the_package_and_each_other() -> None:
    files = sorted((ROOT / "benchmarks").rglob("*.py"))
    assert len(files) > 20
    for path in files:
        assert {name.split(".")[0] for name in every_import(path)}.isdisjoint({"scripts", "tests"}), path


def test_no_room_of_the_benchmarks_or_of_evaluation_is_crowded() -> None:
    for top in (ROOT / "benchmarks", PACKAGE / "evaluation"):
        for folder in {path.parent for path in top.rglob("*.py")}:
            assert len(list(folder.glob("*.py"))) <= 15, folder


def test_the_page_shows_the_rooms_in_this_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("## Rooms") : page.index("## Where does it go")]
    shown = [name.strip("/").removesuffix(".py") for line in table.splitlines() for name in _named(line)]
    assert shown == list(ORDER)


def _named(line: str) -> list[str]:
    return re.findall(r"`(\w+(?:/|\.py))`", line.split("|")[1]) if line.startswith("| `") else []


def test_what_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", page))
    assert named
    assert [n for n in sorted(named) if not (PACKAGE / n).exists() and not (ROOT / n).exists()] == []
