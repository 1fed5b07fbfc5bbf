"""Find memories of a scope that say the same as one that is about to be written (`on_duplicate`).

Two memories are the same if text, type, actor, time of the event and thread are equal. Hashes of these are kept in
memory, 16 bytes a memory: read once for a scope, when it is first written to with another wish than "keep" (a second
for 100,000), and brought forward by later memories. A hash only says where to look; the row itself decides.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts, streamed
from recall_integrations.indexes.ends import has_ended
from recall_integrations.indexes.times import to_micros
from recall_integrations.records import record
from recall_integrations.store import rows
from recall_integrations.types import Memory

KEEP, REPLACE, SKIP = WISHES = ("keep", "replace", "skip")
SCOPES_KEPT = 16
RECENT_MAX = 20_000  # codes that are looked up one by one before they are sorted in
AT_ONCE = 2_000
_m = schema.memories.c
_SAID = (_m.text, _m.type, _m.actor, _m.event_at, _m.thread)
Said = tuple[Any, ...]


@record(slots=True)
class _Codes:
    """The hashes of a scope, up to the memory `last`."""

    last: int = 0
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # rising
    nums: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    recent: dict[int, list[int]] = field(default_factory=dict)

    def add(self, found: Iterable[tuple[int, int]]) -> None:
        """Add hashes and numbers, rising by number."""
        for code, num in found:
            self.recent.setdefault(code, []).append(num)
            self.last = num
        if len(self.recent) > RECENT_MAX:
            pairs = [(code, num) for code, nums in self.recent.items() for num in nums]
            codes = np.concatenate([self.codes, np.asarray([code for code, _ in pairs], dtype=np.int64)])
            nums = np.concatenate([self.nums, np.asarray([num for _, num in pairs], dtype=np.int64)])
            order = codes.argsort(kind="stable")
            self.codes, self.nums, self.recent = codes[order], nums[order], {}

    def of(self, code: int) -> list[int]:
        """Return the numbers of the memories with this hash."""
        begin, end = (int(self.codes.searchsorted(code, side=side)) for side in ("left", "right"))
        return [*self.nums[begin:end].tolist(), *self.recent.get(code, ())]


@record(frozen=True, slots=True, kw_only=True)
class Settled:
    """The part of a batch to write."""

    batch: list[Memory]
    ids: list[str]
    answers: list[str]  # the id of each given memory after the write
    gone: list[int]  # numbers of memories that the batch replaces


class Duplicates:
    """The hashes of the scopes of a store. The caller holds its write lock."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Codes] = OrderedDict()

    def settle(
        self,
        connection: Connection,
        scope_id: int | None,
        batch: Sequence[Memory],
        ids: Sequence[str],
        wish: str,
        ended: int,
    ) -> Settled:
        """Decide which memories of a batch to write: some say the same as a stored or an earlier one.

        `scope_id`: the scope to write to; `None` = it is new.
        """
        there = {} if scope_id is None else self._there(connection, scope_id, batch, ended)
        known = set() if scope_id is None or wish != SKIP else self._known(connection, scope_id, ids, ended)
        chosen: dict[str, Memory] = {}  # what is written, by id
        said: dict[Said, str] = {}  # id of what is written, by content
        answers, gone = list(ids), dict[int, None]()
        left: dict[str, None] = {}  # ids of earlier memories of the batch that a later one replaced
        for place, memory in enumerate(batch):
            own, key = ids[place], _said(memory)
            if wish == SKIP and (own in known or own in chosen):
                continue
            # Stored memories that the batch overwrites or removes do not count any more.
            stored = [(i, n) for i, n in there.get(key, ()) if i not in chosen and i not in left and n not in gone]
            same = said.get(key)
            if same is None and stored:
                same = next((i for i, _ in stored if i == own), stored[0][0])
            if wish == SKIP and same is not None:
                answers[place] = same
                continue
            if memory.id is None and same is not None:
                answers[place] = own = same
            elif same is not None and same != own:
                if chosen.pop(same, None) is not None:
                    left[same] = None
                answers = [own if answer == same else answer for answer in answers]
            gone.update((num, None) for i, num in stored if i != own)
            before = chosen.get(own)
            if before is not None:
                said.pop(_said(before), None)
            said[key], chosen[own] = own, memory
        if scope_id is not None and left:
            places = rows.find(connection, scope_id, [i for i in left if i not in chosen])
            gone.update((place.num, None) for place in places.values())
        return Settled(batch=list(chosen.values()), ids=list(chosen), answers=answers, gone=list(gone))

    def _there(
        self, connection: Connection, scope_id: int, batch: Sequence[Memory], ended: int
    ) -> dict[Said, list[tuple[str, int]]]:
        """Find the ids and numbers of memories that say the same as one of the batch, by content, oldest first."""
        codes = self._codes(connection, scope_id)
        wanted = {key: codes.of(hash(key)) for key in map(_said, batch)}
        nums = sorted({num for found in wanted.values() for num in found})
        there: dict[Said, list[tuple[str, int]]] = {}
        for part in in_parts(nums):
            query = select(_m.id, _m.num, _m.expires_at, *_SAID).where(_m.scope_id == scope_id, _m.num.in_(part))
            for memory_id, num, expires_at, *said in connection.execute(query.order_by(_m.num)):
                if tuple(said) in wanted and not has_ended(expires_at, ended):
                    there.setdefault(tuple(said), []).append((memory_id, num))
        return there

    def _known(self, connection: Connection, scope_id: int, ids: Sequence[str], ended: int) -> set[str]:
        """Return the ids that are stored."""
        known: set[str] = set()
        for part in in_parts(ids):
            query = select(_m.id, _m.expires_at).where(_m.scope_id == scope_id, _m.id.in_(part))
            known.update(i for i, end in connection.execute(query) if not has_ended(end, ended))
        return known

    def _codes(self, connection: Connection, scope_id: int) -> _Codes:
        codes = self._kept.setdefault(scope_id, _Codes())
        self._kept.move_to_end(scope_id)
        if len(self._kept) > SCOPES_KEPT:
            self._kept.popitem(last=False)
        codes.add(self._since(connection, scope_id, codes.last))
        return codes

    @staticmethod
    def _since(connection: Connection, scope_id: int, last: int) -> Iterator[tuple[int, int]]:
        query = select(_m.num, *_SAID).where(_m.scope_id == scope_id, _m.num > last).order_by(_m.num)
        if not last:
            query = streamed(query, AT_ONCE)
        for part in connection.execute(query).partitions(AT_ONCE):
            yield from ((hash(tuple(said)), num) for num, *said in part)


def _said(memory: Memory) -> Said:
    event_at = None if memory.event_at is None else to_micros(memory.event_at)
    return memory.text, memory.type.value, memory.actor, event_at, memory.thread
