"""Every fault with every plan at every budget: does an answer come, and in time?

Queries are made for a plan (`synthetic_queries`); budgets take turns from recall to recall. Each pair of fault and plan
begins with an optimizer of its own and with breakers that know nothing, so it meets the fault before they open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.resilience.faults import EMBEDDER, Fault, optimizer_with, settings, vectors
from benchmarks.resilience.parts import WELL, Gate
from benchmarks.resilience.samples import Figures, Sample, figures, timed
from benchmarks.speed.synthetic import END, SCOPE, synthetic_memories, synthetic_queries

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, QueryOptimizer, RecallResult

K = 10
WARM_UP = 3
BREAKERS = "breakers.json"
Told = Callable[[str, int, int], None]


def silent(_what: str, _done: int, _total: int) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One fault with one plan, all budgets together; or at one budget, all plans together.

    Args:
        fault: its name.
        group: the plan that the queries were made for, or the budget.
        figures: of the recalls.
        hanging: component → calls that had not returned at the end.
    """

    fault: str
    group: str
    figures: Figures
    hanging: Mapping[str, int] = field(default_factory=dict)


class Stores:
    """A store with the bundled embedding and one with an embedding that can fail, filled alike when first asked for.

    Args:
        folder: where they are made.
        size: memories in the scope.
        gate: where the embedding waits when it hangs.
        told: about progress.
    """

    def __init__(self, folder: Path, size: int, gate: Gate, told: Told = silent) -> None:
        self._folder, self._size, self._told = folder, size, told
        self.embedding = vectors(gate)
        self._stack, self._open = ExitStack(), dict[bool, "MemoryStore"]()

    def of(self, *, remote: bool) -> MemoryStore:
        """The one with the embedding that can fail, or the other."""
        if remote not in self._open:
            from recall_integrations import MemoryStore

            path = self._folder / ("remote" if remote else "bundled")
            store = MemoryStore.open(path, embedding=self.embedding if remote else None)
            self._stack.enter_context(store)
            self._told(f"remembering {path.name}", 0, self._size)
            store.remember_many(synthetic_memories(self._size), scope=SCOPE)
            self._told(f"remembering {path.name}", self._size, self._size)
            self._open[remote] = store
        return self._open[remote]

    def close(self) -> None:
        """Close what was opened."""
        self._stack.close()


def measure(
    stores: Stores,
    gate: Gate,
    *,
    faults: Sequence[Fault],
    plans: Sequence[str],
    budgets: Sequence[float],
    recalls: int,
    breakers: bool = True,
    told: Told = silent,
) -> tuple[list[Row], list[Row]]:
    """Rows by fault and plan, and rows by fault and budget.

    Args:
        stores: where the memories are.
        gate: of everything that hangs.
        faults, plans, budgets: in the order of the tables.
        recalls: of each pair of fault and plan.
        breakers: whether they may open. Without them whatever hangs is let go after each recall, so that each meets it.
        told: about progress.
    """
    by_plan: list[Row] = []
    by_budget: list[Row] = []
    for fault in faults:
        samples: list[Sample] = []
        for plan in plans:
            told(fault.name, len(samples), recalls * len(plans))
            found, hanging = _pair(stores, gate, fault, plan, budgets, recalls, breakers)
            samples += found
            by_plan.append(Row(fault=fault.name, group=plan, figures=figures(found), hanging=hanging))
        told(fault.name, len(samples), recalls * len(plans))
        for budget in budgets:
            own = [s for s in samples if s.budget_ms == budget]
            if own:
                by_budget.append(Row(fault=fault.name, group=f"{budget:g}", figures=figures(own)))
    return by_plan, by_budget


def _pair(
    stores: Stores, gate: Gate, fault: Fault, plan: str, budgets: Sequence[float], recalls: int, breakers: bool
) -> tuple[list[Sample], dict[str, int]]:
    store = stores.of(remote=fault.remote)
    config = settings(entity_llm="llm" in fault.modes, breakers=breakers)
    _warmed(store, plan)
    (store.path / BREAKERS).unlink(missing_ok=True)
    optimizer, _ = optimizer_with(store, fault.modes, gate, config)
    stores.embedding.mode = fault.modes.get(EMBEDDER, WELL)
    try:
        samples = _asked(optimizer, synthetic_queries(plan, recalls), budgets, None if breakers else gate.let_go)
        hanging = {health.component: health.hanging for health in optimizer.health() if health.hanging}
    finally:
        stores.embedding.mode = WELL
        gate.let_go()
        optimizer.close()
    return samples, hanging


def _warmed(store: MemoryStore, plan: str) -> None:
    """Columns, names and words of the scope are in memory: what a first recall pays is `recall bench latency`."""
    from recall_integrations import QueryOptimizer

    optimizer = QueryOptimizer(store)
    for query in synthetic_queries(plan, WARM_UP, seed=1):
        optimizer.recall(query, k=K, scope=SCOPE, now=END, time_budget_ms=60_000)
    optimizer.close()


def _asked(
    optimizer: QueryOptimizer, queries: Sequence[str], budgets: Sequence[float], after: Callable[[], None] | None
) -> list[Sample]:
    samples = []
    for i, query in enumerate(queries):
        budget = budgets[i % len(budgets)]

        def ask(query: str = query, budget: float = budget) -> RecallResult:
            return optimizer.recall(query, k=K, scope=SCOPE, now=END, time_budget_ms=budget)

        samples.append(timed(ask, budget))
        if after is not None:
            after()
    return samples
