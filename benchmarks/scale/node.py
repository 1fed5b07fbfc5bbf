"""One process of `recall bench scale`: a node of a store, told what to do.

    python -m benchmarks.scale.node

It reads a JSON object a line and answers each with a JSON object a line. The first is a `Job`, which has the address of
the store: not an argument, since it may hold a password, and arguments are in the list of processes.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.scale import people
from benchmarks.serving.serving import resident_mb
from benchmarks.speed.asking import frozen
from benchmarks.speed.synthetic import END
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.errors import NotFound
from recall_integrations.types import Scope

K = 5
MODULE = "benchmarks.scale.node"
COLD, WARM, WRITTEN, WRITE = "cold", "warm", "written to", "write"
WARM_UP = 12  # recalls of the first scope, which load what a process needs once
BUDGET_MS = 60_000.0  # so that what is measured is the whole answer, however busy the machine is
EACH = 60  # recalls of a large scope

Sample = tuple[str, str, float]  # kind, plan, milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a node is.

    Args:
        address: of the store: a directory, or a database.
        number: of the node, from 0.
        seed: of memories and queries.
        memories: of each user.
    """

    address: str
    number: int
    seed: int
    memories: int


class Node:
    """An open store and who asks it.

    Args:
        job: what it is.
        store, optimizer: opened.
        said: tells the parent something.
    """

    def __init__(self, job: Job, store: MemoryStore, optimizer: QueryOptimizer, said: Callable[..., None]) -> None:
        self._job, self._store, self._optimizer, self._said = job, store, optimizer, said
        self._queries = people.queries(job.seed)
        self._at = job.number * 131  # so that nodes do not ask the same at once
        self._known: dict[Scope, tuple[int, int]] = {}  # number and version when it was asked last
        self._written = 0
        self.degraded = 0

    def fill(self, *, users: Sequence[int], large: Sequence[int]) -> dict[str, Any]:
        """Store scopes of sizes of their own, and then the memories of users."""
        began, done = time.perf_counter(), 0
        for size in large:
            memories = people.memories_of_large(size, self._job.seed)
            told = partial(self._told, done)
            done += len(self._store.remember_many(memories, scope=people.large(size), progress=told))
        for number in users:
            memories = people.memories_of(number, self._job.memories, self._job.seed)
            done += len(self._store.remember_many(memories, scope=people.user(number)))
            self._said(done=done)
        return {"memories": done, "seconds": time.perf_counter() - began}

    def _told(self, before: int, _what: str, done: int, _total: int | None) -> None:
        self._said(done=before + done)

    def first(self, *, users: Sequence[int]) -> dict[str, Any]:
        """Ask each user's scope for the first time, but the first one, with which a process loads what all need."""
        for _ in range(WARM_UP):
            self._recall(people.user(users[0]))
        settled = resident_mb(os.getpid())
        found = self._measured(lambda: [self._recall(people.user(number)) for number in users[1:]])
        return {**found, "settled_mb": settled}

    def load(self, *, users: Sequence[int], seconds: float, writes: float) -> dict[str, Any]:
        """Ask random users one after the other, once at least, and write now and then."""
        rng = random.Random(f"{self._job.seed}/{self._job.number}")

        def ask() -> list[Sample]:
            found: list[Sample] = []
            until = time.perf_counter() + seconds
            while not found or time.perf_counter() < until:
                scope = people.user(rng.choice(users))
                found.append(self._write(scope) if rng.random() < writes else self._recall(scope))
            return found

        return self._measured(ask)

    def writing(self, *, seconds: float, threads: int) -> dict[str, Any]:
        """Write one memory after the other to a scope of its own, so many threads at once."""

        def write(thread: int) -> list[Sample]:
            scope = people.user(-1 - self._job.number * threads - thread)
            until = time.perf_counter() + seconds
            found = []
            while time.perf_counter() < until:
                found.append(self._write(scope))
            return found

        def all_of_them() -> list[Sample]:
            with ThreadPoolExecutor(threads) as pool:
                return [sample for found in pool.map(write, range(threads)) for sample in found]

        return self._measured(all_of_them)

    def large(self, *, size: int) -> dict[str, Any]:
        """Ask one large scope: once, and again and again."""
        scope = people.large(size)
        return self._measured(lambda: [self._recall(scope) for _ in range(EACH + 1)])

    def _measured(self, work: Callable[[], list[Sample]]) -> dict[str, Any]:
        self.degraded = 0
        with frozen():
            began, computed = time.perf_counter(), time.process_time()
            samples = work()
            seconds, cpu = time.perf_counter() - began, time.process_time() - computed
        return {
            "samples": samples,
            "seconds": seconds,
            "cpu_s": cpu,
            "degraded": self.degraded,
            "rss_mb": resident_mb(os.getpid()),
        }

    def _recall(self, scope: Scope) -> Sample:
        self._at += 1
        query = self._queries[self._at % len(self._queries)]
        known = self._known.get(scope)
        there = known is not None and self._store.in_memory(known[0])
        began = time.perf_counter()
        result = self._optimizer.recall(query, k=K, scope=scope, now=END, time_budget_ms=BUDGET_MS)
        ms = (time.perf_counter() - began) * 1e3
        number = self._store.scope_id(scope) if known is None else known[0]
        if number is None:
            raise NotFound(f"{scope.user_id} is not in the store.")
        version = self._store.version(number)
        changed = known is not None and known[1] != version
        kind = WRITTEN if changed else WARM if there else COLD
        self._known[scope] = (number, version)
        self.degraded += bool(result.degraded)
        return kind, result.plan.name, ms

    def _write(self, scope: Scope) -> Sample:
        self._written += 1
        memory = people.written_by(self._job.number, self._written, time.time_ns())
        began = time.perf_counter()
        self._store.remember(memory, scope=scope)
        return WRITE, "", (time.perf_counter() - began) * 1e3


def main() -> None:
    """Do what the lines of standard input say, until they end."""
    out = sys.stdout

    def said(**values: Any) -> None:
        out.write(json.dumps(values) + "\n")
        out.flush()

    job = Job(**json.loads(sys.stdin.readline()))
    began = time.perf_counter()
    with MemoryStore.open(job.address) as store, closing(QueryOptimizer(store)) as optimizer:
        opened = (time.perf_counter() - began) * 1e3
        node = Node(job, store, optimizer, said)
        said(open_ms=opened)
        for line in sys.stdin:
            asked = json.loads(line)
            if (what := asked.pop("do")) == "end":
                break
            said(result=getattr(node, what)(**asked))


if __name__ == "__main__":
    main()
