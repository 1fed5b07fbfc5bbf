"""Look through a copy of Chroma's directory; as a process of its own where its files may be damaged.

python -m recall_integrations.store.doctor.apart DIRECTORY < samples.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np

from recall_integrations.indexes.vectors import SemanticIndex, finds_itself, of_home

_NEAREST = 4


class Seen(TypedDict):
    """The contents of a copy of the semantic index."""

    nums: dict[str, list[int]]  # of the memories in each collection
    missed: dict[str, int]  # number of samples that a collection does not find


def look(directory: Path, samples: Mapping[str, Mapping[int, list[float]]]) -> Seen:
    """List the memories in the collections, and let the collections find samples of their own vectors."""
    index = SemanticIndex(directory)
    try:
        nums = {name: found.tolist() for name, found in index.nums().items()}
        missed = {}
        for name, vectors in samples.items():
            missed[name] = 0
            for vector in vectors.values() if name in nums else ():
                _, cosines = index.nearest(of_home(name), np.asarray(vector, dtype=np.float32), _NEAREST)
                missed[name] += not finds_itself(cosines)
        return Seen(nums=nums, missed=missed)
    finally:
        index.close()


if __name__ == "__main__":
    print(json.dumps(look(Path(sys.argv[1]), json.load(sys.stdin))))
