"""Questions with what was found for them, as what teaches to compare questions and texts takes them."""

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
    at: NDArray[np.int64]


def asked(query: str, told: str, other: str, group: str = "a") -> Asked:
    candidates = tuple(Candidate(text=text, score=0.5, of=(True,), speaker="") for text in (other, told, "why?"))
    flags = np.asarray([[True, True, False], [False, True, False], [False, False, False]])
    return Asked(query, group, candidates, *flags, at=np.arange(3))


def followed_by(query: str, told: list[tuple[str, str]], group: str = "a") -> Asked:
    """A question, and what was told, oldest first: marks and texts as in scenes (`benchmarks.facts.scenes`)."""
    candidates = tuple(Candidate(text=text, score=0.5, of=(True,), speaker="") for _, text in told)
    own, right, stale = (np.asarray([mark in marks for mark, _ in told]) for marks in ("+-~", "+", "-"))
    return Asked(query, group, candidates, own, right, stale, at=np.arange(len(told)))
