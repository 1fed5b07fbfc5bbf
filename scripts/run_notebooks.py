"""Runs the notebooks of the cookbook from top to bottom, without a network, in a directory of their own.

    python scripts/run_notebooks.py                  run all of them; the first error ends it
    python scripts/run_notebooks.py --write          and keep what they print
    python scripts/run_notebooks.py 03 05 --write    those whose names begin so

What is kept is brought into one form: no times, no versions of this machine, one stream per cell, so that running
them again changes only what has changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

COOKBOOK = Path(__file__).resolve().parents[1] / "cookbook"
CELL_SECONDS = 120
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # of tqdm, where Jupyter's widgets are not installed
}
NOTEBOOK = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def execute(path: Path, folder: Path) -> Any:
    """The notebook with what it prints.

    Args:
        path: of the notebook.
        folder: where it runs; what it imports is put there, and what it writes stays there.

    Raises:
        CellExecutionError: a cell raised.
    """
    import nbformat
    from nbclient import NotebookClient

    shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns("*.ipynb", "__pycache__"), dirs_exist_ok=True)
    notebook = nbformat.read(path, as_version=4)
    environment = {**os.environ, **OFFLINE}
    client = NotebookClient(notebook, timeout=CELL_SECONDS, resources={"metadata": {"path": str(folder)}})
    client.execute(env=environment)
    return settled(notebook)


def settled(notebook: Any) -> Any:
    """The same without what differs from run to run or from machine to machine."""
    notebook.metadata = {**NOTEBOOK, "language_info": {"name": "python"}}
    count = 0
    for place, cell in enumerate(notebook.cells):
        cell.id = f"cell-{place}"
        cell.metadata = {}
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = _joined(cell.outputs)
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = count
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of one stream together: where they were cut depends on the time."""
    joined: list[Any] = []
    for output in outputs:
        before = joined[-1] if joined else None
        if before is not None and before.output_type == output.output_type == "stream" and before.name == output.name:
            before.text += output.text
        else:
            joined.append(output)
    return joined


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line names; the exit code is 0 where all of it worked."""
    import nbformat

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="the beginnings of the names; default all")
    parser.add_argument("--write", action="store_true", help="keep the outputs in the notebooks")
    given = parser.parse_args(arguments)
    paths = sorted(p for p in COOKBOOK.glob("*.ipynb") if not given.names or p.name.startswith(tuple(given.names)))
    if not paths:
        print(f"No notebook in cookbook/ begins with {' or '.join(given.names)}.", file=sys.stderr)
        return 1
    for path in paths:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            notebook = execute(path, Path(folder))
        if given.write:
            nbformat.write(notebook, path)
        print(f"{path.name}: {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
