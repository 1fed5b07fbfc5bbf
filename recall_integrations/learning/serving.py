"""Chooses the version that answers a recall: a version on trial gets a stable share of the queries."""

from __future__ import annotations

import hashlib

from recall_integrations.learning.shelf import Shelf
from recall_integrations.learning.version import Version
from recall_integrations.ranking.feature_sum import SteppedWeights
from recall_integrations.records import record
from recall_integrations.types import Scope
from recall_integrations.types.judged import RULES

_WHOLE = 2**64


@record(frozen=True, slots=True, kw_only=True)
class Served:
    """The version that answers a recall."""

    version: Version | None = None  # the version; `None` = the rules answer
    tried: bool = False  # whether only a share of the recalls gets it
    ranker: SteppedWeights | None = None  # the fixed sum with its steps; `None` = it has none

    @property
    def label(self) -> str:
        """Label of the version in results and replays: `rules`, `v3`."""
        return RULES if self.version is None else self.version.id


BY_RULES = Served()


def share_of(name: str, version: str, text: str) -> float:
    """Return a number in [0, 1) that is always the same for a scope, a version and a query."""
    said = f"{name}\0{version}\0{' '.join(text.casefold().split())}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big") / _WHOLE


def served(shelf: Shelf, scope: Scope, text: str, share: float) -> Served:
    """Return the version that answers a query."""
    if not shelf.any():
        return BY_RULES
    name = shelf.name_of(scope)
    state = shelf.state(name)
    if state.candidate and share_of(name, state.candidate, text) < share:
        version = shelf.version(name, state.candidate)
        if version is not None:
            return Served(version=version, tried=True, ranker=shelf.ranker(name, version))
    version = shelf.version(name, state.serving)
    return BY_RULES if version is None else Served(version=version, ranker=shelf.ranker(name, version))


def to_replay(shelf: Shelf, scope: Scope) -> tuple[Served, ...]:
    """Return the versions whose orders a replay notes: what serves a scope and what is tried there."""
    if not shelf.any():
        return ()
    name = shelf.name_of(scope)
    state = shelf.state(name)
    versions = [shelf.version(name, one) for one in (state.serving, state.candidate)]
    return tuple(Served(version=one, ranker=shelf.ranker(name, one)) for one in versions if one is not None)
