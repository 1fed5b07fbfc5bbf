"""Shared weights: what many scopes teach alike, for scopes that have too little of their own. No data is shared.

Each scope gives the steps that were learned there, no longer than `STEP_LENGTH` together. The step of each feature is
the trimmed mean: the highest and the lowest fifth of the scopes do not count (Yin et al. 2018, "Byzantine-Robust
Distributed Learning"). So one scope, whatever it says, moves a step by no more than `influence_max`, and a fifth of
all of them, together, cannot move it beyond what the others say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from recall_integrations import __version__
from recall_integrations.learning.deciding import told
from recall_integrations.learning.making import LEVEL, Made, gained, held_out, learnable
from recall_integrations.learning.measuring import bootstrap
from recall_integrations.learning.steps import clipped, fitted, lists_of
from recall_integrations.learning.version import Version
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.types.judged import RULES, Judged

SCOPES_MIN = 5
STEP_LENGTH = 1.0
TRIMMED = 0.2  # share of the scopes that does not count at either end
PENALTY = 0.1  # penalty of each scope's steps


def influence_max(scopes: int) -> float:
    """Return how far one scope can move a step of the shared weights."""
    left = scopes - 2 * math.ceil(TRIMMED * scopes)
    return 2 * STEP_LENGTH / max(1, left)


def trimmed_mean(steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean step of each feature, without the highest and the lowest fifth."""
    cut = math.ceil(TRIMMED * len(steps))
    found = {}
    for name in sorted({name for one in steps for name in one}):
        values = sorted(one.get(name, 0.0) for one in steps)
        middle = values[cut : len(values) - cut]
        value = round(sum(middle) / len(middle), 4) if middle else 0.0
        if value:
            found[name] = value
    return found


def pooled(
    judged: Mapping[str, Sequence[Judged]],
    *,
    version_id: str,
    now: int,
    parent: Version | None,
    least: int,
    position_bias: float,
) -> Made:
    """Make shared weights of all scopes, if they are better in most of them on recalls that they were not made from."""
    names = learnable()
    steps, held, used, last, first, count = [], [], 0, 0, now, 0
    for _, own in sorted(judged.items()):
        usable = [one for one in own if one.replay is not None and one.positive()]
        if len(usable) < least:
            continue
        lists = lists_of([one for one in usable if not held_out(one)], names, position_bias)
        apart = lists_of([one for one in usable if held_out(one)], names, position_bias)
        if lists is None or apart is None:
            continue
        found = dict(zip(names, fitted(lists, PENALTY).tolist(), strict=True))
        steps.append(clipped(found, STEP_LENGTH))
        held.append(apart)
        used += len(usable)
        count += apart.recalls
        first, last = min(first, *(one.at for one in usable)), max(last, *(one.at for one in usable))
    if len(steps) < SCOPES_MIN:
        because = f"{len(steps)} scopes have enough judged recalls, {SCOPES_MIN} are needed"
        return Made(version=None, because=because, too_few=True)
    shared = trimmed_mean(steps)
    means = np.asarray([gained(apart, shared).mean for apart in held])
    gap = bootstrap(means, level=LEVEL)
    if not shared or gap.low <= 0:
        return Made(version=None, because=f"not better in most scopes: {told(gap)} scopes", gap=gap)
    version = Version(
        id=version_id,
        parent=RULES if parent is None else parent.id,
        made_at=now,
        data_from=first,
        data_to=last,
        judged=used,
        held_out=count,
        steps=shared,
        figures={"scopes": len(steps), "gap_by_scope": {"mean": round(gap.mean, 4), "low": round(gap.low, 4)}},
        ranker=FixedWeights.version,
        package=__version__,
    )
    return Made(
        version=version, because=f"{len(shared)} steps shared by {len(steps)} scopes: {told(gap)} scopes", gap=gap
    )
