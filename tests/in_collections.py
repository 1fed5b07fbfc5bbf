"""What the collections of a store hold: Chroma's in its directory are opened and checked first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.store.memory_store import MemoryStore


def nums(store: MemoryStore) -> dict[str, NDArray[np.int64]]:
    """The numbers in each collection, rising, by its name."""
    server = store.indexes.neighbours.server
    return {home: server.nums(home) for home in server.homes()}


def count(store: MemoryStore) -> int:
    """How many vectors are in all of them."""
    return sum(map(len, nums(store).values()))


def vectors(store: MemoryStore, home: str) -> dict[int, NDArray[np.float32]]:
    """All vectors of a collection by number, whether a search reaches them or not."""
    server: Any = store.indexes.neighbours.server
    found = server._collection(home).get(include=["embeddings"])
    return dict(zip(map(int, found["ids"]), np.asarray(found["embeddings"], dtype=np.float32), strict=True))
