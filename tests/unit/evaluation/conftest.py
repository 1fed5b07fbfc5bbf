from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

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
def embedding() -> HashedWords:
    return HashedWords()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = Path(__file__).resolve().parents[3] / "../shared/data"
    if not folder.is_dir():
        pytest.skip("the evaluation data is not beside the repository (../shared/data)")
    return folder
