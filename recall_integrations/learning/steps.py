"""Steps from the shipped weights, learned from judged recalls.

The model is the fixed sum with a step for each feature: `score = offset + Σ step · x`, where `offset` is the score by
the shipped weights with all that the plan lifts. Without steps it is the shipped order, so nothing has to be learned
again. Steps minimise the listwise loss `−Σ w · gain · ln softmax(score)` over the candidates of each judged recall
(ListNet: Cao et al. 2007), each weighted by its inverse propensity (`measuring`), plus `λ/2 · n · Σ step²`. It is
convex; Newton's method finds the minimum in a few steps. λ is the one of `PENALTIES` whose steps are best on parts of
the judged recalls that they were not made from; where none is better than no step, there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.learning.measuring import DEPTH, gains_by_num, ndcg, weights_of
from recall_integrations.ranking.rankers.stepped import STEP_MAX
from recall_integrations.records import record
from recall_integrations.types.judged import Judged

PENALTIES = (1.0, 0.3, 0.1, 0.03, 0.01)
FOLDS = 4
NEWTON_MAX = 25
ENOUGH = 1e-4  # change of a step below which it is found
# Rows of one product of matrices. Larger ones are shared out among the threads of BLAS, which wait for each other
# turning: beside a process that takes recalls, or in a container with less than its cores, that takes ten times as long.
ROWS = 256
Numbers = NDArray[np.float64]


@record(frozen=True, slots=True, kw_only=True)
class Lists:
    """Candidates of many recalls, one below the other.

    Args:
        names: of the features.
        x: `(candidates, features)`.
        offset: `(candidates,)`.
        target: share of each candidate in what its recall gained, `(candidates,)`; sums to 1 in each.
        starts: where each recall begins, `(recalls,)`.
        weight: of each recall, `(recalls,)`; they sum to the number of recalls.
        judged: the recalls.
    """

    names: tuple[str, ...]
    x: Numbers
    offset: Numbers
    target: Numbers
    starts: NDArray[np.int64]
    weight: Numbers
    judged: tuple[Judged, ...]


def lists_of(judged: Sequence[Judged], names: tuple[str, ...], position_bias: float) -> Lists | None:
    """What can be learned from: recalls of which a candidate helped; `None` where there is none.

    Args:
        judged: recalls.
        names: of the features that get steps.
        position_bias: see `measuring`.
    """
    xs, offsets, targets, sizes, kept = [], [], [], [], []
    for one in judged:
        replay = one.replay
        if replay is None or len(replay.nums) < 2:
            continue
        gains = gains_by_num(one, position_bias)
        target = np.asarray([gains.get(num, 0.0) for num in replay.nums], dtype=np.float64)
        if target.sum() <= 0:
            continue
        places = {name: i for i, name in enumerate(replay.names)}
        x = np.zeros((len(replay.nums), len(names)))
        for i, name in enumerate(names):
            if name in places:
                x[:, i] = replay.x[:, places[name]]
        xs.append(x)
        offsets.append(replay.offset.astype(np.float64))
        targets.append(target / target.sum())
        sizes.append(len(replay.nums))
        kept.append(one)
    if not kept:
        return None
    weight = weights_of(kept, position_bias)
    return Lists(
        names=names,
        x=np.concatenate(xs),
        offset=np.concatenate(offsets),
        target=np.concatenate(targets),
        starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        weight=weight * len(kept) / weight.sum(),
        judged=tuple(kept),
    )


def fitted(lists: Lists, penalty: float, begin: Numbers | None = None) -> Numbers:
    """The steps of a penalty: the minimum of the loss, each at most `STEP_MAX`.

    Args:
        lists: to learn from.
        penalty: λ.
        begin: steps near it, such as those of another penalty; `None` = none. It is found sooner.
    """
    n, size = len(lists.starts), len(lists.names)
    sizes = np.diff(np.append(lists.starts, len(lists.offset)))
    weight = np.repeat(lists.weight, sizes)
    # Features whose spread is nothing have nothing to say here; a ridge on standardised features treats all alike.
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
    """`xᵀ y`, `ROWS` rows at a time."""
    whole, columns = len(x) // ROWS * ROWS, y.shape[1:] or (1,)
    blocks = x[:whole].reshape(-1, ROWS, x.shape[1]).transpose(0, 2, 1) @ y[:whole].reshape(-1, ROWS, *columns)
    found: Numbers = blocks.sum(axis=0) + x[whole:].T @ y[whole:].reshape(-1, *columns)
    return found.reshape(x.shape[1], *y.shape[1:])


def _sums(x: Numbers, steps: Numbers) -> Numbers:
    """`x steps`, `ROWS` rows at a time."""
    whole = len(x) // ROWS * ROWS
    first = (x[:whole].reshape(-1, ROWS, x.shape[1]) @ steps).reshape(-1)
    return np.concatenate([first, x[whole:] @ steps])


def _shares(scores: Numbers, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Numbers:
    """The softmax of each recall's candidates."""
    most = np.maximum.reduceat(scores, starts)
    raised = np.exp(scores - np.repeat(most, sizes))
    shares: Numbers = raised / np.repeat(np.add.reduceat(raised, starts), sizes)
    return shares


def figures(lists: Lists, steps: Numbers, position_bias: float) -> Numbers:
    """nDCG@5 of each recall with steps."""
    scores = lists.offset + _sums(lists.x, steps)
    ends = [*lists.starts[1:].tolist(), len(scores)]
    found = []
    for one, start, end in zip(lists.judged, lists.starts.tolist(), ends, strict=True):
        assert one.replay is not None
        best = np.lexsort((np.asarray(one.replay.nums), -scores[start:end]))[:DEPTH]
        found.append(ndcg(tuple(one.replay.nums[i] for i in best), gains_by_num(one, position_bias)))
    return np.asarray(found)


def learned_steps(lists: Lists, position_bias: float, *, seed: int = 0) -> tuple[dict[str, float], float | None]:
    """The steps, and the penalty that was chosen; no steps and `None` where none are better than none.

    Args:
        lists: to learn from.
        position_bias: see `measuring`.
        seed: of the parts.
    """
    n = len(lists.starts)
    if n < 2 * FOLDS:
        return {}, None
    fold = np.random.default_rng(seed).permutation(n) % FOLDS
    none = figures(lists, np.zeros(len(lists.names)), position_bias)
    best, chosen = float(lists.weight @ none), None
    parts = [(_part(lists, fold != part), _part(lists, fold == part)) for part in range(FOLDS)]
    begin: list[Numbers | None] = [None] * FOLDS
    for penalty in PENALTIES:
        got = np.zeros(n)
        for part, (others, held) in enumerate(parts):
            begin[part] = steps = fitted(others, penalty, begin[part])
            got[fold == part] = figures(held, steps, position_bias)
        value = float(lists.weight @ got)
        if value > best + 1e-9:
            best, chosen = value, penalty
    if chosen is None:
        return {}, None
    return _named(lists.names, fitted(lists, chosen)), chosen


def _named(names: Sequence[str], steps: Numbers) -> dict[str, float]:
    return {name: round(float(step), 4) for name, step in zip(names, steps, strict=True) if abs(step) >= 5e-5}


def _part(lists: Lists, keep: NDArray[np.bool_]) -> Lists:
    sizes = np.diff(np.append(lists.starts, len(lists.offset)))
    rows = np.repeat(keep, sizes)
    starts = np.concatenate([[0], np.cumsum(sizes[keep])[:-1]]).astype(np.int64)
    return Lists(
        names=lists.names,
        x=lists.x[rows],
        offset=lists.offset[rows],
        target=lists.target[rows],
        starts=starts,
        weight=lists.weight[keep],
        judged=tuple(one for one, kept in zip(lists.judged, keep.tolist(), strict=True) if kept),
    )


def clipped(steps: Mapping[str, float], length_max: float) -> dict[str, float]:
    """Steps no longer than `length_max` together (Euclidean), in their direction."""
    length = float(np.sqrt(sum(step * step for step in steps.values())))
    factor = 1.0 if length <= length_max else length_max / length
    return {name: step * factor for name, step in steps.items()}
