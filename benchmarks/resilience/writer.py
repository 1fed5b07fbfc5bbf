"""The child process of `kills`: writes to a store without end, and says what was acknowledged.

    python -m benchmarks.resilience.writer STORE RUN

Every operation is announced before it is called and confirmed after it has returned, one JSON line each, flushed. Ids
come from a small pool, so that memories are replaced and forgotten as often as new ones are made. What a memory holds
follows from its id and its version, so that the parent knows it.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations import Memory, MemoryStore, RecallConfig, Scope

POOL = 40
BEGIN = datetime(2024, 1, 1, tzinfo=timezone.utc)
VERSIONS = 10_000  # of one run; the first of the next is beyond
SCOPE = Scope(user_id="kills")
TYPE = "preference"


def config() -> RecallConfig:
    """Small scopes leave the shared collection, so that moving one is also met."""
    defaults = RecallConfig()
    return replace(defaults, retrieval=replace(defaults.retrieval, exact_max=POOL // 4))


class Hashed:
    """Sixty-four numbers from a hash of the text: equal texts are near, all others are not."""

    fingerprint, dimensions, remote = "kills:64", 64, False

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See `Embedding`."""
        row: NDArray[np.float32] = self.embed_documents([text])[0]
        return row

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedding`."""
        rows = np.empty((len(texts), 64), dtype=np.float32)
        for i, text in enumerate(texts):
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
            rows[i] = np.random.default_rng(seed).normal(size=64)
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def word_of(number: int, version: int) -> str:
    """A word that only this version of this memory says."""
    return f"zq{number}v{version}"


def person_of(number: int) -> str:
    """Somebody whom only this memory names."""
    return f"Kestra Mirvo{'abcdefghij'[number // 10 % 10]}{'abcdefghij'[number % 10]}l"


def day_of(number: int) -> datetime:
    """A day on which only this memory happened."""
    return BEGIN + timedelta(days=3 * number)


def memory_of(number: int, version: int) -> Memory:
    """A version of a memory."""
    return Memory(
        f"{word_of(number, version)} is what was said",
        id=f"m{number}",
        type=TYPE,
        actor=person_of(number),
        event_at=day_of(number),
        created_at=BEGIN,
    )


def say(**line: Any) -> None:
    """One line for the parent."""
    print(json.dumps(line), flush=True)


def write(store: MemoryStore, rng: random.Random, version: int) -> None:
    """Single memories, batches, replacements and deletions, until killed."""
    known: set[int] = set()
    while True:
        version += 1
        kind = rng.random()
        if known and kind < 0.2:
            number = rng.choice(sorted(known))
            say(do="forget", ids=[number])
            store.forget(f"m{number}", scope=SCOPE)
            known.discard(number)
        else:
            numbers = rng.sample(range(POOL), 1 if kind < 0.7 else 6)
            say(do="put", ids=numbers, version=version)
            store.remember_many([memory_of(n, version) for n in numbers], scope=SCOPE)
            known.update(numbers)
        say(done=True)


def main() -> None:
    """See the module."""
    path, run = sys.argv[1], int(sys.argv[2])
    store = MemoryStore.open(path, embedding=Hashed(), config=config())
    say(open=True)
    write(store, random.Random(run), run * VERSIONS)


if __name__ == "__main__":
    main()
