"""What a fresh process pays for a store: run as `python -m benchmarks.speed.probe DIRECTORY`.

Prints one JSON object, in milliseconds and in megabytes of 10^6 bytes: `import_ms` (the package), `open_ms`
(`MemoryStore.open`), `first_recall_ms` (indexes, columns and model are loaded by it), `recall_ms` (median of the
following ones), `rss_start_mb`, `rss_import_mb` and `rss_mb` (resident memory before the import, after it, and at the
end).
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import recall_integrations
from benchmarks.speed.synthetic import END, PLANS, synthetic_queries
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.extras import require
from recall_integrations.types import Scope

SCOPE = Scope(user_id="bench")
TIMEOUT_S = 300


def resident_mb() -> float:
    """Resident memory of this process, in megabytes.

    Raises:
        MissingExtra: `psutil` is not installed.
    """
    psutil = require("psutil")
    return float(psutil.Process().memory_info().rss) / 1e6


def probe(directory: str | Path) -> dict[str, float]:
    """Open the store and ask a few queries; see the module for the keys."""
    found = {"rss_start_mb": resident_mb()}
    start = time.perf_counter()
    from recall_integrations import MemoryStore, QueryOptimizer

    found["import_ms"] = (time.perf_counter() - start) * 1e3
    found["rss_import_mb"] = resident_mb()
    start = time.perf_counter()
    with MemoryStore.open(directory) as store:
        found["open_ms"] = (time.perf_counter() - start) * 1e3
        optimizer = QueryOptimizer(store)
        times = []
        for query in [q for plan in PLANS for q in synthetic_queries(plan, 5, seed=-1)]:
            start = time.perf_counter()
            optimizer.recall(query, k=10, scope=SCOPE, now=END)
            times.append((time.perf_counter() - start) * 1e3)
        found["first_recall_ms"] = times[0]
        found["recall_ms"] = statistics.median(times[1:])
        found["rss_mb"] = resident_mb()
    return found


def in_fresh_process(directory: str | Path, module: str = "benchmarks.speed.probe") -> dict[str, float]:
    """What a module prints as JSON when it is run with the directory, in a process of its own; default `probe`.

    The process finds the package and the benchmarks that are running here, wherever it was started. The store must be
    closed here.

    Raises:
        InvalidArgument: the process failed; the message holds the end of what it said.
    """
    store = Path(directory).resolve()
    roots = [Path(recall_integrations.__file__).resolve().parents[1], Path(__file__).resolve().parents[2]]
    paths = [*map(str, roots), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", module, str(store)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=store.parent,  # the current directory comes first in the search for modules
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    if done.returncode:
        raise InvalidArgument(f"Could not open {directory} in a fresh process: {done.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[1])))
