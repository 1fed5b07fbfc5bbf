"""What the collections of large scopes have in common, in files (`collections`) and on a server (`served_collections`).

A collection of a scope reaches up to a number: it holds the vectors up to that one, without those removed up to it.
Later vectors are scanned exactly, so a recall finds the same at any moment, and what fills collections may be slow,
damaged or gone without a write failing. Vectors are in SQL: whatever is wrong, a collection is made anew from there.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Engine, Row, func, select

from recall_integrations.database import schema
from recall_integrations.errors import IndexUnavailable, RecallError
from recall_integrations.records import record
from recall_integrations.store import journal
from recall_integrations.store.filling import Filling
from recall_integrations.store.journal import SEMANTIC, Point
from recall_integrations.store.turns import Lock

if TYPE_CHECKING:
    from recall_integrations.resilience.guard import Health

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
        self, engine: Engine, *, scan_max: Callable[[], int], write_lock: Lock, note: Callable[[str], None]
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
        """Note a failure once."""
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
