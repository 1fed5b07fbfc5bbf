"""One large scope three ways: scanned, in Chroma's files, and on a Chroma server; latency, and what is found.

    python -m benchmarks.scale.served --memories 50000

The same made-up memories and queries each time, with the vectors in memory for none but the scan. A server is started
on this machine unless an address is given. Hits are compared with those of the scan, which misses nothing.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import RetrievalConfig, VectorsConfig

K = 5
START_S = 60.0
FILL_S = 3_600.0
ROUNDS = 2  # the first warms up


@contextlib.contextmanager
def server(directory: Path) -> Iterator[str]:
    """The address of a Chroma server on this machine, until the end of the block."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(directory), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address, end = f"http://127.0.0.1:{port}", time.monotonic() + START_S
        while time.monotonic() < end:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/api/v2/heartbeat", timeout=5):
                break
            time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()


def asked(store: MemoryStore, queries: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of recalls and of the semantic arm, and the hits of each."""
    hits, took, arm, without = [], [], [], 0
    with closing(QueryOptimizer(store)) as optimizer:
        for round_ in range(ROUNDS):
            for query in queries:
                began = time.perf_counter()
                found = optimizer.recall(query, scope=SCOPE, k=K, now=END, time_budget_ms=60_000)
                if round_ == ROUNDS - 1:
                    took.append((time.perf_counter() - began) * 1e3)
                    arm.append(found.timings_ms.get("arm.semantic", np.nan))
                    hits.append([hit.memory.id for hit in found.hits])
                    without += bool(found.degraded)
    return {"ms": _percentiles(took), "arm_ms": _percentiles(arm), "hits": hits, "degraded": without}


def _percentiles(values: Sequence[float]) -> list[float]:
    return [round(float(x), 1) for x in np.nanpercentile(values, [50, 95, 99])]


def agreement(found: Sequence[Sequence[str]], exact: Sequence[Sequence[str]]) -> float:
    """Share of the scan's hits that were found."""
    shares = [len(set(one) & set(other)) / len(other) for one, other in zip(found, exact, strict=True) if other]
    return float(np.mean(shares)) if shares else 1.0


def measure(memories: int, queries: int, address: str | None, seed: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each way, by name."""
    home = Path(tempfile.mkdtemp(prefix="recall-bench-"))
    each = [synthetic_queries(plan, queries // len(PLANS) + 1, seed) for plan in PLANS]
    texts = [query for group in zip(*each, strict=True) for query in group][:queries]
    large = RetrievalConfig(exact_max=max(1, memories // 2))
    try:
        with MemoryStore.open(home / "store") as store:
            began = time.perf_counter()
            store.remember_many(synthetic_memories(memories, seed), scope=SCOPE)
            filled = time.perf_counter() - began
            store.warm(scope=SCOPE)
            yield "scan", {**asked(store, texts), "fill_s": filled}
        with contextlib.ExitStack() as stack:
            where = stack.enter_context(server(home / "server")) if address is None else address
            served = RecallConfig(retrieval=large, vectors=VectorsConfig(address=where, timeout_ms=60_000))
            for name, config in (("files", RecallConfig(retrieval=large)), ("server", served)):
                with MemoryStore.open(home / "store", config=config) as store:
                    began = time.perf_counter()
                    assert store.indexes.settle(FILL_S), store.stats()["notices"]
                    filled = time.perf_counter() - began
                    store.warm(scope=SCOPE)
                    yield name, {**asked(store, texts), "fill_s": filled}
    finally:
        shutil.rmtree(home, ignore_errors=True)


@click.command()
@click.option("--memories", default=50_000, show_default=True, type=click.IntRange(min=10))
@click.option("--queries", default=120, show_default=True, type=click.IntRange(min=6), help="Of all plans.")
@click.option("--address", metavar="URL", help="Of a Chroma server. Default: one is started.")
@click.option("--seed", default=0, show_default=True)
def main(memories: int, queries: int, address: str | None, seed: int) -> None:
    """Print a line of JSON for each way."""
    exact: list[list[str]] = []
    for name, found in measure(memories, queries, address, seed):
        exact = exact or found["hits"]
        told = {key: value for key, value in found.items() if key != "hits"}
        told["fill_s"] = round(told["fill_s"], 1)
        click.echo(json.dumps({"way": name, **told, "recall@5": round(agreement(found["hits"], exact), 4)}))


if __name__ == "__main__":
    main()
