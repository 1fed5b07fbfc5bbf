import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.shared.calibrating import Outcome, auroc, ece, fit_calibration, fit_logistic, fit_sole, judge
from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration import HIT, RESULT, K, hit_inputs
from recall_integrations.ranking.features.compute import Features


def outcome(rng, answered=True, candidates=40, weight=1.0):
    """A query whose evidence `msn` says whether there is an answer, and whose score says which candidate it is."""
    strength = rng.random() if answered else 0.3 * rng.random()
    relevant = np.zeros(candidates, dtype=bool)
    relevant[rng.integers(candidates)] = answered and rng.random() < 0.2 + 0.8 * strength
    scores = rng.normal(size=candidates) + 3 * relevant
    columns = {"soft_match": (0.1 * rng.random(candidates) + strength * relevant).astype(np.float32)}
    features = Features(
        rows=np.arange(candidates),
        columns=columns,
        links=np.full((4, candidates), -1),
    )
    return Outcome(features=features, scores=scores.astype(np.float32), relevant=relevant, unknown=0.2, weight=weight)


def many(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return [outcome(rng, answered=i % 3 != 0) for i in range(n)]


def fitted(outcomes):
    given = {"ranker": "mine", "ranker_version": "v1", "version": "c1", "about": {"data": "made up"}}
    return fit_calibration(outcomes, sole=fit_sole(sole()), **given)


def sole(n=200):
    rng = np.random.default_rng(3)
    return [outcome(rng, answered=i % 2 == 0, candidates=1) for i in range(n)]


def test_a_sole_candidate_has_a_model_of_its_own():
    some = sole()
    model = fit_sole([*some, *many(20)])  # of several candidates nothing is learned
    said = [model.logit(hit_inputs(o.features, o.scores, o.order, o.unknown)[0]) > 0 for o in some]
    assert np.mean([a == bool(o.relevant[0]) for a, o in zip(said, some, strict=True)]) > 0.8
    with pytest.raises(InvalidArgument, match="sole candidate"):
        fit_sole(many(20))


def test_probabilities_hold_on_what_was_not_fitted_to():
    made = fitted(many())
    assert (made.ranker, made.ranker_version, made.version, made.about) == ("mine", "v1", "c1", {"data": "made up"})
    assert made.result.names == tuple(RESULT) and made.hit.names == tuple(HIT)
    judged = [judge(o, made, (1, 10)) for o in many(seed=1)]
    for k in (1, 10):
        p, y = np.asarray([j.confidence[k] for j in judged]), np.asarray([j.found[k] for j in judged])
        assert ece(p, y) < 0.08
        assert p[y].mean() > p[~y].mean() + 0.1
    scores, hits = np.concatenate([j.scores for j in judged]), np.concatenate([j.hits for j in judged])
    assert ece(scores.astype(float), hits) < 0.03


def test_a_judgement_is_of_the_first_ten_and_says_what_is_so():
    made, own = fitted(many(60)), outcome(np.random.default_rng(7), weight=2.0)
    said = judge(own, made)
    order = np.argsort(-own.scores, kind="stable")
    assert set(said.confidence) == set(said.found) == {K} and said.weight == 2.0
    np.testing.assert_array_equal(said.hits, own.relevant[order[:10]])
    assert len(said.scores) == 10 and (np.diff(said.scores) <= 0).all()


def test_what_weighs_more_moves_the_probabilities():
    rng = np.random.default_rng(3)
    own, wrong = [outcome(rng) for _ in range(80)], [outcome(rng, answered=False, weight=9.0) for _ in range(80)]
    light = [Outcome(features=o.features, scores=o.scores, relevant=o.relevant, unknown=o.unknown) for o in wrong]
    asked = own[0]
    heavy, even = (judge(asked, fitted([*own, *side])).confidence[K] for side in (wrong, light))
    assert heavy < even


@pytest.mark.parametrize("found", [True, False])
def test_queries_that_all_go_the_same_way_give_a_finite_calibration(found):
    rng = np.random.default_rng(0)
    some = [outcome(rng) for _ in range(20)]
    for own in some:
        own.relevant[:] = False
        own.relevant[np.argmax(own.scores)] = found
    said = judge(some[0], fitted(some))
    assert (said.confidence[K] > 0.9) == found and 0 < said.confidence[K] < 1
    assert np.isfinite(said.scores).all()


def test_queries_without_candidates_teach_nothing():
    nothing = np.empty(0, dtype=np.int64)
    none = Outcome(
        features=Features(rows=nothing, columns={}, links=np.empty((4, 0), dtype=np.int64)),
        scores=np.empty(0, dtype=np.float32),
        relevant=np.empty(0, dtype=bool),
        unknown=1.0,
    )
    with pytest.raises(InvalidArgument, match="nothing to calibrate"):
        fitted([none])
    made = fitted([none, *many(30)])
    assert judge(none, made).confidence[K] == 0.0


def test_the_error_by_hand():
    p, y = np.asarray([0.05, 0.05, 0.95, 0.95]), np.asarray([False, True, True, True])
    assert ece(p, y) == pytest.approx((2 * abs(0.05 - 0.5) + 2 * abs(0.95 - 1)) / 4)
    assert ece(p, y, np.asarray([1.0, 0.0, 1.0, 1.0])) == pytest.approx((0.05 + 2 * 0.05) / 3)
    assert ece(np.full(10, 0.4), np.arange(10) < 4, mass=True) == pytest.approx(0.48)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
)
def test_auroc_is_the_share_of_pairs_in_the_right_order(positive: list[int], negative: list[int]) -> None:
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    assert auroc(positive, negative) == pytest.approx(np.mean(pairs))


def test_auroc_needs_both_sides() -> None:
    with pytest.raises(InvalidArgument, match="at least one"):
        auroc([], [0.5])


def normal(n=400, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, x @ [1, -2, 0] + rng.normal(size=n) > 0.5


@pytest.mark.parametrize("ridge", [0.5, 3.0])
def test_the_gradient_is_zero_where_it_stops(ridge):
    x, y = normal()
    weight = np.random.default_rng(2).random(len(x))
    w, bias = fit_logistic(x, y, weight, ridge)
    p = 1 / (1 + np.exp(-(x @ w + bias)))
    np.testing.assert_allclose(x.T @ (weight * (p - y)) + ridge * w, 0, atol=1e-3)
    assert (weight * (p - y)).sum() == pytest.approx(0, abs=1e-3)


def test_a_row_of_weight_two_is_two_rows():
    x, y = normal(60)
    once = fit_logistic(x, y, np.where(np.arange(60) < 10, 2.0, 1.0))
    twice = fit_logistic(np.concatenate([x, x[:10]]), np.concatenate([y, y[:10]]), np.ones(70))
    np.testing.assert_allclose(once[0], twice[0], atol=1e-6)


def test_one_class_only_stays_finite():
    x, _ = normal(40)
    w, bias = fit_logistic(x, np.ones(40, dtype=bool), np.ones(40))
    assert np.isfinite(w).all() and bias > 5 and np.abs(w).max() < 0.1
