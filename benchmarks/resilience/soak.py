"""Reads, writes, forgets and faults from many threads, for as long as one likes.

Memories come from a pool of ids, so that the store does not grow: what memory grows by is a leak. Every few moments a
part (LLM, reranker, embedding, an arm) starts to fail in some way, or works again; what hung is let go when the next
fault begins. Breakers open for two seconds only, so that they open and close many times.
"""

from __future__ import annotations

import functools
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.resilience.doctor import Verdict, examined
from benchmarks.resilience.faults import EMBEDDER, LLM, RERANKER, optimizer_with, settings, vectors
from benchmarks.resilience.matrix import K, Told, silent
from benchmarks.resilience.parts import HANGS, MODES, OWN, WELL, Gate, Part
from benchmarks.resilience.samples import Figures, Ledger, figures, timed
from benchmarks.speed.probe import resident_mb
from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories, synthetic_queries
from recall_integrations.config import BreakerConfig
from recall_integrations.errors import RecallError

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, QueryOptimizer

THREADS = 16
OPEN_S = 2.0
CHANGE_S = 0.5
READ, WRITE, FORGET = 0.85, 0.95, 1.0
BUDGETS = (5.0, 20.0, 150.0, 500.0)
FIRST_MINUTE = 1.0
BREAKABLE = (LLM, RERANKER, EMBEDDER, "lexical", "semantic", "graph", OWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """What came of it.

    Args:
        minutes: how long.
        reads: all recalls.
        writes, forgets: that were acknowledged.
        refused: writes and forgets that ended in an error that has a name: its class → how often.
        unexpected: what should not have been raised → how often.
        faults: how often a part began to fail or to work.
        rss_start_mb, rss_minute_mb, rss_end_mb: before, after the first minute (or half of a shorter run), at the end.
        threads_start, threads_end: at the end, once everything was closed.
        hanging: component → calls that had not returned when all were let go.
        doctor: what `recall doctor` says of the store.
    """

    minutes: float
    reads: Figures | None
    writes: int
    forgets: int
    refused: dict[str, int] = field(default_factory=dict)
    unexpected: dict[str, int] = field(default_factory=dict)
    faults: int = 0
    rss_start_mb: float = 0.0
    rss_minute_mb: float = 0.0
    rss_end_mb: float = 0.0
    threads_start: int = 0
    threads_end: int = 0
    hanging: dict[str, int] = field(default_factory=dict)
    doctor: Verdict | None = None

    @property
    def growth_mb(self) -> float:
        """Resident memory since the first minute."""
        return self.rss_end_mb - self.rss_minute_mb


def measure(folder: Path, minutes: float, size: int, settle: Callable[[int], int], told: Told = silent) -> Soak:
    """Run it in a new store.

    Args:
        folder: where the store is made.
        minutes: how long.
        size: memories in it.
        settle: waits until there are only so many threads, and says how many there are.
        told: about progress.
    """
    from recall_integrations import MemoryStore

    gate = Gate()
    embedding = vectors(gate)
    threads_start, path = threading.active_count(), folder / "soak"
    with _quiet(), MemoryStore.open(path, embedding=embedding) as store:
        store.remember_many(synthetic_memories(size), scope=SCOPE)
        config = replace(settings(entity_llm=True, breakers=True), breakers=BreakerConfig(open_s=OPEN_S))
        optimizer, parts = optimizer_with(store, dict.fromkeys(BREAKABLE, HANGS), gate, config)
        parts[EMBEDDER] = embedding
        for part in parts.values():
            part.mode = WELL
        start_mb, work = resident_mb(), _Work(store, optimizer, size)
        minute_mb, faults = _run(work, gate, parts, minutes, told)
        end_mb = resident_mb()
        hanging = {h.component: h.hanging for h in optimizer.health() if h.hanging}
        optimizer.close()
    samples = work.ledger.samples()
    return Soak(
        minutes=minutes,
        reads=figures(samples) if samples else None,
        writes=work.counts["write"],
        forgets=work.counts["forget"],
        refused=dict(work.refused),
        unexpected=dict(work.unexpected),
        faults=faults,
        rss_start_mb=round(start_mb, 1),
        rss_minute_mb=round(minute_mb, 1),
        rss_end_mb=round(end_mb, 1),
        threads_start=threads_start,
        threads_end=settle(threads_start),
        hanging=hanging,
        doctor=examined(path),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Faults are wanted here: a line in the log for each would hide what is not."""
    logger = logging.getLogger("recall_integrations")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _run(work: _Work, gate: Gate, parts: dict[str, Part], minutes: float, told: Told) -> tuple[float, int]:
    """Let it run; resident memory after the first minute, and how often a fault began or ended."""
    rng, faults, begin = random.Random(0), 0, time.monotonic()
    threads = [threading.Thread(target=work.go, args=(i,), daemon=True) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    end, minute_mb = minutes * 60, 0.0
    while (past := time.monotonic() - begin) < end:
        told("soak", int(past), int(end))
        if not minute_mb and past >= min(FIRST_MINUTE * 60, end / 2):
            minute_mb = resident_mb()
        part = parts[rng.choice(BREAKABLE)]
        part.mode = rng.choice(MODES) if part.mode == WELL else WELL
        faults += 1
        gate.let_go()
        time.sleep(min(CHANGE_S, max(0.0, end - past)))
    work.over.set()
    for part in parts.values():
        part.mode = WELL
    for thread in threads:
        while thread.is_alive():
            gate.let_go()
            thread.join(CHANGE_S)
    told("soak", int(end), int(end))
    return minute_mb or resident_mb(), faults


class _Work:
    """What each thread does, and what came of it. Only counts are kept, and times.

    Args:
        store, optimizer: what is worked with.
        size: of the pool of memories.
    """

    def __init__(self, store: MemoryStore, optimizer: QueryOptimizer, size: int) -> None:
        self._store, self._optimizer, self._size = store, optimizer, size
        self._queries: Sequence[str] = [q for plan in PLANS for q in synthetic_queries(plan, 200, seed=3)]
        self._memories = list(synthetic_memories(min(size, 2_000), seed=1))
        self._lock = threading.Lock()
        self.over = threading.Event()
        self.ledger = Ledger()
        self.counts: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unexpected: Counter[str] = Counter()

    def go(self, seed: int) -> None:
        """Until it is over."""
        rng = random.Random(seed)
        while not self.over.is_set():
            kind = rng.random()
            if kind < READ:
                self._read(rng)
            elif kind < WRITE:
                memory = rng.choice(self._memories)
                self._change("write", functools.partial(self._store.remember, memory, scope=SCOPE))
            else:
                memory = rng.choice(self._memories)
                self._change("forget", functools.partial(self._store.forget, str(memory.id), scope=SCOPE))

    def _read(self, rng: random.Random) -> None:
        query, budget = rng.choice(self._queries), rng.choice(BUDGETS)
        sample = timed(lambda: self._optimizer.recall(query, k=K, scope=SCOPE, now=END, time_budget_ms=budget), budget)
        with self._lock:
            self.ledger.add(sample)
            for reason in sample.reasons:
                if reason.startswith("raised:"):
                    self.unexpected[f"recall {reason}"] += 1

    def _change(self, what: str, act: Callable[[], Any]) -> None:
        try:
            act()
        except RecallError as e:
            with self._lock:
                self.refused[f"{what} {type(e).__name__}"] += 1
        except Exception as e:  # noqa: BLE001 - counted
            with self._lock:
                self.unexpected[f"{what} raised:{type(e).__name__}"] += 1
        else:
            with self._lock:
                self.counts[what] += 1
