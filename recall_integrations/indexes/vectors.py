"""Nearest neighbours of large scopes: the protocol of servers, requests to them, and Chroma in a directory.

Scopes up to `exact_max` memories are scanned exactly and are not in it.
"""

from __future__ import annotations

import math
import struct
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.owner_only import make_directory
from recall_integrations.records import record
from recall_integrations.resilience.breaker import Breaker
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.forking import park_in_children
from recall_integrations.resilience.guard import Health, Pace

if TYPE_CHECKING:
    from recall_integrations.indexes.pg_vectors import PgVectors

NO_HOME = ""  # of a scope that has no collection
_PREFIX = "recall-"
FETCH_MAX = 2_000  # neighbours asked of HNSW at most
OVERFETCH = 3.0  # HNSW is asked for this many times the limit, divided by the filter's selectivity
BATCH = 1_000
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


class SemanticIndex:
    """Chroma in a directory, opened on first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._client: Any = None
        park_in_children(self)
        self._collections: dict[str, Any] = {}

    def park(self) -> list[object]:
        """Return Chroma's client, to be kept unused in a forked child."""
        return [] if self._client is None else [self._client]

    @property
    def opened(self) -> bool:
        """True once Chroma has been loaded."""
        return self._client is not None

    def _open(self) -> Any:
        with self._lock:
            if self._client is None:
                import chromadb
                from chromadb.config import Settings

                settings = Settings(anonymized_telemetry=False, allow_reset=False)
                _guarded(lambda: make_directory(self._path))
                self._client = _guarded(lambda: chromadb.PersistentClient(path=str(self._path), settings=settings))
            return self._client

    def _collection(self, home: str) -> Any:
        known = self._collections.get(home)  # without the lock: who asks does not wait for who fills
        if known is not None:
            return known
        with self._lock:
            found = self._collections.get(home)
            if found is None:
                client = self._open()
                found = self._collections[home] = _guarded(
                    lambda: client.get_or_create_collection(
                        home_name(home), embedding_function=None, configuration={"hnsw": HNSW}
                    )
                )
            return found

    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        """Remove `deletes` from and add `nums` with their `(n, d)` vectors to a collection."""
        if not len(nums) and not len(deletes):
            return
        collection = self._collection(home)
        with self._lock:
            for start in range(0, len(deletes), BATCH):
                ids = [str(n) for n in deletes[start : start + BATCH]]
                _guarded(lambda ids=ids: collection.delete(ids=ids))
            for start in range(0, len(nums), BATCH):
                part = slice(start, start + BATCH)
                ids = [str(n) for n in nums[part]]
                _guarded(lambda ids=ids, part=part: collection.upsert(ids=ids, embeddings=vectors[part]))

    def nearest(
        self, home: str, vector: NDArray[np.float32], limit: int, *, seconds: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return nums and cosines of the approximate nearest neighbours, falling; `seconds` is ignored."""
        collection = self._collection(home)
        found = _guarded(
            lambda: collection.query(query_embeddings=vector[None, :], n_results=max(1, limit), include=["distances"])
        )
        nums = np.asarray([int(i) for i in found["ids"][0]], dtype=np.int64)
        return nums, 1.0 - np.asarray(found["distances"][0], dtype=np.float32)

    def count(self) -> int:
        """Count the vectors in all collections."""
        client = self._open()
        return sum(int(_guarded(c.count)) for c in _guarded(client.list_collections))

    def keep(self, homes: Collection[str]) -> None:
        """Remove all collections but these."""
        names = {home_name(home) for home in homes}
        with self._lock:
            client = self._open()
            for collection in _guarded(client.list_collections):
                if collection.name not in names:
                    self._collections.pop(collection.name.removeprefix(_PREFIX), None)
                    _guarded(lambda name=collection.name: client.delete_collection(name))

    def drop(self, home: str) -> None:
        """Remove a collection, if it is there."""
        with self._lock:
            client = self._open()
            if any(c.name == home_name(home) for c in _guarded(client.list_collections)):
                self._collections.pop(home, None)
                _guarded(lambda: client.delete_collection(home_name(home)))

    def close(self) -> None:
        """Release Chroma's files."""
        with self._lock:
            client, self._client = self._client, None
            self._collections.clear()
            if client is not None and hasattr(client, "close"):
                _guarded(client.close)


def finds_itself(cosines: NDArray[np.float32]) -> bool:
    """Say whether a search for a collection's own vector has found it, given the cosines of what it found."""
    return bool(len(cosines)) and float(cosines.max()) >= SELF_COSINE


def home_name(home: str) -> str:
    """Return Chroma's name of a collection."""
    return f"{_PREFIX}{home}"


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


def _guarded(call: Any) -> Any:
    try:
        return call()
    except Exception as e:
        raise IndexUnavailable(f"Chroma failed: {type(e).__name__}: {e}") from e
    except BaseException as e:
        # A panic in Chroma's Rust core derives from BaseException; an interrupt must stay one.
        if type(e).__name__ != "PanicException":
            raise
        raise IndexUnavailable(f"Chroma's core panicked: {e}") from e


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
    """A server of collections of numbers and vectors outside this process: a Chroma server, or pgvector.

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
        with self._counting:
            self._active += 1
        begun = time.perf_counter()
        try:
            yield
            self._pace.record(1e3 * (time.perf_counter() - begun))
        finally:
            with self._counting:
                self._active -= 1
