"""Chroma in the directory of a store, as one more server of collections.

Its files are one whole: damage to any leaves them all behind, for a directory of the next epoch, where nothing is.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.errors import IndexUnavailable, VectorsAway, installing
from recall_integrations.indexes.vector_server import ChromaServer
from recall_integrations.indexes.vectors import PREFIX, CollectionLost, Seen, torn
from recall_integrations.privacy.door import told
from recall_integrations.resilience.failures import failures
from recall_integrations.store import index_files, journal
from recall_integrations.store.journal import SEMANTIC, Point

logger = logging.getLogger("recall_integrations")

T = TypeVar("T")
AT_ONCE = 32  # vectors given to Chroma at a time: it holds Python's lock, for about a millisecond each


class ChromaFiles(ChromaServer):
    """Chroma in a directory. Closed, it stays closed."""

    own = True

    def __init__(self, engine: Engine, directory: Path) -> None:
        super().__init__("files", "Chroma", limit_s=math.inf, failures_max=3)
        self.at_once = AT_ONCE
        self._engine, self._directory = engine, directory
        self._closed = False
        self._system: Any = None  # stopped, it closes the client
        self._sealed: dict[str, index_files.Entry] = {}
        self._searched: set[str] = set()  # collections whose graph is in memory

    @property
    def path(self) -> Path:
        """The directory of the present epoch, which may not be there."""
        with self._engine.connect() as connection:
            return self._directory / f"{SEMANTIC}.{index_files.epoch_of(connection, SEMANTIC)}"

    # -- the directory ---------------------------------------------------------------------------------------------

    def problem(self, reached: int) -> str:
        """Describe the damage that shows without loading Chroma; empty = none. `reached`: the last change in it."""
        path = self.path
        broken, self._sealed = index_files.broken_seal(path)
        if broken is not None:
            return f"The semantic index is damaged: {broken}."
        if reached and not (path / "chroma.sqlite3").is_file():
            return "The semantic index is missing."
        with self._engine.connect() as connection:
            foreign = journal.foreign(connection, reached, journal.noted_point(path))
        return "" if foreign is None else f"The semantic index is of another history: {foreign}."

    def empty(self) -> None:
        """Leave the directory, if it is there, for one of the next epoch."""
        self._let_go()
        self._sealed = {}
        if self.path.exists():
            with self._engine.begin() as connection:
                index_files.next_epoch(connection, SEMANTIC)
        self.sweep()

    def sweep(self) -> None:
        index_files.sweep_epochs(self._directory, SEMANTIC, [self.path])

    def seal(self) -> None:
        """Note the state of the closed files, unless Chroma's client may read them, which writes to them."""
        if self.labels is not None:
            return
        try:
            index_files.seal(self.path, self._sealed)
        except (OSError, SQLAlchemyError) as e:
            logger.warning("The semantic index could not be sealed: %s", told(e))

    def close(self) -> None:
        self._closed = True
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            system, self._system, self._client = self._system, None, None
            self._collections.clear()
            self._searched.clear()
        if system is not None:
            try:
                with _no_panic():
                    system.stop()
            except failures() as e:
                logger.warning("Chroma could not be closed: %s", told(e))

    # -- collections -----------------------------------------------------------------------------------------------

    def check(self, seconds: float = math.inf) -> None:
        self.homes()

    def homes(self) -> list[str]:
        found = self._asked(lambda client: client.list_collections())
        return sorted(one.name.removeprefix(PREFIX) for one in found)

    def look(self, home: str, seconds: float = math.inf) -> Seen:
        noted = journal.noted_point(self.path) or Point(0)
        return replace(super().look(home, seconds), seq=noted.seq, digest=noted.digest)

    def mark(self, home: str, store: str, seq: int, digest: str) -> None:
        """Note the point in the directory, for who does not load Chroma."""
        journal.note_point(self.path, Point(seq, digest))

    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        super().apply(home, nums, vectors, deletes)
        if len(nums) and home not in self._searched:
            # Until it has been asked, Chroma only gathers, and then makes thousands of neighbours at once.
            self.nearest(home, vectors[0], 1)
            self._searched.add(home)

    def drop(self, home: str) -> None:
        super().drop(home)
        self._searched.discard(home)

    # -- asking ----------------------------------------------------------------------------------------------------

    def _opened(self) -> Any:
        try:
            from chromadb.api import ServerAPI
            from chromadb.config import Settings, System
        except ImportError as e:
            raise VectorsAway(f"Chroma cannot be loaded ({e}). Install it with: {installing('chromadb')}.") from e
        with self._lock:
            if self._client is not None:
                return self._client
            if self._closed:
                raise VectorsAway("The semantic index is closed.")
            path = self.path
            fresh = not path.exists()
            settings = Settings(
                anonymized_telemetry=False, allow_reset=False, is_persistent=True, persist_directory=str(path)
            )
            try:
                index_files.mark_trying(path, True)
                index_files.unseal(path)
                problem = torn(path)
                if problem is None:
                    with _no_panic():
                        system = System(settings)
                        client = system.instance(cast(Any, ServerAPI))
                        system.start()
                    self._system, self._client = system, client
            except failures() as e:
                problem = f"Chroma failed: {type(e).__name__}: {e}"
                if fresh:  # no damage is the cause
                    index_files.remove_path(path)
                    raise VectorsAway(problem) from e
            if problem is not None:
                raise CollectionLost(f"The semantic index is damaged: {problem}.")
            if fresh:
                index_files.mark_trying(path, False)
            return self._client

    def _asked(self, call: Callable[[Any], T], seconds: float = math.inf) -> T:
        client = self._opened()

        def called(_: float) -> T:
            with _no_panic():
                return call(client)

        return self._ask(called, seconds)

    def _met(self, error: BaseException) -> IndexUnavailable:
        from chromadb import errors as theirs

        said = f"Chroma failed: {type(error).__name__}: {error}"
        return CollectionLost(said) if isinstance(error, theirs.NotFoundError) else VectorsAway(said)


@contextmanager
def _no_panic() -> Iterator[None]:
    """Turn a panic in Chroma's core into an error: it derives from BaseException, as an interrupt does."""
    try:
        yield
    except BaseException as e:
        if type(e).__name__ != "PanicException":
            raise
        raise RuntimeError(f"its core panicked: {e}") from e
