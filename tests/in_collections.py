"""What Chroma's collections in a directory hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.vectors import SemanticIndex, home_name


def nums(index: SemanticIndex) -> dict[str, NDArray[np.int64]]:
    """The numbers in each collection, rising, by the name that `home_name` gave it."""
    ids = {one.name: one.get(include=[])["ids"] for one in index._open().list_collections()}
    return {name: np.sort(np.asarray([int(i) for i in found], dtype=np.int64)) for name, found in ids.items()}


def vectors(index: SemanticIndex, home: str) -> dict[int, NDArray[np.float32]]:
    """All vectors of a collection by number, whether a search reaches them or not."""
    found = index._open().get_collection(home_name(home), embedding_function=None).get(include=["embeddings"])
    return dict(zip(map(int, found["ids"]), np.asarray(found["embeddings"], dtype=np.float32), strict=True))
