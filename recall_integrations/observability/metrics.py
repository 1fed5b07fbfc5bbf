"""Metrics of recalls, for Prometheus.

    metrics = Metrics()
    optimizer = QueryOptimizer(store, observers=[metrics])
    metrics.watch(store)
    metrics.text()            # what `GET /metrics` answers

A recall is counted once, when it has ended; some metrics are computed when asked for. Names and labels are in
`families.yaml`. Every metric: docs/metric-names.md; its alerts: docs/metrics.md.
"""

from __future__ import annotations

import functools
import os
import re
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import yaml
from cachetools import FIFOCache

from recall_integrations.errors import InvalidArgument, RecallError, StoreClosed, extra
from recall_integrations.types import Hit, RecallResult
from recall_integrations.types.observing import Feedback, Look, RecallEvent, RecallObserver
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


class Window:
    """Sums over the recent past, kept in slots of time."""

    def __init__(
        self, counts: int, seconds: float = 60.0, slots: int = 12, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._width, self._slots, self._clock = seconds / slots, slots, clock
        self._none = [0.0] * counts
        self._sums: deque[tuple[int, list[float]]] = deque(maxlen=slots)  # turn and sums of each slot
        self._began = clock()
        self._lock = threading.Lock()

    def add(self, *values: float) -> None:
        with self._lock:
            turn = int(self._clock() / self._width)
            if not self._sums or self._sums[-1][0] != turn:
                self._sums.append((turn, list(self._none)))
            sums = self._sums[-1][1]
            for i, value in enumerate(values):
                sums[i] += value

    def sums(self) -> tuple[Sequence[float], float]:
        """Return the sums, and the seconds that they cover."""
        now = self._clock()
        first = int(now / self._width) - self._slots + 1
        with self._lock:
            recent = [sums for turn, sums in self._sums if turn >= first]
            total = [sum(column) for column in zip(self._none, *recent, strict=True)]
        return total, max(self._width / self._slots, min(now - first * self._width, now - self._began))


DEFAULT_STORE = "main"
STATES = ("closed", "half_open", "open")  # the worse, the later
ARM = "arm."
RATE_SECONDS, CACHE_SECONDS = 60.0, 300.0
_PLACEHOLDER = re.compile(r"\[[a-z][a-z0-9_-]*-\d+\]")
_OUTCOMES = {"hits": "hit", "misses": "miss"}  # of look-ups in memory
Values = list[tuple[Sequence[str], float]]


class Metrics(RecallObserver):
    """Counts recalls, for one registry. Threads share it; several optimizers may.

    A forked process goes on with copies of all counts, and locks that another thread held: make one in each worker,
    after the fork.

    Args:
        registry: registry of `prometheus_client`; default one of its own, so that several may be in one process.
        instance: value of the label `instance_id`; default the host and the process.
        names: stages and arms of your own that may be values of labels; others are `other`.
        clock: monotonic seconds.

    Attributes:
        registry: registry of the metrics.
        content_type: content type of `text()`.

    Raises:
        MissingExtra: `prometheus_client` is not installed.
        InvalidArgument: the registry has these metrics already.
    """

    def __init__(
        self,
        registry: Any = None,
        *,
        instance: str | None = None,
        names: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        with extra("metrics", "Metrics"):
            import prometheus_client as library
            import prometheus_client.core
        self._library, self._core = library, prometheus_client.core
        self.registry = library.CollectorRegistry() if registry is None else registry
        self.content_type = str(library.CONTENT_TYPE_LATEST)
        self.instance = instance or f"{socket.gethostname()}:{os.getpid()}"
        self._names = frozenset(names)
        self._recent = Window(1, RATE_SECONDS, clock=clock)
        self._lookups = Window(2, CACHE_SECONDS, clock=clock)
        self._overlap, self._coverage = Means(OVERLAPS), Means(OVERLAPS[-1:])
        self._by_plan = ByPlan()
        self._components = COMPONENTS | {f"{kind}.{name}" for name in self._names for kind in ("arm", "stage")}
        self._stores: dict[str, weakref.ref[Any]] = {}  # which may go away, as optimizers
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        try:
            self.registry.register(self)  # the first collector of its registry that is asked: see `collect`
            self._of = counted(library, self.registry, self._names)
        except ValueError as e:
            raise InvalidArgument(
                f"The registry has metrics of these names already ({e}). Give every Metrics one of its own, or none."
            ) from e

    def __reduce__(self) -> Any:
        """Pickle as a copy that, in a worker process, counts by itself."""
        return functools.partial(Metrics, names=tuple(self._names)), ()

    def attached(self, source: object) -> None:
        """Add an optimizer that reports here: the state of its breakers is shown as well."""
        with self._lock:
            self._optimizers.add(source)

    def watch(self, store: Any, name: str = DEFAULT_STORE) -> None:
        """Show the size of a store, the number of its changes, and the changes that its indexes lack.

        Args:
            store: a `MemoryStore`. It may be closed; it is not shown from then on.
            name: value of the label `store`; of two stores with one name the later one is shown.

        Raises:
            InvalidArgument: it is no store.
        """
        if not callable(getattr(store, "figures", None)):
            raise InvalidArgument(f"{store!r} is not a MemoryStore. Give what MemoryStore.open() gave.")
        with self._lock:
            self._stores[name] = weakref.ref(store)

    def text(self) -> bytes:
        """Return all metrics of the registry as Prometheus reads them, as `content_type`."""
        found: bytes = self._library.generate_latest(_WithoutTimes(self.registry))
        return found

    # -- as an observer --------------------------------------------------------------------------------------------

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """Count a recall."""
        of, result = self._of, event.result
        self._recent.add(1)
        if event.error is not None:
            of["errors"].of(_code(event.error)).inc()
        for part in event.parts:
            of["admissions"].of(str(part.level)).inc()
            for arm in part.arms:
                if arm.placed > 0:
                    of["arm_hits"].of(arm.name).inc(arm.placed)
        if result is None:
            of["recalls"].of("error").inc()
            return
        self._answer(event, result)
        for one in result.parts or (result,):
            self._part(one)
        self._hits(result, event.privacy)

    def refused(self, error: Exception) -> None:
        """Count a recall whose arguments were wrong."""
        self._of["recalls"].of("refused").inc()
        self._of["errors"].of(_code(error)).inc()

    def judged(self, feedback: Feedback) -> None:
        """Count the ways in which a recall was judged."""
        for kind in feedback.kinds:
            self._of["feedback"].of(kind).inc()

    def learned(self, step: Any) -> None:
        """Count a step of learning, and note the nDCG by plan of the judgements."""
        self._of["learning"].of(step.step).inc()
        if step.scope is not None:  # else of all scopes together: they have told their own
            self._by_plan.put(step.scope, step.ndcg_by_plan)

    def _answer(self, event: RecallEvent, result: RecallResult) -> None:
        """Count the recall as a whole."""
        of, thresholds = self._of, event.thresholds
        trouble = [d for d in result.degraded if d.reason not in WANTED]
        answered = "degraded" if trouble else "ok" if result.hits else "empty"
        of["recalls"].of(answered if event.error is None else "error").inc()
        of["served"].of("rules" if result.version == "rules" else "own").inc()
        of["latency_ms"].of(result.plan.name).observe(event.took_ms)
        kind = complexity(result.query.specificity, thresholds.get("precise", 0.8), thresholds.get("exploratory", 0.4))
        of["latency_s"].of(kind, event.privacy, "true" if trouble else "false").observe(event.took_ms / 1e3)
        for problem in result.degraded:
            stage = problem.stage.partition(".")[0]
            of["degraded"].of(stage, problem.reason).inc()
            if problem.reason not in WANTED:
                of["degradations"].of(problem.reason).inc()

    def _part(self, part: RecallResult) -> None:
        """Count the recall in one scope."""
        of, cache = self._of, part.cache
        of["plans"].of(part.plan.name).inc()
        if cache.strategy != "disabled":
            self._lookups.add(cache.hit, 1)
            of["lookups"].of("hit" if cache.hit else "miss").inc()
        for name, ms in part.timings_ms.items():
            if name.startswith(ARM):
                of["arm_seconds"].of(name[len(ARM) :]).observe(ms / 1e3)
            elif name != "total":
                of["stage_seconds"].of(name).observe(ms / 1e3)
        if cache.hit:
            return  # its outcomes of the LLM and the reranker are of an earlier recall
        rewrite, rerank = part.rewrite, part.rerank
        of["rewrites"].of(rewrite.reason).inc()
        if rewrite.duration_ms:
            of["rewrite_seconds"].of().observe(rewrite.duration_ms / 1e3)
        of["reranks"].of(rerank.reason).inc()
        if rerank.duration_ms:
            of["rerank_ms"].of().observe(rerank.duration_ms)

    def _hits(self, result: RecallResult, privacy: str) -> None:
        observe = self._of["scores"].of().observe
        named = [{ref.name.casefold(), ref.mention.casefold()} for ref in result.query.entity_refs if ref.mention]
        found: set[str] = set()
        for hit in result.hits:
            observe(hit.score)
            if named:
                held = {name.casefold() for name in hit.memory.entities}
                found |= held
                self._overlap.add(overlap(named, held), hit.score)
        if named and privacy == "allow":
            self._coverage.add(OVERLAPS[-1], sum(not names.isdisjoint(found) for names in named) / len(named))
        if privacy != "allow":
            for hit in result.hits:
                self._of["private"].of(privacy, _shown(hit, privacy)).inc()

    # -- as a collector of the registry ----------------------------------------------------------------------------

    def describe(self) -> Iterable[Any]:
        """Return nothing, so that registration does not ask a store."""
        return ()

    def collect(self) -> Iterator[Any]:
        """Yield the metrics that are computed when somebody asks. All that has ended by then is counted first."""
        with self._lock:
            optimizers = list(self._optimizers)
        for optimizer in optimizers:
            optimizer.flush()
        core = self._core
        (recalls,), seconds = self._recent.sums()
        (hits, lookups), _ = self._lookups.sums()
        yield filled(core, "throughput", [((self.instance,), recalls / seconds)])
        if lookups:
            yield filled(core, "cache_rate", [((), hits / lookups)])
        yield filled(core, "overlap", [((r,), mean) for r, mean in self._overlap.means()])
        yield filled(core, "coverage", [((), mean) for _, mean in self._coverage.means()])
        yield filled(core, "ndcg", [((plan,), mean) for plan, mean in self._by_plan.means().items()])
        for what, values in self._sizes(optimizers).items():
            yield filled(core, what, values)

    def _sizes(self, optimizers: Iterable[Any]) -> dict[str, Values]:
        """Return the values of all stores and optimizers."""
        of_stores = {what: row["figure"] for what, row in COMPUTED.items() if "figure" in row}
        sizes: dict[str, Values] = {what: [] for what in ("up", *of_stores, "breaker", "active", "hanging")}
        for name, figures in self._figures():
            sizes["up"].append(((name,), float(figures is not None)))
            if figures is None:
                continue
            for what, key in of_stores.items():
                figure = figures[key]
                if not isinstance(figure, Mapping):
                    figure = {"": figure}
                sizes[what] += [
                    ((name, _OUTCOMES.get(of, of))[: len(COMPUTED[what]["labels"])], n) for of, n in figure.items()
                ]
        parts: dict[str, list[Any]] = {}
        for optimizer in optimizers:
            for part in optimizer.health():
                name = part.component if part.component in self._components else OTHER
                parts.setdefault(name, []).append(part)
        for component, of_it in sorted(parts.items()):
            worst = max(STATES.index(part.breaker) for part in of_it)
            states: Values = [((component, state), float(i == worst)) for i, state in enumerate(STATES)]
            sizes["breaker"] += states
            sizes["active"].append(((component,), sum(part.active for part in of_it)))
            sizes["hanging"].append(((component,), sum(part.hanging for part in of_it)))
        return sizes

    def _figures(self) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """Yield name and figures of each store that is open; `None` = it cannot be read."""
        with self._lock:
            stores = [(name, ref()) for name, ref in self._stores.items()]
        for name, store in stores:
            try:
                if store is None:
                    raise StoreClosed("It is gone.")
                figures = store.figures()
            except StoreClosed:
                with self._lock:
                    self._stores.pop(name, None)
                continue
            except RecallError:  # an error must not cost the other metrics
                figures = None
            yield name, figures


class _WithoutTimes:
    """A registry without the times at which series were made: a line for each series that nobody asks for."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Any]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


def _code(error: BaseException) -> str:
    return error.code.lower() if isinstance(error, RecallError) else OTHER


def _shown(hit: Hit, privacy: str) -> str:
    text = hit.memory.text
    if privacy == "block" or not text:
        return "withheld"
    return "redacted" if "[" in text and _PLACEHOLDER.search(text) else "shown"
