"""Vectors three ways: scanned, in Chroma in the store's directory, and on a Chroma server; latency, and what is found.

    python -m benchmarks.scale.served --memories 50000
    python -m benchmarks.scale.served DATA --dataset locomo --dataset talk --limit 100

Made-up memories and queries, or those of data sets, are asked of the three in turn. A server is started on this machine
unless an address is given. Neighbours are compared with those of a search of all vectors, hits with those of the scan.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.datasets.data import Collection
from benchmarks.datasets.loading import load
from benchmarks.quality.metrics import score
from benchmarks.speed.nearest import dense_recall
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import VectorsConfig
from recall_integrations.evaluation.questions import Question

K = 10
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


def made_up(memories: int, queries: int, seed: int) -> Collection:
    """Memories of one scope, and queries of all plans without a known answer."""
    each = [synthetic_queries(plan, queries // len(PLANS) + 1, seed) for plan in PLANS]
    texts = [query for group in zip(*each, strict=True) for query in group][:queries]
    questions = tuple(
        Question(id=str(i), text=text, relevant=(), scope=SCOPE, asked_at=END) for i, text in enumerate(texts)
    )
    given = tuple(synthetic_memories(memories, seed))
    return Collection(name=f"{memories:,} made up", scope=SCOPE, memories=given, questions=questions)


class Way:
    """A store with one choice of `vectors`, and what it answered."""

    def __init__(self, home: Path, vectors: VectorsConfig, collections: Sequence[Collection]) -> None:
        self.store, self.collections = MemoryStore.open(home, config=RecallConfig(vectors=vectors)), collections
        for collection in collections:
            self.store.remember_many(collection.memories, scope=collection.scope)
        began = time.perf_counter()
        assert self.store.indexes.settle(FILL_S), self.store.stats()["notices"]
        self.fill_s = time.perf_counter() - began
        for collection in collections:
            self.store.warm(scope=collection.scope)
        self.optimizer = QueryOptimizer(self.store)
        self.ms: list[float] = []
        self.arm_ms: list[float] = []
        self.hits: dict[str, list[str]] = {}
        self.degraded = 0

    def ask(self, question: Question, *, counts: bool) -> None:
        """Recall once."""
        began = time.perf_counter()
        found = self.optimizer.recall(
            question.text, scope=question.scope, filters=question.filters, k=K, now=question.asked_at,
            time_budget_ms=60_000,
        )  # fmt: skip
        if counts:
            self.ms.append((time.perf_counter() - began) * 1e3)
            self.arm_ms.append(found.timings_ms.get("arm.semantic", np.nan))
            self.hits[question.id] = [str(hit.memory.id) for hit in found.hits]
            self.degraded += bool(found.degraded)

    def figures(self, exact: Way) -> dict[str, Any]:
        """Milliseconds, the share of the nearest that the arm finds, of the scan's hits that are hits, and nDCG@10."""
        near = [dense_recall(self.store, c.scope, [q.text for q in c.questions]) for c in self.collections]
        relevant = {q.id: q.relevant for c in self.collections for q in c.questions if q.relevant}
        scores = score({q: hits for q, hits in self.hits.items() if q in relevant}, relevant)
        same = [len({*hits} & {*self.hits[q]}) / len(hits) for q, hits in exact.hits.items() if hits]
        found = {
            "p50/p95_ms": _percentiles(self.ms),
            "arm_p50/p95_ms": _percentiles(self.arm_ms),
            "arm_recall@10": round(float(np.mean(near)), 4),
            "hits_of_scan": round(float(np.mean(same)), 4) if same else 1.0,
            "degraded": self.degraded,
            "fill_s": round(self.fill_s, 1),
        }
        if scores:
            found["ndcg@10"] = round(float(np.mean([one["ndcg@10"] for one in scores.values()])), 4)
        return found

    def close(self) -> None:
        """Close the store."""
        self.optimizer.close()
        self.store.close()


def _percentiles(values: Sequence[float]) -> list[float]:
    return [round(float(x), 2) for x in np.nanpercentile(values, [50, 95])]


def measure(collections: Sequence[Collection], limit: int, address: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each way's figures, by name."""
    questions = [question for collection in collections for question in collection.questions]
    questions = questions[:: max(1, len(questions) // limit)][:limit]
    asked = {question.id for question in questions}
    collections = [
        Collection(
            name=c.name, scope=c.scope, memories=c.memories, questions=tuple(q for q in c.questions if q.id in asked)
        )
        for c in collections
    ]
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-bench-")))
        where = stack.enter_context(server(home / "server")) if address is None else address
        choices = {
            "scan": VectorsConfig(index="scan"),
            "chroma, directory": VectorsConfig(index="chroma"),
            "chroma, server": VectorsConfig(index="chroma", address=where, timeout_ms=60_000),
        }
        ways = {n: stack.enter_context(closing(Way(home / n, v, collections))) for n, v in choices.items()}
        for round_ in range(ROUNDS):
            for question in questions:
                for way in ways.values():
                    way.ask(question, counts=round_ == ROUNDS - 1)
        for name, way in ways.items():
            yield name, way.figures(ways["scan"])


@click.command()
@click.argument("data", required=False, type=click.Path(exists=True, path_type=Path))
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="Of DATA; several may be given.")
@click.option("--memories", default=50_000, show_default=True, type=click.IntRange(min=10), help="Without DATA.")
@click.option("--limit", default=120, show_default=True, type=click.IntRange(min=6), help="Questions of each set.")
@click.option("--address", metavar="URL", help="Of a Chroma server. Default: one is started.")
@click.option("--seed", default=0, show_default=True)
def main(data: Path | None, datasets: Sequence[str], memories: int, limit: int, address: str | None, seed: int) -> None:
    """Print a line of JSON for each set and way."""
    names = (datasets or ("locomo",)) if data is not None else (None,)
    for name in names:
        collections = [made_up(memories, limit, seed)] if data is None else load(data, str(name)).collections
        for way, found in measure(collections, limit, address):
            click.echo(json.dumps({"set": name or f"{memories:,} made up", "way": way, **found}))


if __name__ == "__main__":
    main()
