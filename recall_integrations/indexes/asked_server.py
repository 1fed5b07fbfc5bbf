"""What servers of vectors have in common: what is asked of them, and how one that fails is left alone.

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
from recall_integrations.resilience.guard import Health
from recall_integrations.resilience.pace import Pace

T = TypeVar("T")
AT_ONCE = 500  # vectors of a request, between which it is looked whether to stop
FAIR_S = 0.25  # a request that had less, and less than its whole limit, may be late without the server having failed


class VectorsLate(VectorsAway):
    """It did not answer in the time that there was."""


class VectorsOver(VectorsRefused):
    """A request holds, or asks for, more than it allows: the same again is refused again. Others may be answered."""


class CollectionBusy(Exception):
    """Somebody else is at work on it for a while."""


@record(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a collection says of itself.

    Args:
        dimension: numbers in a vector; `None` = it never had one.
        seq, digest: the point of the journal beyond which it holds nothing; 0 and "" = none was noted.
    """

    dimension: int | None
    seq: int
    digest: str


@record(frozen=True, slots=True, kw_only=True)
class Loaded:
    """How far a collection is filled on which nobody relies yet.

    Args:
        upto: the number up to which it holds vectors; 0 = it is to be made.
        indexed: whether its index is there.
    """

    upto: int = 0
    indexed: bool = False


class Loading(Protocol):
    """How a new collection is filled where an index over all of it at once costs less than one that grows.

    loaded ─▶ load, note, load, note, … ─▶ index

    Nobody asks it for neighbours before that. Whoever comes after one that was killed goes on where that was.
    """

    def loaded(self, home: str) -> Loaded:
        """How far it is. May raise `CollectionBusy`."""

    def load(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        """Remove `deletes` from and add `nums` with their `(n, d)` vectors to a collection without an index."""

    def note(self, home: str, upto: int) -> None:
        """Note the number up to which it is loaded."""

    def index(self, home: str, given_up: Callable[[], bool]) -> str:
        """Build the index, unless it is there; what an operator should know of it. May raise `CollectionBusy`."""


class CollectionServer(Neighbours, Protocol):
    """What holds collections of numbers and vectors outside of this process: a Chroma server, or pgvector.

    Every method but those of its state may raise `VectorsAway` (not now), `VectorsRefused` (not until somebody does
    something about it) and `CollectionLost` (of the collection alone).
    """

    @property
    def name(self) -> str:
        """Where it is; holds no secret."""

    @property
    def called(self) -> str:
        """What messages call it, as the beginning of a sentence."""

    @property
    def own(self) -> bool:
        """Whether it is the store's alone: no collection there can be another store's."""

    @property
    def at_once(self) -> int:
        """Vectors that it is given between two looks at whether to stop."""

    @property
    def loading(self) -> Loading | None:
        """How a new collection is filled; `None` = by `apply`, as ever."""

    @property
    def opened(self) -> bool:
        """Whether it was asked anything."""

    @property
    def resting(self) -> float:
        """Seconds for which it is left alone, since it failed several times in a row."""

    def health(self) -> Health:
        """How it is."""

    def check(self, seconds: float = math.inf) -> None:
        """Whether it can be used."""

    def make(self, home: str, store: str) -> None:
        """Make a collection, unless it is there."""

    def homes(self) -> list[str]:
        """All collections that are there; asked of one that is the store's own."""

    def look(self, home: str, seconds: float = math.inf) -> Seen:
        """What a collection says of itself."""

    def mark(self, home: str, store: str, seq: int, digest: str) -> None:
        """Note the point of the journal beyond which a collection holds nothing."""

    def drop(self, home: str) -> None:
        """Remove a collection, if it is there."""

    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        """Remove `deletes` from and add `nums` with their `(n, d)` vectors to a collection."""

    def building(self, homes: Sequence[str]) -> dict[str, int]:
        """Collections of which an index is being built, by whichever process, and how many vectors are in it."""

    def count(self, home: str) -> int:
        """How many vectors a collection holds."""

    def nums(self, home: str) -> NDArray[np.int64]:
        """The numbers that a collection holds, rising."""

    def close(self) -> None:
        """Let the connections go."""


class Asking:
    """Requests to one server: counted, timed, and not made while it is left alone. Threads share it.

    Args:
        called: the server, in messages.
        limit_s: longest wait for an answer.
        failures_max: failures in a row, after which it is left alone.
        open_s: for so long.
        met: ours for an error of a request.
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
        """Seconds for which it is left alone."""
        return self._breaker.left_s

    def health(self) -> Health:
        """How the server is. No request hangs: one that is late is ended."""
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
        """What the server answers, or an error of ours that says what is wrong, and never a secret.

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
        """A request is under way; how long one takes that is answered is kept."""
        with self._lock:
            self._active += 1
        begun = time.perf_counter()
        try:
            yield
            self._pace.record(1e3 * (time.perf_counter() - begun))
        finally:
            with self._lock:
                self._active -= 1
