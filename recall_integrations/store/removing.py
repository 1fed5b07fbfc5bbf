"""Removing memories: one transaction a batch, then the indexes follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection

from recall_integrations.database.sending import begun
from recall_integrations.errors import EmbeddingError
from recall_integrations.store import journal, languages, rows
from recall_integrations.store.ahead import Vectors
from recall_integrations.store.expiry import REMOVED_MAX
from recall_integrations.store.journal import SEMANTIC, Change
from recall_integrations.store.parts import StoreParts
from recall_integrations.types import Scope

Touched = tuple[int, Sequence[Change], bool]  # the version of the scope, the entry, whether vectors are up to it
Chosen = Callable[[Connection, int], Sequence[int]]  # (connection, number of the scope) -> numbers of its memories


class Removing:
    """Removes memories from a store, under its write lock."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts

    def remove(self, scope: Scope, chosen: Chosen, most: int = REMOVED_MAX) -> tuple[int, int]:
        """Remove some memories of a scope everywhere, in one transaction."""
        parts = self._parts
        with parts.errors():
            vectors = self.settled()

        def remove() -> tuple[int, int]:
            with parts.write_lock, parts.errors():
                parts.check_open()
                scope_id = parts.scopes.get(scope)
                return (0, 0) if scope_id is None else self._removed(scope, scope_id, chosen, most, vectors)

        return parts.retried(remove, twice=False)  # a repeated removal would return a smaller number

    def remove_ended(self, *, all_of_them: bool = False) -> int:
        """Remove ended memories, a batch per scope once a minute at most; return how many."""
        parts, count = self._parts, 0
        for scope_id in parts.expiry.to_remove(all_of_them=all_of_them):
            scope, upto = parts.expiry.scope_of(scope_id), parts.expiry.ended(scope_id)
            whole = scope is None
            while scope is not None and not whole:
                gone, _ = self.remove(scope, parts.expiry.over)
                count += gone
                whole = gone < REMOVED_MAX
                if not all_of_them:
                    break
            parts.expiry.removed(scope_id, whole=whole, upto=upto)
        return count

    def settled(self) -> Vectors | None:
        """Embed journal entries without vectors; return the argument of `catch_up` for a write without new texts."""
        parts = self._parts
        if parts.asking.here:
            return None
        try:
            parts.settle()
        except EmbeddingError as e:
            return Vectors(error=e)
        return Vectors()

    def take_out(self, connection: Connection, scope_id: int, nums: Sequence[int]) -> None:
        """Remove rows of memories in the caller's transaction; counters subtract them while they exist."""
        parts = self._parts
        parts.spellers.leaving(connection, scope_id, nums)
        languages.remove(connection, scope_id, nums)
        parts.damage.forget(scope_id, nums)
        parts.pushing.leaving(connection, scope_id, nums)
        if nums:
            parts.column_files.remove(scope_id)  # the file holds their words: remove it before them
        rows.remove(connection, scope_id, nums)

    def touch(self, connection: Connection, scope_id: int) -> Touched:
        """Enter into the journal, in the caller's transaction, that names or facts of a scope are written."""
        parts = self._parts
        appended = journal.append(connection, [journal.touched(parts.next_seq, scope_id)], SEMANTIC)
        parts.next_seq += 1
        return int(rows.bump(connection, scope_id, 0).value()), appended.changes, appended.followed

    def touched(self, scope_id: int, touched: Touched) -> None:
        """Show a committed touch from now on, and index it."""
        version, changes, followed = touched
        self._parts.followed.committed(changes[-1], embedded=followed)
        self._parts.shown[scope_id] = (version, changes[-1].seq)
        self.index(scope_id, changes, {}, Vectors(), followed=followed)

    def index(
        self,
        scope_id: int,
        changes: Sequence[Change],
        stems: Mapping[int, Sequence[str]],
        vectors: Vectors | None,
        *,
        followed: bool,
    ) -> None:
        """Apply commits to the indexes: later, where memories are found without them."""
        indexes = self._parts.indexes
        if followed and indexes.may_wait:
            indexes.owe(changes, stems)
        else:
            self._parts.catch_up(scope_id, vectors)
        if followed:
            indexes.vectors_written({scope_id}, len(changes))

    def _removed(
        self, scope: Scope, scope_id: int, chosen: Chosen, most: int, vectors: Vectors | None
    ) -> tuple[int, int]:
        parts = self._parts
        with parts.revisions.writing(scope):
            with begun(parts.engine, most) as connection:
                nums = sorted(chosen(connection, scope_id))
                if not nums:
                    return 0, 0
                over = parts.expiry.over_of(connection, scope_id, nums)
                self.take_out(connection, scope_id, nums)
                seq = parts.next_seq
                parts.next_seq += len(nums)
                gone = [journal.gone(seq + i, scope_id, num) for i, num in enumerate(nums)]
                appended = journal.append(connection, gone, SEMANTIC)
                counted = rows.bump(connection, scope_id, -len(nums))
            parts.followed.committed(appended.changes[-1], embedded=appended.followed)
            version = int(counted.value())
            parts.pushing.note(scope_id, -len(nums))
            parts.shown[scope_id] = (version, appended.changes[-1].seq)
            self.index(scope_id, appended.changes, {}, vectors, followed=appended.followed)
        return len(nums), len(nums) - len(over)
