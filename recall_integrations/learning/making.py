"""Make a version from the judged recalls of a scope.

It is checked on recalls that it was not made from, before anybody gets it; four times, each with another quarter kept
apart (cross-fitting), so that every recall has its say. An arm's marginal utility is `nDCG(full) − nDCG(without it)`;
its new weight is `w · (1 + 0.1 · normalize(utility))`, in [0.1, 3.0]; `normalize` divides by the largest utility.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from recall_integrations import __version__
from recall_integrations.learning.measuring import PLAN, QUERIES_MIN, WITHOUT, Gap, compared, mean_ndcg, told
from recall_integrations.learning.steps import learned_steps, lists_of
from recall_integrations.learning.version import WEIGHT_MAX, WEIGHT_MIN, Version
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.records import record
from recall_integrations.text.shortening import number_of
from recall_integrations.types.judged import RULES, Judged

PLANS_LEVEL = 0.95  # probability of the interval of a plan, widened by the number of plans compared (Bonferroni)
RATE = 0.1  # of an arm's weight by its utility, in one round


@record(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan for a signature."""

    plan: str  # the plan's name
    gap: Gap  # nDCG by which it is better than the rules' choice


def plans_for(judged: Sequence[Judged], *, least: int, seed: int = 0) -> dict[str, Choice]:
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
        level = 1 - (1 - PLANS_LEVEL) / max(1, len(names))
        gaps = {name: compared(own, name, RULES, level=level, seed=seed) for name in names}
        better = [name for name, gap in gaps.items() if gap.low > 0 and gap.n >= least]
        if better:
            best = max(better, key=lambda name: (gaps[name].mean, name))
            found[signature] = Choice(plan=best.removeprefix(PLAN), gap=gaps[best])
    return found


def utilities(judged: Sequence[Judged], *, seed: int = 0) -> dict[str, Gap]:
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
    return {arm: compared(judged, RULES, f"{WITHOUT}{arm}", seed=seed) for arm in arms}


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


LEVEL = 0.90  # probability of the interval on the held-out recalls: better with a probability of 95 %
LENGTH_MAX = 3.0  # length of all steps together
COLD = int(timedelta(days=30) / timedelta(microseconds=1))  # of feedback, from which on few recalls are enough


@record(frozen=True, slots=True, kw_only=True)
class Made:
    """The result of learning."""

    version: Version | None  # the version; `None` = nothing better was learned
    because: str  # reason in words
    too_few: bool = False  # whether too little was judged yet to learn anything


def made(
    judged: Sequence[Judged],
    *,
    version_id: str,
    now: int,
    parent: Version | None,
    least: int,
    steps: bool = True,
) -> Made:
    """Make a version for one scope, if what is learned is better than rules on recalls that it was not made from.

    Rules answer until `least` recalls are judged, or some since a month. Weights of arms are learned where it shows
    what an arm adds, also without steps and plans.
    """
    usable = [one for one in judged if one.replay is not None and one.positive()]
    if usable and now - min(one.at for one in usable) >= COLD:
        least = min(least, QUERIES_MIN)
    if len(usable) < least:
        because = f"judged helpful and replayed: {number_of(len(usable), 'recall')}, {least} are needed"
        return Made(version=None, because=because, too_few=True)
    found, gap, why = _steps(usable) if steps else ({}, None, "another ranker orders")
    plans = plans_for(usable, least=least)
    worth = utilities(usable)
    told_apart = {arm: g.mean for arm, g in worth.items() if g.low > 0 or g.high < 0}
    arms = {} if parent is None else dict(parent.arms)
    moved = new_weights(arms, told_apart)
    if not found and not plans and moved == arms:
        because = f"no steps ({why}), no signature whose plan should be another, no arm whose weight should move"
        return Made(version=None, because=because)
    arms = moved
    version = Version(
        id=version_id,
        parent=RULES if parent is None else parent.id,
        made_at=now,
        data_from=min(one.at for one in usable),
        data_to=max(one.at for one in usable),
        judged=len(usable),
        held_out=0 if gap is None else gap.n,
        steps=found,
        arms={arm: weight for arm, weight in arms.items() if weight != 1.0},
        plans={signature: choice.plan for signature, choice in plans.items()},
        figures={
            "rules_ndcg@5": round(mean_ndcg(usable, RULES)[0], 4),
            "steps_on_held_out": None if gap is None else _figures(gap),
            "plans": {signature: _figures(choice.gap) for signature, choice in plans.items()},
            "arms": {arm: _figures(g) for arm, g in worth.items()},
        },
        ranker=FixedWeights.version,
        package=__version__,
    )
    parts = [f"{len(found)} steps ({why})"] if found else []
    parts += [f"{len(plans)} signatures with a plan of their own"] if plans else []
    parts += [f"weights of {', '.join(sorted(told_apart))}"] if told_apart else []
    return Made(version=version, because=", ".join(parts))


def _steps(usable: Sequence[Judged]) -> tuple[Mapping[str, float], Gap | None, str]:
    """Return steps that are better on recalls that they were not made from; else none, and why."""
    lists = lists_of(usable, learnable())
    if lists is None:
        return {}, None, "no judged memory is among the candidates"
    found = learned_steps(lists, level=LEVEL, length_max=LENGTH_MAX)
    if found.gap is None:
        return {}, None, "the shipped weights are as good"
    if found.gap.low <= 0:
        return {}, found.gap, f"not better on held-out recalls: {told(found.gap)}"
    return found.steps, found.gap, f"on held-out recalls {told(found.gap)}"


def learnable() -> tuple[str, ...]:
    """Return the features that may get a step: those of the fixed sum."""
    return tuple(FEATURES.weights)


def _figures(gap: Gap) -> dict[str, float]:
    return {"mean": round(gap.mean, 4), "low": round(gap.low, 4), "high": round(gap.high, 4), "n": gap.n}
