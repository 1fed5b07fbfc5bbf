"""Chooses a plan for each signature, and a weight for each arm, by what the replays found.

A plan replaces the one of the rules for a signature only where a paired bootstrap over its judged recalls says that
it is better: the interval is widened by the number of plans that were compared (Bonferroni), so that luck promotes
none.

An arm's marginal utility is `nDCG(full) − nDCG(without it)`. Its new weight is `w · (1 + 0.1 · normalize(utility))`, in
[0.1, 3.0]; `normalize` divides by the largest utility there is, so that it is in [−1, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recall_integrations.learning.measuring import PLAN, VERSION, WITHOUT, Gap, compared
from recall_integrations.records import record
from recall_integrations.types.judged import RULES, Judged

__all__ = ["PLAN", "VERSION", "WITHOUT", "Choice", "new_weights", "plans_for", "utilities"]

LEVEL = 0.95
RATE, WEIGHT_MIN, WEIGHT_MAX = 0.1, 0.1, 3.0


@record(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan for a signature."""

    plan: str  # the plan's name
    gap: Gap  # nDCG by which it is better than the rules' choice


def plans_for(judged: Sequence[Judged], *, least: int, position_bias: float, seed: int = 0) -> dict[str, Choice]:
    """Return signature → plan, where another plan than the rules' is better."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        if one.replay is not None and one.positive():
            groups.setdefault(one.signature, []).append(one)
    found = {}
    for signature, own in sorted(groups.items()):
        if len(own) < least:
            continue
        names = sorted(
            {name for one in own if one.replay is not None for name in one.replay.orders if name.startswith(PLAN)}
        )
        level = 1 - (1 - LEVEL) / max(1, len(names))
        gaps = {name: compared(own, name, RULES, position_bias, level=level, seed=seed) for name in names}
        better = [name for name, gap in gaps.items() if gap.low > 0 and gap.n >= least]
        if better:
            best = max(better, key=lambda name: (gaps[name].mean, name))
            found[signature] = Choice(plan=best.removeprefix(PLAN), gap=gaps[best])
    return found


def utilities(judged: Sequence[Judged], position_bias: float, *, seed: int = 0) -> dict[str, Gap]:
    """Return arm → nDCG@5 that it adds."""
    arms = sorted(
        {
            name.removeprefix(WITHOUT)
            for one in judged
            if one.replay is not None
            for name in one.replay.orders
            if name.startswith(WITHOUT)
        }
    )
    return {arm: compared(judged, RULES, f"{WITHOUT}{arm}", position_bias, seed=seed) for arm in arms}


def new_weights(old: Mapping[str, float], utility: Mapping[str, float]) -> dict[str, float]:
    """Return arm → weight after one round. 1 is the weight that the plans give it."""
    most = max((abs(value) for value in utility.values()), default=0.0)
    if not most:
        return dict(old)
    moved = {
        arm: min(max(old.get(arm, 1.0) * (1 + RATE * value / most), WEIGHT_MIN), WEIGHT_MAX)
        for arm, value in utility.items()
    }
    return {**old, **{arm: round(weight, 6) for arm, weight in moved.items()}}
