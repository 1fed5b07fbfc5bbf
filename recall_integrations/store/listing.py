"""The memories of a scope in the order in which they were written, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from sqlalchemy import func, select

from recall_integrations.database import schema
from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.ends import stays
from recall_integrations.indexes.times import from_micros
from recall_integrations.store import fetching
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.types import Filters, Memory, MemoryType, Scope

PAGE = 500  # memories that are in memory at a time

_m = schema.memories.c


class Listed(list[Memory]):
    """Memories that `MemoryStore.list` returns.

    Args:
        memories: in the order in which they were written.
        after: the argument `after` for the next page; `None` = there are no more.
    """

    def __init__(self, memories: Iterable[Memory] = (), after: str | None = None) -> None:
        super().__init__(memories)
        self.after = after


class Listing:
    """Reads scopes of any size, page by page. Threads may share it."""

    def __init__(self, parts: StoreParts, reader: Reader) -> None:
        self._parts, self._reader = parts, reader

    def page(self, scope: Scope, filters: Filters | None, limit: int, after: str | None) -> Listed:
        """Read a page of memories of a scope."""
        last = 0
        if after is not None:
            if not (isinstance(after, str) and after.isascii() and after.isdecimal() and len(after) < 20):
                raise InvalidArgument(f"after must be what a call gave as `.after`, not {str(after)[:60]!r}.")
            last = int(after)
        nums = self.nums(scope, filters, last, limit + 1)
        return Listed(self._read(scope, nums[:limit]), str(nums[limit - 1]) if len(nums) > limit else None)

    def all_of(self, scope: Scope, filters: Filters | None) -> Iterator[Memory]:
        """Yield all memories of a scope, read a page at a time."""
        if filters:
            nums = self.nums(scope, filters, 0, None)
            for start in range(0, len(nums), PAGE):
                yield from self._read(scope, nums[start : start + PAGE])
            return
        last = 0
        while nums := self.nums(scope, None, last, PAGE):
            yield from self._read(scope, nums)
            last = nums[-1]

    def nums(self, scope: Scope, filters: Filters | None, last: int, limit: int | None) -> list[int]:
        """List the numbers of the memories after `last` that meet the filters, rising."""
        parts = self._parts
        parts.check_open()
        scope_id = parts.scopes.get(scope)
        if scope_id is None:
            return []
        if filters:
            with parts.errors():
                view = parts.views.get(scope_id)
            mask = self._reader.filter_mask(view, filters, from_micros(parts.expiry.now()))
            met = view.nums[view.alive if mask is None else view.alive & mask]
            return [int(num) for num in met[np.searchsorted(met, last, side="right") :][:limit].tolist()]
        ended = parts.expiry.ended(scope_id)
        query = select(_m.num).where(_m.scope_id == scope_id, _m.num > last).order_by(_m.num)
        if ended:
            query = query.where(stays(ended))
        with parts.errors(), parts.engine.connect() as connection:
            return list(connection.execute(query.limit(limit) if limit is not None else query).scalars())

    def counts(self) -> dict[Scope, dict[MemoryType, int]]:
        """Count the memories of each type in each scope, in the order in which the scopes were made."""
        parts = self._parts
        query = select(_m.scope_id, _m.type, func.count()).group_by(_m.scope_id, _m.type).order_by(_m.scope_id, _m.type)
        if not parts.expiry.none:
            query = query.where(stays(parts.expiry.now()))
        with parts.errors(), parts.engine.connect() as connection:
            counted = connection.execute(query).all()
        found: dict[int, dict[MemoryType, int]] = {}
        for scope_id, kind, count in counted:
            found.setdefault(scope_id, {})[MemoryType(kind)] = int(count)
        return {
            scope: {kind: found[scope_id][kind] for kind in MemoryType if kind in found[scope_id]}
            for scope, scope_id in sorted(parts.scopes.items(), key=lambda item: item[1])
            if scope_id in found
        }

    def _read(self, scope: Scope, nums: Sequence[int]) -> Iterator[Memory]:
        parts = self._parts
        scope_id = parts.scopes.get(scope)
        if scope_id is None:
            return
        with parts.errors():
            read = fetching.by_num(parts.engine, scope_id, nums, parts.damage)
        yield from (read[num] for num in nums if num in read)
