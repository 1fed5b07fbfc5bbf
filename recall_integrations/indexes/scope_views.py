"""Recently used scopes in memory, bounded in bytes, and brought forward through the change journal.

The budget counts what a recall reads whole. What it reads here and there (float16 rows, words, postings of a large
scope) lies in a file, mapped, and the system keeps of it what it has memory for. Words are there always, and vectors
where they fit the budget.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, and_, func, null, select

from recall_integrations.database import schema
from recall_integrations.database.schema import pruned_upto
from recall_integrations.database.sending import begun, in_parts, reading, streamed
from recall_integrations.errors import EmbeddingError
from recall_integrations.indexes import damage, kept_columns, lexicon
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.array_file import (
    LISTED_MAX,
    Names,
    Opened,
    Scratch,
    grown,
    packed,
    roomier,
    sequence_of,
)
from recall_integrations.indexes.columns_builder import ColumnsBuilder
from recall_integrations.indexes.damage import Damage
from recall_integrations.indexes.scope_view import TYPE_CODES, Rows, ScopeView, ToldColumn
from recall_integrations.indexes.times import ends, stays
from recall_integrations.indexes.vector_column import VectorColumn, scan_max
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types import MemoryType

logger = logging.getLogger("recall_integrations")
_CHUNK = MemoryType.CHUNK.value
SMALL = 20_000  # rows whose vectors are read from the store in some 100 ms where they do not fit into memory
_ROW_BYTES = 30  # of the columns but for ids, vectors and texts
_STRING_BYTES, _ID_BYTES = 130, 40  # of an id: a string of its own, or its share of a block of many
_COMPACT_AT = 0.3
_PRUNED_MIN = 1_000  # changes behind which columns look whether the journal still tells of all of them
_AT_ONCE = 2_000  # rows read at a time; more are slower, as they leave the processor's cache
_NONE, _HALVES, _SCANNED = range(3)  # what is kept of a scope's vectors
_PER_ROW = ("nums", "at", "dated", "types", "importance", "alive", "lengths")


class Columns:
    """Growing buffers behind the snapshots of one scope. Guarded by the scope's lock in `ScopeViews`."""

    def __init__(self, vectors: VectorColumn | None, capacity: int, text: ColumnsBuilder) -> None:
        capacity = max(64, capacity)
        self.n = 0
        self.seq = 0
        self.ended = 0  # up to when what ended is left out
        self.ids: list[str] | Names = []
        self.nums = np.empty(capacity, dtype=np.int64)
        self.at = np.empty(capacity, dtype=np.int64)
        self.dated = np.empty(capacity, dtype=np.bool_)
        self.types = np.empty(capacity, dtype=np.int8)
        self.importance = np.empty(capacity, dtype=np.float32)
        self.alive = np.empty(capacity, dtype=np.bool_)
        self.lengths = np.empty(capacity, dtype=np.int32)
        self.length = 0  # of the living rows together, each `PIVOT` at least
        self.living = 0
        self.vectors = vectors
        self.text = text
        self.counted = 0  # `bytes` when they were kept last: with thousands of scopes, counting all again takes long
        self.told = ToldColumn()

    @property
    def bytes(self) -> int:
        held = len(self.nums) * _ROW_BYTES + len(self.ids) * (
            _STRING_BYTES if len(self.ids) <= LISTED_MAX else _ID_BYTES
        )
        if self.vectors is not None:
            held += self.vectors.bytes
        return held + self.text.bytes

    def append(self, fields: Sequence[Sequence[Any]]) -> list[tuple[int, str]]:
        """Append nums (rising), ids, `event_at`, `created_at`, types, importance, vectors (bytes, `None`) and lengths.

        Return numbers and ids of memories with unreadable vectors, which count as if there were none.
        """
        damaged: list[tuple[int, str]] = []
        nums, ids, event_at, created_at, types, importance, vectors, lengths = fields
        end = self.n + len(nums)
        if end > len(self.nums):
            self._grow(max(end, roomier(len(self.nums))))
        part = slice(self.n, end)
        self.nums[part] = nums
        self.ids.extend(ids)
        self.at[part] = [c if e is None else e for e, c in zip(event_at, created_at, strict=True)]
        self.dated[part] = [e is not None or t != _CHUNK for e, t in zip(event_at, types, strict=True)]
        self.types[part] = [TYPE_CODES[t] for t in types]
        self.importance[part] = importance
        self.lengths[part] = lengths
        self.alive[part] = True
        if self.vectors is not None:
            width = self.vectors.dimensions * 2
            blank = bytes(width)
            whole = [isinstance(v, bytes) and len(v) == width for v in vectors]
            joined = b"".join(v if fits else blank for v, fits in zip(vectors, whole, strict=True))
            read = np.frombuffer(joined, dtype="<f2").reshape(len(nums), -1)
            # A float32 sum of finite float16 is finite; one value that is not makes it so.
            odd = ~np.isfinite(read.sum(axis=1, dtype=np.float32))
            if odd.any():
                read = np.where(odd[:, None], np.float16(0), read)
            self.vectors.append(read)
            for i, v in enumerate(vectors):
                if v is not None and (odd[i] or not whole[i]):
                    damaged.append((nums[i], ids[i]))
        self.n = end
        self._count(np.arange(part.start, end), 1)
        return damaged

    def _count(self, rows: Rows, sign: int) -> None:
        self.living += sign * len(rows)
        self.length += sign * int(np.maximum(self.lengths[rows], PIVOT).sum())

    def _grow(self, capacity: int) -> None:
        for name in _PER_ROW:
            setattr(self, name, grown(getattr(self, name), self.n, capacity))

    def kill(self, nums: NDArray[np.int64]) -> None:
        rows = np.searchsorted(self.nums[: self.n], nums)
        rows = rows[rows < self.n]
        rows = np.unique(rows[np.isin(self.nums[rows], nums)])
        rows = rows[self.alive[rows]]
        if len(rows):
            self._count(rows, -1)
            self.alive = self.alive.copy()  # older snapshots keep theirs
            self.alive[rows] = False
        self.text.kill(nums)

    def snapshot(
        self,
        scope_id: int,
        version: int,
        stored: Callable[[NDArray[np.int64]], NDArray[np.float32]],
        told_column: Callable[[], ToldColumn] | None = None,
    ) -> ScopeView:
        rows: dict[str, Any] = {name: getattr(self, name)[: self.n] for name in _PER_ROW}
        return ScopeView(
            scope_id=scope_id,
            version=version,
            seq=self.seq,
            ids=self.ids,
            vectors=None if self.vectors is None else self.vectors.snapshot(),
            stored=stored,
            mean_length=self.length / self.living if self.living else float(PIVOT),
            told_column=told_column,
            text=self.text.snapshot(),
            **rows,
        )


class Files(Protocol):
    """Storage of columns on disk."""

    def load(self, connection: Connection, scope_id: int, upto: int) -> Opened | None:
        """Return the kept columns of a scope as of the change `tags["seq"]`, `upto` at most."""

    def refuse(self, scope_id: int, why: Exception) -> None:
        """Reject a file that cannot be used."""

    def due(self, scope_id: int, *, rows: int) -> bool:
        """Say whether a scope of so many memories ought to be saved anew."""

    def save(self, scope_id: int, gather: Callable[[int], tuple[dict[str, int], kept_columns.Arrays] | None]) -> bool:
        """Save a scope now."""

    def save_later(self, scope_id: int, save: Callable[[int], object]) -> None:
        """Have a scope saved in the background."""

    def remove(self, scope_id: int | None = None) -> None:
        """Delete the file of a scope, or all files."""


class ScopeViews:
    """Recently used scopes; the least recently used leaves first beyond `budget_bytes` (one always stays)."""

    def __init__(
        self,
        engine: Engine,
        *,
        shown: Callable[[int], tuple[int, int]],
        dimensions: Callable[[], int],
        exact_max: int,
        budget_bytes: int,
        met: Damage,
        files: Files,
        ended: Callable[[int], int],
        scratch: Path,
        left: Sequence[Callable[[int], None]],
    ) -> None:
        self._engine = engine
        self._ended = ended
        self._left = tuple(left)
        self._scratch = Scratch(scratch)
        self._files = files
        self._shown = shown
        self._dimensions = dimensions
        self.exact_max = exact_max
        self.budget_bytes = budget_bytes
        self._damage = met
        self._lock = threading.Lock()
        self._scope_locks: dict[int, threading.Lock] = {}
        self._kept: OrderedDict[int, tuple[Columns, ScopeView]] = OrderedDict()
        self._drops = 0

    @property
    def scan_max(self) -> int:
        """Number of rows up to which a scope has no collection in Chroma: as many as fit into memory, at least `SMALL`.

        Where the embedding cannot say how long its vectors are, `exact_max`.
        """
        try:
            fits = scan_max(self.exact_max, self._dimensions(), self.budget_bytes)
            return max(fits, min(self.exact_max, SMALL))
        except EmbeddingError:  # it is down, and the store holds no vector yet
            return self.exact_max

    def get(self, scope_id: int) -> ScopeView:
        """Return a snapshot of the scope with everything committed before this call."""
        version, _ = self._shown(scope_id)
        ended = self._ended(scope_id)
        with self._lock:
            kept = self._kept.get(scope_id)
            if kept is not None:
                self._kept.move_to_end(scope_id)
                if kept[1].version == version and kept[0].ended == ended:
                    return kept[1]
            scope_lock = self._scope_locks.setdefault(scope_id, threading.Lock())
        with scope_lock:  # one thread loads a scope, others of the same scope wait, other scopes go on
            view, gone = self._load_or_refresh(scope_id)
        for each in gone:
            for tell in self._left:
                tell(each)
        return view

    def near(self, scope_id: int, changes: int) -> bool:
        """Say whether the scope's columns are in memory and lack at most so many changes."""
        _, upto = self._shown(scope_id)
        with self._lock:
            kept = self._kept.get(scope_id)
            return kept is not None and upto - kept[0].seq <= changes

    def drop(self, scope_id: int | None = None) -> None:
        """Drop one scope's columns, or all, also those on disk: the rows behind them have changed."""
        self._files.remove(scope_id)
        self._let_go(scope_id)

    def close(self, written: Iterable[int] = (), built_max: int = 0) -> None:
        """Save due columns on disk, and drop all columns."""
        with self._lock:
            held = {scope_id: kept[0].living for scope_id, kept in self._kept.items()}
        for scope_id, rows in held.items():
            if self._files.due(scope_id, rows=rows):
                self.save(scope_id)
        s = schema.scopes.c
        for scope_id in sorted(set(written).difference(held)):
            with self._engine.connect() as connection:
                rows = connection.execute(select(s.memories).where(s.scope_id == scope_id)).scalar() or 0
            if rows <= built_max and self._files.due(scope_id, rows=rows):
                built_max -= rows
                self.get(scope_id)
                self.save(scope_id)
        self._let_go(None)

    def save(self, scope_id: int) -> bool:
        """Save a scope's columns on disk, if they are in memory; return whether that was done."""
        return self._files.save(scope_id, self._gathered)

    def _gathered(self, scope_id: int) -> tuple[dict[str, int], kept_columns.Arrays] | None:
        """Return tags and arrays of a scope that is in memory, for its file. Nothing is written to it meanwhile."""
        with self._lock:
            if scope_id not in self._kept:
                return None
        self.get(scope_id)  # without what was removed a moment ago
        with self._lock:
            scope_lock = self._scope_locks.setdefault(scope_id, threading.Lock())
        with scope_lock:
            with self._lock:
                kept = self._kept.get(scope_id)
            if kept is None or self._damage.of(scope_id):  # what is damaged is to be named at the next start as well
                return None
            columns, view = kept
            tags = {"version": view.version, "seq": columns.seq, "ended": columns.ended}
            return tags, kept_columns.arrays_of(columns)

    def _let_go(self, scope_id: int | None) -> None:
        with self._lock:
            self._drops += 1
            if scope_id is None:
                self._kept.clear()
            else:
                self._kept.pop(scope_id, None)

    def _load_or_refresh(self, scope_id: int) -> tuple[ScopeView, Sequence[int]]:
        """Return the current view of a scope, and the scopes that have left memory for it."""
        with self._lock:
            kept, drops = self._kept.get(scope_id), self._drops
        version, upto = self._shown(scope_id)
        ended = self._ended(scope_id)
        if kept is not None and kept[1].version == version and kept[0].ended == ended:
            return kept[1], ()
        columns = kept[0] if kept is not None else None
        try:
            if columns is not None and (columns.ended > ended or not self._refresh(columns, scope_id, upto)):
                columns = None  # where the clock went back, they lack what has not ended after all
        except BaseException:
            self._let_go(scope_id)  # half of it may have been brought forward
            raise
        if columns is None:
            columns = self._from_file(scope_id, version, upto)
        if columns is None:
            columns = self._load(scope_id, upto)
            if self._files.due(scope_id, rows=columns.living):
                self._files.save_later(scope_id, self.save)
        if columns.ended < ended:
            self._end(columns, scope_id, ended)
        view = columns.snapshot(
            scope_id,
            version,
            partial(self._stored, scope_id),
            partial(self._told, scope_id, columns, columns.seq),
        )
        return view, self._keep(scope_id, columns, view, drops)

    def _keep(self, scope_id: int, columns: Columns, view: ScopeView, drops: int) -> Sequence[int]:
        """Cache columns if none were dropped since they were read; return the scopes that have left memory for them."""
        gone: list[int] = []
        with self._lock:
            if self._drops != drops:  # what was read may be out of date already: good for this call only
                self._kept.pop(scope_id, None)
                return gone
            self._kept[scope_id] = (columns, view)
            self._kept.move_to_end(scope_id)
            columns.counted = columns.bytes
            total = sum(c.counted for c, _ in self._kept.values())
            while total > self.budget_bytes and len(self._kept) > 1:
                other, (held, _view) = self._kept.popitem(last=False)
                total -= held.counted
                gone.append(other)
        return gone

    def _read(
        self,
        connection: Connection,
        columns: Columns,
        scope_id: int,
        upto: int,
        *,
        streams: bool = False,
    ) -> None:
        """Append the memories that the store holds after `columns.seq`, up to `upto`."""
        m, v = schema.memories, schema.vectors
        fields: list[Any] = [m.c.num, m.c.id, m.c.event_at, m.c.created_at, m.c.type, m.c.importance]
        source: Any = m
        if columns.vectors is None:
            fields.append(null())
        else:
            fields.append(v.c.vector)
            source = source.outerjoin(v, and_(v.c.scope_id == m.c.scope_id, v.c.num == m.c.num))
        fields.append(schema.words.c.stems)
        source = words.joined(source)
        own = len(fields)
        fields.extend(words.COLUMNS)
        query = select(*fields).select_from(source).order_by(m.c.num)
        query = query.where(m.c.scope_id == scope_id, m.c.num > columns.seq, m.c.num <= upto)
        if columns.ended:  # those that ended since are left out below
            query = query.where(stays(columns.ended))
        if streams:
            query = streamed(query, _AT_ONCE)
        for rows in connection.execute(query).partitions(_AT_ONCE):
            read = self._sound(scope_id, list(zip(*rows, strict=True)), own)
            if not read:
                continue
            lengths = words.lengths(connection, scope_id, read[0], read[own - 1])
            for num, memory_id in columns.append([*read[: own - 1], lengths]):
                self._damage.note(scope_id, num, memory_id, "its vector")
            columns.text.extend(words.text_block(connection, scope_id, read[0], read[own:], lexicon.shared()))
        columns.seq = upto

    def _end(self, columns: Columns, scope_id: int, ended: int) -> None:
        """Take memories that have ended since the columns were read out of them, as if forgotten."""
        m = schema.memories.c
        over = select(m.num).where(m.scope_id == scope_id, ends(after=columns.ended, upto=ended))
        with self._engine.connect() as connection:
            nums = connection.execute(over.order_by(m.num)).scalars().all()
        if nums:
            columns.kill(np.asarray(nums, dtype=np.int64))
        columns.ended = ended

    def _sound(self, scope_id: int, read: list[tuple[Any, ...]], own: int) -> list[tuple[Any, ...]]:
        """Return the fields of readable rows; unreadable words of a row are replaced by `None`, to be cut anew."""
        words_ok = damage.sound_count(read[own - 1]) and damage.sound_words(read[own:])
        if damage.sound(read) and words_ok and damage.sound_text(read[own:]):
            return read
        kept = []
        for row in zip(*read, strict=True):
            parts = [[value] for value in row]
            if not damage.sound(parts) or not damage.sound_text(parts[own:]):
                self._damage.note(scope_id, row[0], row[1], "a field of its row")
            elif not damage.sound_count(parts[own - 1]) or not damage.sound_words(parts[own:]):
                kept.append((*row[: own - 1], None, *row[own : own + 4], *[None] * (len(row) - own - 4)))
            else:
                kept.append(row)
        return list(zip(*kept, strict=True))

    def _load(self, scope_id: int, upto: int) -> Columns:
        m = schema.memories
        with reading(self._engine) as connection:
            query = select(func.count()).select_from(m).where(m.c.scope_id == scope_id, m.c.num <= upto)
            count = int(connection.execute(query).scalar_one())
        streams = count > _AT_ONCE
        with self._engine.connect() if streams else begun(self._engine) as connection:
            kept, capacity = self._kept_vectors(count), count + count // 8
            dimensions = self._dimensions() if kept else 0
            scanned, scratch = kept == _SCANNED, self._scratch
            vectors = VectorColumn(dimensions, capacity, scanned=scanned, scratch=scratch) if dimensions else None
            columns = Columns(vectors, capacity, ColumnsBuilder(lexicon.shared(), capacity, scratch))
            columns.ended = self._ended(scope_id)
            self._read(connection, columns, scope_id, upto, streams=streams)
        if len(columns.ids) > LISTED_MAX:
            columns.ids = sequence_of(*packed(columns.ids))
        return columns

    def _from_file(self, scope_id: int, version: int, upto: int) -> Columns | None:
        """Return a scope's columns from disk, brought forward; `None` = they have to be read from the database."""
        with self._engine.connect() as connection:
            opened = self._files.load(connection, scope_id, upto)
            if opened is None or self._lacks(connection, scope_id, opened):
                return None
        try:
            columns = self._restored(opened)
        except (KeyError, ValueError, IndexError) as e:
            self._files.refuse(scope_id, e)
            return None
        columns.seq = int(opened.tags["seq"])
        if opened.tags["version"] == version:
            columns.seq = upto  # what came since was written to other scopes
        return columns if self._refresh(columns, scope_id, upto) else None

    def _lacks(self, connection: Connection, scope_id: int, opened: Opened) -> bool:
        """Say whether a file lacks memories that have not ended by now, since the clock went back."""
        ended = opened.tags.get("ended", 0)
        if ended <= self._ended(scope_id):
            return False
        m = schema.memories.c
        missing = select(m.num).where(m.scope_id == scope_id, ends(after=self._ended(scope_id), upto=ended))
        return connection.execute(missing.limit(1)).first() is not None

    def _restored(self, opened: Opened) -> Columns:
        arrays, buffers, scratch = opened.arrays, opened.buffers, self._scratch
        wanted = self._kept_vectors(len(arrays["nums"]))
        vectors = None
        if wanted:
            vectors = VectorColumn.restored(arrays, scanned=wanted == _SCANNED, buffers=buffers, scratch=scratch)
        columns = Columns(vectors, 0, kept_columns.builder_of(lexicon.shared(), arrays, buffers, scratch))
        kept_columns.restore(columns, arrays, buffers)
        return columns

    def _stored(self, scope_id: int, nums: NDArray[np.int64]) -> NDArray[np.float32]:
        """Read vectors in the order of `nums`, 0 where a memory has none."""
        v, width = schema.vectors.c, self._dimensions()
        found = np.zeros((len(nums), width), dtype=np.float32)
        place_of = {num: place for place, num in enumerate(nums.tolist())}
        query = select(v.num, v.vector).where(v.scope_id == scope_id)
        with self._engine.connect() as connection:
            for part in in_parts(list(place_of)):
                for num, vector in connection.execute(query.where(v.num.in_(part))):
                    if isinstance(vector, bytes) and len(vector) == 2 * width:
                        found[place_of[num]] = np.frombuffer(vector, dtype="<f2")
        found[~np.isfinite(found.sum(axis=1))] = 0  # a damaged one
        return found

    def _told(self, scope_id: int, columns: Columns, upto: int) -> ToldColumn:
        """Return the times that memories tell: those read before, and newer ones up to a number."""
        if columns.told.upto < upto:  # two at once read the same
            with reading(self._engine) as connection:
                columns.told = columns.told.extended(connection, scope_id, upto)
        return columns.told

    def _kept_vectors(self, count: int) -> int:
        """Choose what is kept of `count` vectors: all if scans fit the budget, float16 rows if they fit half of it."""
        dimensions = self._dimensions()
        if count <= scan_max(self.exact_max, dimensions, self.budget_bytes):
            return _SCANNED
        return _HALVES if count * dimensions * 2 <= self.budget_bytes // 2 else _NONE

    def _refresh(self, columns: Columns, scope_id: int, upto: int) -> bool:
        """Bring columns forward; return false if they must be loaded anew."""
        if columns.seq == upto:
            return True  # a write that changed no memory: an entity was declared
        c = schema.changes
        with begun(self._engine) as connection:
            if upto - columns.seq > _PRUNED_MIN and pruned_upto(connection) > columns.seq:
                return False  # what was removed since is not told any more
            changed = connection.execute(
                select(c.c.op, c.c.num)
                .where(c.c.scope_id == scope_id, c.c.seq > columns.seq, c.c.seq <= upto)
                .order_by(c.c.seq)
            ).all()
            if not changed:
                return False  # the version moved without a change we can see: the journal was pruned
            self._read(connection, columns, scope_id, upto)
        gone = [num for op, num in changed if op == "del"]
        if gone:
            columns.kill(np.asarray(sorted(gone), dtype=np.int64))
        dead = columns.n - int(columns.alive[: columns.n].sum())
        held = _NONE if columns.vectors is None else _SCANNED if columns.vectors.scanned else _HALVES
        outgrown = held > self._kept_vectors(columns.n)
        return not (outgrown or dead > max(1_000, _COMPACT_AT * columns.n))
