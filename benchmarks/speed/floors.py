"""What the parts of a recall take that are not ours: below this no recall can come with these libraries."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.speed.asking import timed
from recall_integrations.types import Scope

if TYPE_CHECKING:
    from recall_integrations import MemoryStore

HITS = 10
EMBED, SCAN, RECORD = "embed a query", "compare all vectors", "read ten memories"


def floors(store: MemoryStore, scope: Scope, queries: Sequence[str]) -> dict[str, float]:
    """Part → median milliseconds over the queries.

    Embedding the query with the store's embedding; comparing its vector with all of the scope (the first pass of the
    scan); ten rows by number from the database file, with Python's own `sqlite3`.
    """
    scope_id = store.scope_id(scope)
    if scope_id is None or not queries:
        return {}
    view = store.view(scope_id)
    vectors = [store.embedding.embed_query(query) for query in queries]
    rng = np.random.default_rng(0)
    living = view.nums[np.flatnonzero(view.alive)]
    picked = [rng.choice(living, min(HITS, len(living)), replace=False).tolist() for _ in queries]
    found = {EMBED: _median([partial(store.embedding.embed_query, f"{query} ") for query in queries])}
    found[SCAN] = _median([partial(view.scan, vector[None, :]) for vector in vectors])
    with sqlite3.connect(f"file:{Path(store.path) / 'recall.db'}?mode=ro", uri=True) as connection:
        marks = ", ".join("?" * HITS)
        read = f"SELECT * FROM memories WHERE scope_id = ? AND num IN ({marks})"
        found[RECORD] = _median([partial(_rows, connection, read, [scope_id, *_ten(nums)]) for nums in picked])
    connection.close()
    return found


def _rows(connection: sqlite3.Connection, read: str, nums: list[int]) -> list[tuple[object, ...]]:
    return connection.execute(read, nums).fetchall()


def _ten(nums: list[int]) -> list[int]:
    return (nums * HITS)[:HITS]


def _median(calls: Sequence[Callable[[], object]]) -> float:
    for call in calls[:5]:
        call()
    return float(np.median([timed(call) for call in calls]))
