"""Find the messages of a chat that its thread holds already, and make ids for those without one.

A chat is given again and again while it grows: whole, or as a window of its last messages. Equal messages ("ok") cannot
be told apart by their text, only by their place, so the given messages are aligned with those of the thread:

    thread   a  ok  b  c  ok
    given             c  ok  ok  d       the longest end of the thread that the given messages begin with: c ok

- System messages in front are left out of this, for trimmed histories keep them; they are found by their text.
- Where nothing overlaps (an older part again, a chat that was edited), messages that occur once in both, in the
  same order, align the two, with their equal neighbours; but only if they are long enough (`DISTINCT_CHARS`). Short
  ones are said again, and are new.

So windows store the chat exactly if each overlaps the one before by a message that occurs once, or begins with
a new one. It cannot be known if "ok" behind "ok" is the same message again; it is taken for that one. Messages with
ids of their own need none of this.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.patterns import regex
from recall_integrations.types import Memory
from recall_integrations.types.roles import Role

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
    """Return the memories; messages without an id get that of the stored message they repeat, or a new one.

    `scope_id`: the scope; `None` = it is new.
    """
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
    paired: list[int | None]
    if shared:
        first = len(stored) - shared
        paired = [first + i if i < shared else None for i in range(len(body))]
    else:
        paired = _anchored(stored, body, chars[heads:])
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
            while (
                0 <= at < len(given)
                and 0 <= beside < len(stored)
                and paired[at] is None
                and beside not in used
                and given[at] == stored[beside]
            ):
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
    """Digest the text, actor, role and thread of a message."""
    content = json.dumps([memory.thread, memory.actor, memory.role, memory.text])
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()
