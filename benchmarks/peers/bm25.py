"""The lexical retriever beside rank-bm25 over the same stems: milliseconds of a query, and what one more memory costs.

    python -m benchmarks.peers.bm25 --memories 10000 --memories 100000

Both are asked the same made-up queries in turn. rank-bm25 takes no document: one more means to make all of it anew.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

import click
import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.text import stems
from recall_integrations.types import indexed_text

BEST = 40  # candidates, as many as the retriever gives
ADDED = 20


def measure(memories: int, queries: int, seed: int) -> dict[str, float]:
    """Median milliseconds of a query and of one more memory, by who does it."""
    texts = [q for plan in PLANS for q in synthetic_queries(plan, queries // len(PLANS) + 1, seed)][:queries]
    given = list(synthetic_memories(memories, seed))
    cut = [stems(indexed_text(one.text, one.actor)) for one in given]
    began = time.process_time()
    peer = BM25Okapi(cut)
    making = time.process_time() - began
    ours: list[float] = []
    theirs: list[float] = []
    with MemoryStore.open() as store:
        store.remember_many(given, scope=SCOPE)
        store.warm(scope=SCOPE)
        with closing(QueryOptimizer(store)) as optimizer:
            for text in [*texts, *texts]:  # the first round warms up
                found = optimizer.recall(text, scope=SCOPE, now=END, time_budget_ms=60_000)
                ours.append(found.timings_ms.get("arm.lexical", np.nan))
                began = time.perf_counter()
                scores = peer.get_scores(stems(text))
                np.argsort(-scores[np.argpartition(-scores, BEST)[:BEST]])
                theirs.append((time.perf_counter() - began) * 1e3)
        began = time.process_time()
        for n in range(ADDED):
            store.remember(Memory(f"Sam counted {n} swans"), scope=SCOPE)
        adding = (time.process_time() - began) / ADDED
    return {
        "ours, query": float(np.nanmedian(ours[len(texts) :])),
        "rank-bm25, query": float(np.median(theirs[len(texts) :])),
        "ours, one more": adding * 1e3,
        "rank-bm25, one more": making * 1e3,
    }


@click.command()
@click.option("--memories", "sizes", multiple=True, type=click.IntRange(min=100), default=(10_000,), show_default=True)
@click.option("--queries", default=60, show_default=True, type=click.IntRange(min=6))
@click.option("--seed", default=0, show_default=True)
def main(sizes: Sequence[int], queries: int, seed: int) -> None:
    """Print a line for each size."""
    for size in sizes:
        found = measure(size, queries, seed)
        click.echo(f"{size:,}: " + ", ".join(f"{name} {ms:,.2f} ms" for name, ms in found.items()))


if __name__ == "__main__":
    main()
