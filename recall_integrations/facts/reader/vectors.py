"""Static vectors of statements, by the bundled model; those of the last ones are kept."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled

KEPT = 4_096  # sentences, and texts of up to 600 characters: 1 kB each, and the text


@lru_cache(maxsize=KEPT)
def vector_of(text: str) -> NDArray[np.float32]:
    """The static vector of a sentence or a short text, `(dimensions,)`, read-only."""
    vector = bundled().embed_query(text)
    vector.setflags(write=False)  # others are given the same
    return vector
