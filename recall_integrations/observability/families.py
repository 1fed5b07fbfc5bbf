"""The metrics of `families.yaml`: those that are counted as recalls end, and those that are computed when asked for."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import yaml
from cachetools import FIFOCache

from recall_integrations.types.query import PLANS

OTHER = "other"
OVERLAPS = ("none", "some", "most", "all")
SCOPES_MAX = 10_000
_TABLE: Mapping[str, Any] = yaml.safe_load(
    resources.files(__package__).joinpath("families.yaml").read_text(encoding="utf-8")
)
COMPUTED: Mapping[str, Mapping[str, Any]] = _TABLE["computed"]


def values(named: str, own: Collection[str] = ()) -> frozenset[str]:
    """Return the values of labels that stand under names of the table; `own` are those of stages and arms of users."""
    known = {**_TABLE["values"], "plans": " ".join(PLANS), "own": " ".join(own)}
    return frozenset(value for name in named.split() for value in known[name].split())


WANTED = values("wanted")
REASONS = values("codes steps wanted rewrites reranks others")
COMPONENTS = values("components") | {f"arm.{name}" for name in values("arms")}


class Series:
    """The series of one metric, by the values of its labels: unknown values are replaced by `other`."""

    def __init__(self, metric: Any, known: Sequence[Collection[str]]) -> None:
        self._metric, self._known = metric, known

    def of(self, *values: str) -> Any:
        """Return the series with these values; without labels, the metric."""
        pairs = zip(values, self._known, strict=True)
        given = [value if value in known else OTHER for value, known in pairs]
        return self._metric.labels(*given) if given else self._metric


def counted(library: Any, registry: Any, own: frozenset[str]) -> dict[str, Series]:
    """Make the metrics that are counted as recalls end. Raises `ValueError` if the registry has one of them already."""
    found = {}
    for key, row in _TABLE["counted"].items():
        labels = {label: values(named, own) for label, named in row.get("labels", {}).items()}
        given = {"buckets": _TABLE["buckets"][row["buckets"]]} if "buckets" in row else {}
        kind = getattr(library, "Histogram" if given else row.get("kind", "Counter"))
        made = kind(row["name"], row["says"], list(labels), registry=registry, **given)
        found[key] = Series(made, list(labels.values()))
        for value in sorted(values(row.get("begin", ""))):
            found[key].of(value)
    return found


def filled(core: Any, key: str, given: Iterable[tuple[Sequence[str], float]]) -> Any:
    """Return a metric of `COMPUTED` with its values, given by the values of its labels."""
    row = COMPUTED[key]
    family = getattr(core, f"{row.get('kind', 'Gauge')}MetricFamily")
    made = family(row["name"], row["says"], labels=row.get("labels", ()))
    for own, value in given:
        made.add_metric(list(own), value)
    return made


def complexity(specificity: float, precise: float, exploratory: float) -> str:
    """Say how much a query leaves open: `simple` = nothing, `complex` = it is vague."""
    return "simple" if specificity >= precise else "complex" if specificity < exploratory else "moderate"


def overlap(named: Sequence[Collection[str]], held: Collection[str]) -> str:
    """Say how many of the entities that a query names a memory has, as one of `OVERLAPS`."""
    shared = sum(any(name in held for name in names) for names in named)
    if not shared:
        return OVERLAPS[0]
    return OVERLAPS[3] if shared == len(named) else OVERLAPS[2] if 2 * shared >= len(named) else OVERLAPS[1]


class ByPlan:
    """Mean nDCG by plan, from judgements in many scopes: each is weighted by its judged recalls. Threads share it."""

    def __init__(self, most: int = SCOPES_MAX) -> None:
        self._known: FIFOCache[object, Mapping[str, tuple[float, int]]] = FIFOCache(most)
        self._lock = threading.Lock()

    def put(self, scope: object, figures: Mapping[str, tuple[float, int]]) -> None:
        """Set the figures of a scope."""
        with self._lock:
            self._known.pop(scope, None)
            self._known[scope] = dict(figures)

    def means(self) -> dict[str, float]:
        """Return the mean of each plan."""
        with self._lock:
            found = [item for figures in self._known.values() for item in figures.items()]
        judged = {plan: sum(count for name, (_, count) in found if name == plan) for plan in PLANS}
        gained = {plan: sum(value * count for name, (value, count) in found if name == plan) for plan in PLANS}
        return {plan: gained[plan] / count for plan, count in judged.items() if count}


class Means:
    """Mean values by a label. Threads share it."""

    def __init__(self, values: Sequence[str]) -> None:
        self._sums = {value: [0.0, 0] for value in values}
        self._lock = threading.Lock()

    def add(self, value: str, number: float) -> None:
        """Add a number to a value of the label."""
        with self._lock:
            own = self._sums[value]
            own[0] += number
            own[1] += 1

    def means(self) -> list[tuple[str, float]]:
        """Return the means of the values with numbers."""
        with self._lock:
            return [(value, total / count) for value, (total, count) in self._sums.items() if count]
