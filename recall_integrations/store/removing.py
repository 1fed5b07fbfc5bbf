"""Removing memories: one transaction a batch, then the indexes follow. Forgetting by ids, filters, scope or user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection, delete, func, select

from recall_integrations.adapters.filters import FiltersLike
from recall_integrations.database import schema
from recall_integrations.database.schema import OWED, put_meta
from recall_integrations.database.sending import begun, in_parts, writing
from recall_integrations.errors import EmbeddingError, InvalidArgument, InvalidFilter
from recall_integrations.store import journal, languages, rows
from recall_integrations.store.asking import Vectors
from recall_integrations.store.given import checked_filters
from recall_integrations.store.journal import SEMANTIC, Change
from recall_integrations.store.judgements import LearnedRows, name_of
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.store.revisions import REMOVED_MAX
from recall_integrations.types import Filters, Scope, checked_id, checked_scope

Touched = tuple[int, Sequence[Change], bool]  # the version of the scope, the entry, whether vectors are up to it
T = TypeVar("T")
Chosen = Callable[[Connection, int], Sequence[int]]  # (connection, number of the scope) -> numbers of its memories


class Removing:
    """Removes memories from a store, under its write lock."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts

    def remove(self, scope: Scope, chosen: Chosen, most: int = REMOVED_MAX) -> tuple[int, int]:
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
        languages.remove(connection, scope_id, nums)
        parts.damage.forget(scope_id, nums)
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
        self.index(scope_id, changes, Vectors(), followed=followed)

    def index(
        self,
        scope_id: int,
        changes: Sequence[Change],
        vectors: Vectors | None,
        *,
        followed: bool,
    ) -> None:
        """Apply commits to the indexes: later, where memories are found without them."""
        indexes = self._parts.indexes
        if not followed or indexes.lag[SEMANTIC]:
            self._parts.catch_up(scope_id, vectors)
        if followed:
            indexes.vectors_written({scope_id})

    def _removed(
        self, scope: Scope, scope_id: int, chosen: Chosen, most: int, vectors: Vectors | None
    ) -> tuple[int, int]:
        parts = self._parts
        with parts.revisions.writing(scope):
            with begun(parts.engine, most, writes=True) as connection:
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
            parts.shown[scope_id] = (version, appended.changes[-1].seq)
            self.index(scope_id, appended.changes, vectors, followed=appended.followed)
        return len(nums), len(nums) - len(over)


FORGET_BATCH = 1_000  # memories per transaction


class Forgetting:
    """Forgets memories, one transaction a batch: a caller who was stopped forgets the rest by asking again."""

    def __init__(self, parts: StoreParts, reader: Reader) -> None:
        self._parts, self._reader = parts, reader
        self._removing = Removing(parts)

    def forget(
        self, ids: str | Iterable[str] | None, scope: Scope | None, filters: FiltersLike, user_id: str | None
    ) -> int:
        wanted = checked_filters(filters)
        if filters is not None and wanted is None:
            raise InvalidFilter("filters hold no condition. To forget all of a scope, give only the scope.")
        if ids is not None and (wanted is not None or user_id is not None):
            raise InvalidArgument("ids go with a scope only: leave out filters and user_id.")
        if user_id is not None:
            if scope is not None:
                raise InvalidArgument("user_id means all scopes of a user: leave out scope, or give only the scope.")
            user = checked_id(user_id, "user_id", InvalidArgument)
            scopes = [one for one in dict(self._parts.scopes) if one.user_id == user]
            return sum(self._whole(one) if wanted is None else self._met(one, wanted) for one in scopes)
        where = checked_scope(scope)
        if ids is not None:
            if isinstance(ids, bytes | Mapping) or not isinstance(ids, Iterable):
                raise InvalidArgument(f"ids must be an id or a list of ids, not {type(ids).__name__}.")
            each = dict.fromkeys([ids] if isinstance(ids, str) else ids)
            listed = [checked_id(one, "An id", InvalidArgument) for one in each]
            self._removing.remove_ended()
            return self._each(where, listed, lambda *given: [place.num for place in rows.find(*given).values()])
        if wanted is not None:
            return self._met(where, wanted)
        if scope is None:
            raise InvalidArgument(
                "Say what to forget: ids, filters, scope or user_id. `scope=Scope()` is the default one."
            )
        return self._whole(where)

    def _met(self, scope: Scope, filters: Filters) -> int:
        """Forget the memories of a scope that meet filters; return how many there were."""
        self._removing.remove_ended()
        m = schema.memories.c

        def there(connection: Connection, scope_id: int, part: Sequence[int]) -> list[int]:
            found: list[int] = []
            for few in in_parts(part):
                query = select(m.num).where(m.scope_id == scope_id, m.num.in_(few)).order_by(m.num)
                found.extend(connection.execute(query).scalars())
            return found

        return self._each(scope, self._reader.nums(scope, filters, 0, None), there)

    def _each(
        self, scope: Scope, chosen: Sequence[T], there: Callable[[Connection, int, Sequence[T]], Sequence[int]]
    ) -> int:
        """Forget the chosen memories that are still there, batch by batch; return how many there were."""
        count = 0
        for start in range(0, len(chosen), FORGET_BATCH):
            part = chosen[start : start + FORGET_BATCH]

            def in_part(connection: Connection, scope_id: int, part: Sequence[T] = part) -> Sequence[int]:
                return there(connection, scope_id, part)

            count += self._removing.remove(scope, in_part, len(part))[1]
        return count

    def _whole(self, scope: Scope) -> int:
        """Forget everything of a scope, its declared names included; return how many memories there were."""
        parts, m, count = self._parts, schema.memories.c, 0
        parts.check_open()
        if scope not in parts.scopes:
            return 0

        def chosen(connection: Connection, scope_id: int) -> list[int]:
            query = select(m.num).where(m.scope_id == scope_id).order_by(m.num).limit(FORGET_BATCH)
            return list(connection.execute(query).scalars())

        gone = FORGET_BATCH
        while gone == FORGET_BATCH:
            gone, living = self._removing.remove(scope, chosen, FORGET_BATCH)
            count += living
        self._forget_names(scope)
        return count

    def _forget_names(self, scope: Scope) -> None:
        """Forget the names of a scope, and what was learned of it, unless it has been written to meanwhile."""
        parts, m = self._parts, schema.memories.c
        with parts.write_lock, parts.errors(), parts.revisions.writing(scope):
            scope_id = parts.scopes[scope]
            try:
                with writing(parts.engine) as connection:
                    if connection.execute(select(func.count()).where(m.scope_id == scope_id)).scalar_one():
                        return
                    gone = 0
                    for table in schema.OF_SCOPES:
                        gone += connection.execute(delete(table).where(table.c.scope_id == scope_id)).rowcount
                    if gone:
                        put_meta(connection, OWED, "1")  # no entry of the journal names removed names
                    touched = self._removing.touch(connection, scope_id)
                self._removing.touched(scope_id, touched)
                parts.spellers.forget(scope_id)
                LearnedRows(parts.directory).remove(name_of(scope, parts.catalog.key))
            finally:
                parts.catalog.drop(scope_id)
