"""Write the memories that a program gives at each start once: stored ones that say the same are left alone."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

AT_ONCE = 500
SAID = ("text", "type", "actor", "role", "channel", "event_at", "expires_at", "thread", "refs", "metadata")


def remember_once(store: MemoryStore, memories: Iterable[Memory], scope: Scope | None = None) -> int:
    """Remember the memories that are new or have changed; return how many there were.

    A memory without an id gets one made of its text and metadata, so that it is the same at every start; a memory that
    is given twice is stored twice.
    """
    named = _named(memories)
    written = 0
    for begin in range(0, len(named), AT_ONCE):
        batch = named[begin : begin + AT_ONCE]
        scope_id = store.scope_id(scope or Scope())
        there = {} if scope_id is None else store.fetch_ids(scope_id, [memory.id or "" for memory in batch])
        new = [memory for memory in batch if not _same(memory, there.get(memory.id or ""))]
        written += len(store.remember_many(new, scope=scope)) if new else 0
    return written


def _named(memories: Iterable[Memory]) -> list[Memory]:
    given: Counter[str] = Counter()
    named = []
    for memory in memories:
        if memory.id is None:
            said = json.dumps([memory.text, memory.metadata], sort_keys=True, ensure_ascii=False, default=str)
            code = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            given[code] += 1
            memory = replace(memory, id=code if given[code] == 1 else f"{code}-{given[code]}")  # noqa: PLW2901
        named.append(memory)
    return named


def _same(memory: Memory, there: Memory | None) -> bool:
    if there is None or memory.position not in (None, there.position):  # without a position it got one on arrival
        return False
    return all(getattr(memory, name) == getattr(there, name) for name in SAID)
