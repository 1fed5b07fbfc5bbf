"""Chroma in the directory of a store, as one more server of collections.

Its files are one whole: damage to any leaves them all behind, for a directory of the next epoch, where nothing is.

A directory has its name by epoch (`semantic.3`), and a seal on its files, so that damage shows at open. HNSW does not
notice a changed byte, which can take the process down. At `close` a checksum of every file is noted; files that do not
agree at the next open are damage. After a crash there is no seal; the mark of an attempt to open that never ended says
that the directory is better not opened again.
"""

from __future__ import annotations

import json
import logging
import math
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.errors import IndexUnavailable, VectorsAway, installing
from recall_integrations.indexes.vector_server import ChromaServer
from recall_integrations.indexes.vectors import PREFIX, CollectionLost, Seen, torn
from recall_integrations.owner_only import make_directory
from recall_integrations.privacy.door import told
from recall_integrations.resilience.failures import failures
from recall_integrations.store import journal
from recall_integrations.store.journal import SEMANTIC, Point

FORMER = "lexical"  # of the index of words that earlier versions kept beside the columns


def epoch_of(connection: Connection, name: str) -> int:
    """Read the epoch of an index."""
    value = get_meta(connection, f"{name}_epoch") or "0"
    return int(value) if value.isdecimal() else 0


def next_epoch(connection: Connection, name: str) -> int:
    """Begin the next epoch of an index in the caller's transaction, and return it."""
    epoch = epoch_of(connection, name) + 1
    put_meta(connection, f"{name}_epoch", str(epoch))
    return epoch


def sweep_epochs(directory: Path, name: str, keep: Sequence[Path]) -> None:
    """Remove the directories of an index except `keep`: replaced ones, and unfinished ones."""
    for path in directory.glob(f"{name}.*"):
        if path not in keep:
            remove_path(path)


def remove_path(path: Path) -> None:
    """Remove a directory or a file, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


SEAL = "recall.seal"
TRYING = "recall.opening"
_BLOCK = 1 << 20

Entry = tuple[int, int, int]  # size, time of change in ns, CRC-32


def seal(directory: Path, known: dict[str, Entry]) -> None:
    """Note the state of a directory that no process writes to any more; `known` are entries of an earlier seal."""
    if not directory.is_dir():
        return
    entries = {name: _entry(directory / name, known.get(name)) for name in _sealed_names(directory)}
    target = directory / SEAL
    draft = target.with_suffix(".new")
    draft.write_text(json.dumps(entries), encoding="utf-8")
    draft.replace(target)


def broken_seal(directory: Path) -> tuple[str | None, dict[str, Entry]]:
    """Describe the damage to a sealed directory (`None`: nothing, or no seal); return that and the seal's entries.

    Damage is what two looks find: a disk may fail to read once.
    """
    found = _looked_at(directory)
    return found if found[0] is None else _looked_at(directory)


def _looked_at(directory: Path) -> tuple[str | None, dict[str, Entry]]:
    if (directory / TRYING).exists():
        return "an earlier attempt to open it did not end", {}
    try:
        loaded = json.loads((directory / SEAL).read_text(encoding="utf-8"))
        entries: dict[str, Entry] = {str(name): (int(v[0]), int(v[1]), int(v[2])) for name, v in loaded.items()}
    except FileNotFoundError:
        return None, {}
    except (OSError, ValueError, AttributeError, TypeError, IndexError):
        return "its seal cannot be read", {}
    for name, noted in entries.items():
        try:
            found = _entry(directory / name, noted)
        except OSError:
            return f"{name} is missing or cannot be read", {}
        if (found[0], found[2]) != (noted[0], noted[2]):
            return f"{name} was changed or damaged", {}
    return None, entries


def unseal(directory: Path) -> None:
    """Remove the seal: the directory is about to be written to."""
    (directory / SEAL).unlink(missing_ok=True)


def mark_trying(directory: Path, begun: bool) -> None:
    """Mark that opening has begun, or remove the mark."""
    mark = directory / TRYING
    if begun:
        make_directory(directory)
        mark.touch()
    else:
        mark.unlink(missing_ok=True)


def _sealed_names(directory: Path) -> list[str]:
    found = (p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file())
    return sorted(n for n in found if not n.startswith("recall.") and not n.endswith((".lock", "-wal", "-shm")))


def _entry(path: Path, known: Entry | None) -> Entry:
    state = path.stat()
    if known is not None and known[:2] == (state.st_size, state.st_mtime_ns):
        return known
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return state.st_size, state.st_mtime_ns, checksum


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
        self._sealed: dict[str, Entry] = {}
        self._searched: set[str] = set()  # collections whose graph is in memory

    @property
    def path(self) -> Path:
        """The directory of the present epoch, which may not be there."""
        with self._engine.connect() as connection:
            return self._directory / f"{SEMANTIC}.{epoch_of(connection, SEMANTIC)}"

    # -- the directory ---------------------------------------------------------------------------------------------

    def problem(self, reached: int) -> str:
        """Describe the damage that shows without loading Chroma; empty = none. `reached`: the last change in it."""
        path = self.path
        broken, self._sealed = broken_seal(path)
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
                next_epoch(connection, SEMANTIC)
        self.sweep()

    def sweep(self) -> None:
        sweep_epochs(self._directory, SEMANTIC, [self.path])

    def seal(self) -> None:
        """Note the state of the closed files, unless Chroma's client may read them, which writes to them."""
        if self.labels is not None:
            return
        try:
            seal(self.path, self._sealed)
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
                mark_trying(path, True)
                unseal(path)
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
                    remove_path(path)
                    raise VectorsAway(problem) from e
            if problem is not None:
                raise CollectionLost(f"The semantic index is damaged: {problem}.")
            if fresh:
                mark_trying(path, False)
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
