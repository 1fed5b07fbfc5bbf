"""The collections of large scopes: what those in files and on a server have in common, and those in files (Chroma).

A collection of a scope reaches up to a number: it holds the vectors up to that one, without those removed up to it.
Later vectors are scanned exactly, so a recall finds the same at any moment, and what fills collections may be slow,
damaged or gone without a write failing. Vectors are in SQL: whatever is wrong, a collection is made anew from there.

Chroma holds Python's lock while it puts vectors into its graph (about a millisecond each), so the thread gives it a few
at a time, and rests as long as that took, unless somebody waits.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Engine, Row, func, select, update
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.database import schema
from recall_integrations.errors import IndexUnavailable, RecallError
from recall_integrations.indexes.vectors import NO_HOME, SemanticIndex, finds_itself, torn
from recall_integrations.indexes.words import LexicalIndex
from recall_integrations.privacy.logs import told
from recall_integrations.records import record
from recall_integrations.store import homes, index_files, journal
from recall_integrations.store.filling import Filling
from recall_integrations.store.homes import NOTHING, Home
from recall_integrations.store.journal import SEMANTIC, Point
from recall_integrations.store.turns import WriteTurn

if TYPE_CHECKING:
    from recall_integrations.resilience.guard import Health

logger = logging.getLogger("recall_integrations")

Progress = Callable[[str, int, int], None]  # (what, done, total)
SLICE = 2_000  # changes after which it is noted how far a collection reaches
WAITING_MAX = 20_000  # changes for which the thread does not wait for quiet
LEAVES = 0.8  # of the largest scope that is scanned: below, one leaves its collection at an open
CLOSE_S = 10.0  # for a part that is under way; leaving it behind costs only work


@record(frozen=True, slots=True, kw_only=True)
class Slice:
    """The next part for a collection."""

    after: int
    upto: int
    nums: list[int]
    vectors: NDArray[np.float32]
    gone: list[int]  # nums to remove
    mark: Point | None  # a point of the journal beyond which the part holds nothing


class CollectionsBase(ABC):
    """Collections of large scopes, and the thread that fills them."""

    BEHIND: str  # what is noted of a failure, with its message in the place of {}

    def __init__(
        self, engine: Engine, *, scan_max: Callable[[], int], write_lock: WriteTurn, note: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._scan_max, self._write_lock, self._note = scan_max, write_lock, note
        self._waiting = 0  # changes since the thread was idle
        self._closed = False
        self.failed = ""  # why the thread last ended; empty = its work was done
        self.filling = Filling(self._step, self._could_not)

    def health(self) -> tuple[Health, ...]:
        """Return the health of the server; nothing if there is none, or it was never asked."""
        return ()

    def spare(self, connection: Connection) -> int | None:
        """Return the last entry of the journal that no collection needs; `None` = they need none."""
        return None

    def lacking(self) -> dict[int, int]:
        """Count the vectors that the collection of each large scope does not have yet, by scope."""
        v = schema.vectors.c
        with self._engine.connect() as connection:
            return {
                scope_id: _count(connection, (v.scope_id == scope_id) & (v.num > until))
                for scope_id, until in sorted(self._reached(connection).items())
            }

    @abstractmethod
    def _reached(self, connection: Connection) -> Mapping[int, int]:
        """Return how far the collection of each large scope reaches."""

    @abstractmethod
    def _step(self) -> bool:
        """Do a part of the work; say whether there may be more."""

    @abstractmethod
    def _could_not(self, error: BaseException) -> None:
        """Note a failure of the thread."""

    @abstractmethod
    def _give(self, scope_id: int) -> int | None:
        """Give the collection of a scope its next slice, whoever wants the thread to stop; return the number of
        vectors in it, `None` if it lacks nothing."""

    def _fill_all(self, progress: Progress | None) -> None:
        """Give all collections what they lack, in the thread of the caller."""
        lacking, done = self.lacking(), 0
        total = sum(lacking.values())
        for scope_id in lacking:
            while (given := self._give(scope_id)) is not None:
                done += given
                if progress is not None:
                    progress(SEMANTIC, min(done, total), total)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the write lock, to change the database. A halted thread gives up: its stopper may hold the lock."""
        while not self._write_lock.acquire(timeout=0.05):
            if self._closed or (self.filling.mine and self.filling.halted):
                raise IndexUnavailable("The semantic index is closed.")
        try:
            yield
        finally:
            self._write_lock.release()

    def _wanted(self, scope_id: int, until: int, samples: int) -> tuple[int, list[NDArray[np.float32]]]:
        """Count the vectors that a collection must hold, and read some, spread over the scope, but none of zeros."""
        v = schema.vectors.c
        with self._engine.connect() as connection:
            mine = (v.scope_id == scope_id) & (v.num <= until)
            low, high = connection.execute(select(func.min(v.num), func.max(v.num)).where(mine)).one()
            blobs: dict[int, bytes] = {}
            for i in range(samples if low is not None else 0):
                start = low + (high - low) * i // samples
                query = select(v.num, v.vector).where(mine, v.num >= start).order_by(v.num).limit(1)
                blobs.update({row[0]: row[1] for row in connection.execute(query)})
            wanted = _count(connection, mine)
        _, vectors = stacked(list(blobs.items()))
        return wanted, [vector for vector in vectors if vector.any()]

    def _report(self, error: BaseException, kind: str = "") -> None:
        said = str(error) if isinstance(error, RecallError) else f"{type(error).__name__}: {error}"
        if (kind or said) != self.failed:
            self.failed = kind or said
            self._note(self.BEHIND.format(said))


def _count(connection: Connection, which: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(schema.vectors).where(which)).scalar_one())


def next_slice(engine: Engine, scope_id: int, after: int, limit: int) -> Slice | None:
    """Return the next part for the collection of a scope; `None` = it has everything."""
    c, v = schema.changes.c, schema.vectors.c
    with engine.connect() as connection:  # one snapshot
        cursor = upto = journal.cursors(connection).get(SEMANTIC, 0)
        removed: Sequence[Row[int, int]] = ()
        if after:
            query = select(c.seq, c.num).where(c.scope_id == scope_id, c.op == "del", c.seq > after, c.seq <= upto)
            removed = connection.execute(query.order_by(c.seq).limit(limit)).all()
            upto = removed[-1].seq if len(removed) == limit else upto
        new = select(v.num, v.vector).where(v.scope_id == scope_id, v.num > after, v.num <= upto)
        rows = connection.execute(new.order_by(v.num).limit(limit)).all()
        upto = rows[-1].num if len(rows) == limit else upto
        mark = journal.point(connection, cursor)
    gone = [row.num for row in removed if row.seq <= upto]
    if not rows and not gone:
        return None
    nums, vectors = stacked([(row.num, row.vector) for row in rows])
    return Slice(after=after, upto=upto, nums=nums, vectors=vectors, gone=gone, mark=mark)


def stacked(rows: list[tuple[int, bytes]]) -> tuple[list[int], NDArray[np.float32]]:
    """Return numbers and vectors; 0 for an unreadable vector, as in the columns: the doctor finds it."""
    lengths = [len(blob) if isinstance(blob, bytes) else 0 for _, blob in rows]
    width = max(set(lengths), key=lengths.count, default=0) // 2 * 2
    blank = bytes(width)
    joined = b"".join(blob if n == width else blank for (_, blob), n in zip(rows, lengths, strict=True))
    vectors = np.frombuffer(joined, dtype="<f2").reshape(len(rows), width // 2).astype(np.float32)
    vectors[~np.isfinite(vectors).all(axis=1)] = 0
    return [num for num, _ in rows], vectors


AT_ONCE = 32  # vectors given to Chroma at a time
REST_MAX_S = 0.2
SAMPLES = 16  # vectors that a collection is asked for when it is opened
REBUILT = "It is rebuilt from the store."


class Collections(CollectionsBase):
    """The collections of large scopes in a directory, how far each reaches, and the thread that fills them."""

    BEHIND = (
        "The semantic index is behind and will be caught up at the next write or open: {} What it lacks is scanned."
    )

    def __init__(
        self,
        engine: Engine,
        directory: Path,
        *,
        scan_max: Callable[[], int],
        write_lock: WriteTurn,
        note: Callable[[str], None],
    ) -> None:
        super().__init__(engine, scan_max=scan_max, write_lock=write_lock, note=note)
        self._directory = directory
        self._open_lock = threading.RLock()
        self._homes: dict[int, Home] = {}
        self._epoch = 0
        self._index: SemanticIndex | None = None
        self._sealed: dict[str, index_files.Entry] = {}
        self._marked: Point | None = None
        self._searched: set[str] = set()  # collections whose graph is in memory

    # -- what recalls ask --------------------------------------------------------------------------------------------

    def home_of(self, scope_id: int) -> str:
        """Return the collection of a scope; `NO_HOME` = it has none."""
        return self._homes.get(scope_id, NOTHING).name

    def home_until(self, scope_id: int) -> int:
        """Return the highest number that the collection of a scope may hold; later ones have to be scanned. 0 = none.

        The number may fall to 0 when `index` opens a damaged directory: ask again after that.
        """
        return self._homes.get(scope_id, NOTHING).until

    @property
    def index(self) -> SemanticIndex:
        """Chroma, opened and checked on first use."""
        for _ in range(2):
            index = self._index
            if index is not None:
                return index
            with self._open_lock:
                epoch, problem = self._epoch, self._opened()
            if problem is not None:
                self._begin_anew(problem, epoch)
        index = self._index
        if index is None:
            raise IndexUnavailable("The semantic index cannot be opened. Run `recall doctor STORE`.")
        return index

    @property
    def loaded(self) -> bool:
        """True if Chroma has been loaded."""
        return self._index is not None and self._index.opened

    def _reached(self, _connection: Connection) -> dict[int, int]:
        return {scope_id: home.until for scope_id, home in self._homes.items()}

    # -- opening and closing -----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Check the directory without loading Chroma, and begin to fill collections that lack many vectors."""
        self._review()
        self.load()
        index_files.sweep_epochs(self._directory, SEMANTIC, [self._path] if self._homes else [])
        if not self._homes:
            return
        if (problem := self._seen_from_outside()) is not None:
            self._begin_anew(problem, self._epoch)
        if any(self._urgent(scope_id) for scope_id in self._homes):
            self.filling.wake(urgent=True)

    def load(self) -> None:
        """Read which scopes have a collection."""
        with self._engine.connect() as connection:
            self._homes = homes.noted(connection, on_server=False)  # others are on one that was used before
            self._epoch = index_files.epoch_of(connection, SEMANTIC)

    def _review(self) -> None:
        """Give collections to scopes that are too large, and take them from those that are small."""
        s = schema.scopes
        with self._engine.connect() as connection:
            housed = select(s.c.scope_id, s.c.memories, s.c.vector_home).order_by(s.c.scope_id)
            rows = connection.execute(housed).all()
        most = self._scan_max()
        grown = [i for i, memories, home in rows if home == NO_HOME and memories > most]
        small = [i for i, memories, home in rows if home != NO_HOME and memories <= LEAVES * most]
        served = {i: home for i, _, home in rows if homes.served(home)}  # as long as the store had a server
        if not grown and not small and not served:
            return
        grown += sorted(served.keys() - set(small))
        with self._engine.begin() as connection:
            for scope_id in [*grown, *small]:
                self._house(connection, scope_id, home_for(scope_id) if scope_id in grown else NO_HOME)
            homes.leave(connection, served.values())
            if not grown and len(small) == sum(home != NO_HOME for _, _, home in rows):
                index_files.next_epoch(
                    connection, SEMANTIC
                )  # no scope has a collection any more: the directory is removed

    @staticmethod
    def _house(connection: Connection, scope_id: int, home: str) -> None:
        s = schema.scopes
        connection.execute(update(s).where(s.c.scope_id == scope_id).values(vector_home=home, vector_until=0))

    def _seen_from_outside(self) -> str | None:
        """Describe the damage that shows without loading Chroma; `None` = none."""
        path, reached = self._path, max((home.until for home in self._homes.values()), default=0)
        broken, self._sealed = index_files.broken_seal(path)
        if broken is not None:
            return f"The semantic index is damaged: {broken}."
        if reached and not (path / "chroma.sqlite3").is_file():
            return "The semantic index is missing."
        with self._engine.connect() as connection:
            foreign = journal.foreign(connection, reached, journal.noted_point(path))
        return None if foreign is None else f"The semantic index is of another history: {foreign}."

    def _opened(self) -> str | None:
        """Open Chroma; return the damage that a rebuild mends, `None` if there is none."""
        if self._closed:
            raise IndexUnavailable("The semantic index is closed.")
        if not self._homes:
            raise IndexUnavailable("No scope is so large that it has a collection.")
        if self._index is not None:
            return None
        path, index = self._path, None
        try:
            index_files.mark_trying(path, True)
            index_files.unseal(path)
            if (problem := torn(path)) is not None:
                return f"The semantic index is damaged: {problem}."
            index = SemanticIndex(path)
            index.keep({home.name for home in self._homes.values()})
            self._look(index)
            index_files.mark_trying(path, False)
        except (IndexUnavailable, OSError) as e:
            if index is not None:
                quiet_close(index)
            return str(e)
        self._index = index
        return None

    def _look(self, index: SemanticIndex) -> None:
        """Compare counts, and let collections find some of their own vectors: Chroma counts lost ones too."""
        of = {
            home.name: self._wanted(scope_id, home.until, SAMPLES)
            for scope_id, home in sorted(self._homes.items())
            if home.until
        }
        if not of:
            return
        found, wanted = index.count(), sum(count for count, _ in of.values())
        if found < wanted:
            raise IndexUnavailable(f"The semantic index holds {found:,} vectors, the store {wanted:,}.")
        for home, (_, sample) in of.items():
            missed = sum(not finds_itself(index.nearest(home, vector, 1)[1]) for vector in sample)
            self._searched.add(home)
            if missed > len(sample) // 8:
                raise IndexUnavailable(
                    f"The semantic index does not find {missed} of {len(sample)} of its own vectors."
                )

    def close(self, *, sealed: bool) -> None:
        """Close Chroma after its current part of work. Missing vectors are filled in after the next open."""
        self._closed = True
        if not self.filling.stop(CLOSE_S):
            logger.warning("Chroma is busy: it is left behind.")
            return
        with self._open_lock:
            index, self._index = self._index, None
            if index is not None and quiet_close(index) and sealed:
                try:
                    index_files.seal(self._path, self._sealed)
                except (OSError, SQLAlchemyError) as e:
                    logger.warning("The semantic index could not be sealed: %s", told(e))

    @property
    def _path(self) -> Path:
        return self._directory / f"{SEMANTIC}.{self._epoch}"

    def _begin_anew(self, problem: str, epoch: int) -> None:
        """Replace a damaged directory, and fill the new one in the background; do nothing if that is done already."""
        with self._writing(), self._open_lock:
            if self._closed or self._epoch != epoch:
                return
            self._leave()
        self._note(f"{problem} {REBUILT}")
        self.filling.wake(urgent=True)

    def _leave(self) -> None:
        """Leave the directory for one of the next epoch, where nothing is."""
        with self._engine.begin() as connection:
            following = index_files.next_epoch(connection, SEMANTIC)
            connection.execute(update(schema.scopes).values(vector_until=0))
        old, self._index = self._index, None
        self._homes = {scope_id: Home(home.name, 0) for scope_id, home in self._homes.items()}
        self._epoch, self._sealed, self._marked = following, {}, None
        self._searched.clear()
        if old is not None:
            quiet_close(old)
        index_files.sweep_epochs(self._directory, SEMANTIC, [self._path])

    # -- following the vectors ---------------------------------------------------------------------------------------

    def follow(self, scope_ids: set[int], changes: int) -> None:
        """Register vectors that were written and memories that were removed, under the write lock."""
        s = schema.scopes
        for scope_id in sorted(scope_ids - self._homes.keys()):
            with self._engine.connect() as connection:
                memories = connection.execute(select(s.c.memories).where(s.c.scope_id == scope_id)).scalar()
            if (memories or 0) > self._scan_max():
                with self._engine.begin() as connection:
                    self._house(connection, scope_id, home_for(scope_id))
                self._homes[scope_id] = Home(home_for(scope_id), 0)
        if scope_ids & self._homes.keys():
            self._waiting += changes
            self.filling.wake(urgent=self._waiting >= WAITING_MAX)

    def settle(self, timeout: float | None = None) -> bool:
        """Fill all collections now; say whether they hold everything within `timeout` seconds."""
        if not self._homes:
            return True
        return self.filling.settle(timeout) and not any(self._next(scope_id) for scope_id in self._homes)

    def _urgent(self, scope_id: int) -> bool:
        """Say whether a collection lacks so much, or holds so many removed vectors, that Chroma is loaded for it."""
        part = self._next(scope_id)
        return part is not None and (not part.after or bool(part.gone) or len(part.nums) == SLICE)

    def _next(self, scope_id: int) -> Slice | None:
        """Return the next slice for a collection; `None` = it has everything."""
        return next_slice(self._engine, scope_id, self.home_until(scope_id), SLICE)

    def _step(self) -> bool:
        for scope_id, home in sorted(self._homes.items()):
            part = self._next(scope_id)
            if part is not None:
                self._fill(scope_id, home.name, part)
                return not self.filling.halted
        self._waiting, self.failed = 0, ""
        return False

    def _give(self, scope_id: int) -> int | None:
        part = self._next(scope_id)
        if part is None:
            return None
        self._fill(scope_id, self.home_of(scope_id), part, whole=True)
        return len(part.nums)

    def _fill(self, scope_id: int, home: str, part: Slice, *, whole: bool = False) -> None:
        epoch, index = self._epoch, self.index
        if self._epoch != epoch:
            return  # it was begun anew
        if part.mark is not None and part.mark != self._marked:
            journal.note_point(self._path, part.mark)
            self._marked = part.mark
        if not part.after:
            index.drop(home)  # rest of an interrupted slice; some memories may be removed by now
            self._searched.discard(home)
        for done in self._applied(index, home, part, SLICE if whole else AT_ONCE):
            if self.filling.halted and not whole:
                return
            if not self.filling.hurried and not whole:
                time.sleep(min(done, REST_MAX_S))
        with self._writing():
            if self._epoch == epoch and self.home_until(scope_id) == part.after:
                s = schema.scopes
                with self._engine.begin() as connection:
                    connection.execute(update(s).where(s.c.scope_id == scope_id).values(vector_until=part.upto))
                self._homes[scope_id] = Home(home, part.upto)

    def _applied(self, index: SemanticIndex, home: str, part: Slice, at_once: int) -> Iterator[float]:
        """Give a slice to Chroma, `at_once` vectors at a time; yield the seconds that each part took."""
        empty = part.vectors[:0]
        for start in range(0, max(len(part.nums), len(part.gone)), at_once):
            some = slice(start, start + at_once)
            begun = time.monotonic()
            index.apply(home, part.nums[some], part.vectors[some], [])
            index.apply(home, [], empty, part.gone[some])
            if home not in self._searched and part.nums:
                # Until it has been asked, Chroma only gathers, and then makes thousands of neighbours at once.
                index.nearest(home, part.vectors[0], 1)
                self._searched.add(home)
            yield time.monotonic() - begun

    def _could_not(self, error: BaseException) -> None:
        if not self._closed and not self.filling.halted:
            self._report(error)

    # -- for who prunes the journal ----------------------------------------------------------------------------------

    def spare(self, connection: Connection) -> int | None:
        """Return the last entry of the journal that no collection needs; `None` = they need none. Before it may be
        dropped, the mark of the directory moves on, in a history that it belongs to."""
        c = schema.changes.c
        if not any(home.until for home in self._homes.values()):
            return None
        mark = journal.point(connection, journal.last_seq(connection))
        if mark is None:
            return 0
        try:
            journal.note_point(self._path, mark)
        except OSError:  # a full disk, say: the journal waits
            return 0
        self._marked = mark
        needed = []
        for scope_id, home in self._homes.items():
            query = select(func.min(c.seq)).where(c.scope_id == scope_id, c.seq > home.until)
            first = connection.execute(query).scalar() if home.until else None
            needed += [] if first is None else [int(first) - 1]
        return min(needed, default=None)

    # -- making anew -------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Remove all collections, under the write lock. They are filled after the store is next opened, not before.

        Chroma writes uninitialized memory into its files, and in this process that memory may have held removed
        vectors. Until the next open, scopes are scanned.
        """
        with self.filling.held():
            self.filling.stop(CLOSE_S)
            with self._open_lock:
                self.load()
                self._leave()

    def rebuild(self, progress: Progress | None = None) -> None:
        """Make all collections anew in a new directory. What they lack meanwhile is scanned."""
        with self.filling.held():
            with self._open_lock:
                self.load()
                self._leave()
            if self._homes:
                self.filling.wake()  # after this, for what a failure leaves
            self._fill_all(progress)
        self.failed = ""


def home_for(scope_id: int) -> str:
    """Return the name of a scope's collection."""
    return f"scope-{scope_id}"


def quiet_close(index: LexicalIndex | SemanticIndex) -> bool:
    """Close an index; say whether that worked."""
    try:
        index.close()
    except IndexUnavailable as e:
        logger.warning(told(e))
        return False
    return True
