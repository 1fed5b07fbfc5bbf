"""The gate to packages that only some of the bridges need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

from recall_integrations.errors import InvalidArgument, MissingExtra, extra
from recall_integrations.frameworks.given import optimizer_of
from tests.rows import each_row

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("module", "package"), [("langgraph", "langgraph"), ("mcp", "mcp"), ("middleware", "langchain")]
)
def test_a_package_that_is_not_there_is_named_with_a_real_extra(module: str, package: str) -> None:
    code = f"""
import sys
sys.modules[{package!r}] = None
try:
    import recall_integrations.frameworks.{module}
except ImportError as e:
    print(type(e).__name__, e)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.startswith("MissingExtra") and f'[{package}]"' in done.stdout
    assert package in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_other_errors_pass() -> None:
    with pytest.raises(ZeroDivisionError), extra("mcp", "It"):
        _ = 1 / 0
    with pytest.raises(MissingExtra, match="It needs another package"), extra("mcp", "It"):
        raise ModuleNotFoundError("No module named 'mcp'")


@each_row("given", [None, "memories/", 3])
def test_a_bridge_needs_a_store(given: object) -> None:
    with pytest.raises(InvalidArgument, match=r"MemoryStore\.open"):
        optimizer_of(given)


def test_nothing_else_imports_the_room() -> None:
    code = "import sys, recall_integrations.cli; print([m for m in sys.modules if 'frameworks' in m or m == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
