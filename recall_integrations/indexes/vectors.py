"""Nearest neighbours of large scopes: the protocol of servers, and requests to them.

Scopes up to `exact_max` memories are scanned exactly and are not in it.
"""

from __future__ import annotations

import math
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from tenacity import Retrying

from recall_integrations.errors import IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.records import record
from recall_integrations.resilience.breaker import Breaker
from recall_integrations.resilience.failures import TRIES, failures, policy, sentences
from recall_integrations.resilience.forking import park_in_children
from recall_integrations.resilience.guard import Health, Pace

if TYPE_CHECKING:
    from recall_integrations.indexes.pg_vectors import PgVectors

NO_HOME = ""  # of a scope that has no collection
PREFIX = "recall-"
FETCH_MAX = 2_000  # neighbours asked of HNSW at most
OVERFETCH = 3.0  # HNSW is asked for this many times the limit, divided by the filter's selectivity
SELF_COSINE = 0.98  # float16 and HNSW cost little; what is found below is another memory
_HNSW_VERSION, _HNSW_HEADER = 1, 100  # of the files that Chroma 1.x writes; bytes

# Chroma's defaults lose a tenth of the neighbours; see docs/decisions.md.
HNSW = {
    "space": "cosine",
    "max_neighbors": 32,
    "ef_construction": 200,
    "ef_search": 256,
    "num_threads": 2,
    "batch_size": 1_000,
    "sync_threshold": 10_000,
}


class CollectionLost(IndexUnavailable):
    """A collection is missing, or does not fit these vectors: it is made anew from the record."""


class CollectionStrange(CollectionLost):
    """A collection may be another store's, which is a copy of this one: it is left alone."""


class Neighbours(Protocol):
    """Source of the nearest neighbours of large scopes."""

    def nearest(
        self, home: str, vector: NDArray[np.float32], limit: int, *, seconds: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return nums and cosines of the approximate nearest neighbours, falling."""


class Labels(Protocol):
    """Source of the metadata by which others can read collections."""

    def of_collection(self, home: str) -> dict[str, str]:
        """Return the metadata of a collection, beside our own."""

    def of_vectors(self, nums: Sequence[int]) -> list[dict[str, str]]:
        """Return the metadata of each vector."""


def finds_itself(cosines: NDArray[np.float32]) -> bool:
    """Say whether a search for a collection's own vector has found it, given the cosines of what it found."""
    return bool(len(cosines)) and float(cosines.max()) >= SELF_COSINE


def home_name(home: str) -> str:
    """Return Chroma's name of a collection."""
    return f"{PREFIX}{home}"


def torn(path: Path) -> str | None:
    """Describe damage to HNSW files that were being written when the process was killed; `None` if there is none.

    hnswlib reads what its header announces without looking at the size of the file, and crashes. Header as hnswlib's
    `saveIndex` writes it: version, offset, capacity, count, bytes per element, ...; other versions are not judged.
    """
    for mark in sorted(path.glob("*/index_metadata.pickle")):  # without it Chroma does not load the others
        try:
            header = (mark.parent / "header.bin").read_bytes()
            version, _, capacity, count, width = struct.unpack_from("<i4Q", header)
            sizes = {name: (mark.parent / name).stat().st_size for name in ("data_level0.bin", "length.bin")}
        except (OSError, struct.error) as e:
            return f"its HNSW files cannot be read ({e})"
        if version != _HNSW_VERSION:
            continue
        if len(header) < _HNSW_HEADER or count > capacity:
            return "the header of its HNSW files is torn"
        if sizes["data_level0.bin"] < count * width or sizes["length.bin"] < 4 * count:
            return "its HNSW files are shorter than they should be"
    return None


T = TypeVar("T")
OPEN_S = 5.0  # for which a server that failed several times in a row is left alone
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
    """State of a collection, as the server reports it."""

    dimension: int | None  # numbers in a vector; `None` = it never had one
    seq: int  # with `digest`: the point of the journal beyond which it holds nothing; 0 and "" = none was noted
    digest: str


@record(frozen=True, slots=True, kw_only=True)
class Loaded:
    """State of a collection that is being filled and that nobody relies on yet."""

    upto: int = 0  # the number up to which it holds vectors; 0 = it is to be made
    indexed: bool = False  # whether its index is there


class CollectionServer(ABC):
    """A server of collections of numbers and vectors: a Chroma server, pgvector, or Chroma in a directory.

    Requests are counted, timed, and not made while the server is left alone. Threads share it. Every method but those
    of its state may raise `VectorsAway` (not now), `VectorsRefused` (not until somebody does something about it) and
    `CollectionLost` (of the collection alone).
    """

    own = False  # whether the server is the store's alone: no collection there can be another store's
    at_once = AT_ONCE  # vectors handed over between two looks at the signal to stop
    loading: PgVectors | None = None  # how to fill a new collection; `None` = by `apply`, as always

    def __init__(self, name: str, called: str, *, limit_s: float, failures_max: int) -> None:
        self.name = name  # without a secret
        self.called = called  # in messages, as the beginning of a sentence
        self._limit_s = limit_s
        self._breaker = Breaker("vectors", failures_max=failures_max, open_s=OPEN_S)
        self._lock, self._counting = threading.Lock(), threading.Lock()  # of opening, which takes long; of requests
        self._pace, self._active = Pace(), 0
        park_in_children(self)

    @property
    def resting(self) -> float:
        """Seconds for which the server is left alone after several failures in a row."""
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

    @property
    @abstractmethod
    def opened(self) -> bool:
        """True once the server was asked anything."""

    @abstractmethod
    def park(self) -> list[object]:
        """Return what belongs to the parent, to be kept unused in a forked child."""

    @abstractmethod
    def check(self, seconds: float = math.inf) -> None:
        """Check that the server can be used."""

    @abstractmethod
    def make(self, home: str, store: str) -> None:
        """Make a collection of a store, unless it is there."""

    @abstractmethod
    def look(self, home: str, seconds: float = math.inf) -> Seen:
        """Return the state of a collection, as the server reports it."""

    @abstractmethod
    def mark(self, home: str, store: str, seq: int, digest: str) -> None:
        """Note the point of the journal beyond which a collection holds nothing."""

    @abstractmethod
    def drop(self, home: str) -> None:
        """Remove a collection, if it is there."""

    @abstractmethod
    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        """Remove `deletes` from and add `nums` with their `(n, d)` vectors to a collection."""

    @abstractmethod
    def nearest(
        self, home: str, vector: NDArray[np.float32], limit: int, *, seconds: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return nums and cosines of the approximate nearest neighbours, falling."""

    @abstractmethod
    def count(self, home: str) -> int:
        """Count the vectors of a collection."""

    @abstractmethod
    def nums(self, home: str) -> NDArray[np.int64]:
        """Return the numbers in a collection, rising."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""

    def homes(self) -> list[str]:
        """List all collections on a server that is the store's own."""
        return []

    @abstractmethod
    def _met(self, error: BaseException) -> IndexUnavailable:
        """Turn an error of a request into one of ours."""

    def _ask(self, call: Callable[[float], T], seconds: float = math.inf) -> T:
        """Return the server's answer, or raise an error of ours that says what is wrong and holds no secret."""
        given = self._breaker.enter()
        if given is None:
            why, left = self._breaker.known.why, math.ceil(self._breaker.left_s)
            raise VectorsAway(f"{self.called} failed lately ({why}); it is asked again in {left} s.")
        limit_s = min(seconds, self._limit_s)
        until, tried = time.monotonic() + limit_s, list[int]()

        def again(error: BaseException) -> bool:
            # What is late has had its time, and what is in files fails again.
            return isinstance(error, Exception) and not self.own and type(self._met(error)) is VectorsAway

        def once() -> T:
            tried.append(1)
            with self._counted():
                return call(until - time.monotonic())

        try:
            answer = Retrying(**policy(TRIES, again, until=until))(once)
        except failures() as e:
            met = self._met(e)
            if len(tried) > 1:
                met.args = (sentences(str(met), f" Tried {len(tried)} times."),)
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
        with self._counting:
            self._active += 1
        begun = time.perf_counter()
        try:
            yield
            self._pace.record(1e3 * (time.perf_counter() - begun))
        finally:
            with self._counting:
                self._active -= 1
