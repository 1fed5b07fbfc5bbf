"""Judged recalls that are made up: features of which one tells what helped, and others that are noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from recall_integrations.learning.making import learnable
from recall_integrations.types.judged import RULES, Gain, Judged, Replay

SIZE, SHOWN = 12, 5
Maker = Callable[..., list[Judged]]


def _judged(
    n: int,
    *,
    seed: int = 0,
    strength: float = 1.5,
    told_by: str = "passage_match",
    noise: float = 0.0,
    inverted: bool = False,
    since: int = 0,
    orders: dict[str, float] | None = None,
    signature: str = "plain, vague, short",
) -> list[Judged]:
    """Recalls whose right memory is told by one feature, which the offset knows little of.

    Args:
        n: how many.
        seed: of the draws.
        strength: how far the right one stands out in the feature.
        told_by: the feature.
        noise: share of the recalls in which another memory is said to have helped.
        inverted: whether what helped is told to be what has least of the feature.
        since: time of the first.
        orders: further orders: name → how often the right memory comes first there.
        signature: of all of them.
    """
    rng, names = np.random.default_rng(seed), learnable()
    column = names.index(told_by)
    made = []
    while len(made) < n:
        i = len(made)
        x = rng.normal(size=(SIZE, len(names))).astype(np.float32)
        offset = rng.normal(size=SIZE).astype(np.float32)
        right = int(x[:, column].argmin() if inverted else rng.integers(SIZE))
        if not inverted:
            x[right, column] += np.float32(strength)
            offset[right] += np.float32(0.3)
        order = np.argsort(-offset, kind="stable")
        nums = tuple(range(100, 100 + SIZE))
        rules = tuple(nums[j] for j in order)
        helped = nums[right]
        if rng.random() < noise:
            helped = rules[int(rng.integers(SHOWN))]
        place = rules.index(helped) + 1
        if place > SHOWN:  # nobody saw it
            continue
        others = {RULES: rules}
        for name, share in (orders or {}).items():
            rest = [num for num in rules if num != nums[right]]
            others[name] = tuple([nums[right], *rest] if rng.random() < share else [*rest, nums[right]])
        made.append(
            Judged(
                result_id=f"{seed}-{i}",
                at=since + i,
                signature=signature,
                gains=(Gain(num=helped, gain=1.0, place=place),),
                replay=Replay(plan="balanced", orders=others, nums=nums, offset=offset, names=names, x=x),
            )
        )
    return made


@pytest.fixture(scope="session")
def judged_of() -> Maker:
    """Makes judged recalls."""
    return _judged
