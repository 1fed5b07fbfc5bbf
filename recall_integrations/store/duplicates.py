"""Memories that are given again: by a thread that has grown (`with_ids`), by a wish (`on_duplicate`), at each start.

Equal messages ("ok") of a chat cannot be told apart by their text, only by their place, so given ones are aligned:

    thread   a  ok  b  c  ok
    given             c  ok  ok  d       the longest end of the thread that the given messages begin with: c ok

Where nothing overlaps, messages that occur once in both align the two, if they are long enough (`DISTINCT_CHARS`).
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.database.sending import in_parts, streamed
from recall_integrations.indexes.times import has_ended, to_micros
from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.store import rows
from recall_integrations.types import Filters, Memory, MemoryType, Scope, says_the_same
from recall_integrations.types.roles import Role

if TYPE_CHECKING:
    from recall_integrations.store.memory_store import MemoryStore

KEEP, SKIP = "keep", "skip"
SCOPES_KEPT = 16
AT_ONCE = 2_000
_m = schema.memories.c
_SAID = (_m.text, _m.type, _m.actor, _m.event_at, _m.thread)
Said = tuple[Any, ...]


@record(slots=True)
class _Codes:
    """The hashes of a scope, up to the memory `last`."""

    last: int = 0
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    nums: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def add(self, found: Iterable[tuple[int, int]]) -> None:
        more = np.asarray(list(found), dtype=np.int64).reshape(-1, 2)
        if len(more):
            self.codes = np.concatenate([self.codes, more[:, 0]])
            self.nums = np.concatenate([self.nums, more[:, 1]])
            self.last = int(more[-1, 1])

    def of(self, codes: Iterable[int]) -> list[int]:
        """Return the numbers of the memories with one of these hashes, rising."""
        found: list[int] = self.nums[np.isin(self.codes, list(codes))].tolist()
        return found


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
        self._kept: LRUCache[int, _Codes] = LRUCache(SCOPES_KEPT)

    def settle(
        self, connection: Connection, scope_id: int | None, batch: Sequence[Memory], ids: Sequence[str], wish: str,
        ended: int,
    ) -> Settled:  # fmt: skip
        """Decide which memories of a batch to write: some say the same as a stored or an earlier one."""
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
        wanted = set(map(_said, batch))
        nums = codes.of(map(hash, wanted))
        there: dict[Said, list[tuple[str, int]]] = {}
        for part in in_parts(nums):
            query = select(_m.id, _m.num, _m.expires_at, *_SAID).where(_m.scope_id == scope_id, _m.num.in_(part))
            for memory_id, num, expires_at, *said in connection.execute(query.order_by(_m.num)):
                if tuple(said) in wanted and not has_ended(expires_at, ended):
                    there.setdefault(tuple(said), []).append((memory_id, num))
        return there

    def _known(self, connection: Connection, scope_id: int, ids: Sequence[str], ended: int) -> set[str]:
        known: set[str] = set()
        for part in in_parts(ids):
            query = select(_m.id, _m.expires_at).where(_m.scope_id == scope_id, _m.id.in_(part))
            known.update(i for i, end in connection.execute(query) if not has_ended(end, ended))
        return known

    def _codes(self, connection: Connection, scope_id: int) -> _Codes:
        codes = self._kept.setdefault(scope_id, _Codes())
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


DISTINCT_CHARS = 60  # of what is said once in both, together, for parts that do not overlap at the end
_MADE = regex(r"msg-(?P<digest>[0-9a-f]{24})(?:-(?P<number>\d+))?")


class Remembered(list[str]):
    """The ids of the memories given to `remember_many`, in order.

    Args:
        ids: of the stored memories.
        skipped: places, among the given items, of messages without text: they are not stored and have no id here.
    """

    def __init__(self, ids: Iterable[str] = (), skipped: Sequence[int] = ()) -> None:
        super().__init__(ids)
        self.skipped = tuple(skipped)


def with_ids(
    connection: Connection, scope_id: int | None, thread: str, memories: Sequence[Memory], messages: Sequence[int]
) -> list[Memory]:
    """Return the memories; messages without an id get that of the stored message they repeat, or a new one."""
    said = [memories[i] for i in messages]
    keys = [_digest(m) if m.id is None else _key(m.id) for m in said]
    ids, stored = _stored(connection, scope_id, thread, {m.id for m in said if m.id is not None})
    heads = next((i for i, m in enumerate(said) if m.role is not Role.SYSTEM), len(said))
    paired = aligned(stored, keys, [len(m.text) for m in said], heads)
    numbers: Counter[str] = Counter()
    for known in ids:
        if (made := _MADE.fullmatch(known)) is not None:
            numbers[made["digest"]] = max(numbers[made["digest"]], int(made["number"] or 1))
    out = list(memories)
    for place, memory, key, same in zip(messages, said, keys, paired, strict=True):
        if memory.id is not None:
            continue
        if same is not None:
            memory_id = ids[same]
        else:
            numbers[key] += 1
            memory_id = f"msg-{key}" if numbers[key] == 1 else f"msg-{key}-{numbers[key]}"
        out[place] = replace(memory, id=memory_id)
    return out


def aligned(stored: Sequence[str], given: Sequence[str], chars: Sequence[int], heads: int = 0) -> list[int | None]:
    """Find the place of the stored message that each given one repeats; `None` = it is new. Time is nearly linear."""
    body = given[heads:]
    shared = _overlap(stored, body)
    first = len(stored) - shared
    paired: list[int | None] = [first + i if i < shared else None for i in range(len(body))]
    paired = paired if shared else _anchored(stored, body, chars[heads:])
    return [*_heads(stored, given[:heads], paired), *paired]


def _heads(stored: Sequence[str], heads: Sequence[str], paired: Sequence[int | None]) -> list[int | None]:
    """Pair each head with the first unused stored message of the same key."""
    if not heads:
        return []
    used, free = set(paired), defaultdict[str, deque[int]](deque)
    for place, key in enumerate(stored):
        if place not in used:
            free[key].append(place)
    return [free[key].popleft() if free[key] else None for key in heads]


def _overlap(stored: Sequence[str], given: Sequence[str]) -> int:
    """Return the length of the longest end of `stored` that `given` begins with (Knuth, Morris and Pratt 1977)."""
    if not given:
        return 0
    border = [0] * len(given)  # longest proper border of each prefix
    n = 0
    for i in range(1, len(given)):
        while n and given[i] != given[n]:
            n = border[n - 1]
        n += given[i] == given[n]
        border[i] = n
    n = 0
    for key in stored[-len(given) :]:
        while n and (n == len(given) or key != given[n]):
            n = border[n - 1]
        n += key == given[n]
    return n


def _anchored(stored: Sequence[str], given: Sequence[str], chars: Sequence[int]) -> list[int | None]:
    """Pair messages that occur once in both and in the same order, and their equal neighbours."""
    paired: list[int | None] = [None] * len(given)
    often, here = Counter(stored), Counter(given)
    place_of = {key: place for place, key in enumerate(stored) if often[key] == 1}
    once = [(i, place_of[key]) for i, key in enumerate(given) if here[key] == 1 and key in place_of]
    anchors = _rising(once)
    if sum(chars[i] for i, _ in anchors) < DISTINCT_CHARS:
        return paired
    used = {place for _, place in anchors}
    for i, place in anchors:
        paired[i] = place
    for step in (1, -1):
        for i, place in anchors:
            at, beside = i + step, place + step
            while 0 <= at < len(given) and 0 <= beside < len(stored) and paired[at] is None and beside not in used:
                if given[at] != stored[beside]:
                    break
                paired[at] = beside
                used.add(beside)
                at, beside = at + step, beside + step
    return paired


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of `pairs` whose second numbers rise (patience sorting)."""
    tops: list[int] = []  # smallest last number of a rising part of each length
    ends: list[int] = []  # the pair of that number
    before: list[int] = []
    for n, (_, place) in enumerate(pairs):
        at = bisect_left(tops, place)
        before.append(ends[at - 1] if at else -1)
        tops[at : at + 1] = [place]
        ends[at : at + 1] = [n]
    found: list[tuple[int, int]] = []
    n = ends[-1] if ends else -1
    while n >= 0:
        found.append(pairs[n])
        n = before[n]
    return found[::-1]


def _stored(connection: Connection, scope_id: int | None, thread: str, own: set[str]) -> tuple[list[str], list[str]]:
    """Read the ids and keys of the thread's messages, in their order; memories that are no messages are left out."""
    if scope_id is None:
        return [], []
    m = schema.memories
    query = select(m.c.id).where(m.c.scope_id == scope_id, m.c.thread == thread).order_by(m.c.position, m.c.num)
    ids: list[str] = []
    keys: list[str] = []
    for memory_id in connection.execute(query).scalars():
        key = _key(memory_id)
        if key != memory_id or memory_id in own:
            ids.append(memory_id)
            keys.append(key)
    return ids, keys


def _key(memory_id: str) -> str:
    """Return the digest in an id made here, which equal messages share; any other id as it is."""
    made = _MADE.fullmatch(memory_id)
    return memory_id if made is None else made["digest"]


def _digest(memory: Memory) -> str:
    content = json.dumps([memory.thread, memory.actor, memory.role, memory.text])
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()


ONCE_BATCH = 500


def remember_once(
    store: MemoryStore, memories: Iterable[Memory], scope: Scope | None = None, *, forget_gone: bool = False,
    blank: Collection[str] = (),
) -> int:  # fmt: skip
    """Remember the memories that are new or have changed; return how many there were.

    A memory without an id gets one made of its text and metadata, so that it is the same at every start; a memory that
    is given twice is stored twice. `forget_gone` forgets the other chunks of the given sources, once all are stored, as
    well as the sources and ids in `blank`.
    """
    named = _named_once(memories)
    written = 0
    for begin in range(0, len(named), ONCE_BATCH):
        batch = named[begin : begin + ONCE_BATCH]
        scope_id = store.scope_id(scope or Scope())
        there = {} if scope_id is None else store.reader.fetch_ids(scope_id, [memory.id or "" for memory in batch])
        new = [m for m in batch if m.id not in there or not says_the_same(there[m.id], m)]
        written += len(store.remember_many(new, scope=scope)) if new else 0
    if forget_gone:
        ids, sources = {memory.id for memory in named}, {*blank, *map(_source, named)} - {None}
        chunks = store.iterate(scope=scope, filters=Filters(types=[MemoryType.CHUNK]))
        gone = [
            memory.id or ""
            for memory in chunks
            if memory.id not in ids and (memory.id in blank or _source(memory) in sources)
        ]
        store.forget(gone, scope=scope)
    return written


def _source(memory: Memory) -> object:
    """Return the document that a chunk is of: LangChain's `source`, or its thread; `None` where it tells none."""
    source = memory.metadata.get("source")
    return source if isinstance(source, str) else memory.thread


def _named_once(memories: Iterable[Memory]) -> list[Memory]:
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
