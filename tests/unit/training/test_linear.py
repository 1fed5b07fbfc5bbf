import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.rankers.feature_sum import Ranker
from recall_integrations.training.fitting import Example, fit_linear, leave_one_group_out, logistic


def test_logistic_agrees_with_scikit_learn():
    sklearn = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 5))
    y = x @ [1, -2, 0, 0.5, 0] + rng.normal(size=400) > 1.5
    w, bias = logistic(x, y, 0.1)
    theirs = sklearn.LogisticRegression(C=0.1, class_weight="balanced", tol=1e-8, max_iter=1_000).fit(x, y)
    np.testing.assert_allclose(w, theirs.coef_[0], atol=1e-4)
    assert bias == pytest.approx(theirs.intercept_[0], abs=1e-4)


def test_logistic_on_classes_that_can_be_told_apart_stays_finite():
    x = np.concatenate([np.full(50, -5.0), np.full(50, 5.0)])[:, None]
    w, bias = logistic(x, x[:, 0] > 0, 10.0)
    assert np.isfinite(w).all() and w[0] > 0 and abs(bias) < 1e-6


def test_the_linear_ranker_learns_what_matters(examples, hits):
    data = examples()
    ranker = fit_linear(
        data, spread=("bm25", "cosine"), plain=("speaker_named",), version="v", about={"data": "made up"}
    )
    assert ranker.spread["cosine"] > 5 * abs(ranker.spread["bm25"])
    assert ranker.plain["speaker_named"] > 0
    assert ranker.about == {"data": "made up"} and isinstance(ranker, Ranker)
    assert hits([ranker.score(e.features).scores for e in data], data) > 0.5


def test_the_same_seed_gives_the_same_weights(examples):
    data = examples()
    assert fit_linear(data, negatives=5) == fit_linear(data, negatives=5)
    assert fit_linear(data, negatives=5) != fit_linear(data, negatives=5, seed=1)


def test_a_feature_that_never_varies_gets_no_weight(examples):
    ranker = fit_linear(examples(), spread=("cosine", "soft_match"), plain=("speaker_named", "date_match"))
    assert ranker.spread["soft_match"] == 0 and ranker.plain["date_match"] == 0


def test_a_feature_that_hardly_varies_gets_no_weight_that_decides_alone(examples):
    data = examples()
    for example in data:
        example.features.columns["date_match"] = 1e-6 * example.relevant.astype(np.float32)
    ranker = fit_linear(data, spread=("cosine",), plain=("speaker_named", "date_match"))
    assert 0 <= ranker.plain["date_match"] < 1


def test_nothing_to_learn_from(examples):
    data = [Example(features=e.features, relevant=np.zeros(40, dtype=bool), group="a") for e in examples(("a",), 2)]
    with pytest.raises(InvalidArgument, match="No query"):
        fit_linear(data)
    with pytest.raises(InvalidArgument, match="labels"):
        Example(features=data[0].features, relevant=np.zeros(3, dtype=bool), group="a")


def test_no_group_is_scored_by_a_ranker_that_has_seen_it(examples, hits):
    data, always = examples(), examples(("other",), 1)
    seen = []

    def fit(some):
        seen.append({e.group for e in some})
        return fit_linear(some, spread=("cosine",), plain=("speaker_named",))

    scores = leave_one_group_out(data, fit, always=always)
    assert seen == [{"b", "c", "other"}, {"a", "c", "other"}, {"a", "b", "other"}]
    assert all(len(s) == 40 for s in scores) and hits(scores, data) > 0.5
    with pytest.raises(InvalidArgument, match="two groups"):
        leave_one_group_out(examples(("a",), 2), fit)


def test_linear_weights_get_another_name_and_stay_the_same(examples):
    data = examples()
    ranker = fit_linear(data)
    named = ranker.described(version="mine", about={"data": "ours"})
    assert (named.version, named.about) == ("mine", {"data": "ours"})
    np.testing.assert_array_equal(named.score(data[0].features).scores, ranker.score(data[0].features).scores)
