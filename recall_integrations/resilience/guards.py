"""The guards of one optimizer: one for each component, which share the shelf of their breakers."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from recall_integrations.config import BreakerConfig
from recall_integrations.resilience.breaker import Breaker, Shelf
from recall_integrations.resilience.bulkhead import Bulkhead
from recall_integrations.resilience.guard import Guard, Health


class Guards:
    """The guards by component. Threads share it.

    Args:
        settings: settings of the breakers.
        shelf: keeps the breakers' states; `None` = in this object only.
        threads: number of calls of one component at once.
        waiting: context around a wait for a component.
        clock: wall seconds.
    """

    def __init__(
        self,
        settings: BreakerConfig,
        shelf: Shelf | None = None,
        threads: int = 8,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._shelf, self._threads, self._clock = settings, shelf, threads, clock
        self._waiting = waiting
        self._made: dict[str, Guard] = {}
        self._lock = threading.Lock()

    def of(self, name: str, *, who: str = "", limit_ms: float = math.inf, attempts: int = 1) -> Guard:
        """Return the guard of a component. The first call sets its properties; later ones may have another limit.

        Args:
            name: the component's name.
            who: the model: another model does not inherit the state of the one before.
            limit_ms: longest wait for a call.
            attempts: number of times that a call which raises is tried.
        """
        made = self._made.get(name)
        if made is not None:
            return made.limited(limit_ms)
        settings = self._settings
        breaker = Breaker(
            f"{name}:{who}" if who else name,
            failures_max=settings.failures_max,
            open_s=settings.open_s,
            clock=self._clock,
            shelf=self._shelf,
        )
        threads = Bulkhead(name, self._threads)
        with self._lock:
            made = self._made.setdefault(
                name,
                Guard(
                    name,
                    limit_ms=limit_ms,
                    breaker=breaker,
                    threads=threads,
                    attempts=attempts,
                    waiting=self._waiting,
                ),
            )
        return made.limited(limit_ms)

    def health(self) -> tuple[Health, ...]:
        """Return the health of each component, by name."""
        return tuple(guard.health() for _, guard in sorted(dict(self._made).items()))
