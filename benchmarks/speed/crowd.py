"""Many threads that ask at once: how much more they get done than one, and how long each of them waits."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from recall_integrations.errors import InvalidArgument

THREADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """What many threads get done.

    Args:
        threads: at once.
        per_s, alone_per_s: recalls per second, of all of them together and of one thread alone.
        p50, p95, p99: milliseconds of one recall among them.
        degraded: recalls that left something out, which a store under pressure does.
    """

    threads: int
    per_s: float
    alone_per_s: float
    p50: float
    p95: float
    p99: float
    degraded: int

    @property
    def gain(self) -> float:
        """Throughput against one thread."""
        return self.per_s / self.alone_per_s


def crowd(search: Callable[[str], bool], queries: Sequence[str], threads: int = THREADS) -> Crowd:
    """Ask the first half of `queries` from one thread, the second from many, and again the other way round.

    Args:
        search: asks, and says whether something was left out.
        queries: all different.
        threads: at once.
    """
    half = len(queries) // 2
    first, second = queries[:half], queries[half:]
    alone = [_seconds(search, first, 1)[0], 0.0]
    together, times, degraded = _seconds(search, second, threads)
    again, more, left_out = _seconds(search, first[::-1], threads)
    alone[1] = _seconds(search, second[::-1], 1)[0]
    p50, p95, p99 = (float(v) for v in np.percentile(times + more, (50, 95, 99)))
    return Crowd(
        threads=threads,
        per_s=len(queries) / (together + again),
        alone_per_s=len(queries) / sum(alone),
        p50=p50,
        p95=p95,
        p99=p99,
        degraded=degraded + left_out,
    )


def _seconds(search: Callable[[str], bool], queries: Sequence[str], threads: int) -> tuple[float, list[float], int]:
    """Seconds for all queries, milliseconds of each, and how many answers left something out."""
    waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    for query in (*queries, *[None] * threads):
        waiting.put(query)
    times: list[float] = []
    degraded: list[bool] = []
    begin = threading.Barrier(threads + 1)

    def work() -> None:
        begin.wait()
        while (query := waiting.get()) is not None:
            start = time.perf_counter()
            degraded.append(search(query))
            times.append((time.perf_counter() - start) * 1e3)

    crew = [threading.Thread(target=work, daemon=True) for _ in range(threads)]
    for thread in crew:
        thread.start()
    begin.wait()
    start = time.perf_counter()
    for thread in crew:
        thread.join()
    seconds = time.perf_counter() - start
    if len(times) < len(queries):
        raise InvalidArgument(f"{len(queries) - len(times)} of {len(queries)} queries raised; see above.")
    return seconds, times, sum(degraded)
