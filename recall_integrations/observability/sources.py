"""Sources of metrics that are computed when somebody reads them: sizes of stores, breakers of optimizers."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from recall_integrations.errors import InvalidArgument, RecallError, StoreClosed
from recall_integrations.observability import families
from recall_integrations.observability.labels import COMPONENTS, OTHER

DEFAULT_STORE = "main"
STATES = ("closed", "half_open", "open")  # the worse, the later
Values = list[tuple[Sequence[str], float]]


class Figures(Protocol):
    """A store, as far as metrics use it."""

    def figures(self) -> Mapping[str, Any]:
        """Return its sizes; see `MemoryStore.figures`."""
        ...


class Sources:
    """Stores and optimizers, which may go away. Threads share it.

    Args:
        names: names of stages and arms of the user's own.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._stores: dict[str, weakref.ref[Figures]] = {}
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._components = COMPONENTS | {f"{kind}.{name}" for name in names for kind in ("arm", "stage")}
        self._lock = threading.Lock()

    def store(self, store: Figures, name: str) -> None:
        """Add a store; see `Metrics.watch`."""
        if not callable(getattr(store, "figures", None)):
            raise InvalidArgument(f"{store!r} is not a MemoryStore. Give what MemoryStore.open() gave.")
        with self._lock:
            self._stores[name] = weakref.ref(store)

    def optimizer(self, source: object) -> None:
        """Add an optimizer whose breakers are shown."""
        with self._lock:
            self._optimizers.add(source)

    def flush(self) -> None:
        """Wait until everything that has ended is counted."""
        with self._lock:
            optimizers = list(self._optimizers)
        for optimizer in optimizers:
            optimizer.flush()

    def collect(self, core: Any) -> Iterator[Any]:
        """Yield the families of all stores and optimizers."""
        yield from self._of_stores(core)
        yield from self._of_breakers(core)

    def _of_stores(self, core: Any) -> Iterator[Any]:
        found: dict[families.Computed, Values] = {
            what: [] for what in (families.UP, families.MEMORIES, families.SCOPES, families.BYTES, families.LAG)
        }
        changes: Values = []
        hydrated: Values = []
        for name, figures in self._figures():
            found[families.UP].append(((name,), 0.0 if figures is None else 1.0))
            if figures is None:
                continue
            found[families.MEMORIES].append(((name,), figures["memories"]))
            found[families.SCOPES].append(((name,), figures["scopes"]))
            found[families.BYTES].append(((name,), figures["bytes"]))
            found[families.LAG] += [((name, index), lag) for index, lag in figures["index_lag"].items()]
            changes.append(((name,), figures["changes"]))
            found_in = figures["hydration"]
            hydrated += [((name, "hit"), found_in["hits"]), ((name, "miss"), found_in["misses"])]
        for what, values in found.items():
            yield families.filled(core.GaugeMetricFamily, what, values)
        yield families.filled(core.CounterMetricFamily, families.CHANGES, changes)
        yield families.filled(core.CounterMetricFamily, families.HYDRATION, hydrated)

    def _figures(self) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """Yield name and figures of each store that is open; `None` = it cannot be read."""
        with self._lock:
            stores = [(name, ref()) for name, ref in self._stores.items()]
        for name, store in stores:
            figures = None if store is None else _asked(store)
            if figures is _CLOSED or store is None:
                with self._lock:
                    self._stores.pop(name, None)
            else:
                yield name, figures

    def _of_breakers(self, core: Any) -> Iterator[Any]:
        states: dict[str, int] = {}
        active: dict[str, int] = {}
        hanging: dict[str, int] = {}
        with self._lock:
            optimizers = list(self._optimizers)
        for optimizer in optimizers:
            for part in optimizer.health():
                name = part.component if part.component in self._components else OTHER
                state = STATES.index(part.breaker) if part.breaker in STATES else 0
                states[name] = max(states.get(name, 0), state)
                active[name] = active.get(name, 0) + part.active
                hanging[name] = hanging.get(name, 0) + part.hanging
        gauge = core.GaugeMetricFamily
        shown: Values = [
            ((name, state), float(i == at)) for name, at in sorted(states.items()) for i, state in enumerate(STATES)
        ]
        yield families.filled(gauge, families.BREAKER, shown)
        yield families.filled(gauge, families.ACTIVE, [((n,), float(v)) for n, v in sorted(active.items())])
        yield families.filled(gauge, families.HANGING, [((n,), float(v)) for n, v in sorted(hanging.items())])


_CLOSED: Mapping[str, Any] = {}


def _asked(store: Figures) -> Mapping[str, Any] | None:
    """Return the figures of a store; an error must not cost the other metrics."""
    try:
        return store.figures()
    except StoreClosed:
        return _CLOSED
    except RecallError:
        return None
