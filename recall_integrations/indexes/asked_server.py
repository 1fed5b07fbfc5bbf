"""Requests to servers of vectors: the protocol of all servers, and a breaker that leaves a failing one alone.

ask ─ breaker closed? ─▶ a request, under its time limit ─▶ an answer
         no │                  │ no answer, a bad one: an error of ours
            └▶ `VectorsAway`   └ `CollectionLost` and `VectorsOver` say nothing against the server: the breaker
                                 stays closed
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.indexes.vectors import CollectionLost, Neighbours
from recall_integrations.records import record
from recall_integrations.resilience.breaker import Breaker
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import Health, Pace

T = TypeVar("T")
AT_ONCE = 500  # vectors of a request, between which it is looked whether to stop
FAIR_S = 0.25  # a request that had less, and less than its whole limit, may be late without the server having failed


class VectorsLate(VectorsAway):
    """The server did not answer in the given time."""


class VectorsOver(VectorsRefused):
    """A request beyond a limit of the server: repeated, it is refused again. Other requests may be answered."""


class CollectionBusy(Exception):
    """Another process is at work on the collection."""


@record(frozen=True, slots=True, kw_only=True)
class Seen:
    """State of a collection, as the server reports it.

    Args:
        dimension: numbers in a vector; `None` = it never had one.
        seq, digest: the point of the journal beyond which it holds nothing; 0 and "" = none was noted.
    """

    dimension: int | None
    seq: int
    digest: str


@record(frozen=True, slots=True, kw_only=True)
class Loaded:
    """State of a collection that is being filled and that nobody relies on yet.

    Args:
        upto: the number up to which it holds vectors; 0 = it is to be made.
        indexed: whether its index is there.
    """

    upto: int = 0
    indexed: bool = False


class Loading(Protocol):
    """Filling of a new collection where an index over all vectors at once costs less than one that grows.

    loaded ─▶ load, note, load, note, … ─▶ index

    Nobody asks the collection for neighbours before that. A process that follows a killed one goes on where it stopped.
    """

    def loaded(self, home: str) -> Loaded:
        """Return how far the collection is filled. May raise `CollectionBusy`."""

    def load(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        """Remove `deletes` from and add `nums` with their `(n, d)` vectors to a collection without an index."""

    def note(self, home: str, upto: int) -> None:
        """Note the number up to which the collection is loaded."""

    def index(self, home: str, given_up: Callable[[], bool]) -> str:
        """Build the index if it is missing; return a note for the operator. May raise `CollectionBusy`."""


class CollectionServer(Neighbours, Protocol):
    """A server of collections of numbers and vectors outside this process: a Chroma server, or pgvector.

    Every method but those of its state may raise `VectorsAway` (not now), `VectorsRefused` (not until somebody does
    something about it) and `CollectionLost` (of the collection alone).
    """

    @property
    def name(self) -> str:
        """Address of the server, without a secret."""

    @property
    def called(self) -> str:
        """Name of the server in messages, as the beginning of a sentence."""

    @property
    def own(self) -> bool:
        """True if the server is the store's alone: no collection there can be another store's."""

    @property
    def at_once(self) -> int:
        """Vectors handed over between two looks at the signal to stop."""

    @property
    def loading(self) -> Loading | None:
        """Way to fill a new collection; `None` = by `apply`, as always."""

    @property
    def opened(self) -> bool:
        """True once the server was asked anything."""

    @property
    def resting(self) -> float:
        """Seconds for which the server is left alone after several failures in a row."""

    def health(self) -> Health:
        """Return the health of the server."""

    def check(self, seconds: float = math.inf) -> None:
        """Check that the server can be used."""

    def make(self, home: str, store: str) -> None:
        """Make a collection, unless it is there."""

    def homes(self) -> list[str]:
        """List all collections on a server that is the store's own."""

    def look(self, home: str, seconds: float = math.inf) -> Seen:
        """Return the state of a collection, as the server reports it."""

    def mark(self, home: str, store: str, seq: int, digest: str) -> None:
        """Note the point of the journal beyond which a collection holds nothing."""

    def drop(self, home: str) -> None:
        """Remove a collection, if it is there."""

    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        """Remove `deletes` from and add `nums` with their `(n, d)` vectors to a collection."""

    def building(self, homes: Sequence[str]) -> dict[str, int]:
        """Return the collections whose index some process is building, with the vectors indexed so far."""

    def count(self, home: str) -> int:
        """Count the vectors of a collection."""

    def nums(self, home: str) -> NDArray[np.int64]:
        """Return the numbers in a collection, rising."""

    def close(self) -> None:
        """Close the connections."""


class Asking:
    """Requests to one server: counted, timed, and not made while the server is left alone. Threads share it.

    Args:
        called: name of the server in messages.
        limit_s: longest wait for an answer, in seconds.
        failures_max: failures in a row, after which the server is left alone.
        open_s: seconds for which it is left alone.
        met: turns an error of a request into one of ours.
    """

    def __init__(
        self,
        called: str,
        *,
        limit_s: float,
        failures_max: int,
        open_s: float,
        met: Callable[[BaseException], IndexUnavailable],
    ) -> None:
        self._called, self._limit_s, self._met = called, limit_s, met
        self._breaker = Breaker("vectors", failures_max=failures_max, open_s=open_s)
        self._lock = threading.Lock()
        self._pace, self._active = Pace(), 0

    @property
    def resting(self) -> float:
        """Seconds for which the server is left alone."""
        return self._breaker.left_s

    def health(self) -> Health:
        """Return the health of the server. No request hangs: a late one is ended."""
        known = self._breaker.known
        return Health(
            component=self._breaker.name,
            breaker=self._breaker.state,
            failures=known.failures,
            why=known.why,
            active=self._active,
            hanging=0,
            median_ms=self._pace.median_ms(),
        )

    def ask(self, call: Callable[[float], T], seconds: float = math.inf) -> T:
        """Return the server's answer, or raise an error of ours that says what is wrong and holds no secret.

        Args:
            call: makes the request, and takes no longer than it is told, in seconds.
            seconds: to wait, if that is less than the limit.

        Raises:
            VectorsAway: it is left alone, does not answer in time, or answers with an error.
            VectorsRefused: it does not let us in, or cannot be used.
            CollectionLost: it has no such collection, or one for other vectors.
        """
        given = self._breaker.enter()
        if given is None:
            why, left = self._breaker.known.why, math.ceil(self._breaker.left_s)
            raise VectorsAway(f"{self._called} failed lately ({why}); it is asked again in {left} s.")
        limit_s = min(seconds, self._limit_s)
        try:
            with self._counted():
                answer = call(limit_s)
        except failures() as e:
            met = self._met(e)
            if isinstance(met, CollectionLost | VectorsOver):
                self._breaker.succeeded(given)
            elif type(met) is VectorsLate and limit_s < min(FAIR_S, self._limit_s):
                self._breaker.released(given)
            else:
                self._breaker.failed(given, type(e).__name__)
            raise met from None  # its message may hold what was sent
        except BaseException:
            self._breaker.released(given)
            raise
        self._breaker.succeeded(given)
        return answer

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a request as under way, and record the duration of an answered one."""
        with self._lock:
            self._active += 1
        begun = time.perf_counter()
        try:
            yield
            self._pace.record(1e3 * (time.perf_counter() - begun))
        finally:
            with self._lock:
                self._active -= 1
