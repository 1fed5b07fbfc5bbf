"""Questions with what was found for them, as what teaches the pairing and the matching takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall_integrations.facts.latest import Candidate


@dataclass(frozen=True)
class Asked:
    query: str
    group: str
    candidates: tuple[Candidate, ...]
    own: NDArray[np.bool_]
    right: NDArray[np.bool_]
    stale: NDArray[np.bool_]


def asked(query: str, told: str, other: str, group: str = "a") -> Asked:
    candidates = tuple(Candidate(text=text, score=0.5, of=(True,), speaker="") for text in (other, told, "why?"))
    flags = np.asarray([[True, True, False], [False, True, False], [False, False, False]])
    return Asked(query, group, candidates, *flags)
