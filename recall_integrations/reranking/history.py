"""What the gate remembers about a reranker: what it costs, how far it moves candidates, whether it works.

Everything is bounded, thread-safe and free of clocks other than the one passed in.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from recall_integrations.errors import ConfigError
from recall_integrations.reranking.gate import Estimate

RUNS = 64  # recent runs that costs are judged by
RUNS_MIN = 3  # fewer say nothing: one may have been cold
PROBE_EVERY = 20  # of the refusals for slowness, so that at most one recall in 20 waits for a slow reranker in vain
MOVEMENTS = 400  # observed movements that the stability test goes by
AUDIT_EVERY = 5  # of the recalls that might be skipped as stable; these are reranked in any case
# About what 512 tokens hold: what a cross-encoder does not read costs nothing. And the fixed cost of a pair.
PAIR_CHARS_MAX, PAIR_CHARS = 2_000, 64


def work_of(query: str, texts: Sequence[str]) -> float:
    """The size of a rerank, about proportional to its time: `Σ min(|query| + |text|, 2000) + 64`, in characters."""
    return float(sum(min(len(query) + len(text), PAIR_CHARS_MAX) + PAIR_CHARS for text in texts))


class CostHistory:
    """Milliseconds per unit of work of the recent runs, and what the next will take."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: deque[float] = deque(maxlen=RUNS)
        self._pairs: deque[float] = deque(maxlen=RUNS)
        self._refused = 0

    def record(self, ms: float, work: float, pairs: int, *, probe: bool = False) -> None:
        """A run ended. A probe says how things are now, so what was before it is forgotten."""
        if work <= 0 or pairs <= 0:
            return
        with self._lock:
            if probe:
                self._rates.clear()
                self._pairs.clear()
            for _ in range(RUNS_MIN if probe else 1):
                self._rates.append(ms / work)
                self._pairs.append(ms / pairs)

    def estimate(self, work: float) -> Estimate | None:
        """For this much work; `None` after fewer than three runs."""
        with self._lock:
            rates = np.asarray(self._rates)
        if len(rates) < RUNS_MIN:
            return None
        return Estimate(
            median_ms=work * float(np.median(rates)), p95_ms=work * float(np.quantile(rates, 0.95, method="higher"))
        )

    def median_ms(self, pairs: int) -> float | None:
        """What so many pairs of the usual length take; `None` after fewer than three runs."""
        with self._lock:
            return pairs * float(np.median(self._pairs)) if len(self._pairs) >= RUNS_MIN else None

    def refused(self) -> bool:
        """A rerank would be refused for its time. Whether to let it run all the same, as a probe."""
        with self._lock:
            self._refused += 1
            return self._refused % PROBE_EVERY == 0


class MovementHistory:
    """How far reranks moved candidates: the quantile of the stability test (`gate`).

    What is skipped cannot be observed, and observing only what was not skipped would bias the quantile. So every fifth
    recall is audited, that is reranked whatever the tests say, and only these are observed.

    Args:
        risk: of the stability test; 0 = no audits.
    """

    def __init__(self, risk: float) -> None:
        self._risk = risk
        self._lock = threading.Lock()
        self._seen: deque[float] = deque(maxlen=MOVEMENTS)
        self._asked = 0

    def audit(self) -> bool:
        """Whether the next recall is audited. Call it once for each recall that gets as far as the tests."""
        if self._risk == 0:
            return False
        with self._lock:
            self._asked += 1
            return self._asked % AUDIT_EVERY == 1

    def record(self, moved: float) -> None:
        """The movement of an audited rerank."""
        with self._lock:
            self._seen.append(moved)

    def quantile(self) -> float:
        """The `ceil((m + 1)(1 - risk))`-th smallest of m movements; `inf` while there are too few for the risk."""
        with self._lock:
            seen = sorted(self._seen)
        rank = math.ceil((len(seen) + 1) * (1 - self._risk) - 1e-9)
        return seen[rank - 1] if self._risk > 0 and 0 < rank <= len(seen) else math.inf


class Breaker:
    """Off for a while after several failures in a row; then one call may try, and its success closes it.

    Args:
        failures_max: so many failures in a row open it.
        open_s: seconds that it stays open. A try that never reports back counts as failed after as long again.
        clock: monotonic seconds.

    Raises:
        ConfigError: a value out of its range.
    """

    def __init__(self, failures_max: int, open_s: float, clock: Callable[[], float]) -> None:
        if not failures_max >= 1 or not open_s >= 0:
            raise ConfigError(
                "rerank_failures_max must be at least 1 and rerank_open_s at least 0, "
                f"not {failures_max!r} and {open_s!r}."
            )
        self._failures_max = failures_max
        self._open_s = open_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until = -math.inf

    @property
    def is_open(self) -> bool:
        """Whether a call would be refused now."""
        with self._lock:
            return self._failures >= self._failures_max and self._clock() < self._until

    def enter(self) -> bool:
        """Whether a call may be made now. After a pause only the first to ask may, until it reports back."""
        with self._lock:
            if self._failures < self._failures_max:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self._open_s
            return True

    def succeeded(self) -> None:
        """A call worked."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        """A call failed, or did not return in time."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._failures_max:
                self._until = self._clock() + self._open_s
