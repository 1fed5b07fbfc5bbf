"""A sample that is spread over groups, and that stays much the same when the groups change a little."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence


def spread_sample(groups: Mapping[str, Sequence[str]], count: int | None, seed: int) -> tuple[str, ...]:
    """Ids by group, groups in alphabetical order: all, or about `count` in proportion, one of each group at least.

    Within a group they are drawn by a hash of the seed and the id: an id that leaves or joins moves no more than one
    other.
    """
    shares = _shares({name: len(own) for name, own in sorted(groups.items())}, count)
    return tuple(
        one
        for name, share in shares.items()
        for one in sorted(groups[name], key=lambda id_: hashlib.blake2b(f"{seed}:{id_}".encode()).digest())[:share]
    )


def _shares(sizes: Mapping[str, int], count: int | None) -> dict[str, int]:
    """How many of each group: by largest remainder, ties by name."""
    total = sum(sizes.values())
    if count is None or count >= total:
        return dict(sizes)
    exact = {name: count * size / total for name, size in sizes.items()}
    shares = {name: max(1, int(share)) for name, share in exact.items()}
    while sum(shares.values()) != count:
        step = 1 if sum(shares.values()) < count else -1
        free = [n for n in shares if (shares[n] < sizes[n] if step > 0 else shares[n] > 1)]
        if not free:
            break
        shares[max(free, key=lambda n: step * (exact[n] - shares[n]))] += step
    return shares
