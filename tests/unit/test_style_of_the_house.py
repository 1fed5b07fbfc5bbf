"""What a reader may rely on everywhere: functions fit a screen, and no module reaches into another one's privates."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rows import each_row

PACKAGE = Path(__file__).resolve().parents[2] / "recall_integrations"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINES = 60
# Public, though named tuples have to call them so.
OF_NAMED_TUPLES = frozenset({"_replace", "_asdict", "_fields", "_make"})


def too_long(tree: ast.Module) -> Iterator[str]:
    """Functions of more than `LINES` lines, from `def` to their last line, documentation included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno + 1 > LINES:
                yield node.name


def reaching(tree: ast.Module) -> Iterator[str]:
    """Private names of other modules: imported, or asked of an object whose class this module does not define."""
    own = {*_given_here(tree), *OF_NAMED_TUPLES}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(PACKAGE.name)):
            yield from (alias.name for alias in node.names if _is_private(alias.name))
        elif isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            yield from () if _is_self(node.value) else (ast.unparse(node),)


def _given_here(tree: ast.Module) -> Iterator[str]:
    """Names that a module defines or assigns, of objects too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if _is_self(node.value):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.fixture(scope="module")
def found() -> dict[str, list[tuple[str, str]]]:
    """What is against each rule, and in which module; each is parsed once."""
    against: dict[str, list[tuple[str, str]]] = {"too long": [], "reaching": []}
    for path in MODULES:
        tree, name = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(PACKAGE).as_posix()
        against["too long"] += [(name, one) for one in too_long(tree)]
        against["reaching"] += [(name, one) for one in reaching(tree)]
    return against


def test_functions_fit_a_screen(found: dict[str, list[tuple[str, str]]]) -> None:
    assert len(MODULES) > 200
    assert found["too long"] == []


def test_no_module_reaches_into_another(found: dict[str, list[tuple[str, str]]]) -> None:
    assert found["reaching"] == []


def test_a_long_function_is_noticed() -> None:
    body = "\n".join(f"    x{i} = {i}" for i in range(LINES))
    assert list(too_long(ast.parse(f"def f():\n{body}\n"))) == ["f"]
    assert list(too_long(ast.parse(f"async def f():\n{body}\n"))) == ["f"]
    assert list(too_long(ast.parse("def f():\n" + "\n".join(body.splitlines()[1:])))) == []


@each_row(
    ("code", "names"),
    [
        ("from recall_integrations.store.indexes import _apply", ["_apply"]),
        ("from .indexes import _apply", ["_apply"]),
        ("from threading import _active", []),
        ("from recall_integrations import __version__", []),
        ("def f(index):\n    return index._state", ["index._state"]),
        ("def f(index):\n    index._state = 1", ["index._state"]),
        ("class A:\n    def f(self):\n        return self._x", []),
        ("class A:\n    def f(self):\n        self._x = 1\n\n    def g(self, other):\n        return other._x", []),
        ("def f(row):\n    return row._replace(a=1)", []),
    ],
)
def test_what_reaches_into_another_is_noticed(code: str, names: list[str]) -> None:
    assert list(reaching(ast.parse(code))) == names
