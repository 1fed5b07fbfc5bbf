"""Finding what is in the repository and not in the wheel: the package `benchmarks`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from recall_integrations.errors import MissingBenchmark

NAME = "benchmarks"


def benchmark(module: str) -> ModuleType:
    """Import a module of `benchmarks`, by its name in it, such as `speed.latency`.

    It is looked for next to the installed package (a checkout, or `pip install -e`) and then in the current directory;
    a folder counts where both packages are in it. `sys.path` stays as it is: what is found is loaded from its file, in
    place of any other package that is called `benchmarks`.
    """
    for root in (Path(__file__).resolve().parents[2], Path.cwd()):
        if (root / NAME / "__init__.py").is_file() and (root / "recall_integrations" / "__init__.py").is_file():
            _load(root / NAME)
            return import_module(f"{NAME}.{module}")
    raise MissingBenchmark(
        "What `recall bench` runs lives in the repository of recall-integrations, not in the package. Clone it and run "
        "the command there."
    )


def _load(folder: Path) -> None:
    """Make the package of this folder the one that is called `benchmarks`, if it is not."""
    file = folder / "__init__.py"
    there = sys.modules.get(NAME)
    if there is not None and there.__file__ is not None and Path(there.__file__).resolve() == file.resolve():
        return
    spec = spec_from_file_location(NAME, file, submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    for other in [name for name in sys.modules if name.split(".")[0] == NAME]:
        del sys.modules[other]
    sys.modules[NAME] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[NAME])
