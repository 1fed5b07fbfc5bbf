"""Keeps answers for a short time: the least recently used leave first, and a write drops those of its scope."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from cachetools import LRUCache, TTLCache

from recall_integrations.indexes.times import to_micros
from recall_integrations.recall.cache_key import Key
from recall_integrations.records import record
from recall_integrations.store.revisions import Revision, Revisions
from recall_integrations.types import Hit, RecallResult, Scope, copied_memory, hit_like
from recall_integrations.types.request import RecallRequest


@record(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer in the cache."""

    result: RecallResult  # the answer as it was given, after privacy and packing
    now: int  # `now` of the recall that it answers, in microseconds since 1970
    made_at: float  # when it was made, by the cache's timer, in seconds
    meaning: bytes | None = None  # digest of how the query reads; `None` where nobody may ask it in other letters


class ResultCache:
    """Answers by key. Threads share it; nobody waits in it for more than a few microseconds."""

    def __init__(
        self,
        revisions: Revisions,
        ttl_s: float = 30.0,
        entries_max: int = 1_000,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._revisions, self._ttl_s, self._entries_max, self._timer = revisions, ttl_s, entries_max, timer
        self._lock = threading.RLock()  # the garbage collector may run a write in the thread that holds the lock
        self._kept: TTLCache[Key, Kept] = TTLCache(entries_max, ttl_s, timer)
        self._alike: LRUCache[Key, Key] = LRUCache(entries_max)
        # Keys of each scope that may be kept: expired and evicted ones stay here until there are too many.
        self._of: dict[Scope, set[Key]] = {}
        self._noted = 0
        revisions.watch(self)

    def __len__(self) -> int:
        with self._lock:
            self._kept.expire()
            return len(self._kept)

    def get(self, key: Key, request: RecallRequest) -> Kept | None:
        """Return the answer for a recall, unless it was made for a later `now` or is older than the time it is kept."""
        now = to_micros(request.now)
        with self._lock:
            kept = self._kept.get(key)
            # An answer that was taken over under another key is as old as under its first.
            if kept is None or not 0 <= self._timer() - kept.made_at < self._ttl_s:
                return None
        return kept if 0 <= now - kept.now <= self._ttl_s * 1e6 else None

    def alike(self, loosely: Key, request: RecallRequest) -> Kept | None:
        """Return the answer for the recall that was last asked with this loose key, if any is still kept."""
        with self._lock:
            key = self._alike.get(loosely)
            return None if key is None else self.get(key, request)

    def put(self, key: Key, kept: Kept, revision: Revision | None, loosely: Key | None = None) -> bool:
        """Keep an answer and say so, unless its scope was written to since."""
        with self._lock:
            if revision is None or self._revisions.of(key.scope) != revision:
                return False
            self._kept[key] = kept
            if loosely is not None:
                self._alike[loosely] = key
            self._note(key)
            return True

    def drop(self, scope: Scope | None) -> None:
        """Forget the answers of a scope; `None` = of all."""
        with self._lock:
            if scope is None:
                self._kept.clear()
                self._alike.clear()
                self._of.clear()
                self._noted = 0
                return
            for key in self._of.pop(scope, ()):
                self._kept.pop(key, None)
                self._noted -= 1

    def _note(self, key: Key) -> None:
        keys = self._of.setdefault(key.scope, set())
        self._noted += key not in keys
        keys.add(key)
        if self._noted <= 2 * self._entries_max:
            return
        self._of.clear()
        for there in self._kept:
            self._of.setdefault(there.scope, set()).add(there)
        self._noted = sum(map(len, self._of.values()))


def copied(result: RecallResult) -> RecallResult:
    """Return the answer with memories of its own: a change of their metadata changes no other answer."""
    return replace(result, hits=tuple(map(_own, result.hits)))


def _own(hit: Hit) -> Hit:
    return hit_like(hit, memory=copied_memory(hit.memory), context=tuple(map(copied_memory, hit.context)))
