from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.errors import InvalidArgument
from recall_integrations.reranking.bands import Band, band, has_bands
from recall_integrations.reranking.blend import blend
from recall_integrations.reranking.depth import MultiStage

SCORES = st.lists(st.one_of(st.none(), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6)), max_size=12)


# -- blend


def falling(n: int) -> np.ndarray:
    return np.linspace(0.9, 0.1, n) if n else np.empty(0)


def test_blend_by_hand() -> None:
    p, scores = np.array([0.9, 0.6, 0.5]), [-9.0, -2.0, -11.0]
    assert blend(p, scores).tolist() == [1, 0, 2]
    assert blend(p, scores, 0).tolist() == [0, 1, 2]
    # logits 2.197, .405, 0. By the reranker .405, 2.197, 0: they meet at weight 1/2, where the reranker decides.
    assert blend(p, scores, 0.49).tolist() == [0, 1, 2]
    assert blend(p, scores, 0.5).tolist() == blend(p, scores, 0.51).tolist() == [1, 0, 2]


def test_what_was_dropped_comes_last_and_what_was_not_scored_stays() -> None:
    p = falling(5)
    assert blend(p, [None, 1.0, None, 3.0, 2.0]).tolist() == [3, 4, 1, 0, 2]
    assert blend(p, [1.0, None, None, 3.0, None], unscored={1}).tolist() == [3, 1, 0, 2, 4]
    assert blend(p, [None] * 5, unscored=set(range(5))).tolist() == [0, 1, 2, 3, 4]


@given(SCORES, st.floats(0, 1))
def test_the_whole_weight_is_the_order_of_the_reranker(scores, weight) -> None:
    order = blend(falling(len(scores)), scores)
    after = [-math.inf if scores[i] is None else scores[i] for i in order]
    assert after == sorted(after, reverse=True)
    ties = [i for i, j in itertools.pairwise(order) if scores[i] == scores[j] and i > j]
    assert not ties
    assert sorted(blend(falling(len(scores)), scores, weight)) == list(range(len(scores)))


@given(SCORES, st.floats(0, 1))
def test_what_both_agree_on_stays(scores, weight) -> None:
    """Before another in both orders: before it in the blend."""
    order = blend(falling(len(scores)), scores, weight).tolist()
    place = {i: at for at, i in enumerate(order)}
    value = [-math.inf if s is None else s for s in scores]
    assert all(place[i] < place[j] for j in range(len(value)) for i in range(j) if value[i] >= value[j])


@given(st.integers(2, 10), st.data())
def test_equal_calibrated_scores_leave_the_reranker_its_order(n, data) -> None:
    scores = data.draw(st.permutations([float(i) for i in range(n)]))
    order = blend(np.full(n, 1e-9), scores)
    assert [scores[i] for i in order] == sorted(scores, reverse=True)


@pytest.mark.parametrize(("scores", "weight"), [([1.0], 1), ([1.0, 2.0], 1.1), ([1.0, 2.0], math.nan)])
def test_what_cannot_be_blended(scores: list[float | None], weight: float) -> None:
    with pytest.raises(InvalidArgument):
        blend(falling(2), scores, weight)


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
    assert stages.survivors(falling(50), 5) == 50
    half = MultiStage(score_percentile=50)
    assert half.survivors(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), 1) == 3
    assert half.survivors(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), 4) == 4
    assert half.survivors(np.full(6, 0.5), 1) == 6
    assert half.survivors(np.empty(0), 3) == 0
