"""Trees that were fitted to made-up queries: scoring, explaining, reading and writing."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rankers import trees
from recall_integrations.ranking.rankers.feature_sum import FixedWeights, Ranker
from recall_integrations.training.fitting import fit_trees

# Asked for without loading it, which takes seconds and is not needed to collect tests.
pytestmark = pytest.mark.skipif(find_spec("lightgbm") is None, reason="LightGBM (extra `rank`) is not installed")

SMALL = {"columns": ("cosine", "bm25", "speaker_named"), "trees": 20, "leaves": 4, "seconds": 2}


def test_trees_explain_themselves(examples):
    data = examples()
    ranker = fit_trees(data, columns=("cosine", "bm25", "z:cosine", "speaker_named"), trees=20, leaves=4, explain=True)
    ranking = ranker.score(data[0].features)
    assert isinstance(ranker, Ranker) and ranker.detail
    assert {"cosine", "bm25", "speaker_named", "first"} == set(ranking.added)
    assert np.ptp(ranking.scores - sum(ranking.added.values())) < 1e-4  # but for a constant
    plain = trees.from_json(ranker.to_json())
    np.testing.assert_allclose(plain.score(data[0].features).scores, ranking.scores, atol=1e-4)
    assert set(plain.score(data[0].features).added) == {"trees"}


@pytest.mark.parametrize("explain", [False, True])
def test_each_pass_orders_what_the_one_before_puts_first_and_the_rest_follows(examples, explain):
    ranker = fit_trees(examples(), **SMALL, explain=explain)
    (wide,) = examples(("wide",), 1, candidates=150, seed=5)
    ranking = ranker.score(wide.features)
    u = FixedWeights().score(wide.features).scores
    by_u = np.argsort(-u, kind="stable")
    head, tail = by_u[: trees.FIRST_PASS], by_u[trees.FIRST_PASS :]
    assert ranking.scores[tail].max() < ranking.scores[head].min()
    assert (np.diff(ranking.scores[tail]) <= 0).all()
    again = np.argsort(-ranking.scores, kind="stable")[: trees.SECOND_PASS]
    assert set(again.tolist()) < set(head.tolist())
    assert (np.argsort(-ranking.scores[head], kind="stable") != np.arange(len(head))).any()
    assert np.ptp(ranking.scores - sum(ranking.added.values())) < 1e-4
    if explain:
        assert not ranking.added["cosine"][tail].any()


def test_two_passes_by_hand(examples):
    """The first pass, what it puts around the candidates, and the second pass, put together from their parts."""
    data = examples()
    ranker = fit_trees(data, **SMALL)
    features = data[3].features
    x = features.matrix(("cosine", "bm25", "speaker_named"))
    linear = x @ np.asarray(ranker.model.linear, dtype=np.float32)
    first = trees.booster(ranker.model.first, 3).predict(x) + trees.LINEAR_FIRST * linear
    best = np.argsort(-first, kind="stable")[: trees.SECOND_PASS]
    beside = trees.around_first(features, first.astype(np.float32))
    rows = np.hstack([x, beside])[best]
    second = [trees.booster(text, 3 + beside.shape[1]).predict(rows) for text in ranker.model.second]
    found = np.mean(second, axis=0) + trees.LINEAR_SECOND * linear[best]
    np.testing.assert_allclose(ranker.score(features).scores[best], found, atol=1e-4)


def test_what_the_first_pass_did_not_look_at_is_alike_in_the_second(examples):
    (wide,) = examples(("wide",), 1, candidates=150)
    scores = np.linspace(5, -5, 150, dtype=np.float32)
    beside = dict(zip(trees.AROUND, trees.around_first(wide.features, scores).T, strict=True))
    np.testing.assert_allclose(beside["u"][: trees.FIRST_PASS], scores[: trees.FIRST_PASS])
    np.testing.assert_allclose(beside["u"][trees.FIRST_PASS :], scores[trees.FIRST_PASS - 1] - trees.BELOW)


def test_trees_get_another_name_and_stay_the_same(examples):
    data = examples()
    ranker = fit_trees(data, **SMALL)
    named = ranker.described(version="mine", about={"data": "ours"})
    assert (named.version, named.about) == ("mine", {"data": "ours"})
    np.testing.assert_array_equal(named.score(data[0].features).scores, ranker.score(data[0].features).scores)


def test_trees_without_candidates(examples):
    ranker = fit_trees(examples(), **SMALL)
    nothing = np.empty(0, dtype=np.int64)
    none = Features(rows=nothing, columns={}, links=np.empty((4, 0), dtype=np.int64), session=nothing)
    assert ranker.score(none).scores.shape == (0,)


def test_trees_that_cannot_be_used(tmp_path, examples):
    good = fit_trees(examples(), columns=("cosine", "speaker_named"), trees=5).to_json()
    for change, says in (
        ({"columns": ["cosine"], "linear": [1.0]}, "1 are named"),
        ({"columns": ["cosine", "nonsense"]}, "'nonsense'"),
        ({"linear": [1.0]}, "linear weight"),
        ({"linear": [1.0, float("nan")]}, "linear weight"),
        ({"second": []}, "linear weight"),
        ({"first": "not a model"}, "cannot be read"),
        ({"second": ["not a model"]}, "cannot be read"),
        ({"second": None}, "not whole"),
        ({"format": "x"}, "format"),
        ({"calibration": {"format": "x"}}, "calibration"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            trees.from_json(json.dumps({**json.loads(good), **change}))
    with pytest.raises(InvalidArgument, match="JSON"):
        trees.from_json("{")
    with pytest.raises(InvalidArgument, match="Cannot read"):
        trees.load(tmp_path / "absent.json")
    path = tmp_path / "trees.json"
    path.write_text(good, encoding="utf-8")
    assert trees.load(path).columns == ("cosine", "speaker_named")
