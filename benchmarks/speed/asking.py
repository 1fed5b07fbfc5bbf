"""Asks several systems the same kinds of questions, taking turns, and keeps the times."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.speed.synthetic import PLANS

OURS = "recall"
ALL = "all"
SLOW_MS = 100.0  # a peer slower than this is asked only `SLOW_QUERIES` queries of each kind, in one round
SLOW_QUERIES = 5

Search = Callable[[str], object]
Round = Sequence[Sequence[str]]  # queries by kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Latency of one system for one plan, in milliseconds; `queries` per round."""

    queries: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One timed call; `place` is that of the query in its round."""

    system: str
    round: int
    place: int
    query: str
    ms: float


def timed(call: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


@contextmanager
def frozen() -> Iterator[None]:
    """Inside, what existed before is collected, and not traversed again; the garbage collector stays on."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def ask(systems: Mapping[str, Search], rounds: Mapping[str, Sequence[Round]]) -> Iterator[Sample]:
    """Warm up with the first round of each system, then time the others, systems taking turns.

    Args:
        systems: name → what answers a query.
        rounds: name → its queries, by round and kind; all systems have as many. Systems that share what they keep in
            memory get queries of their own, so that none profits from another's.
    """
    names = list(systems)
    slow = {name for name in names if _warm_up(systems[name], rounds[name][0]) > SLOW_MS and not ours(name)}
    turn = 0
    for number in range(1, len(rounds[names[0]])):
        for kind in range(len(rounds[names[0]][number])):
            for place in range(len(rounds[names[0]][number][kind])):
                turn += 1
                for i in range(len(names)):
                    name = names[(i + turn) % len(names)]
                    if name in slow and (number > 1 or place >= SLOW_QUERIES):
                        continue
                    query = rounds[name][number][kind][place]
                    ms = timed(partial(systems[name], query))
                    yield Sample(system=name, round=number - 1, place=turn, query=query, ms=ms)


def ours(name: str) -> bool:
    """Whether a system is ours: `recall`, or `recall` through an entry point."""
    return name.split(",", maxsplit=1)[0] == OURS


def _warm_up(search: Search, kinds: Round) -> float:
    """Ask every query, or only a few of a slow system; the median in milliseconds."""
    times: list[float] = []
    for place in range(max(len(queries) for queries in kinds)):
        times.extend(timed(partial(search, queries[place])) for queries in kinds if place < len(queries))
        if statistics.median(times) > SLOW_MS:
            break
    return statistics.median(times)


def percentiles(samples: Sequence[Sample], plan_of: Mapping[int, str]) -> dict[str, dict[str, Percentiles]]:
    """System → `all` and each plan → the median over rounds of the percentiles within a round.

    Args:
        samples: all times.
        plan_of: a sample's `place` → the plan of our query at that place. Other entry points have other queries
            there, of the same kind, so only `recall` and the peers, which have the same, are told apart by plan.
    """
    times: dict[str, dict[str, dict[int, list[float]]]] = {}
    for sample in samples:
        entry = ours(sample.system) and sample.system != OURS
        for group in (ALL,) if entry else (ALL, plan_of[sample.place]):
            rounds = times.setdefault(sample.system, {}).setdefault(group, {})
            rounds.setdefault(sample.round, []).append(sample.ms)
    order = [ALL, *PLANS]
    found: dict[str, dict[str, Percentiles]] = {}
    for system in sorted(times, key=lambda name: (not ours(name), name)):
        found[system] = {}
        for group in sorted(times[system], key=lambda g: (order.index(g) if g in order else len(order), g)):
            found[system][group] = over_rounds(list(times[system][group].values()))
    return found


def over_rounds(rounds: Sequence[Sequence[float]]) -> Percentiles:
    """The median over rounds of the percentiles within each."""
    rows = np.asarray([np.percentile(ms, (50, 95, 99)) for ms in rounds])
    p50, p95, p99 = (float(v) for v in np.median(rows, axis=0))
    return Percentiles(queries=round(statistics.median(len(ms) for ms in rounds)), p50=p50, p95=p95, p99=p99)
