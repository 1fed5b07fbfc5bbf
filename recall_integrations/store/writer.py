"""The writing side of a store: a batch of memories is one transaction, then the indexes are brought up to date."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from recall_integrations.database import schema
from recall_integrations.database.meta import put_meta
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.times import to_row
from recall_integrations.languages import READ
from recall_integrations.observability.progress import progress_bar
from recall_integrations.query import warming
from recall_integrations.store import histories, journal, languages, rows
from recall_integrations.store.entity_rows import EntityRows
from recall_integrations.store.given import Chat
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.types import Memory, Scope, indexed_text, says_the_same

BATCH = 1_000  # memories per transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What a batch changed.

    Args:
        last: number of the last change.
        version: of the scope.
        entities: rows that go into memory once they are committed.
        spoke: languages with tables that the texts speak for.
    """

    last: int
    version: int
    entities: EntityRows
    spoke: Set[str]


class Writer:
    """Stores and removes memories, one batch at a time under the store's write lock."""

    def __init__(self, parts: StoreParts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader

    def write_chat(
        self, scope: Scope, thread: str, given: list[Memory], chat: Chat, *, progress: bool, batch_size: int
    ) -> list[str]:
        """Store what is said in a conversation; nothing else is written to it meanwhile."""
        parts = self._parts
        with parts.write_lock, parts.errors():
            if any(given[place].id is None for place in chat.places):
                with parts.engine.connect() as connection:
                    given = histories.with_ids(connection, parts.scopes.get(scope), thread, given, chat.places)
                chat.ids.update(given[place].id or "" for place in chat.places)
            return self.write_all(scope, given, chat, progress=progress, batch_size=batch_size, total=len(given))

    def write_all(
        self,
        scope: Scope,
        source: Iterable[Memory],
        chat: Chat,
        *,
        progress: bool,
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
        ids: list[str] = []
        left: Iterator[Memory] = iter(source)
        with progress_bar("Remembering", total, shown=progress) as advance:
            while batch := list(itertools.islice(left, batch_size)):
                ids.extend(self._write(scope, batch, chat.ids))
                advance(len(batch))
        return ids

    def forget(self, scope: Scope, memory_id: str) -> bool:
        """Remove a memory everywhere. Returns whether it was there."""
        parts = self._parts
        with parts.write_lock, parts.errors():
            scope_id = parts.scopes.get(scope)
            if scope_id is None:
                return False
            with parts.engine.begin() as connection:
                found = rows.find(connection, scope_id, [memory_id])
                if not found:
                    return False
                num = found[memory_id].num
                self._remove(connection, scope_id, [num])
                seq, parts.next_seq = parts.next_seq, parts.next_seq + 1
                journal.append(connection, [{"seq": seq, "scope_id": scope_id, "op": "del", "num": num}])
                version = rows.bump(connection, scope_id, -1)
            parts.shown[scope_id] = (version, seq)
            parts.catch_up(scope_id)
        return True

    def _write(self, scope: Scope, batch: Sequence[Memory], messages: Set[str]) -> list[str]:
        """Store a batch; of the ids `messages`, only what is not there or says something else."""
        parts = self._parts
        now = parts.clock()
        with parts.write_lock, parts.errors():
            parts.check_open()
            if not parts.stamped:
                _ = parts.embedding.dimensions  # an embedding that never worked is an error before anything is stored
            scope_id = parts.scopes.get(scope)
            all_ids = [m.id if m.id is not None else parts.new_id() for m in batch]
            batch, ids = self._unknown(scope_id, batch, all_ids, messages)
            if not batch:
                return all_ids
            scope_id, written = self._commit(scope, scope_id, batch, ids, now)
            try:
                parts.catch_up(scope_id)
            finally:  # vectors are written while indexing: show the memories when they are whole
                parts.shown[scope_id] = (written.version, written.last)
            if not all(map(warming.is_warm, written.spoke)):
                warming.warm(self._reader.languages(scope_id).kept_in)
        return all_ids

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
        self, scope: Scope, scope_id: int | None, batch: Sequence[Memory], ids: Sequence[str], now: datetime
    ) -> tuple[int, _Written]:
        """Store a batch in one transaction; what is in memory changes once it is committed."""
        parts = self._parts
        measured = self._measured_worth(scope_id, batch)
        try:
            with parts.engine.begin() as connection:
                if not parts.stamped:
                    put_meta(connection, "embedding", parts.embedding.fingerprint)
                if scope_id is None:
                    scope_id = rows.add_scope(connection, scope)
                parts.worth.note(connection, measured, scope_id)
                written = self._write_rows(connection, scope_id, batch, ids, now)
                parts.next_seq = written.last + 1  # before the commit: numbers may be skipped, never given twice
        except BaseException:
            if scope_id is not None:
                parts.catalog.drop(scope_id)
            parts.worth.forget(measured)
            raise
        parts.stamped = True
        parts.scopes[scope] = scope_id
        parts.catalog.committed(scope_id, written.entities)
        return scope_id, written

    def _write_rows(
        self, connection: Connection, scope_id: int, batch: Sequence[Memory], ids: Sequence[str], now: datetime
    ) -> _Written:
        replaced = rows.find(connection, scope_id, ids)
        old = [place.num for place in replaced.values()]
        seq = self._parts.next_seq
        entries: list[dict[str, Any]] = []
        for num in sorted(old):
            entries.append({"seq": seq, "scope_id": scope_id, "op": "del", "num": num})
            seq += 1
        nums = list(range(seq, seq + len(batch)))
        entries.extend({"seq": num, "scope_id": scope_id, "op": "put", "num": num} for num in nums)
        positions = rows.positions(connection, scope_id, batch, ids, replaced)
        self._remove(connection, scope_id, old)
        memories = [
            to_row(m, scope_id=scope_id, num=num, memory_id=i, created_at=m.created_at or now, position=position)
            for m, num, i, position in zip(batch, nums, ids, positions, strict=True)
        ]
        connection.execute(insert(schema.memories), memories)
        words.write(connection, scope_id, ((num, m.text, m.actor) for num, m in zip(nums, batch, strict=True)))
        spoke = languages.write(connection, scope_id, (m.text for m in batch)).intersection(READ)
        entities = self._parts.catalog.rows_for(scope_id, list(zip(nums, batch, strict=True)))
        entities.write(connection)
        contents = {num: indexed_text(m.text, m.actor) for num, m in zip(nums, batch, strict=True)}
        journal.append(connection, entries, contents)
        version = rows.bump(connection, scope_id, len(batch) - len(replaced))
        return _Written(last=nums[-1], version=version, entities=entities, spoke=spoke)

    def _remove(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        """Remove memories; what is counted of them is told while they are still there."""
        self._parts.spellers.leaving(connection, scope_id, nums)
        languages.remove(connection, scope_id, nums)
        rows.remove(connection, scope_id, nums)

    def _measured_worth(self, scope_id: int | None, batch: Sequence[Memory]) -> Mapping[str, float]:
        """What a cosine is worth in the languages of a batch, as far as it is due and was not known."""
        parts = self._parts
        if not parts.worth.measures:
            return {}
        parts.worth.read_written(scope_id, (memory.text for memory in batch))
        return parts.worth.measured()
