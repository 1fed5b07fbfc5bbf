"""What the documentation shows is run: the README's Python, and the notebooks of the cookbook."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
NOTEBOOKS = sorted((ROOT / "cookbook").glob("*.ipynb"))


def test_there_is_something_to_run():
    assert len(BLOCKS) >= 3
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_readme(number, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS[number]], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("title", ["LangChain", "LlamaIndex"])
def test_the_first_examples_are_short(title):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(rf"## {title}\n.*?```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    assert len([line for line in block.group(1).splitlines() if line.strip()]) <= 10


def test_the_readme_has_exactly_two_set_up_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    setup = text.split("## Set up", 1)[1].split("\n## ", 1)[0]
    assert len(re.findall(r"```sh\n.+\n```", setup)) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook(path, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
