"""What learning costs: a recall that a version answers beside one by rules, and the job."""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.learning.clicking import Clicks
from benchmarks.learning.recorded import Halves
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.indexes.times import to_micros
from recall_integrations.learning.learner import Learner
from recall_integrations.learning.measuring import ndcg
from recall_integrations.learning.versions import Version
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.types.judged import RULES, Judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What it takes.

    Args:
        ratio: processor time of a recall that a version answers over one by rules; the median of rounds.
        judged: recalls that the job learned from.
        job_s: seconds of the job, with reading them from the store.
    """

    ratio: float
    judged: int
    job_s: float


def read_path(halves: Halves, store: MemoryStore, version: Version, *, rounds: int = 15, queries: int = 60) -> float:
    """Processor time with a version that serves over that by rules, interleaved, query by query."""
    rules, learned = (QueryOptimizer(store, config=replace(store.config, mode=mode)) for mode in ("rule", "learned"))
    _promote(learned, halves, replace(version, id="v1"))
    ratios = []
    for number in range(rounds + 1):
        taken = [0, 0]
        for asked in halves.measured[:queries]:
            order = ((0, rules), (1, learned)) if number % 2 else ((1, learned), (0, rules))
            for which, optimizer in order:
                began = time.process_time_ns()
                optimizer.recall(asked.text, scope=asked.scope, now=asked.question.asked_at)
                taken[which] += time.process_time_ns() - began
        if number:  # the first one fills caches
            ratios.append(taken[1] / taken[0])
    for scope in {asked.scope for asked in halves.measured}:
        learned.learner().rollback(scope)
    rules.close()
    learned.close()
    return statistics.median(ratios)


def _promote(optimizer: QueryOptimizer, halves: Halves, version: Version) -> None:
    """Let a version answer in every scope of the measured half."""
    learner = optimizer.learner()
    for scope in {asked.scope for asked in halves.measured}:
        learner.shelf.put(learner.shelf.name_of(scope), replace(version, ranker=FixedWeights.version))
        learner.promote(version.id, scope)


def job(halves: Halves, store: MemoryStore, judged: int = 10_000, seed: int = 0) -> float:
    """Seconds of a run over so many judged recalls of one scope, all different: features get a little noise."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    scope, at = halves.learning[0].scope, to_micros(store.clock())
    clicks, written = Clicks(silent=0.0), 0
    while written < judged:
        asked = draw.choice(halves.learning)
        gains = clicks.on(asked.replay.orders[RULES], asked.relevant, draw)
        if not gains:
            continue
        x = asked.replay.x + rng.normal(0, 0.05, asked.replay.x.shape).astype(np.float32)
        offset = asked.replay.offset + rng.normal(0, 0.05, asked.replay.offset.shape).astype(np.float32)
        one = Judged(result_id=f"job-{written}", at=at - judged + written, signature=asked.signature, gains=gains)
        store.judgements.put(scope, one, settings=store.config.learned)
        store.judgements.replayed(scope, one.result_id, replace(asked.replay, x=x, offset=offset))
        written += 1
    began = time.monotonic()
    Learner(store, replace(store.config, mode="learned")).run(scope, force=True)
    return time.monotonic() - began


def wholes(halves: Halves, store: MemoryStore, version: Version | None) -> tuple[float, float]:
    """Mean nDCG@5 of whole recalls of the measured half: by rules, and by a version, with its arms and plans."""
    rules, learned = (QueryOptimizer(store, config=replace(store.config, mode=mode)) for mode in ("rule", "learned"))
    if version is not None:
        _promote(learned, halves, replace(version, id="v2"))
    found = []
    for optimizer in (rules, learned):
        values = []
        for asked in halves.measured:
            result = optimizer.recall(asked.text, scope=asked.scope, now=asked.question.asked_at)
            ids = [hit.memory.id or "" for hit in result.hits]
            nums = store.numbers(asked.scope, ids)
            values.append(ndcg(tuple(nums[one] for one in ids if one in nums), asked.relevant))
        found.append(float(np.mean(values)))
        optimizer.close()
    return found[0], found[1]
