import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.text import stems

DIMENSIONS = 64


class HashedWords:
    """A deterministic embedding: each stem has a random direction seeded by its hash."""

    fingerprint = "hashed-words"
    dimensions = DIMENSIONS
    remote = False

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(t) for t in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        total = np.zeros(DIMENSIONS, np.float32)
        for word in stems(text):
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            total += np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
        length = float(np.linalg.norm(total))
        return total / length if length else total


@pytest.fixture
def hashed_words() -> HashedWords:
    """An embedding: deterministic, and quick."""
    return HashedWords()
