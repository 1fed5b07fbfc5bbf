"""Tells whether two names of slots are the same: "locker code" and "the code of my locker"."""

from __future__ import annotations

from functools import lru_cache

from recall_integrations.text import stems


@lru_cache(maxsize=4_096)
def _stems(name: str) -> frozenset[str]:
    return frozenset(stems(name))


def alike(one: str, other: str) -> bool:
    """Say whether two names hold the same words, in any order and form; words that say nothing are left out."""
    own = _stems(one)
    return bool(own) and own == _stems(other)
