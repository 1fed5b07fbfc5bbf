"""Near-duplicates: a memory that says the same again is folded into the first that says it (similarity 0.90).

Two memories are near-duplicates if the cosine of their vectors *and* the overlap of their words reach the threshold,
if the same words stand in the same order, and if neither denies what the other says. The vectors alone are not enough:
two short turns about one thing ("I ran 5 km", "I ran 9 km") are as close as copies, and words alone do not tell "Sam
reports to Priya" from "Priya reports to Sam".

Equal words are no repeat where they come from two sources, or tell of two days what happened: "I ran 5 km" of the 1st
and of the 4th are two runs. What is so, a fact or a preference, is the same on any day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text.signs import words_with_signs
from recall_integrations.types import Memory, MemoryType, indexed_text

HAPPENS = frozenset((MemoryType.EVENT, MemoryType.OBSERVATION))  # on another day it happens again

DENIALS = frozenset(
    """
    not no never none nobody nothing neither nor without cannot can't couldn't didn't doesn't don't hadn't hasn't
    haven't isn't aren't wasn't weren't won't wouldn't shouldn't mustn't shan't
    """.split()
)


def fold(memories: Sequence[Memory | None], vectors: NDArray[np.floating], threshold: float) -> list[int]:
    """Return for each memory the place of the first one that it repeats; its own place where it repeats none.

    Args:
        memories: memories, best first; `None` = it is gone, and repeats none.
        vectors: `(n, d)`, rows of length 1 (or 0: like nothing).
        threshold: least cosine and least word overlap (Dice, over distinct words), in (0, 1].
    """
    leaders = list(range(len(memories)))
    close = np.asarray(vectors, dtype=np.float32)
    words: dict[int, list[str]] = {}

    def said(place: int, memory: Memory) -> list[str]:
        if place not in words:
            words[place] = words_with_signs(indexed_text(memory.text, memory.actor))
        return words[place]

    for place in range(1, len(memories)):
        cosines = np.vecdot(close[:place], close[place])
        for earlier in np.flatnonzero(cosines >= threshold - 1e-6).tolist():
            one, other = memories[earlier], memories[place]
            if leaders[earlier] != earlier or one is None or other is None or are_two(one, other):
                continue
            if _repeats(said(earlier, one), said(place, other), threshold):
                leaders[place] = earlier
                break
    return leaders


def are_two(one: Memory, other: Memory) -> bool:
    """Say whether memories are two even in the same words: of two sources, or of two days on which it happened."""
    if (one.actor, one.channel, one.thread, one.refs) != (other.actor, other.channel, other.thread, other.refs):
        return True
    if one.event_at is None or other.event_at is None or not {one.type, other.type} <= HAPPENS:
        return False
    return one.event_at.astimezone(timezone.utc).date() != other.event_at.astimezone(timezone.utc).date()


def _repeats(one: list[str], other: list[str], threshold: float) -> bool:
    """Say whether two texts say the same: their words overlap (Dice), in one order, and the same are denied."""
    first, second = set(one), set(other)
    shared = first & second
    whole = len(first) + len(second)
    if whole and 2 * len(shared) / whole < threshold:
        return False
    if not whole or (first ^ second) & DENIALS:
        return not whole
    return [w for w in one if w in shared] == [w for w in other if w in shared]
