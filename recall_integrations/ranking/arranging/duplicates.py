"""Near-duplicates: what says the same again is folded into the first that says it (similarity 0.90).

Two memories are near-duplicates if the cosine of their vectors *and* the overlap of their words reach the threshold,
if the same words stand in the same order, and if neither denies what the other says. The vectors alone are not enough:
two short turns about one thing ("I ran 5 km", "I ran 9 km") are as close as copies, and words alone do not tell "Sam
reports to Priya" from "Priya reports to Sam".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text import tokenize

DENIALS = frozenset(
    """
    not no never none nobody nothing neither nor without cannot can't couldn't didn't doesn't don't hadn't hasn't
    haven't isn't aren't wasn't weren't won't wouldn't shouldn't mustn't shan't
    """.split()
)


def fold(texts: Sequence[str], vectors: NDArray[np.floating], threshold: float) -> list[int]:
    """For each item the place of the first item that it repeats; its own place where it repeats none.

    Args:
        texts: best first.
        vectors: `(n, d)`, rows of length 1 (or 0: like nothing).
        threshold: least cosine and least word overlap (Dice, over distinct words), in (0, 1].
    """
    leaders = list(range(len(texts)))
    close = np.asarray(vectors, dtype=np.float32)
    words: dict[int, list[str]] = {}

    def said(place: int) -> list[str]:
        if place not in words:
            words[place] = [t.word for t in tokenize(texts[place])]
        return words[place]

    for place in range(1, len(texts)):
        cosines = np.vecdot(close[:place], close[place])
        for earlier in np.flatnonzero(cosines >= threshold - 1e-6).tolist():
            if leaders[earlier] == earlier and _repeats(said(earlier), said(place), threshold):
                leaders[place] = earlier
                break
    return leaders


def _repeats(one: list[str], other: list[str], threshold: float) -> bool:
    """Whether two texts say the same: their words overlap (Dice), in one order, and the same are denied."""
    first, second = set(one), set(other)
    shared = first & second
    whole = len(first) + len(second)
    if whole and 2 * len(shared) / whole < threshold:
        return False
    if not whole or (first ^ second) & DENIALS:
        return not whole
    return [w for w in one if w in shared] == [w for w in other if w in shared]
