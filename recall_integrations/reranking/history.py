"""The gate's record of a reranker: how far it moves candidates. Bounded and thread-safe."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence

MOVEMENTS = 400  # observed movements that the stability test goes by
AUDIT_EVERY = 5  # of the recalls that might be skipped as stable; these are reranked in any case
# About what 512 tokens hold: what a cross-encoder does not read costs nothing. And the fixed cost of a pair.
PAIR_CHARS_MAX, PAIR_CHARS = 2_000, 64


def work_of(query: str, texts: Sequence[str]) -> float:
    """Return the size of a rerank, about proportional to its time: `Σ min(|query| + |text|, 2000) + 64` characters."""
    return float(sum(min(len(query) + len(text), PAIR_CHARS_MAX) + PAIR_CHARS for text in texts))


class MovementHistory:
    """Movements of candidates in reranks, and their quantile for the stability test (`gate`).

    Skipped reranks cannot be observed, and observing only the others would bias the quantile. So every fifth
    recall is audited, that is reranked whatever the tests say, and only these are observed.
    """

    def __init__(self, risk: float) -> None:
        self._risk = risk
        self._lock = threading.Lock()
        self._seen: deque[float] = deque(maxlen=MOVEMENTS)
        self._asked = 0

    def audit(self) -> bool:
        """Say whether the next recall is audited. Call it once for each recall that gets as far as the tests."""
        if self._risk == 0:
            return False
        with self._lock:
            self._asked += 1
            return self._asked % AUDIT_EVERY == 1

    def record(self, moved: float) -> None:
        """Note the movement of an audited rerank."""
        with self._lock:
            self._seen.append(moved)

    def quantile(self) -> float:
        """Return the `ceil((m + 1)(1 - risk))`-th smallest of m movements; `inf` while m is too small for the risk."""
        with self._lock:
            seen = sorted(self._seen)
        rank = math.ceil((len(seen) + 1) * (1 - self._risk) - 1e-9)
        return seen[rank - 1] if self._risk > 0 and 0 < rank <= len(seen) else math.inf
