"""What facts cost: writes with and without keeping them, and recalls with and without reading them.

Ratios within one run: both are done in turns, batch by batch and question by question, and which goes first changes
each time, so that what else the machine does falls on both alike. Single writes are of memories that were written among
others just before, under another id, and are forgotten again.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.datasets.data import Collection
from benchmarks.facts.measuring import K
from benchmarks.shared.reports import environment, write_report
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.reports import checked_output, compact_table

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations import RecallConfig

DATASET = "locomo"  # turns of two people: most of them tell no fact
BATCH = 100  # memories of one write
AGAIN = "+"  # how the ids of those end that are written once more
SINGLE = 3  # of how many memories one is written by itself
WRITES, SINGLE_WRITES, RECALLS = "writes of 100, ms each", "single writes, ms each", "recalls, ms each"
WANTED = {WRITES: 1.20, SINGLE_WRITES: 1.20, RECALLS: 1.05}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was measured.

    Args:
        count: memories, or recalls.
        with_facts: median, in milliseconds.
        without: the same without facts.
        ratio: median of the ratios of what was done in turns.
    """

    count: int
    with_facts: float
    without: float
    ratio: float


def run(
    path: str | Path,
    console: Console,
    *,
    config: RecallConfig | None = None,
    embedding: Any = None,
    collections: int | None = None,
    json_path: str | Path | None = None,
) -> dict[str, Cost]:
    """Write and ask the conversations of the data set, print the table, and write the report if asked.

    Args:
        path: the directory of data sets, or the folder of this one.
        console: where the table goes.
        config: settings.
        embedding: of the stores; `None` = the bundled one.
        collections: how many conversations; `None` = all.
        json_path: file for the report.

    Raises:
        InvalidArgument: not that data set, or a report that could not be written.
    """
    from benchmarks.datasets.loading import load

    output = checked_output(json_path)
    found = measure(load(path, DATASET).collections[:collections], config, embedding)
    table = compact_table("What facts cost")
    table.add_column("", no_wrap=True)
    for column in ("count", "with facts", "without", "ratio", "wanted at most"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, cost in found.items():
        values = (f"{cost.count:,}", f"{cost.with_facts:.3f}", f"{cost.without:.3f}", f"{cost.ratio:.2f}")
        table.add_row(name, *values, f"{WANTED[name]:.2f}")
    console.print(table)
    costs = {name: asdict(cost) for name, cost in found.items()}
    write_report(output, {"format": 1, "k": K, "costs": costs, "environment": environment()}, console)
    return found


def measure(
    collections: Sequence[Collection], config: RecallConfig | None = None, embedding: Any = None
) -> dict[str, Cost]:
    """What writes and recalls take. The recalls are of the store that keeps facts."""
    from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig

    wanted = config or RecallConfig()
    keeping = dataclasses.replace(wanted, facts=dataclasses.replace(wanted.facts, keep=True, read=True))
    reading = dataclasses.replace(keeping, facts=dataclasses.replace(keeping.facts, read=False))
    plain = dataclasses.replace(keeping, facts=dataclasses.replace(keeping.facts, keep=False, read=False))
    if not any(each.questions for each in collections):
        raise InvalidArgument("There is nothing to be asked.")
    writes: list[tuple[float, float]] = []
    single: list[tuple[float, float]] = []
    recalls: list[tuple[float, float]] = []
    with ExitStack() as stack:
        stores = [stack.enter_context(MemoryStore.open(config=one, embedding=embedding)) for one in (keeping, plain)]
        systems = [stack.enter_context(closing(QueryOptimizer(stores[0], config=one))) for one in (keeping, reading)]
        for collection in collections:
            for first in range(0, len(collection.memories), BATCH):
                part = collection.memories[first : first + BATCH]
                calls = [partial(store.remember_many, part, scope=collection.scope) for store in stores]
                ms = _in_turns(calls, len(writes))
                writes.append((ms[0] / len(part), ms[1] / len(part)))
            for memory in collection.memories[::SINGLE]:
                one = dataclasses.replace(memory, id=f"{memory.id}{AGAIN}")
                writing = [partial(store.remember, one, scope=collection.scope) for store in stores]
                single.append(_in_turns(writing, len(single)))
                for store in stores:  # the questions are asked of what the data set holds
                    store.forget(one.id, scope=collection.scope)
        for collection in collections:
            for question in collection.questions:
                asked: dict[str, Any] = {"k": K, "scope": collection.scope, "now": question.asked_at}
                asking = [partial(system.recall, question.text, **asked) for system in systems]
                recalls.append(_in_turns(asking, len(recalls)))
    return {
        WRITES: _cost(writes, sum(len(each.memories) for each in collections)),
        SINGLE_WRITES: _cost(single, len(single)),
        RECALLS: _cost(recalls, len(recalls)),
    }


def _in_turns(calls: Sequence[Callable[[], object]], turn: int) -> tuple[float, float]:
    """Milliseconds of both, the one or the other first."""
    taken = [0.0, 0.0]
    for place in (0, 1) if turn % 2 else (1, 0):
        began = time.perf_counter()
        calls[place]()
        taken[place] = (time.perf_counter() - began) * 1e3
    return taken[0], taken[1]


def _cost(pairs: Sequence[tuple[float, float]], count: int) -> Cost:
    both = np.asarray(pairs)
    return Cost(
        count=count,
        with_facts=float(np.median(both[:, 0])),
        without=float(np.median(both[:, 1])),
        ratio=float(np.median(both[:, 0] / both[:, 1])),
    )
