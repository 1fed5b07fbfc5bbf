import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.kind import GATES
from recall_integrations.ranking.feature_sum import FixedWeights, Ranker
from recall_integrations.ranking.features.compute import FEATURES, Features
from tests.rows import each_row


def features(gates=None, worth=1.0, **columns):
    made = {k: np.asarray(v, dtype=np.float32) for k, v in columns.items()}
    size = len(next(iter(made.values())))
    return Features(
        rows=np.arange(size),
        columns=made,
        links=np.full((4, size), -1),
        gates=gates or {},
        cosine_worth=worth,
    )


def test_weights_name_features_and_gates_that_exist():
    assert set(FEATURES.weights) <= set(FEATURES.names)
    assert {gate for gated in FEATURES.weights.values() for gate in gated} == set(GATES)
    # what many candidates have in different degrees must not enter as it is
    entering_as_z = {f.name for f in FEATURES if f.floor is not None}
    assert {
        "bm25_counted",
        "passage_match",
        "lead_match",
        "near_match_w2",
        "thread_best_soft_match",
        "feedback",
        "near_in_time",
        "cosine",
        "cosine_w1",
        "exchange_bm25",
        "cast_present",
    } <= entering_as_z


def test_the_sum_by_hand():
    ranking = FixedWeights().score(features(bm25_counted=[1.0, 3.0, 5.0], speaker_named=[1.0, 0.0, 0.0]))
    deviation = np.std([1, 3, 5])
    np.testing.assert_allclose(ranking.added["bm25_counted"], 0.3 * np.array([-2, 0, 2]) / deviation, rtol=1e-5)
    scale = np.sqrt(2) / 6  # three candidates
    np.testing.assert_allclose(ranking.added["speaker_named"], [2.5 * scale, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(
        ranking.scores, ranking.added["bm25_counted"] + ranking.added["speaker_named"], rtol=1e-5
    )


def test_plain_values_have_their_full_weight_in_a_long_list():
    ranking = FixedWeights().score(features(speaker_named=[1.0] + [0.0] * 36))
    assert ranking.added["speaker_named"][0] == 2.5


def test_a_date_keeps_its_weight_in_a_short_list():
    assert FixedWeights().score(features(date_match=[1.0, 0.0])).added["date_match"][0] == pytest.approx(2.1)


def test_small_differences_stay_small():
    ranking = FixedWeights().score(features(cosine=[0.300, 0.301]))
    np.testing.assert_allclose(ranking.added["cosine"], [-0.003, 0.003], atol=1e-5)  # .3 · .0005 / floor .05


@each_row(("worth", "alone", "beside"), [(0.0, 0.0, 0.0), (0.5, 0.15, 0.2), (1.0, 0.3, 0.4), (5.0, 1.5, 0.4)])
def test_cosines_weigh_what_the_embedding_is_worth(worth, alone, beside):
    ranking = FixedWeights().score(features(worth=worth, cosine=[0.0, 1.0], cosine_w1=[0.0, 1.0]))
    zero = np.zeros(2)
    np.testing.assert_allclose(ranking.added.get("cosine", zero), [-alone, alone], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ranking.added.get("cosine_w1", zero), [-beside, beside], rtol=1e-5, atol=1e-7)


def test_a_strong_embedding_is_not_worth_less_in_long_questions():
    """What `long` takes from a cosine is as much as without it: it must not grow with the worth."""
    ranking = FixedWeights().score(features(worth=5.0, gates={"long": 1.0}, cosine=[0.0, 1.0]))
    np.testing.assert_allclose(ranking.added["cosine"], np.array([-1, 1]) * (0.3 * 5 - 0.7), rtol=1e-5)


def test_a_gate_scales_the_weights_behind_it():
    given = {"bm25_counted": [1.0, 3.0], "by_user": [1.0, 0.0]}
    shut = FixedWeights().score(features(**given))
    assert "by_user" not in shut.added  # it has no weight without its gate
    np.testing.assert_allclose(shut.added["bm25_counted"], [-0.3, 0.3], rtol=1e-5)
    half = FixedWeights().score(features(gates={"documents": 0.5, "long": 1.0, "spoken": 0.5}, **given))
    np.testing.assert_allclose(half.added["bm25_counted"], np.array([-1, 1]) * (0.3 - 0.8 + 0.5 * 3.0), rtol=1e-5)
    np.testing.assert_allclose(half.added["by_user"], [0.5 * 3.0 / 6, 0], rtol=1e-5)  # of two candidates


def test_an_embedding_that_is_worth_more_counts_for_more():
    weak, strong = (
        FixedWeights().score(features(worth=w, cosine=[0.2, 0.4], cosine_w1=[0.2, 0.4])).added for w in (1.0, 3.0)
    )
    np.testing.assert_allclose(strong["cosine"], 3 * weak["cosine"], rtol=1e-5)
    np.testing.assert_allclose(strong["cosine_w1"], weak["cosine_w1"], rtol=1e-5)


def test_what_an_embedding_is_worth_leaves_the_gates_alone():
    gates = {"long": 1.0}
    weak, strong = (FixedWeights().score(features(gates, w, cosine=[0.2, 0.4])).added["cosine"] for w in (1.0, 2.0))
    np.testing.assert_allclose(weak, [0.4, -0.4], rtol=1e-5)  # .3 - .7
    np.testing.assert_allclose(strong, [0.1, -0.1], rtol=1e-4)  # 2 · .3 - .7


def test_what_is_the_same_for_all_orders_nothing():
    ranking = FixedWeights().score(features(bm25_counted=[2.0, 2.0], cosine=[0.4, 0.4], passage_match=[0.0, 0.0]))
    assert ranking.scores.tolist() == [0, 0]


def test_one_candidate_and_none():
    assert FixedWeights().score(features(bm25_counted=[7.0])).scores.tolist() == [0]
    assert FixedWeights().score(features(bm25_counted=[])).scores.shape == (0,)


def test_single_weights_may_be_replaced():
    given = features(bm25_counted=[1.0, 3.0], speaker_named=[1.0, 0.0], is_question=[0.0, 1.0])
    ranking = FixedWeights({"bm25_counted": 0, "speaker_named": -2, "is_question": 1}).score(given)
    assert "bm25_counted" not in ranking.added
    np.testing.assert_allclose(ranking.scores, [-2 / 6, 1 / 6], rtol=1e-5)  # of two candidates


def test_a_weight_that_is_replaced_has_no_gate():
    given = {"gates": {"documents": 1.0, "long": 1.0}, "bm25_counted": [1.0, 3.0]}
    np.testing.assert_allclose(FixedWeights({"bm25_counted": 1}).score(features(**given)).scores, [-1, 1], rtol=1e-5)


def test_columns_that_were_not_computed_add_nothing():
    added = FixedWeights().score(features(bm25_counted=[1.0, 3.0])).added
    assert "graph" not in added and "recency" not in added


def test_a_rankers_protocol():
    assert isinstance(FixedWeights(), Ranker)


@pytest.mark.parametrize("name", ["recency", "importance"])
def test_tie_breakers_only_break_ties(name):
    given = features(passage_match=[0.5, 0.56], **{name: [1.0, 0.0]})
    assert FixedWeights().score(given).scores.argmax() == 1
    assert FixedWeights().score(features(passage_match=[0.5, 0.5], **{name: [1.0, 0.0]})).scores.argmax() == 0


@each_row("weights", [{"bmm": 5.0}, {"bm25": "x"}, {"bm25": float("nan")}, {"bm25": True}])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(InvalidArgument, match=next(iter(weights))):
        FixedWeights(weights)


def test_other_weights_are_another_version():
    assert FixedWeights().version == FixedWeights({}).version == FixedWeights.version
    assert FixedWeights({"bm25": 5.0}).version != FixedWeights.version
