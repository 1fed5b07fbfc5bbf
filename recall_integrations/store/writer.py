"""The writing side of a store: a batch of memories is one transaction, then the indexes are brought up to date."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from recall_integrations.database import schema
from recall_integrations.database.inserting import insert_rows
from recall_integrations.database.meta import put_meta
from recall_integrations.database.portable import check_texts
from recall_integrations.database.sending import Sent, begun
from recall_integrations.facts import rows as facts
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.times import to_row
from recall_integrations.languages import READ
from recall_integrations.observability.progress import Told, counted
from recall_integrations.query import warming
from recall_integrations.records import record
from recall_integrations.resilience.failures import time_of
from recall_integrations.store import histories, journal, languages, rows
from recall_integrations.store.ahead import Ahead, look_ahead
from recall_integrations.store.duplicates import KEEP, Duplicates, Settled
from recall_integrations.store.entity_rows import EntityRows
from recall_integrations.store.given import Chat
from recall_integrations.store.indexes import vector_rows
from recall_integrations.store.journal import SEMANTIC, Appended, Change
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.store.removing import Removing
from recall_integrations.types import Memory, Scope, says_the_same

if TYPE_CHECKING:
    from recall_integrations.database.turns import Flush


@record(frozen=True, slots=True, kw_only=True)
class _Batch:
    """What is to be written.

    Args:
        memories, ids: of each.
        gone: numbers of memories that it takes the place of, besides those with the same ids.
        fresh: whether nothing can be there under these ids.
        later: waits for the disk; `None` = the commit does.
    """

    memories: Sequence[Memory]
    ids: Sequence[str]
    gone: Sequence[int] = ()
    fresh: bool = False
    later: Flush | None = None


@record(frozen=True, slots=True, kw_only=True)
class _Written:
    """What a batch changed; to be read when it is committed.

    Args:
        appended: what the indexes have to follow, and whether the vectors are written.
        counted: gives the version of the scope.
        stems: of the memories, by num, as the lexical index holds them.
        entities: rows that go into memory once they are committed.
        spoke: languages with tables that the texts speak for.
        added: how many more memories the scope has.
    """

    appended: Appended
    counted: Sent
    stems: Mapping[int, Sequence[str]]
    entities: EntityRows
    spoke: Set[str]
    added: int

    @property
    def changes(self) -> Sequence[Change]:
        """Entries of the journal."""
        return self.appended.changes

    @property
    def embedded(self) -> bool:
        """Whether the vectors are written."""
        return self.appended.followed


class Writer:
    """Stores memories, one batch at a time under the store's write lock.

    The user's components are asked before the lock is taken (`store.ahead`).
    """

    def __init__(self, parts: StoreParts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader
        self._removing = Removing(parts)
        self._duplicates = Duplicates()

    def write_chat(
        self, scope: Scope, thread: str, given: list[Memory], chat: Chat, *, progress: bool | Told, batch_size: int
    ) -> list[str]:
        """Store what is said in a conversation; nothing else is written to it meanwhile."""
        parts = self._parts
        self._removing.remove_ended()
        with parts.errors():
            named, ids = self._named(scope, thread, given, chat)
            ahead = self._ahead(scope, named, ids)
        with parts.write_lock, parts.errors():
            later = parts.directory.flush_later()  # what somebody else has just written may be left as it is
            named, ids = self._named(scope, thread, given, chat)  # somebody may have written to it
            chat.ids.update(ids)
            written = self._write_batches(scope, named, chat, ahead, progress, batch_size, len(named))
        with parts.errors():
            parts.directory.flush(later)
        self._caught_up(ahead)
        return written

    def _named(self, scope: Scope, thread: str, given: list[Memory], chat: Chat) -> tuple[list[Memory], set[str]]:
        """The memories of a conversation with the ids of its messages, and these and the known ones."""
        parts = self._parts
        if not any(given[place].id is None for place in chat.places):
            return given, set(chat.ids)
        with parts.engine.connect() as connection:
            given = histories.with_ids(connection, parts.scopes.get(scope), thread, given, chat.places)
        return given, {*chat.ids, *(given[place].id or "" for place in chat.places)}

    def write_all(
        self,
        scope: Scope,
        source: Iterable[Memory],
        chat: Chat,
        *,
        progress: bool | Told,
        batch_size: int,
        total: int | None,
    ) -> list[str]:
        """Store memories in batches and return their ids in order.

        Args:
            scope: the tenant.
            source: the memories, checked.
            chat: which of them are messages; may be filled as they are read.
            progress: show a bar on standard error.
            batch_size: memories per transaction.
            total: how many there are; `None` = not known.
        """
        self._removing.remove_ended()
        return self._write_batches(scope, source, chat, None, progress, batch_size, total)

    def _write_batches(
        self,
        scope: Scope,
        source: Iterable[Memory],
        chat: Chat,
        ahead: Ahead | None,
        progress: bool | Told,
        batch_size: int,
        total: int | None,
    ) -> list[str]:
        ids: list[str] = []
        left: Iterator[Memory] = iter(source)
        with counted("Remembering", total, progress) as advance, self._parts.indexes.owed.more_to_come():
            while batch := list(itertools.islice(left, batch_size)):
                ids.extend(self._write(scope, batch, chat, ahead))
                advance(len(batch))
        if len(ids) > batch_size:  # nobody waits for a single one of them
            with self._parts.errors():
                self._parts.indexes.apply_owed()
        return ids

    def _ahead(self, scope: Scope, batch: Sequence[Memory], messages: Set[str], now: datetime | None = None) -> Ahead:
        """Ask the user's components about what is going to be written."""
        parts = self._parts
        parts.check_open()
        ids = [m.id for m in batch if m.id is not None]
        scope_id = parts.scopes.get(scope)
        return look_ahead(parts, scope_id, self._unknown(scope_id, batch, ids, messages)[0], now)

    def _write(self, scope: Scope, batch: Sequence[Memory], chat: Chat, ahead: Ahead | None = None) -> list[str]:
        """Store a batch; of messages that have ids, only what is not there or says something else.

        Args:
            ahead: what the user's components said; `None` = they are asked now, so the write lock may not be held.
        """
        parts = self._parts
        now = time_of(parts.clock)
        check_texts(parts.engine, (memory.text for memory in batch))
        with parts.errors():
            known = self._ahead(scope, batch, chat.ids, now) if ahead is None else ahead
        ids: list[str] = []  # given once, so that what is tried again replaces what it may have written itself

        if ahead is not None:  # the turn to write is held, and may be lost: whoever took it decides
            return self._write_in_turn(scope, batch, ids, chat, now, known, None)

        def write() -> list[str]:
            with parts.write_lock, parts.errors():
                later = parts.directory.flush_later()
                written = self._write_in_turn(scope, batch, ids, chat, now, known, later, measured=True)
            with parts.errors():
                parts.directory.flush(later)
            return written

        written = parts.retried(write, twice=chat.on_duplicate == KEEP)
        self._caught_up(known)
        return written

    def _write_in_turn(
        self,
        scope: Scope,
        batch: Sequence[Memory],
        given: list[str],
        chat: Chat,
        now: datetime,
        known: Ahead,
        later: Flush | None,
        *,
        measured: bool = False,
    ) -> list[str]:
        """Store a batch under the write lock: what of it is not there yet.

        Args:
            given: its ids; filled here if they are not yet.
            later: waits for the disk after the turn; `None` = it is waited for in it.
            measured: whether what the embedding is worth was measured for this write.
        """
        parts = self._parts
        with parts.write_lock, parts.errors():
            parts.check_open()
            scope_id = parts.scopes.get(scope)
            # By another wish a memory may get the id of one that is there.
            fresh = not given and chat.on_duplicate == KEEP and all(m.id is None for m in batch)
            if not given:
                given += [m.id if m.id is not None else parts.new_id() for m in batch]
            all_ids = given
            batch, ids = self._unknown(scope_id, batch, all_ids, chat.ids)
            gone: Sequence[int] = ()
            if chat.on_duplicate != KEEP:
                settled = self._settled(scope_id, batch, ids, chat.on_duplicate)
                renamed = dict(zip(ids, settled.answers, strict=True))
                all_ids = [renamed.get(one, one) for one in all_ids]
                batch, ids, gone = settled.batch, settled.ids, settled.gone
            if not batch:
                if measured:
                    with parts.revisions.writing(None) if known.worth else nullcontext():
                        parts.worth.forget(known.worth)
                return all_ids
            # What the embedding is worth, where it was measured for this write, counts in all scopes.
            with parts.revisions.writing(None if known.worth else scope):
                # What is done once more where nobody knows what came of it may be waited for later.
                wait_later = later is not None and chat.on_duplicate == KEEP
                chosen = _Batch(memories=batch, ids=ids, gone=gone, fresh=fresh, later=later if wait_later else None)
                scope_id, written = self._commit(scope, scope_id, chosen, now, known)
                shown = (int(written.counted.value()), written.changes[-1].seq)
                parts.pushing.note(scope_id, written.added)
                if written.embedded:
                    parts.shown[scope_id] = shown
                vectors = None if parts.asking.here else known.vectors
                try:
                    self._removing.index(scope_id, written.changes, written.stems, vectors, followed=written.embedded)
                finally:  # vectors may be written while indexing: show the memories when they are whole
                    parts.shown[scope_id] = shown
            if not all(map(warming.is_warm, written.spoke)):
                warming.warm(self._reader.languages(scope_id).kept_in)
        return all_ids

    def _settled(self, scope_id: int | None, batch: Sequence[Memory], ids: Sequence[str], wish: str) -> Settled:
        """What of a batch is to be written, by what is there already."""
        ended = 0 if scope_id is None else self._parts.expiry.ended(scope_id)
        with self._parts.engine.connect() as connection:
            return self._duplicates.settle(connection, scope_id, batch, ids, wish, ended)

    def _caught_up(self, ahead: Ahead) -> None:
        """Where somebody else's write has left texts without vectors meanwhile, they are embedded, and ours follow."""
        vectors = None if self._parts.asking.here else ahead.vectors
        if vectors is not None and vectors.error is None and self._parts.indexes.lag[SEMANTIC]:
            with self._parts.errors():
                self._removing.settled()

    def _unknown(
        self, scope_id: int | None, batch: Sequence[Memory], ids: list[str], messages: Set[str]
    ) -> tuple[Sequence[Memory], list[str]]:
        """The batch and its ids, without the messages that are there already and say the same."""
        if scope_id is None or not messages:
            return batch, ids
        there = self._reader.fetch_ids(scope_id, [i for i in ids if i in messages])
        kept = [m for m in batch if m.id not in there or not says_the_same(there[m.id], m)]
        if len(kept) == len(ids):
            return kept, ids
        kept_ids = {m.id for m in kept}
        return kept, [i for i in ids if i in kept_ids or i not in there]

    def _commit(
        self, scope: Scope, scope_id: int | None, batch: _Batch, now: datetime, known: Ahead
    ) -> tuple[int, _Written]:
        """Store a batch in one transaction; what is in memory changes once it is committed."""
        parts, memories = self._parts, batch.memories
        try:
            with begun(parts.engine, len(memories)) as connection:
                if not parts.stamped:
                    put_meta(connection, "embedding", parts.asking.fingerprint)
                if scope_id is None:
                    scope_id = rows.add_scope(connection, scope)
                parts.worth.note(connection, known.worth, scope_id, [memory.text for memory in memories])
                written = self._write_rows(connection, scope_id, batch, now, known)
                # Before the commit: numbers may be skipped, never given twice.
                parts.next_seq = written.changes[-1].seq + 1
                if batch.later is not None:
                    batch.later.wait_later(connection)
        except BaseException:
            if scope_id is not None:
                parts.catalog.drop(scope_id)
            parts.worth.forget(known.worth)
            raise
        parts.stamped = True
        parts.scopes[scope] = scope_id
        parts.catalog.committed(scope_id, written.entities)
        for memory in memories:
            parts.expiry.note(scope_id, memory.expires_at)
        return scope_id, written

    def _write_rows(
        self, connection: Connection, scope_id: int, batch: _Batch, now: datetime, known: Ahead
    ) -> _Written:
        parts, given, ids = self._parts, batch.memories, batch.ids
        replaced = {} if batch.fresh else rows.find(connection, scope_id, ids)
        old = sorted({*(place.num for place in replaced.values()), *batch.gone})
        seq = parts.next_seq
        newest = parts.followed.newest(seq)
        entries = [journal.gone(seq + i, scope_id, num) for i, num in enumerate(old)]
        seq += len(old)
        nums = list(range(seq, seq + len(given)))
        entries += [
            Change(seq=num, scope_id=scope_id, op="put", num=num, text=m.text, actor=m.actor)
            for num, m in zip(nums, given, strict=True)
        ]
        positions = rows.positions(connection, scope_id, given, ids, replaced)
        self._removing.take_out(connection, scope_id, old)
        memories = [
            to_row(m, scope_id=scope_id, num=num, memory_id=i, created_at=m.created_at or now, position=position)
            for m, num, i, position in zip(given, nums, ids, positions, strict=True)
        ]
        insert_rows(connection, schema.memories, memories)
        cuts = [known.words_of(m) for m in given]
        words.write(connection, scope_id, zip(nums, cuts, strict=True))
        parts.pushing.coming(connection, scope_id, nums, given, cuts)
        slots = parts.slots
        facts.write(connection, scope_id, zip(nums, (known.derived_of(m, now, slots) for m in given), strict=True))
        vectors = None if parts.indexes.lag[SEMANTIC] else known.vectors_of(given)
        if vectors is not None:
            insert_rows(connection, schema.vectors, vector_rows(entries[len(old) :], vectors))
        spoke = languages.write(connection, scope_id, (m.text for m in given)).intersection(READ)
        entities = parts.catalog.rows_for(scope_id, list(zip(nums, given, strict=True)), known.found)
        entities.write(connection)
        return _Written(
            appended=journal.append(connection, entries, None if vectors is None else SEMANTIC, newest),
            counted=rows.bump(connection, scope_id, len(given) - len(old)),
            stems={num: words.stems_of(cut) for num, cut in zip(nums, cuts, strict=True)},
            entities=entities,
            spoke=spoke,
            added=len(given) - len(old),
        )
