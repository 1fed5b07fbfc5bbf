from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.reranking.gate import Band, band, has_bands
from recall_integrations.reranking.reranking import MultiStage, reordered

SCORES = st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6)), max_size=12)


# -- order


def test_what_was_dropped_comes_last_and_what_was_not_scored_stays() -> None:
    assert reordered([-9.0, -2.0, -11.0]).tolist() == [1, 0, 2]
    assert reordered([None, 1.0, None, 3.0, 2.0]).tolist() == [3, 4, 1, 0, 2]
    assert reordered([1.0, None, None, 3.0, None], {1}).tolist() == [3, 1, 0, 2, 4]
    assert reordered([None] * 5, set(range(5))).tolist() == [0, 1, 2, 3, 4]


@given(SCORES)
def test_it_is_the_order_of_the_reranker(scores) -> None:
    order = reordered(scores).tolist()
    assert sorted(order) == list(range(len(scores)))
    after = [-math.inf if scores[i] is None else scores[i] for i in order]
    assert after == sorted(after, reverse=True)
    assert not [i for i, j in itertools.pairwise(order) if scores[i] == scores[j] and i > j]


# -- bands


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (5.0, "highly relevant"),
        (-7.99, "highly relevant"),
        (-8.0, "relevant"),
        (-10.0, "relevant"),
        (-10.01, "weak"),
        (-12.0, "weak"),
        (-12.01, "irrelevant"),
    ],
)
def test_the_bands_of_seed_001(score: float, name: str) -> None:
    assert str(band(score)) == name
    if abs(score - round(score)) > 1e-9:  # a bound itself may round to either side
        assert str(band(1 / (1 + math.exp(-score)), "probability")) == name


def test_a_probability_that_is_saturated_has_a_band() -> None:
    assert (band(0.0, "probability"), band(1.0, "probability")) == (Band.IRRELEVANT, Band.HIGHLY_RELEVANT)


def test_no_band_without_a_known_scale_and_model() -> None:
    assert band(0.5, "unknown") is None
    assert has_bands("cross-encoder/ms-marco-MiniLM-L-6-v2") and has_bands("/models/ms-marco-MiniLM-L6-v2")
    assert not has_bands("BAAI/bge-reranker-base")


# -- multi-stage


def test_the_stages_of_seed_001() -> None:
    stages = MultiStage()
    assert (stages.coarse(5), stages.coarse(5, 100), stages.coarse(30, 100)) == (50, 100, 300)
    assert stages.survivors(np.linspace(0.9, 0.1, 50), 5) == 50
    half = MultiStage(score_percentile=50)
    assert half.survivors(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), 1) == 3
    assert half.survivors(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), 4) == 4
    assert half.survivors(np.full(6, 0.5), 1) == 6
    assert half.survivors(np.empty(0), 3) == 0
