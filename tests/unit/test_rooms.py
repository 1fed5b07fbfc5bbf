"""Imports go one way, in the order that docs/architecture.md draws; and what its pages name is there."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import tomllib

from tests.rows import each_row

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "recall_integrations"
PAGES = [ROOT / "docs" / name for name in ("architecture.md", "internals.md", "contributing.md")]
MADE_BY_A_STORE = ("recall.db", "columns/", "after.json", "before.json")
# Lower rooms first: each may import the ones before it. The page draws them from the surface down.
ORDER = tuple(
    """
    errors patterns collector records owner_only types config resilience observability text languages privacy embeddings
    query database indexes facts reranking adapters store planning rewriting arms ranking learning delivery
    recall judging conversations optimizer counterfactual ontop retriever testing frameworks serving evaluation console
    cli
    """.split()
)
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
def imports(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """What a module imports, wherever in it; read once for all tests."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return tuple(node for node in tree if isinstance(node, ast.Import | ast.ImportFrom))


def imported(path: Path) -> Iterator[str]:
    """Modules of ours that a module imports."""
    for node in imports(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE.name)
        elif (node.module or "").split(".")[0] == PACKAGE.name:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole.count(".") == 1 else str(node.module)


def every_import(path: Path) -> Iterator[str]:
    for node in imports(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield node.module or ""


def test_every_room_has_its_place() -> None:
    rooms = {room(path) for path in MODULES} - {"__init__"}
    assert rooms == set(ORDER)
    assert len(MODULES) > 200


@each_row("own", ORDER)
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


def test_the_page_draws_the_rooms_in_this_order() -> None:
    picture = PAGES[0].read_text(encoding="utf-8").split("```")[1]
    drawn = [name.strip("/").removesuffix(".py") for name in re.findall(r"(?<![\w/])(\w+(?:/|\.py))(?=\s)", picture)]
    assert drawn == list(reversed(ORDER))


def test_the_page_is_short() -> None:
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 120


# -- what the pages name -----------------------------------------------------------------------------------------------


def named_in(page: Path) -> list[tuple[str, str]]:
    """Files and folders in a page, with the function or class behind "::"; `CODE` stands for a language."""
    text = page.read_text(encoding="utf-8").replace("CODE", "de")
    found = re.findall(r"`((?:[\w-]+/)*[\w-]+\.(?:py|json|yaml|db)|(?:[\w-]+/)+)(?:::([\w.]+))?`", text)
    return [(file, name) for file, name in found if file not in MADE_BY_A_STORE]


def place_of(file: str) -> Path | None:
    return next((place for place in (PACKAGE / file, ROOT / file) if place.exists()), None)


def defines(module: ast.Module | ast.ClassDef, name: str) -> bool:
    """Whether a module, or a class in it, defines a name such as `Runner.run`."""
    first, _, rest = name.partition(".")
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == first:
            return not rest
        if isinstance(node, ast.ClassDef) and node.name == first:
            return not rest or defines(node, rest)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == first for target in targets):
            return not rest
    return False


@each_row("page", PAGES)
def test_files_and_functions_that_a_page_names_are_there(page: Path) -> None:
    named = named_in(page)
    assert len(named) > 2
    missing = [file for file, _ in named if place_of(file) is None]
    missing += [
        f"{file}::{name}"
        for file, name in named
        if name and (place := place_of(file)) and not defines(ast.parse(place.read_text(encoding="utf-8")), name)
    ]
    assert missing == [], f"docs/{page.name} names what is not there: give it today's name, or leave it out"


def test_a_name_that_is_not_there_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`recall/gone.py`, `recall/runner.py::Runner.run` and `recall/runner.py::Runner.walk`")
    (gone, _), (runner, run), (_, walk) = named_in(page)
    assert place_of(gone) is None
    tree = ast.parse((PACKAGE / runner).read_text(encoding="utf-8"))
    assert defines(tree, run) and not defines(tree, walk)


def test_the_page_says_why_each_dependency_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = PAGES[0].read_text(encoding="utf-8")
    reasons = page[page.index("## Dependencies") :].casefold()
    names = [re.split(r"[^\w-]", given)[0] for given in project["dependencies"]]
    assert [name for name in names if name.casefold() not in reasons] == []
    assert [extra for extra in project["optional-dependencies"] if f"`{extra}`" not in reasons] == []
