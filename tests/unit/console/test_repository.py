"""Where the benchmarks are looked for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recall_integrations.console.commands import measure
from recall_integrations.errors import MissingBenchmark

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As they were: other tests go on with their own."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "benchmarks"}
    monkeypatch.setattr(sys, "path", [one for one in sys.path if Path(one or ".").resolve() != ROOT])
    for name in before:
        del sys.modules[name]
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]
    sys.modules.update(before)


def checkout(folder: Path, *, package: bool = True) -> Path:
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "__init__.py").write_text("")
    (folder / "benchmarks" / "commands.py").write_text("COMMANDS = {'cast': __file__}\n")
    if package:
        (folder / "recall_integrations").mkdir()
        (folder / "recall_integrations" / "__init__.py").write_text("")
    return folder


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(measure, "__file__", str(folder / "recall_integrations/console/commands/measure.py"))


def test_next_to_the_package() -> None:
    assert "latency" in measure._commands()
    assert sys.modules["benchmarks"].__file__ == str(ROOT / "benchmarks" / "__init__.py")


def test_in_the_current_directory_where_the_package_is_elsewhere(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, tmp_path / "site")
    monkeypatch.chdir(checkout(tmp_path / "clone"))
    assert measure._commands() == {"cast": str(tmp_path / "clone" / "benchmarks" / "commands.py")}


def test_next_to_the_package_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, checkout(tmp_path / "own"))
    monkeypatch.chdir(checkout(tmp_path / "clone"))
    assert measure._commands() == {"cast": str(tmp_path / "own" / "benchmarks" / "commands.py")}


def test_a_folder_of_that_name_in_another_project_is_not_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, tmp_path / "site")
    monkeypatch.chdir(checkout(tmp_path / "other", package=False))
    with pytest.raises(MissingBenchmark, match=r"lives in the repository.*Clone it"):
        measure._commands()


def test_the_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom recall_integrations.cli import main\n"
        "assert CliRunner().invoke(main, ['bench', '--help']).exit_code == 0\n"
        "heavy = {'numpy', 'chromadb', 'langchain_core', 'llama_index', 'ir_measures', 'rich'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
