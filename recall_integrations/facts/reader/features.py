"""What the slot reader sees of a text: its static vector, and its words and pairs of words, hashed.

Hashed words are those of Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (ICML 2009), without
signs: no vocabulary is kept, so no word of a phrasing is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

BUCKETS = 4_096
TEXT_CHARS = 600  # of a text; who tells a slot is brief
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|@")
_DIGIT = re.compile(r"\d")

Places = NDArray[np.int64]


def places(text: str) -> Places:
    """Buckets of the words and pairs of words of a text, ascending, each once. Of a number only its shape counts."""
    words = ["^", *_WORD.findall(_DIGIT.sub("0", text[:TEXT_CHARS].casefold().replace("’", "'"))), "$"]
    grams = (*words[1:-1], *map(" ".join, pairwise(words)))
    return np.unique(np.fromiter((zlib.crc32(gram.encode()) % BUCKETS for gram in grams), np.int64, len(grams)))


def rarity(found: Sequence[Places]) -> NDArray[np.float32]:
    """How much each bucket counts, `(BUCKETS,)`: the smoothed inverse share of texts; 0 for one of fewer than two.

    Args:
        found: `places` of the texts of a training set.
    """
    held = np.bincount(np.concatenate(found), minlength=BUCKETS)
    weights = (np.log((1 + len(found)) / (1 + held)) + 1).astype(np.float32)
    weights[held < 2] = 0
    return weights


def weights_of(found: Places, rare: NDArray[np.float32]) -> NDArray[np.float32]:
    """What each bucket of a text counts, as a unit vector."""
    values = rare[found]
    length = float(np.sqrt(values @ values))
    unit: NDArray[np.float32] = values / length if length else values
    return unit
