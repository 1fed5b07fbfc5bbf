"""Steps: learned where there is something to learn, none where there is nothing."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.learning.making import Learned, figures, fitted, learnable, learned_steps, lists_of
from recall_integrations.ranking.feature_sum import STEP_MAX


def loss(lists, steps, penalty):  # by the definition, recall by recall
    total = 0.0
    ends = [*lists.starts[1:].tolist(), len(lists.offset)]
    for start, end, weight in zip(lists.starts.tolist(), ends, lists.weight.tolist(), strict=True):
        scores = lists.offset[start:end] + lists.x[start:end] @ steps
        total -= weight * float(lists.target[start:end] @ (scores - np.logaddexp.reduce(scores)))
    scale = np.maximum(lists.x.std(axis=0), 0.05)
    return total + penalty / 2 * float(lists.weight.sum()) * float(((steps * scale) ** 2).sum())


def test_the_minimum_is_one(judged_of) -> None:
    lists = lists_of(judged_of(60), learnable())
    best = fitted(lists, 0.1)
    least = loss(lists, best, 0.1)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        for _ in range(20):
            assert loss(lists, best + size * rng.normal(size=len(best)), 0.1) > least


def test_what_tells_gets_the_step(judged_of) -> None:
    lists = lists_of(judged_of(300), learnable())
    found = learned_steps(lists)
    steps = found.steps
    assert found.gap is not None and found.gap.low > 0 and found.gap.n == 300
    assert max(steps, key=lambda name: steps[name]) == "passage_match"
    named = np.asarray([steps.get(name, 0.0) for name in lists.names])
    other = lists_of(judged_of(300, seed=1), learnable())
    before, after = figures(other, np.zeros(len(named))), figures(other, named)
    assert after.mean() > before.mean() + 0.1


def test_where_nothing_tells_there_is_hardly_a_step(judged_of) -> None:
    judged = judged_of(300, strength=0.0, noise=1.0)
    lists = lists_of(judged, learnable())
    assert all(abs(step) < 0.5 for step in learned_steps(lists).steps.values())


def test_too_few_teach_nothing(judged_of) -> None:
    assert learned_steps(lists_of(judged_of(7), learnable())) == Learned(steps={})
    assert lists_of([], learnable()) is None


def test_a_feature_that_is_not_there_is_zero(judged_of) -> None:
    lists = lists_of(judged_of(20), ("passage_match", "a_new_one"))
    assert not lists.x[:, 1].any() and lists.x[:, 0].any()
    assert fitted(lists, 0.1)[1] == pytest.approx(0.0)


def test_steps_are_bounded(judged_of) -> None:
    lists = lists_of(judged_of(120), learnable())
    free, short = learned_steps(lists).steps, learned_steps(lists, length_max=0.3).steps
    assert np.linalg.norm(list(free.values())) > 0.3
    assert np.linalg.norm(list(short.values())) == pytest.approx(0.3, abs=1e-3)
    assert STEP_MAX == 3.0
