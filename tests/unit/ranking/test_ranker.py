import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.features import FORMULAS, Features
from recall_integrations.ranking.ranker import FLOORS, PLAIN_WEIGHTS, SPREAD_WEIGHTS, Ranker, Unlearned, spread_scores


def features(**columns):
    made = {k: np.asarray(v, dtype=np.float32) for k, v in columns.items()}
    size = len(next(iter(made.values())))
    return Features(rows=np.arange(size), columns=made, links=np.full((4, size), -1), session=np.full(size, -1))


def test_weights_name_features_that_exist():
    assert {*SPREAD_WEIGHTS, *PLAIN_WEIGHTS} <= set(FORMULAS)
    assert not set(SPREAD_WEIGHTS) & set(PLAIN_WEIGHTS)
    assert set(SPREAD_WEIGHTS) <= set(FLOORS)


def test_the_sum_by_hand():
    ranking = Unlearned().score(features(bm=[1.0, 3.0, 5.0], sp=[1.0, 0.0, 0.0]))
    deviation = np.std([1, 3, 5])
    np.testing.assert_allclose(ranking.added["bm"], 0.4 * np.array([-2, 0, 2]) / deviation, rtol=1e-5)
    scale = np.sqrt(2) / 6  # three candidates
    np.testing.assert_allclose(ranking.added["sp"], [1.5 * scale, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(ranking.scores, ranking.added["bm"] + ranking.added["sp"], rtol=1e-5)


def test_plain_values_have_their_full_weight_in_a_long_list():
    ranking = Unlearned().score(features(sp=[1.0] + [0.0] * 36))
    assert ranking.added["sp"][0] == 1.5


def test_small_differences_stay_small():
    ranking = Unlearned().score(features(d=[0.300, 0.301]))
    np.testing.assert_allclose(ranking.added["d"], [-0.005, 0.005], atol=1e-5)  # .5 · .0005 / floor .05


def test_what_is_the_same_for_all_orders_nothing():
    ranking = Unlearned().score(features(bm=[2.0, 2.0], d=[0.4, 0.4], msn=[0.0, 0.0]))
    assert ranking.scores.tolist() == [0, 0]


def test_one_candidate_and_none():
    assert Unlearned().score(features(bm=[7.0])).scores.tolist() == [0]
    assert Unlearned().score(features(bm=[])).scores.shape == (0,)


def test_single_weights_may_be_replaced():
    given = features(bm=[1.0, 3.0], sp=[1.0, 0.0], cov=[0.0, 1.0])
    ranking = Unlearned({"bm": 0, "sp": -2, "cov": 1}).score(given)
    assert "bm" not in ranking.added
    np.testing.assert_allclose(ranking.scores, [-2 / 6, 1 / 6], rtol=1e-5)  # of two candidates


def test_columns_that_were_not_computed_add_nothing():
    added = Unlearned().score(features(bm=[1.0, 3.0])).added
    assert "graph" not in added and "recency" not in added


def test_a_rankers_protocol():
    assert isinstance(Unlearned(), Ranker)


def test_spread_scores_of_nothing():
    assert spread_scores(features(bm=[]), ["bm", "d"]).shape == (0, 2)


@pytest.mark.parametrize("name", ["recency", "importance"])
def test_tie_breakers_only_break_ties(name):
    given = features(msn=[0.5, 0.56], **{name: [1.0, 0.0]})
    assert Unlearned().score(given).scores.argmax() == 1
    assert Unlearned().score(features(msn=[0.5, 0.5], **{name: [1.0, 0.0]})).scores.argmax() == 0


@pytest.mark.parametrize("weights", [{"bmm": 5.0}, {"bm": "x"}, {"bm": float("nan")}, {"bm": True}])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(InvalidArgument, match=next(iter(weights))):
        Unlearned(weights)


def test_other_weights_are_another_version():
    assert Unlearned().version == Unlearned({}).version == Unlearned.version
    assert Unlearned({"bm": 5.0}).version != Unlearned.version
