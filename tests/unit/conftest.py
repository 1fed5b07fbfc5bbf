import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.ranking.features.compute import Features
from recall_integrations.text import stems
from recall_integrations.training.fitting import Example


def _examples(groups=("a", "b", "c"), queries=20, candidates=40, seed=0):
    """Relevant candidates have a high `d` and are spoken by the person named; `bm` says nothing."""
    rng = np.random.default_rng(seed)
    made = []
    for group in groups:
        for _ in range(queries):
            relevant = np.zeros(candidates, dtype=bool)
            relevant[rng.integers(candidates)] = True
            columns = {
                "cosine": (rng.normal(0.3, 0.1, candidates) + 0.25 * relevant).astype(np.float32),
                "bm25": rng.normal(3, 1, candidates).astype(np.float32),
                "speaker_named": ((rng.random(candidates) < 0.3) | relevant).astype(np.float32),
            }
            features = Features(
                rows=np.arange(candidates),
                columns=columns,
                links=np.full((4, candidates), -1),
                session=np.full(candidates, -1),
            )
            made.append(Example(features=features, relevant=relevant, group=group))
    return made


@pytest.fixture
def examples():
    """Makes labelled queries."""
    return _examples


@pytest.fixture
def hits():
    """Share of the queries whose best score is of a relevant candidate."""
    return lambda scores, data: np.mean([e.relevant[s.argmax()] for s, e in zip(scores, data, strict=True)])


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
