"""Answers that processes of a store share: behind the result cache of each process, in a common Redis.

An answer is kept under what it depends on: the scope and its state (`store.states`), the settings, the models, all
arguments of the recall, the version of the package. Whoever looks has the state from before the recall, as the result
cache has its revision, and takes the answer over only if that is still the same: so whatever any process has written
is in every answer that another is given. Redis's own expiry says how old an answer is; no process's clock is asked.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from recall_integrations.delivery.travel import packed_marks, packed_record, record_of, with_marks
from recall_integrations.errors import RecallError
from recall_integrations.indexes.times import to_micros
from recall_integrations.recall.cache_key import Key
from recall_integrations.recall.result_cache import Kept
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.sharing.shared import Shared
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.revisions import Revision
from recall_integrations.types import RecallResult, Scope
from recall_integrations.types.request import RecallRequest

if TYPE_CHECKING:
    import redis

# Puts a value, and its key into the scope's list, from which expired keys are removed.
PUT = """
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
redis.call('ZADD', KEYS[2], now + ARGV[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
"""


class SharedAnswers:
    """Puts answers into Redis and reads them. Threads share it.

    Args:
        shared: the link to Redis, and the sealing.
        store: the store of the memories.
        models: text that tells the models of this optimizer from those of others.
        ttl_s: seconds that an answer is kept.
        timer: the result cache's timer, monotonic seconds.
    """

    def __init__(
        self,
        shared: Shared,
        store: MemoryStore,
        models: str,
        ttl_s: float,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._link, self._sealing = shared.link, shared.sealing
        self._store, self._models, self._ttl_s, self._timer = store, models, ttl_s, timer
        self._ttl_ms = max(1, round(ttl_s * 1e3))
        self._lock = threading.Lock()
        self._of: set[Scope] = set()  # scopes of which this process has put an answer there
        store.revisions.watch(self)

    def get(self, key: Key, revision: Revision, request: RecallRequest, deadline: Deadline) -> Kept | None:
        """Return the answer for a recall that some process has put there, if it is good for this one.

        Args:
            key, revision: key of the recall, and the scope's revision before it.
            request: the recall's arguments.
            deadline: the recall's deadline.
        """
        name = self._name(key, revision)
        if name is None:
            return None
        found = self._link.ask(functools.partial(_read, name=name), deadline)
        if found is None:
            return None
        held, left_ms = found
        value = self._sealing.opened(name, held)
        kept = None if value is None or not 0 < left_ms <= self._ttl_ms else self._unpacked(value, left_ms)
        return kept if kept is not None and 0 <= to_micros(request.now) - kept.now <= self._ttl_s * 1e6 else None

    def put(self, key: Key, kept: Kept, revision: Revision | None) -> None:
        """Let others have an answer. Return at once."""
        name = None if revision is None else self._name(key, revision)
        if name is not None and revision is not None:
            self._link.beside(functools.partial(self._put, name, key.scope, kept, revision))

    def drop(self, scope: Scope | None) -> None:
        """Remove the answers of a scope that is written to, a moment later: no text of what is forgotten is to stay.

        Nobody finds the answers from the write on. After a write to all scopes they go by their expiry.
        """
        with self._lock:
            if scope is None or scope not in self._of:
                return
            self._of.discard(scope)
        self._link.later(functools.partial(_remove, names=self._list(scope)))

    def _name(self, key: Key, revision: Revision) -> str | None:
        state = self._store.states.of(key.scope, revision)
        if state is None:
            return None
        return self._sealing.key("result", _parts(key.scope), state, self._models, key.digest)

    def _list(self, scope: Scope) -> str:
        return self._sealing.key("results", _parts(scope))

    def _put(self, name: str, scope: Scope, kept: Kept, revision: Revision) -> None:
        """Put an answer that reads back as it is, if nobody has written to its scope since. Runs beside the callers."""
        value = packed(kept)
        sealed = None if value is None else self._sealing.sealed(name, value)
        left_ms = self._ttl_ms - round((self._timer() - kept.made_at) * 1e3)
        if sealed is None or left_ms < 1:
            return
        try:
            self._store.scope_id(scope)  # takes notice of what others wrote
        except RecallError:
            return
        with self._lock:
            if self._store.revisions.of(scope) != revision:
                return
            self._of.add(scope)
        names = self._list(scope)
        self._link.ask(lambda client: client.eval(PUT, 2, name, names, sealed, left_ms), patient=True)

    def _unpacked(self, value: bytes, left_ms: int) -> Kept | None:
        made_at = self._timer() - (self._ttl_ms - left_ms) / 1e3
        try:
            return unpacked(value, made_at)
        except (RecallError, ValueError, TypeError, KeyError, AttributeError):
            return None  # another package wrote it in another shape


def _parts(scope: Scope) -> tuple[str, str, str]:
    return scope.user_id, scope.agent_id, scope.namespace


def _read(client: redis.Redis, name: str) -> tuple[Any, int]:
    """Read a value and the milliseconds for which it is still kept, in one round trip."""
    asked = client.pipeline(transaction=False)
    asked.get(name)
    asked.pttl(name)
    held, left_ms = asked.execute()
    return held, int(left_ms)


def _remove(client: redis.Redis, names: str) -> None:
    client.unlink(names, *client.zrange(names, 0, -1))


def packed(kept: Kept) -> bytes | None:
    """Return an answer as JSON; `None` where it would not be the same afterwards."""
    result = kept.result
    memories = (memory for hit in result.hits for memory in (hit.memory, *hit.context))
    if any(memory.metadata and packed_record(memory.metadata) != memory.metadata for memory in memories):
        return None  # it holds a number that JSON lacks
    said = {
        "result": packed_record(result),
        "marks": packed_marks(result),
        "now": kept.now,
        "meaning": None if kept.meaning is None else kept.meaning.hex(),
    }
    try:
        return to_json(said)
    except ValueError:
        return None  # it holds half a character


def unpacked(value: bytes, made_at: float) -> Kept:
    """Read back what `packed` made.

    Raises:
        ServerError, ValueError, TypeError, KeyError, AttributeError: the value is something else.
    """
    said = from_json(value)
    meaning = said["meaning"]
    return Kept(
        result=with_marks(record_of(RecallResult, said["result"]), said["marks"]),
        now=int(said["now"]),
        made_at=made_at,
        meaning=None if meaning is None else bytes.fromhex(meaning),
    )
