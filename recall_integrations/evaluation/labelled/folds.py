"""Folds of a cross-validation, in which what belongs together is never in two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


def folds_of(groups: Sequence[str], folds: int, seed: int) -> list[int]:
    """Return the fold of each item: groups stay whole, and go, the largest first, into the emptiest fold."""
    sizes = Counter(groups)
    names = sorted(sizes)
    shuffled = [names[i] for i in np.random.default_rng(seed).permutation(len(names)).tolist()]
    filled = [0] * min(folds, len(names))
    place = {}
    for name in sorted(shuffled, key=lambda n: -sizes[n]):
        place[name] = filled.index(min(filled))
        filled[place[name]] += sizes[name]
    return [place[g] for g in groups]
