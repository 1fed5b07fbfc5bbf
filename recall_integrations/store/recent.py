"""A cache of memories that were read lately: what is found once is often found again.

A statement for ten memories takes .1 ms of the processor, and as much again for a connection and the objects; from here
they take .02. Nothing of a scope is given out once a write to it has begun: its revision (`store.revisions`) changes
then, and all its cached memories are dropped.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from recall_integrations.store.revisions import Revision, Revisions
from recall_integrations.types import Memory, Scope, copied_memory
from recall_integrations.types.memory import own_metadata

KEPT_BYTES = 4_000_000  # some 4,000 memories of a chat
EACH_BYTES = 700  # of a memory besides its texts
TEXT_BYTES_MAX = 40_000  # longer ones are a document each, and would push out everything else


class _Kept(NamedTuple):
    """A memory as it was read. Callers can change only its metadata, so these are copied."""

    memory: Memory
    metadata: dict[str, Any]
    revision: Revision
    size: int


_kept: Callable[[tuple[Memory, dict[str, Any], Revision, int]], _Kept] = functools.partial(tuple.__new__, _Kept)


class Recent:
    """The cache of memories. Threads share it."""

    def __init__(self, revisions: Revisions, scopes: Mapping[Scope, int], kept_bytes: int = KEPT_BYTES) -> None:
        self._revisions, self._scopes, self._kept_bytes = revisions, scopes, kept_bytes
        self._by_id: dict[int, Scope] = {}
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], _Kept] = OrderedDict()
        self._bytes = 0
        self.hits = self.misses = 0

    def revision(self, scope_id: int) -> Revision | None:
        """Return the revision for memories that are read from here on; `None` = they may not be cached."""
        scope = self._by_id.get(scope_id)
        if scope is None:
            self._by_id = {number: scope for scope, number in dict(self._scopes).items()}
            scope = self._by_id.get(scope_id)
        return None if scope is None else self._revisions.of(scope)

    def get(self, scope_id: int, nums: Sequence[int], revision: Revision | None) -> dict[int, Memory]:
        """Return the cached memories, by number, each with metadata of its own."""
        found: dict[int, _Kept] = {}
        with self._lock:
            for num in () if revision is None else nums:
                key = scope_id, num
                kept = self._kept.get(key)
                if kept is not None and kept.revision == revision:
                    self._kept.move_to_end(key)
                    found[num] = kept
            self.hits += len(found)
            self.misses += len(nums) - len(found)
        return {num: copied_memory(kept.memory, kept.metadata) for num, kept in found.items()}

    def put(self, scope_id: int, read: Iterable[tuple[int, Memory]], revision: Revision | None) -> None:
        """Cache memories read after `revision` was asked for, unless the scope was written to meanwhile."""
        if revision is None:
            return
        own = [(num, _kept((memory, own_metadata(memory.metadata), revision, _size(memory)))) for num, memory in read]
        with self._lock:
            if self.revision(scope_id) != revision:
                return
            for num, kept in own:
                if kept.size > TEXT_BYTES_MAX:
                    continue
                before = self._kept.pop((scope_id, num), None)
                self._bytes += kept.size - (0 if before is None else before.size)
                self._kept[scope_id, num] = kept
            while self._bytes > self._kept_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].size


def _size(memory: Memory) -> int:
    size = EACH_BYTES + 2 * len(memory.text) + 60 * len(memory.entities)
    if memory.refs or memory.relations or memory.metadata:
        size += 60 * len(memory.refs) + 180 * len(memory.relations) + 2 * len(repr(memory.metadata))
    return size
