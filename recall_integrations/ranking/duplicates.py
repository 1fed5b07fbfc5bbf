"""Near-duplicates: what says the same again is folded into the first that says it (seed 001: similarity 0.90).

Two memories are near-duplicates if the cosine of their vectors *and* the overlap of their words reach the threshold.
The vectors alone are not enough: two short turns about one thing ("I ran 5 km", "I ran 9 km") are as close as copies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.text import tokenize


def fold(texts: Sequence[str], vectors: NDArray[np.floating], threshold: float) -> list[int]:
    """For each item the place of the first item that it repeats; its own place where it repeats none.

    Args:
        texts: best first.
        vectors: `(n, d)`, rows of length 1 (or 0: like nothing).
        threshold: least cosine and least word overlap (Dice, over distinct words), in (0, 1].
    """
    leaders = list(range(len(texts)))
    close = np.asarray(vectors, dtype=np.float32)
    words: dict[int, frozenset[str]] = {}

    def said(place: int) -> frozenset[str]:
        if place not in words:
            words[place] = frozenset(t.word for t in tokenize(texts[place]))
        return words[place]

    for place in range(1, len(texts)):
        cosines = np.vecdot(close[:place], close[place])
        for earlier in np.flatnonzero(cosines >= threshold - 1e-6).tolist():
            if leaders[earlier] == earlier and _overlap(said(earlier), said(place)) >= threshold:
                leaders[place] = earlier
                break
    return leaders


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Dice coefficient; texts without words are equal only to texts without words."""
    whole = len(one) + len(other)
    return 2 * len(one & other) / whole if whole else 1.0
