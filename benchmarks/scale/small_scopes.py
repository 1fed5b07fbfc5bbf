"""Many small scopes in Chroma's files: a collection for each, or one for all with a condition in each query.

    python -m benchmarks.scale.small_scopes --scopes 300 --memories 100

Prints seconds of processor to fill, megabytes on disk, milliseconds of the first and the second query of each scope,
and the resident memory that Chroma has taken by then. Vectors are random, with our settings of HNSW.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import chromadb
import click
import numpy as np
from chromadb.config import Settings

from recall_integrations.indexes.vectors import HNSW

DIMENSIONS, LIMIT = 256, 40
ALL = "recall-all"


def resident_mb() -> float:
    """Megabytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(directory: str, scopes: int, memories: int, *, shared: bool) -> dict[str, Any]:
    """Fill one collection, or one for each scope, and ask for neighbours in each scope twice."""
    client = chromadb.PersistentClient(directory, settings=Settings(anonymized_telemetry=False))
    rng, made, before = np.random.default_rng(0), dict[str, Any](), resident_mb()

    settings: Any = {"hnsw": dict(HNSW)}

    def name(scope: int) -> str:
        return ALL if shared else f"recall-{scope}"

    began = time.process_time()
    for scope in range(scopes):
        if name(scope) not in made:
            made[name(scope)] = client.create_collection(name(scope), configuration=settings, embedding_function=None)
        made[name(scope)].upsert(
            ids=[f"{scope}.{n}" for n in range(memories)],
            embeddings=rng.normal(size=(memories, DIMENSIONS)).astype(np.float32),
            metadatas=[{"scope": scope}] * memories,
        )
    found: dict[str, Any] = {"fill_cpu_s": round(time.process_time() - began, 1)}
    found["disk_mb"] = round(sum(p.stat().st_size for p in Path(directory).rglob("*") if p.is_file()) / 1e6)
    for turn in ("first", "second"):
        took = []
        for scope in rng.permutation(scopes).tolist():
            vector = rng.normal(size=(1, DIMENSIONS)).astype(np.float32)
            where = {"where": {"scope": scope}} if shared else {}
            began = time.perf_counter()
            made[name(scope)].query(query_embeddings=vector, n_results=LIMIT, include=["distances"], **where)
            took.append((time.perf_counter() - began) * 1e3)
        found[f"{turn}_p50/p95_ms"] = [round(float(x), 2) for x in np.percentile(took, [50, 95])]
    found["resident_mb"] = round(resident_mb() - before)
    return found


@click.command()
@click.option("--scopes", default=300, show_default=True, type=click.IntRange(min=1))
@click.option("--memories", default=100, show_default=True, type=click.IntRange(min=1), help="Of each scope.")
@click.option("--shared", is_flag=True, help="One collection for all. Default: one for each.")
def main(scopes: int, memories: int, shared: bool) -> None:
    """Print a line of JSON; a process of its own for each way, since memory is not given back."""
    with tempfile.TemporaryDirectory(prefix="recall-bench-") as directory:
        click.echo(json.dumps({"shared": shared, **measure(directory, scopes, memories, shared=shared)}))


if __name__ == "__main__":
    main()
