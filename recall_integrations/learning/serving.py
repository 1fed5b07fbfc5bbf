"""Chooses the version that answers a recall: a version on trial gets a stable share of the queries."""

from __future__ import annotations

import hashlib

from recall_integrations.learning.shelf import SHARED, Shelf
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
    own: bool = True  # whether it was learned in the scope itself, and not from all scopes
    tried: bool = False  # whether only a share of the recalls gets it
    ranker: SteppedWeights | None = None  # the fixed sum with its steps; `None` = it has none

    @property
    def label(self) -> str:
        """Label of the version: `rules`, `v3`, `shared v2`."""
        return label_of(self.version, own=self.own)


BY_RULES = Served()


def label_of(version: Version | None, *, own: bool) -> str:
    """Return the label of a version in results and replays."""
    if version is None:
        return RULES
    return version.id if own else f"{SHARED} {version.id}"


def share_of(name: str, version: str, text: str) -> float:
    """Return a number in [0, 1) that is always the same for a scope, a version and a query."""
    said = f"{name}\0{version}\0{' '.join(text.casefold().split())}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big") / _WHOLE


def served(shelf: Shelf, scope: Scope, text: str, share: float, shared: bool = True) -> Served:
    """Return the version that answers a query."""
    if not shelf.any():
        return BY_RULES
    for name, own in ((shelf.name_of(scope), True), (SHARED, False)):
        if not own and not shared:
            break
        state = shelf.state(name)
        if state.candidate and share_of(name, state.candidate, text) < share:
            version = shelf.version(name, state.candidate)
            if version is not None:
                return _served(shelf, name, version, own=own, tried=True)
        if state.serving != RULES:
            version = shelf.version(name, state.serving)
            if version is not None:
                return _served(shelf, name, version, own=own, tried=False)
    return BY_RULES


def _served(shelf: Shelf, name: str, version: Version, *, own: bool, tried: bool) -> Served:
    return Served(version=version, own=own, tried=tried, ranker=shelf.ranker(name, version))


def to_replay(shelf: Shelf, scope: Scope, shared: bool = True) -> tuple[tuple[str, Served], ...]:
    """Return the versions whose orders a replay notes: what serves a scope and what is tried there, by label."""
    if not shelf.any():
        return ()
    found = {}
    for name, own in ((shelf.name_of(scope), True), (SHARED, False)):
        if not own and not shared:
            break
        state = shelf.state(name)
        for version_id in (state.serving, state.candidate):
            version = shelf.version(name, version_id)
            if version is not None:
                found[label_of(version, own=own)] = _served(shelf, name, version, own=own, tried=False)
    return tuple(found.items())
