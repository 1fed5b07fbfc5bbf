"""Steps are added to the shipped weights, and what they are multiplied with is what they were learned from."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.feature_sum import FixedWeights, SteppedWeights, entered
from recall_integrations.ranking.features.compute import FEATURES, Features
from tests.rows import each_row

NAMES = tuple(FEATURES.weights)


def features(n: int = 40, seed: int = 0, worth: float = 1.0) -> Features:
    rng = np.random.default_rng(seed)
    return Features(
        rows=np.arange(n),
        columns={name: rng.random(n).astype(np.float32) for name in FEATURES.names},
        links=np.full((4, n), -1),
        gates={"roles": 1.0},
        cosine_worth=worth,
    )


@each_row("n", [1, 3, 40])
@each_row("worth", [0.0, 0.4, 1.0])
def test_a_step_adds_the_feature_as_it_enters_the_sum(n, worth) -> None:
    given = features(n, worth=worth)
    x, before = entered(given, NAMES), FixedWeights().score(given).scores
    for i, name in enumerate(NAMES):
        if FEATURES[name].worth_max is not None:
            continue  # see below
        after = SteppedWeights({name: 0.25}, "v1").score(given).scores
        assert np.allclose(after - before, 0.25 * x[i], atol=2e-4), name


def test_a_step_of_a_cosine_counts_what_a_cosine_is_worth() -> None:
    given = features(worth=0.4)
    names = [name for name in NAMES if FEATURES[name].worth_max is not None]
    x, before = entered(given, tuple(names)), FixedWeights().score(given).scores
    assert names
    for i, name in enumerate(names):
        after = SteppedWeights({name: 0.25}, "v1").score(given).scores
        assert np.allclose(after - before, 0.25 * x[i], atol=2e-4), name


def test_without_steps_it_is_the_shipped_sum() -> None:
    given = features()
    assert np.array_equal(SteppedWeights({}, "v1").score(given).scores, FixedWeights().score(given).scores)
    assert SteppedWeights({"gone": 1.0}, "v1").steps == {}


@each_row("step", [3.01, float("nan"), "1", True, None])
def test_a_step_that_is_none(step) -> None:
    with pytest.raises(InvalidArgument, match="step of 'passage_match'"):
        SteppedWeights({"passage_match": step}, "v1")
