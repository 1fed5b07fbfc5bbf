"""The notebooks of the cookbook run from top to bottom, and what is kept in them is what a reader may see."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
COOKBOOK = ROOT / "cookbook"
NOTEBOOKS = sorted(COOKBOOK.glob("*.ipynb"))
PLACES = "|".join(re.escape(f"{place}/") for place in (ROOT, Path.home(), tempfile.gettempdir(), "/home", "/Users"))
OF_A_MACHINE = re.compile(rf"{PLACES}|site-packages|0x[0-9a-f]{{6,}}|ipykernel_\d")


def _module(path: Path) -> ModuleType:
    """A script or a helper of the notebooks, which are no packages."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _said(cell: nbformat.NotebookNode) -> str:
    """All text that a cell has printed or returned."""
    texts = []
    for output in cell.outputs:
        texts.append(output.get("text", ""))
        texts.extend(value for kind, value in output.get("data", {}).items() if kind.startswith("text/"))
    return "".join(texts)


def _kinds(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """Of each cell with code, what it shows, but for warnings."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[o.output_type for o in cell.outputs if o.get("name") != "stderr"] for cell in cells]


@pytest.mark.slow  # a kernel takes seconds to start; .ci/run runs all of them
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_runs_from_top_to_bottom(path, tmp_path):
    done = _module(ROOT / "scripts/run_notebooks.py").execute(path, tmp_path)
    assert _kinds(done) == _kinds(nbformat.read(path, as_version=4)), "run it again with --write"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_is_kept_in_it_is_for_readers(path):
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run it again with --write"
    for cell in cells:
        assert not [o for o in cell.outputs if o.output_type == "error" or o.get("name") == "stderr"], cell.source
        assert not OF_A_MACHINE.search(_said(cell)), cell.source
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) / 2
    assert any("image/png" in o.get("data", {}) for cell in cells for o in cell.outputs), "it has no picture"
    assert path.stat().st_size < 400_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_says_which_real_model_takes_the_place_of_a_stand_in(path):
    source = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    if "stand_ins" in source:
        assert re.search(r"= Rule\w+\(.*\)  # yours: ", source)


def test_running_it_again_changes_nothing_that_has_not_changed():
    settled = _module(ROOT / "scripts/run_notebooks.py").settled
    cell = nbformat.v4.new_code_cell("1")
    cell.metadata = {"execution": {"iopub.execute_input": "2026-01-01T00:00:00Z"}}
    cell.execution_count = 7
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="a"),
        nbformat.v4.new_output("stream", name="stdout", text="b"),
        nbformat.v4.new_output("execute_result", data={"text/plain": "1"}, execution_count=7),
    ]
    notebook = settled(
        nbformat.v4.new_notebook(cells=[cell], metadata={"language_info": {"name": "python", "version": "3.13.1"}})
    )
    assert [o.get("text") for o in notebook.cells[0].outputs] == ["ab", None]
    assert notebook.cells[0].execution_count == notebook.cells[0].outputs[1].execution_count == 1
    assert notebook.cells[0].metadata == {}
    assert notebook.metadata.language_info == {"name": "python"}


def test_a_name_that_no_notebook_has(capsys):
    assert _module(ROOT / "scripts/run_notebooks.py").main(["99"]) == 1
    assert "begins with 99" in capsys.readouterr().err


def test_the_index_names_each_notebook():
    text = (COOKBOOK / "README.md").read_text(encoding="utf-8")
    assert NOTEBOOKS
    for path in (*NOTEBOOKS, *(p for p in COOKBOOK.glob("*.py"))):
        assert path.name in text or path.stem in text, path.name
    linked = re.findall(r"\]\(([\w./-]+)\)", text)
    assert [name for name in linked if not (COOKBOOK / name).exists()] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_its_links_lead_somewhere(path):
    for cell in nbformat.read(path, as_version=4).cells:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", cell.source) if cell.cell_type == "markdown" else ():
            assert target.startswith("http") or (COOKBOOK / target).exists(), target


def test_questions_about_the_company_name_memories_that_are_there():
    company = _module(COOKBOOK / "company.py")
    memories, questions = company.memories(), company.questions()
    ids = [memory.id for memory in memories]
    assert len(ids) == len(set(ids)) == 116
    assert [m.event_at for m in memories] == sorted(m.event_at for m in memories)
    assert max(m.event_at for m in memories) < company.TODAY
    assert len({asked.text for asked in questions}) == 50
    assert {name for asked in questions for name in asked.relevant} <= set(ids)


def test_the_stand_in_answers_from_its_sources(monkeypatch):
    monkeypatch.syspath_prepend(str(COOKBOOK))
    answer = _module(COOKBOOK / "stand_ins.py").answer
    notes = "[1] 2026-01-05, Ann: Tea is at five. Bring cups.\n[2] The boat leaves at noon."
    assert answer(f"{notes}\n\nQuestion: when does the boat leave?") == "The boat leaves at noon. [2]"
    assert answer("Source 1:\nTea is at five.\n\nQuery: when is tea?") == "Tea is at five. [1]"
    assert answer("Question: when is tea?").startswith("I don't know")
