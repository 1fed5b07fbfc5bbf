"""Forgetting: by ids, by filters, a whole scope, or all scopes of a user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, func, select

from recall_integrations.adapters.filters import FiltersLike
from recall_integrations.database import schema
from recall_integrations.database.meta import OWED, put_meta
from recall_integrations.database.portable import in_parts
from recall_integrations.errors import InvalidArgument, InvalidFilter
from recall_integrations.store import rows
from recall_integrations.store.given import checked_filters
from recall_integrations.store.learned_files import name_of
from recall_integrations.store.listing import Listing
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.removing import Removing
from recall_integrations.types import Filters, Scope, checked_id, checked_scope

BATCH = 1_000  # memories per transaction

# What a scope has besides its memories.
_NAMES = (
    schema.entities,
    schema.aliases,
    schema.mentions,
    schema.edges,
    schema.languages,
    schema.judged,
)


class Forgetting:
    """Forgets memories, one transaction a batch: a caller who was stopped forgets the rest by asking again."""

    def __init__(self, parts: StoreParts, listing: Listing) -> None:
        self._parts, self._listing = parts, listing
        self._removing = Removing(parts)

    def ids(self, scope: Scope, ids: Sequence[str]) -> int:
        """Forget memories by id; return how many there were."""
        self._removing.remove_ended()
        count = 0
        for start in range(0, len(ids), BATCH):
            part = ids[start : start + BATCH]

            def chosen(connection: Connection, scope_id: int, part: Sequence[str] = part) -> list[int]:
                return [place.num for place in rows.find(connection, scope_id, part).values()]

            count += self._removing.remove(scope, chosen, len(part))[1]
        return count

    def met(self, scope: Scope, filters: Filters) -> int:
        """Forget the memories of a scope that meet filters; return how many there were."""
        self._removing.remove_ended()
        nums, count = self._listing.nums(scope, filters, 0, None), 0
        m = schema.memories.c
        for start in range(0, len(nums), BATCH):
            part = nums[start : start + BATCH]

            def chosen(connection: Connection, scope_id: int, part: Sequence[int] = part) -> list[int]:
                there: list[int] = []
                for few in in_parts(part):
                    query = select(m.num).where(m.scope_id == scope_id, m.num.in_(few)).order_by(m.num)
                    there.extend(connection.execute(query).scalars())
                return there

            count += self._removing.remove(scope, chosen, len(part))[1]
        return count

    def scope(self, scope: Scope) -> int:
        """Forget everything of a scope, its declared names included; return how many memories there were."""
        parts, m, count = self._parts, schema.memories.c, 0
        parts.check_open()
        if scope not in parts.scopes:
            return 0

        def chosen(connection: Connection, scope_id: int) -> list[int]:
            query = select(m.num).where(m.scope_id == scope_id).order_by(m.num).limit(BATCH)
            return list(connection.execute(query).scalars())

        gone = BATCH
        while gone == BATCH:
            gone, living = self._removing.remove(scope, chosen, BATCH)
            count += living
        self._forget_names(scope)
        return count

    def user(self, user_id: str, filters: Filters | None) -> int:
        """Forget all scopes of a user, or the memories there that meet filters; return how many there were."""
        scopes = [scope for scope in dict(self._parts.scopes) if scope.user_id == user_id]
        return sum(self.scope(scope) if filters is None else self.met(scope, filters) for scope in scopes)

    def _forget_names(self, scope: Scope) -> None:
        """Forget the names of a scope, and what was learned of it, unless it has been written to meanwhile."""
        parts, m = self._parts, schema.memories.c
        with parts.write_lock, parts.errors(), parts.revisions.writing(scope):
            scope_id = parts.scopes[scope]
            try:
                with parts.engine.begin() as connection:
                    if connection.execute(select(func.count()).where(m.scope_id == scope_id)).scalar_one():
                        return
                    gone = 0
                    for table in _NAMES:
                        gone += connection.execute(delete(table).where(table.c.scope_id == scope_id)).rowcount
                    if gone:
                        put_meta(connection, OWED, "1")  # no entry of the journal names removed names
                    touched = self._removing.touch(connection, scope_id)
                self._removing.touched(scope_id, touched)
                parts.spellers.forget(scope_id)
                parts.directory.learned.remove(name_of(scope, parts.catalog.key))
            finally:
                parts.catalog.drop(scope_id)


def asked_for(
    ids: str | Iterable[str] | None,
    scope: Scope | None,
    filters: FiltersLike,
    user_id: str | None,
) -> Callable[[Forgetting], int]:
    """Return the function that does what `MemoryStore.forget` is asked for."""
    wanted = checked_filters(filters)
    if filters is not None and wanted is None:
        raise InvalidFilter("filters hold no condition. To forget all of a scope, give only the scope.")
    if ids is not None and (wanted is not None or user_id is not None):
        raise InvalidArgument("ids go with a scope only: leave out filters and user_id.")
    if user_id is not None:
        if scope is not None:
            raise InvalidArgument("user_id means all scopes of a user: leave out scope, or give only the scope.")
        user = checked_id(user_id, "user_id", InvalidArgument)
        return lambda forgetting: forgetting.user(user, wanted)
    where = checked_scope(scope)
    if ids is not None:
        if isinstance(ids, bytes | Mapping) or not isinstance(ids, Iterable):
            raise InvalidArgument(f"ids must be an id or a list of ids, not {type(ids).__name__}.")
        each = dict.fromkeys([ids] if isinstance(ids, str) else ids)
        listed = [checked_id(one, "An id", InvalidArgument) for one in each]
        return lambda forgetting: forgetting.ids(where, listed)
    if wanted is not None:
        return lambda forgetting: forgetting.met(where, wanted)
    if scope is None:
        raise InvalidArgument("Say what to forget: ids, filters, scope or user_id. `scope=Scope()` is the default one.")
    return lambda forgetting: forgetting.scope(where)
