"""A capacity model: lines through what `scale` measured, from which sizes that were not measured are reckoned.

It says no more than that: milliseconds grow in proportion to the memories of the scope that is asked, bytes to the
memories in all; how many other scopes there are does not matter to a recall. `Line.off` says how far the line is from
what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.scale.node import COLD, WARM
from benchmarks.scale.scale import Place, Wanted

SIZES = ((1_000, 1_000), (10_000, 1_000), (100_000, 1_000), (10_000, 10_000), (100, 100_000))  # users, memories of each
ACTIVE = 0.1  # of the users are on a node


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Milliseconds by the memories of a scope.

    Args:
        at_none: of an empty scope.
        per_thousand: more of them for each thousand memories.
        off: the largest deviation from what was measured, as a share of it.
    """

    at_none: float
    per_thousand: float
    off: float

    def at(self, memories: int) -> float:
        """Milliseconds of a scope of that size."""
        return self.at_none + self.per_thousand * memories / 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What follows from the measurements of one place.

    Args:
        warm_p50, warm_p99: of a recall whose scope is on the node.
        cold: of one whose scope is not, the median.
        stored_bytes: of each memory, in the database or the directory.
        node_bytes: of each memory of a scope that is on a node.
        node_mb: of a node that has asked next to nothing.
        per_s_of_node: recalls that one processor of a node answers a second.
        per_s_of_database: recalls a second that take one processor of the database; `None` = not known.
    """

    warm_p50: Line
    warm_p99: Line
    cold: Line
    stored_bytes: float
    node_bytes: float
    node_mb: float
    per_s_of_node: float
    per_s_of_database: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A row of the sizing table.

    Args:
        users, memories: so many, of each.
        stored_gb: in the database.
        node_gb: of one node that has `ACTIVE` of the users' memories.
        warm_p50, warm_p99, cold: milliseconds.
    """

    users: int
    memories: int
    stored_gb: float
    node_gb: float
    warm_p50: float
    warm_p99: float
    cold: float


def fitted(place: Place, wanted: Wanted) -> Model:
    """The model of one place, by what was measured with the fewest nodes."""
    load = min(place.loads, key=lambda one: one.nodes)
    warm = load.times.get(WARM, load.times[COLD])
    sizes = [wanted.memories, *(one.size for one in place.large)]
    asked = (min(wanted.active, wanted.users) - 1) * wanted.memories  # `empty_mb` has the first of them
    return Model(
        warm_p50=line(sizes, [warm.p50, *(one.warm.p50 for one in place.large)]),
        warm_p99=line(sizes, [warm.p99, *(one.warm.p99 for one in place.large)]),
        cold=line(sizes, [load.times[COLD].p50, *(one.cold_ms for one in place.large)]),
        stored_bytes=place.filled.bytes["all"] / place.filled.memories,
        node_bytes=max(0.0, load.full_mb - load.empty_mb) * 1e6 / asked,
        node_mb=load.empty_mb,
        per_s_of_node=1e3 / load.node_cpu_ms,
        per_s_of_database=1e3 / load.database_cpu_ms if load.database_cpu_ms else None,
    )


def line(sizes: Sequence[int], ms: Sequence[float]) -> Line:
    """The line that is nearest to the points, by shares of their height; flat through a single one."""
    x, y = np.asarray(sizes, dtype=np.float64) / 1_000, np.asarray(ms, dtype=np.float64)
    terms = np.stack([np.ones_like(x), x], axis=1) if len(set(sizes)) > 1 else np.ones((len(x), 1))
    found, *_ = np.linalg.lstsq(terms / y[:, None], np.ones_like(y), rcond=None)
    if len(found) > 1 and found.min() < 0:  # a time below none: the other term alone
        keep = int(np.argmax(found))
        alone = float(np.sum(terms[:, keep] / y) / np.sum((terms[:, keep] / y) ** 2))
        found = np.asarray([alone, 0.0] if keep == 0 else [0.0, alone])
    off = np.abs((terms @ found[: terms.shape[1]]) / y - 1).max()
    return Line(at_none=float(found[0]), per_thousand=float(found[1]) if len(found) > 1 else 0.0, off=float(off))


def sizing(model: Model, sizes: Sequence[tuple[int, int]] = SIZES) -> list[Size]:
    """What stores of these sizes would take."""
    return [
        Size(
            users=users,
            memories=memories,
            stored_gb=users * memories * model.stored_bytes / 1e9,
            node_gb=(model.node_mb * 1e6 + ACTIVE * users * memories * model.node_bytes) / 1e9,
            warm_p50=model.warm_p50.at(memories),
            warm_p99=model.warm_p99.at(memories),
            cold=model.cold.at(memories),
        )
        for users, memories in sizes
    ]
