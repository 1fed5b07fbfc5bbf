"""The vectors of a large scope in SQL, as its collection gets them: a slice after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, Row, func, select

from recall_integrations.database import schema
from recall_integrations.records import record
from recall_integrations.store import journal
from recall_integrations.store.journal import SEMANTIC, Point


@record(frozen=True, slots=True, kw_only=True)
class Slice:
    """The next part for a collection."""

    after: int
    upto: int
    nums: list[int]
    vectors: NDArray[np.float32]
    gone: list[int]  # nums to remove
    mark: Point | None  # a point of the journal beyond which the part holds nothing


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


def wanted(engine: Engine, scope_id: int, until: int, samples: int) -> tuple[int, list[NDArray[np.float32]]]:
    """Count the vectors that a collection must hold, and read some, spread over the scope, but none of zeros."""
    v = schema.vectors.c
    with engine.connect() as connection:
        mine = (v.scope_id == scope_id) & (v.num <= until)
        low, high = connection.execute(select(func.min(v.num), func.max(v.num)).where(mine)).one()
        blobs: dict[int, bytes] = {}
        for i in range(samples if low is not None else 0):
            start = low + (high - low) * i // samples
            query = select(v.num, v.vector).where(mine, v.num >= start).order_by(v.num).limit(1)
            blobs.update({row[0]: row[1] for row in connection.execute(query)})
        count = int(connection.execute(select(func.count()).select_from(schema.vectors).where(mine)).scalar_one())
    _, vectors = stacked(list(blobs.items()))
    return count, [vector for vector in vectors if vector.any()]


def count_after(connection: Connection, scope_id: int, until: int) -> int:
    """Count the vectors that a collection lacks, which reaches up to a number."""
    v = schema.vectors.c
    query = select(func.count()).select_from(schema.vectors).where(v.scope_id == scope_id, v.num > until)
    return int(connection.execute(query).scalar_one())
