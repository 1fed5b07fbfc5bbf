"""What a fresh process pays for a store: run as `python -m benchmarks.speed.fresh DIRECTORY`.

Prints one JSON object, in milliseconds and in megabytes of 10^6 bytes: `frameworks_ms` (importing the retrievers of
both frameworks), `import_ms` (the package, beyond these), `open_ms` (`MemoryStore.open`), `first_recall_ms` (making
the optimizer included), `recall_ms` (median of the following ones), `rss_mb` (resident at the end) and `modules`, all
that was imported by then.

`python -m benchmarks.speed.fresh --modules FILE` imports the modules that a JSON file lists, and nothing else: what is
resident then is not the store's. It prints `rss_mb`.

Where Python may write no bytecode (`PYTHONDONTWRITEBYTECODE`), every process compiles the package anew, which one that
is installed is spared: `probe.fresh_process` sees to that.

Nothing but the standard library is imported before the clock runs.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

MODULE = "benchmarks.speed.fresh"
QUERIES = 5  # of each plan


def resident_mb() -> float:
    """Resident memory of this process, in megabytes of 10^6 bytes.

    Raises:
        ImportError: `psutil` is not installed.
    """
    psutil = importlib.import_module("psutil")
    return float(psutil.Process().memory_info().rss) / 1e6


def _ms(start: float) -> float:
    return (time.perf_counter() - start) * 1e3


def fresh(directory: str | Path) -> dict[str, Any]:
    """Open the store and ask a few queries; see the module for the keys."""
    found: dict[str, Any] = {}
    start = time.perf_counter()
    for framework in ("langchain_core.retrievers", "llama_index.core.retrievers"):
        importlib.import_module(framework)
    found["frameworks_ms"] = _ms(start)
    start = time.perf_counter()
    from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer  # noqa: F401

    found["import_ms"] = _ms(start)
    from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_queries

    queries = [q for plan in PLANS for q in synthetic_queries(plan, QUERIES, seed=-1)]
    start = time.perf_counter()
    with MemoryStore.open(directory) as store:
        found["open_ms"] = _ms(start)
        times = []
        start = time.perf_counter()
        optimizer = QueryOptimizer(store)  # a part of the first recall: whoever asks once makes one
        for query in queries:
            optimizer.recall(query, k=10, scope=SCOPE, now=END)
            times.append(_ms(start))
            start = time.perf_counter()
        found["first_recall_ms"] = times[0]
        found["recall_ms"] = statistics.median(times[1:])
        found["rss_mb"] = resident_mb()
        found["modules"] = sorted(name for name in sys.modules if name != "__main__")
        optimizer.close()
    return found


def modules_only(file: str | Path) -> dict[str, Any]:
    """Import what the file lists, and say how much is resident."""
    for name in json.loads(Path(file).read_text(encoding="utf-8")):
        with suppress(ImportError):  # made by another module, such as `six.moves`
            importlib.import_module(name)
    return {"rss_mb": resident_mb()}


if __name__ == "__main__":
    if sys.argv[1] == "--modules":
        print(json.dumps(modules_only(sys.argv[2])))
    else:
        print(json.dumps(fresh(sys.argv[1])))
