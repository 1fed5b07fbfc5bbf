"""Make a version from the judged recalls of a scope: steps from the shipped weights, plans, and weights of arms.

What is learned is checked on recalls that it was not made from, before anybody gets it; four times, each with another
quarter kept apart (cross-fitting), so that every recall has its say.

Steps: the model is the fixed sum with a step for each feature: `score = offset + Σ step · x`, where `offset` is the
score by the shipped weights with all that the plan lifts. Without steps it is the shipped order, so nothing has to be
learned again. Steps minimise the listwise loss `−Σ w · gain · ln softmax(score)` over the candidates of each judged
recall (ListNet: Cao et al. 2007), each weighted by its inverse propensity (`measuring`), plus `λ/2 · n · Σ step²`. It
is convex; Newton's method finds the minimum in a few steps. λ is the one of `PENALTIES` whose steps are best on the
quarters kept apart; where none is better than no step, there is none.

Arms: the marginal utility of one is `nDCG(full) − nDCG(without it)`; its new weight is
`w · (1 + 0.1 · normalize(utility))`, in [0.1, 3.0]; `normalize` divides by the largest utility.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from recall_integrations.learning.measuring import (
    DEPTH,
    PLAN,
    QUERIES_MIN,
    WITHOUT,
    Gap,
    bootstrap,
    compared,
    gains_by_num,
    ideal_of,
    net_gains,
    noise_of,
    query_of,
    told,
    weights_of,
)
from recall_integrations.learning.versions import WEIGHT_MAX, WEIGHT_MIN, Version
from recall_integrations.ranking.feature_sum import STEP_MAX, FixedWeights
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.records import record
from recall_integrations.text.shortening import number_of
from recall_integrations.types.judged import RULES, Judged, Order, Replay, place_worth

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01)
FOLDS = 4
NEWTON_MAX = 25
ENOUGH = 1e-4  # change of a step below which it is found
# Rows of one product of matrices. BLAS shares out larger ones among its threads, which wait for each other in a loop:
# beside a process that takes recalls, or in a container with fewer cores, that takes ten times as long.
ROWS = 256
Numbers = NDArray[np.float64]
_DISCOUNTS = np.asarray([place_worth(place) for place in range(1, DEPTH + 1)])


@record(frozen=True, slots=True, kw_only=True)
class Lists:
    """Candidates of many queries, one below the other. A query that was asked again, and found the same, is there once,
    with all that was said: it teaches the same, and takes no longer.
    """

    names: tuple[str, ...]  # names of the features
    x: Numbers  # features, `(candidates, features)`
    offset: Numbers  # scores by the shipped weights, `(candidates,)`
    nums: NDArray[np.int64]  # numbers of the memories, `(candidates,)`
    target: Numbers  # share of each candidate in what its query gained, `(candidates,)`; sums to 1 in each
    # nDCG@5 that each candidate adds at the first place, less what is said of one that answers nothing
    # (`measuring.net_gains`), `(candidates,)`
    value: Numbers
    starts: NDArray[np.int64]  # place where each query begins, `(queries,)`
    weight: Numbers  # weight of each query, `(queries,)`; they sum to the number of recalls
    # number of each query, which those share that are the same and found something else, `(queries,)`
    queries: NDArray[np.int64]
    recalls: int  # number of recalls


def lists_of(judged: Sequence[Judged], names: tuple[str, ...]) -> Lists | None:
    """Return what can be learned from: recalls in which a candidate helped; `None` where there is none."""
    groups: dict[tuple[Order, bytes], list[tuple[Judged, Numbers]]] = {}
    for one in judged:
        replay = one.replay
        if replay is None or len(replay.nums) < 2:
            continue
        gains = gains_by_num(one)
        target = np.asarray([gains.get(num, 0.0) for num in replay.nums], dtype=np.float64)
        if target.sum() > 0:
            key = replay.nums, replay.offset.tobytes()
            groups.setdefault(key, []).append((one, target / target.sum()))
    if not groups:
        return None
    kept = [one for own in groups.values() for one, _ in own]
    noise, factor = noise_of(kept), len(kept) / weights_of(kept).sum()
    xs, offsets, targets, values, weights = [], [], [], [], []
    for own in groups.values():
        replay = own[0][0].replay
        assert replay is not None
        own_weights = factor * weights_of([one for one, _ in own])
        total = float(own_weights.sum())
        xs.append(_columns(replay, names))
        offsets.append(replay.offset.astype(np.float64))
        targets.append(own_weights @ np.stack([target for _, target in own]) / total)
        values.append(own_weights @ np.stack([_values(one, noise) for one, _ in own]) / total)
        weights.append(total)
    return Lists(
        names=names,
        x=np.concatenate(xs),
        offset=np.concatenate(offsets),
        nums=np.concatenate([np.asarray(nums, np.int64) for nums, _ in groups]),
        target=np.concatenate(targets),
        value=np.concatenate(values),
        starts=np.concatenate([[0], np.cumsum([len(nums) for nums, _ in groups])[:-1]]).astype(np.int64),
        weight=np.asarray(weights),
        queries=np.asarray([query_of(own[0][0]) for own in groups.values()], np.int64),
        recalls=len(kept),
    )


def _columns(replay: Replay, names: tuple[str, ...]) -> Numbers:
    """Return the features in the order of `names`; zeros where a replay has none."""
    if replay.names == names:
        return replay.x.astype(np.float64)
    places = {name: i for i, name in enumerate(replay.names)}
    x = np.zeros((len(replay.nums), len(names)))
    for i, name in enumerate(names):
        if name in places:
            x[:, i] = replay.x[:, places[name]]
    return x


def _values(one: Judged, noise: float) -> Numbers:
    assert one.replay is not None
    net = net_gains(one, noise)
    return np.asarray([net.get(num, 0.0) for num in one.replay.nums]) / ideal_of(gains_by_num(one))


def fitted(lists: Lists, penalty: float, begin: Numbers | None = None) -> Numbers:
    """Return the steps of a penalty: the minimum of the loss, each at most `STEP_MAX`."""
    n, size = float(lists.weight.sum()), len(lists.names)
    sizes = np.diff(np.append(lists.starts, len(lists.offset)))
    weight = np.repeat(lists.weight, sizes)
    # Features without spread say nothing here; a ridge on standardised features treats all alike.
    scale = np.maximum(lists.x.std(axis=0), 0.05)
    x, steps = lists.x / scale, np.zeros(size) if begin is None else begin * scale
    wanted = _product(x, weight * lists.target)
    for _ in range(NEWTON_MAX):
        p = _shares(lists.offset + _sums(x, steps), lists.starts, sizes)
        means = np.add.reduceat(p[:, None] * x, lists.starts, axis=0)
        gradient = _product(means, lists.weight) - wanted + penalty * n * steps
        curved = _product(x, (weight * p)[:, None] * x) - _product(means, lists.weight[:, None] * means)
        move = np.linalg.solve(curved + penalty * n * np.eye(size), gradient)
        longest = float(np.abs(move).max(initial=0.0))
        steps = steps - move / max(1.0, longest)  # never further than 1 at once
        if longest < ENOUGH:
            break
    found: Numbers = np.clip(steps / scale, -STEP_MAX, STEP_MAX)
    return found


def _product(x: Numbers, y: Numbers) -> Numbers:
    """Return `xᵀ y`, computed `ROWS` rows at a time."""
    whole, columns = len(x) // ROWS * ROWS, y.shape[1:] or (1,)
    blocks = x[:whole].reshape(-1, ROWS, x.shape[1]).transpose(0, 2, 1) @ y[:whole].reshape(-1, ROWS, *columns)
    found: Numbers = blocks.sum(axis=0) + x[whole:].T @ y[whole:].reshape(-1, *columns)
    return found.reshape(x.shape[1], *y.shape[1:])


def _sums(x: Numbers, steps: Numbers) -> Numbers:
    """Return `x steps`, computed `ROWS` rows at a time."""
    whole = len(x) // ROWS * ROWS
    first = (x[:whole].reshape(-1, ROWS, x.shape[1]) @ steps).reshape(-1)
    return np.concatenate([first, x[whole:] @ steps])


def _shares(scores: Numbers, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Numbers:
    """Return the softmax of each query's candidates."""
    most = np.maximum.reduceat(scores, starts)
    raised = np.exp(scores - np.repeat(most, sizes))
    shares: Numbers = raised / np.repeat(np.add.reduceat(raised, starts), sizes)
    return shares


def figures(lists: Lists, steps: Numbers) -> Numbers:
    """Return the nDCG@5 of each query with steps, less what is said of a memory that answers nothing."""
    scores = lists.offset + _sums(lists.x, steps)
    found = []
    for start, end in zip(lists.starts.tolist(), [*lists.starts[1:].tolist(), len(scores)], strict=True):
        best = np.lexsort((lists.nums[start:end], -scores[start:end]))[:DEPTH]
        found.append(float(_DISCOUNTS[: len(best)] @ lists.value[start:end][best]))
    return np.asarray(found)


@record(frozen=True, slots=True, kw_only=True)
class Learned:
    """Steps with their gain."""

    steps: Mapping[str, float]  # feature → step; empty where none are better than none
    gap: Gap | None = None  # gap of steps of that penalty to none, on recalls that they were not made from


def learned_steps(lists: Lists, *, level: float = 0.90, length_max: float = np.inf) -> Learned:
    """Return the steps, made of all recalls, and their gain, measured part by part with steps of the other parts.

    Recalls of the same query are in the same part.
    """
    fold = lists.queries % FOLDS
    if len(np.unique(lists.queries)) < 2 * FOLDS or len(np.unique(fold)) < FOLDS:
        return Learned(steps={})
    none = figures(lists, np.zeros(len(lists.names)))
    best, chosen, gaps = 1e-9, None, none
    parts = [(_part(lists, fold != part), _part(lists, fold == part)) for part in range(FOLDS)]
    begin: list[Numbers | None] = [None] * FOLDS
    for penalty in PENALTIES:
        got = np.zeros(len(fold))
        for part, (others, held) in enumerate(parts):
            begin[part] = fold_steps = fitted(others, penalty, begin[part])
            got[fold == part] = figures(held, _clipped(fold_steps, length_max))
        value = float(lists.weight @ (got - none))
        if value > best:
            best, chosen, gaps = value, penalty, got - none
    if chosen is None:
        return Learned(steps={})
    gap = bootstrap(gaps, lists.weight, queries=lists.queries.tolist(), level=level)
    steps = zip(lists.names, _clipped(fitted(lists, chosen), length_max).tolist(), strict=True)
    return Learned(
        steps={name: round(step, 4) for name, step in steps if abs(step) >= 5e-5},
        gap=replace(gap, n=lists.recalls),
    )


def _part(lists: Lists, keep: NDArray[np.bool_]) -> Lists:
    sizes = np.diff(np.append(lists.starts, len(lists.offset)))
    rows = np.repeat(keep, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[keep])[:-1]]).astype(np.int64)
    return replace(
        lists,
        x=lists.x[rows],
        offset=lists.offset[rows],
        nums=lists.nums[rows],
        target=lists.target[rows],
        value=lists.value[rows],
        starts=starts,
        weight=lists.weight[keep],
        queries=lists.queries[keep],
    )


def _clipped(steps: Numbers, length_max: float) -> Numbers:
    return steps * min(1.0, length_max / max(float(np.linalg.norm(steps)), 1e-9))


PLANS_LEVEL = 0.95  # probability of the interval of a plan, widened by the number of plans compared (Bonferroni)
RATE = 0.1  # of an arm's weight by its utility, in one round


def plans_for(judged: Sequence[Judged], *, least: int) -> dict[str, str]:
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
        gaps = {name: compared(own, name, RULES, level=level) for name in names}
        better = [name for name, gap in gaps.items() if gap.low > 0 and gap.n >= least]
        if better:
            found[signature] = max(better, key=lambda name: (gaps[name].mean, name)).removeprefix(PLAN)
    return found


def utilities(judged: Sequence[Judged]) -> dict[str, float]:
    """Return arm → nDCG@5 that it adds, where a bootstrap tells that from 0."""
    arms = sorted(
        {
            name.removeprefix(WITHOUT)
            for one in judged
            if one.replay is not None
            for name in one.replay.orders
            if name.startswith(WITHOUT)
        }
    )
    gaps = {arm: compared(judged, RULES, f"{WITHOUT}{arm}") for arm in arms}
    return {arm: gap.mean for arm, gap in gaps.items() if gap.low > 0 or gap.high < 0}


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
    found, why = _steps(usable) if steps else ({}, "another ranker orders")
    plans = plans_for(usable, least=least)
    told_apart = utilities(usable)
    arms = {} if parent is None else dict(parent.arms)
    moved = new_weights(arms, told_apart)
    if not found and not plans and moved == arms:
        because = f"no steps ({why}), no signature whose plan should be another, no arm whose weight should move"
        return Made(version=None, because=because)
    version = Version(
        id=version_id,
        parent=RULES if parent is None else parent.id,
        judged=len(usable),
        steps=found,
        arms={arm: weight for arm, weight in moved.items() if weight != 1.0},
        plans=plans,
        ranker=FixedWeights.version,
    )
    parts = [f"{len(found)} steps ({why})"] if found else []
    parts += [f"{len(plans)} signatures with a plan of their own"] if plans else []
    parts += [f"weights of {', '.join(sorted(told_apart))}"] if told_apart else []
    return Made(version=version, because=", ".join(parts))


def _steps(usable: Sequence[Judged]) -> tuple[Mapping[str, float], str]:
    """Return steps that are better on recalls that they were not made from; else none, and why."""
    lists = lists_of(usable, learnable())
    if lists is None:
        return {}, "no judged memory is among the candidates"
    found = learned_steps(lists, level=LEVEL, length_max=LENGTH_MAX)
    if found.gap is None:
        return {}, "the shipped weights are as good"
    if found.gap.low <= 0:
        return {}, f"not better on held-out recalls: {told(found.gap)}"
    return found.steps, f"on held-out recalls {told(found.gap)}"


def learnable() -> tuple[str, ...]:
    """Return the features that may get a step: those of the fixed sum."""
    return tuple(FEATURES.weights)
