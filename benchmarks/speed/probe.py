"""Runs something in a fresh process, and reads what it prints."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import recall_integrations
from benchmarks.shared.extras import PROCESSES, require
from benchmarks.speed import fresh
from recall_integrations.errors import InvalidArgument

TIMEOUT_S = 600
RUNS = 3


def resident_mb() -> float:
    """Resident memory of this process, in megabytes of 10^6 bytes.

    Raises:
        MissingExtra: `psutil` is not installed.
    """
    require(PROCESSES)
    return fresh.resident_mb()


def fresh_process(directory: str | Path, runs: int = RUNS) -> dict[str, float]:
    """What a fresh process pays for a store: the keys of `fresh`, medians of `runs` processes.

    Each process finds the bytecode of what it imports, as that of an installed package is found: one that is not
    counted runs first and leaves it in a temporary folder, whatever `PYTHONDONTWRITEBYTECODE` says here.

    With `rss_modules_mb`, what is resident in a process that has only imported the same modules, and `beyond_mb`, what
    is resident beyond that. The store must be closed here.

    Raises:
        InvalidArgument: a process failed; the message holds the end of what it said.
    """
    with tempfile.TemporaryDirectory(prefix="recall-bench-") as folder:
        bytecode = Path(folder) / "bytecode"
        in_fresh_process(directory, fresh.MODULE, bytecode=bytecode)
        found = [in_fresh_process(directory, fresh.MODULE, bytecode=bytecode) for _ in range(runs)]
        medians = {key: statistics.median(one[key] for one in found) for key in found[0] if key != "modules"}
        listed = Path(folder) / "modules.json"
        listed.write_text(json.dumps(found[0]["modules"]), encoding="utf-8")
        alone = in_fresh_process(listed, fresh.MODULE, "--modules", bytecode=bytecode)
    return {**medians, "rss_modules_mb": alone["rss_mb"], "beyond_mb": medians["rss_mb"] - alone["rss_mb"]}


def in_fresh_process(path: str | Path, module: str, *options: str, bytecode: Path | None = None) -> dict[str, Any]:
    """What a module prints as JSON when it is run with options and a path, in a process of its own.

    The process finds the package and the benchmarks that are running here, wherever it was started.

    Args:
        path, module, options: what is run.
        bytecode: folder where it keeps the bytecode of what it imports, and looks for it; `None` = as here.

    Raises:
        InvalidArgument: the process failed; the message holds the end of what it said.
    """
    target = Path(path).resolve()
    roots = [Path(recall_integrations.__file__).resolve().parents[1], Path(__file__).resolve().parents[2]]
    paths = [*map(str, roots), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    if bytecode is not None:
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    done = subprocess.run(
        [sys.executable, "-m", module, *options, str(target)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=target.parent,  # the current directory comes first in the search for modules
        env=environment,
    )
    if done.returncode:
        raise InvalidArgument(f"Could not use {path} in a fresh process: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
