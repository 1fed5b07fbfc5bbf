"""Batches of memories as rows, and the line of threads that wait to write: the first in it writes for those behind it.

A turn to write costs round trips to the server and a wait for the disk, however much is written in it. No thread waits
so that others may come: a thread that finds the line empty writes at once.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Table

from recall_integrations.database import schema
from recall_integrations.database.schema import put_meta
from recall_integrations.database.sending import Sent, begun, insert_rows
from recall_integrations.facts import rows as facts
from recall_integrations.indexes.times import to_micros, to_row
from recall_integrations.languages import READ
from recall_integrations.records import record
from recall_integrations.store import journal, languages, rows
from recall_integrations.store.asking import Ahead
from recall_integrations.store.entities import EntityRows
from recall_integrations.store.given import Chat
from recall_integrations.store.indexes import vector_rows
from recall_integrations.store.journal import SEMANTIC, Appended, Change
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.removing import Removing
from recall_integrations.types import Memory, Scope

if TYPE_CHECKING:
    from recall_integrations.database.turns import Flush


@record(frozen=True, slots=True, kw_only=True)
class Batch:
    """One write to one scope: what was given, or the part of it to write."""

    scope: Scope
    memories: Sequence[Memory]
    ids: list[str]  # made once, so that a retry replaces its own earlier write; filled in its turn
    now: datetime  # the time of memories without one
    known: Ahead  # facts found before the write (`look_ahead`)
    chat: Chat  # tells which of them are messages, and the wish for duplicates
    gone: Sequence[int] = ()  # numbers of memories that the batch replaces, besides those with the same ids
    fresh: bool = False  # whether no memory can have these ids yet

    @property
    def needs(self) -> Set[Hashable]:
        """Keys that no earlier batch of its transaction may have written, since it could not see them there."""
        if self.chat.ids:  # such ids are looked up outside of the transaction
            return {self.scope}
        return {key for memory in self.memories for key in self._keys(memory)}

    @property
    def leaves(self) -> Set[Hashable]:
        return {self.scope, *(key for memory in self.memories for key in self._keys(memory))}

    def _keys(self, memory: Memory) -> Iterator[Hashable]:
        if memory.id is not None:
            yield self.scope, "id", memory.id
        if memory.thread is not None:  # its place is after the last stored one
            yield self.scope, "thread", memory.thread


MOST = 64  # writes of one transaction: the last one waits for all of them


@record(slots=True, eq=False)
class Asked:
    """A write that stands in the line."""

    request: Batch
    alone: bool
    taken: list[Asked] = field(default_factory=list)  # the writes that it leads
    changed: threading.Event = field(default_factory=threading.Event)
    over: bool = False
    in_company: bool = False  # whether it failed together with others
    answer: list[str] | None = None
    error: BaseException | None = None

    def has_failed(self, error: BaseException, *, in_company: bool = False) -> None:
        """Note the failure of the write, which may be on disk all the same."""
        self.answer, self.error, self.in_company = None, error, in_company

    @property
    def tried(self) -> bool:
        return self.answer is not None or self.error is not None


class Company(Exception):
    """A write failed together with others. Its cause is the error; by itself it may well work."""


class Line:
    """Threads that wait to write, in the order in which they came."""

    def __init__(self, lead: Callable[[Callable[[], Sequence[Asked]]], None], most: int = MOST) -> None:
        self._lead, self._most = lead, most
        self._lock = threading.RLock()  # a handler of a signal may write, wherever its thread is
        self._waiting: deque[Asked] = deque()
        self._leader: Asked | None = None
        self._threads: set[int] = set()

    @property
    def has_me(self) -> bool:
        """True if this thread stands in the line: its writes meanwhile (in a handler of a signal) must not wait."""
        return threading.get_ident() in self._threads

    def ask(self, request: Batch, *, alone: bool = False) -> list[str]:
        """Write, by this thread or another one, and return the result."""
        me = Asked(request, alone)
        try:
            with self._lock:
                self._threads.add(threading.get_ident())
                self._waiting.append(me)
                if self._leader is None:
                    self._leader = me
            while not me.over:
                if self._leader is me:
                    self._led(me)
                else:
                    me.changed.wait()
                    me.changed.clear()
        finally:
            try:
                self._leave(me)
            except BaseException:  # an interrupt may come at any place
                self._leave(me)
                raise
        if me.error is None:
            return cast(list[str], me.answer)
        if me.in_company:
            raise Company from me.error
        raise me.error

    def _led(self, me: Asked) -> None:
        try:
            self._lead(lambda: self._taken(me))
        except Exception as e:  # noqa: BLE001 - handed to those whose it is
            together = len(me.taken) > 1
            for one in me.taken or [me]:  # none is known to be on disk
                if one.error is None:
                    one.has_failed(e if one is me else _copied(e), in_company=together)
        except BaseException:  # an interrupt: the other threads repeat their writes
            for one in me.taken:
                one.answer = None
            raise
        finally:
            self._leave(me)

    def _taken(self, me: Asked) -> Sequence[Asked]:
        """Take the writes that go together now; called once a turn."""
        left: set[Hashable] = set()
        with self._lock:
            while self._waiting and len(me.taken) < self._most:
                one = self._waiting[0]
                if me.taken and (one.alone or me.alone or not left.isdisjoint(one.request.needs)):
                    break
                if not one.alone:
                    left |= one.request.leaves
                me.taken.append(one)
                self._waiting.popleft()
        return tuple(me.taken)

    def _leave(self, me: Asked) -> None:
        """Stop leading. Tried writes are over; the others return to their places. Leaving twice is harmless."""
        with self._lock:
            self._threads.discard(threading.get_ident())
            me.over = True
            for one in reversed(me.taken):
                if one is me:
                    continue
                if one.tried:
                    one.over = True
                elif one not in self._waiting:
                    self._waiting.appendleft(one)
                one.changed.set()
            me.taken = []
            if me in self._waiting:
                self._waiting.remove(me)
            if self._leader is me:
                self._leader = self._waiting[0] if self._waiting else None
                if self._leader is not None:
                    self._leader.changed.set()


def _copied(error: Exception) -> Exception:
    """Copy an error for another thread, which adds to its traceback."""
    try:
        made = copy.copy(error)
    except Exception:  # noqa: BLE001 - somebody else's, which cannot be made from its arguments
        return error
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    return made


@record(frozen=True, slots=True, kw_only=True)
class Written:
    """The changes of batches to a scope; read once they are committed."""

    scope_id: int
    changes: Sequence[Change]  # entries of the journal, oldest first
    counted: Sent  # gives the version of the scope
    entities: EntityRows  # rows that go into memory once they are committed
    spoke: Set[str]  # languages with tables that occur in the texts
    appended: Appended  # all entries of the transaction


class _Part:
    """A batch with its place in the transaction."""

    def __init__(self, batch: Batch, scope_id: int, replaced: dict[str, rows.Place], seq: int) -> None:
        self.batch, self.scope_id, self.replaced = batch, scope_id, replaced
        self.old = sorted({*(place.num for place in replaced.values()), *batch.gone})
        first = seq + len(self.old)
        self.nums = list(range(first, first + len(batch.memories)))
        self.entries = [journal.gone(seq + i, scope_id, num) for i, num in enumerate(self.old)]
        self.puts = [
            Change(seq=num, scope_id=scope_id, op="put", num=num, text=m.text, actor=m.actor)
            for num, m in zip(self.nums, batch.memories, strict=True)
        ]
        self.entries += self.puts

    @property
    def numbered(self) -> Iterator[tuple[int, Memory]]:
        return zip(self.nums, self.batch.memories, strict=True)


class Batches:
    """Writes batches under the store's write lock."""

    def __init__(self, parts: StoreParts, removing: Removing) -> None:
        self._parts, self._removing = parts, removing

    def commit(self, batches: Sequence[Batch], later: Flush | None = None) -> list[Written]:
        """Store batches in one transaction; the state in memory changes once it is committed."""
        parts = self._parts
        scopes: dict[Scope, int] = {}
        try:
            with begun(parts.engine, len(batches[0].memories) if len(batches) == 1 else 0, writes=True) as connection:
                if not parts.stamped:
                    put_meta(connection, "embedding", parts.asking.fingerprint)
                measured = parts.worth.note(connection)
                for scope in dict.fromkeys(batch.scope for batch in batches):
                    scopes[scope] = parts.scopes.get(scope) or rows.add_scope(connection, scope)
                written = self._write_rows(connection, batches, scopes)
                # Before the commit: numbers may be skipped, never given twice.
                parts.next_seq = written[0].appended.changes[-1].seq + 1
                if later is not None:
                    later.wait_later(connection)
        except BaseException:
            for scope_id in scopes.values():
                parts.catalog.drop(scope_id)
            raise
        appended = written[0].appended
        last = appended.changes[-1]
        parts.followed.committed(last, embedded=appended.followed)
        if later is not None:
            later.upto = last.seq, last.digest
        parts.stamped = True
        parts.worth.noted(measured)
        parts.scopes.update(scopes)
        for one in written:
            parts.catalog.committed(one.scope_id, one.entities)
        for batch in batches:
            for end in filter(None, (memory.expires_at for memory in batch.memories)):
                parts.expiry.note(scopes[batch.scope], to_micros(end))
        return written

    def _write_rows(
        self, connection: Connection, batches: Sequence[Batch], scopes: Mapping[Scope, int]
    ) -> list[Written]:
        parts = self._parts
        newest = parts.followed.newest(parts.next_seq)
        made = self._parts_of(connection, batches, scopes)
        tables: dict[Table, list[dict[str, Any]]] = {table: [] for table in schema.OF_SCOPES}
        placed = [
            rows.positions(connection, part.scope_id, part.batch.memories, part.batch.ids, part.replaced)
            for part in made
        ]
        for part, positions in zip(made, placed, strict=True):
            self._removing.take_out(connection, part.scope_id, part.old)
            self._rows_of(part, positions, tables)
        vectors = self._vectors_of(made)
        tables[schema.vectors] = vectors or []
        of_scopes: dict[int, list[_Part]] = {}
        for part in made:
            of_scopes.setdefault(part.scope_id, []).append(part)
        entities = {
            scope_id: parts.catalog.rows_for(
                scope_id,
                [item for part in some for item in part.numbered],
                {text: names for part in some for text, names in part.batch.known.found.items()},
            )
            for scope_id, some in of_scopes.items()
        }
        for named in entities.values():
            tables[schema.entities] += named.entities
            tables[schema.mentions] += named.mentions
            tables[schema.edges] += named.edges
        for table, given in tables.items():
            insert_rows(connection, table, given)
        spoke = {
            scope_id: languages.write(connection, scope_id, (m.text for part in some for m in part.batch.memories))
            for scope_id, some in of_scopes.items()
        }
        entries = [entry for part in made for entry in part.entries]
        appended = journal.append(connection, entries, None if vectors is None else SEMANTIC, newest)
        found: list[Written] = []
        for scope_id, some in of_scopes.items():
            added = sum(len(part.nums) - len(part.old) for part in some)
            found.append(
                Written(
                    scope_id=scope_id,
                    changes=[change for change in appended.changes if change.scope_id == scope_id],
                    counted=rows.bump(connection, scope_id, added, writes=len(some)),
                    entities=entities[scope_id],
                    spoke=spoke[scope_id].intersection(READ),
                    appended=appended,
                )
            )
        return found

    def _parts_of(self, connection: Connection, batches: Sequence[Batch], scopes: Mapping[Scope, int]) -> list[_Part]:
        """Give the batches their numbers, and find the memories that each replaces."""
        asked = [
            dict if batch.fresh else rows.find_asked(connection, scopes[batch.scope], batch.ids) for batch in batches
        ]
        seq, made = self._parts.next_seq, []
        for batch, find in zip(batches, asked, strict=True):
            made.append(_Part(batch, scopes[batch.scope], find(), seq))
            seq += len(made[-1].entries)
        return made

    def _rows_of(
        self, part: _Part, positions: Sequence[int | None], tables: Mapping[Table, list[dict[str, Any]]]
    ) -> None:
        batch, scope_id, known, now = part.batch, part.scope_id, part.batch.known, part.batch.now
        for (num, memory), memory_id, position in zip(part.numbered, batch.ids, positions, strict=True):
            created = memory.created_at or now
            tables[schema.memories].append(
                to_row(memory, scope_id=scope_id, num=num, memory_id=memory_id, created_at=created, position=position)
            )
            cut = known.words_of(memory)
            tables[schema.words].append({"scope_id": scope_id, "num": num, **cut})
            said, times = facts.rows_of(scope_id, num, known.derived_of(memory, now, self._parts.slots))
            tables[schema.facts] += said
            tables[schema.told_times] += times

    def _vectors_of(self, parts: Sequence[_Part]) -> list[dict[str, Any]] | None:
        """Return the rows of vectors; `None` where one is missing, or older vectors have to be made first."""
        if self._parts.indexes.lag[SEMANTIC]:
            return None
        found: list[dict[str, Any]] = []
        for part in parts:
            vectors = part.batch.known.vectors_of(part.batch.memories)
            if vectors is None:
                return None
            found += vector_rows(part.puts, vectors)
        return found
