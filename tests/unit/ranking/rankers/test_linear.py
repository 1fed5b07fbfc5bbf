import json

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rankers import linear
from recall_integrations.ranking.rankers.feature_sum import Ranker


def features(**columns):
    made = {k: np.asarray(v, dtype=np.float32) for k, v in columns.items()}
    size = len(next(iter(made.values())))
    return Features(rows=np.arange(size), columns=made, links=np.full((4, size), -1), session=np.full(size, -1))


def ranker(**fields):
    given = {
        "version": "v1",
        "bias": -1.0,
        "spread": {"cosine": 2.0},
        "plain": {"speaker_named": 0.5},
        "about": {"data": "mine"},
    }
    return linear.LinearRanker(**{**given, **fields})


def test_the_logit_by_hand():
    ranking = ranker().score(features(cosine=[0.1, 0.3], speaker_named=[0.0, 1.0]))
    np.testing.assert_allclose(ranking.added["cosine"], [-2, 2], rtol=1e-5)
    np.testing.assert_allclose(ranking.scores, [-3, 1.5], rtol=1e-5)
    assert isinstance(ranker(), Ranker)


def test_no_candidates():
    assert ranker().score(features(cosine=[])).scores.shape == (0,)


def test_json_and_back():
    assert linear.from_json(ranker().to_json()) == ranker()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "format"),
        ({"spread": {"nonsense": 1.0}}, "'nonsense'"),
        ({"plain": {"speaker_named": "much"}}, "plain.sp"),
        ({"plain": {"speaker_named": float("nan")}}, "plain.sp"),
        ({"plain": []}, "'plain'"),
        ({"bias": True}, "bias"),
    ],
)
def test_weights_that_cannot_be_used_are_named(change, says):
    fields = {**json.loads(ranker().to_json()), **change}
    with pytest.raises(InvalidArgument, match=says):
        linear.from_json(json.dumps(fields), "weights.json")


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"'])
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidArgument, match=r"weights\.json"):
        linear.from_json(text, "weights.json")


def test_a_spread_weight_needs_a_feature_with_a_spread():
    fields = {**json.loads(ranker().to_json()), "spread": {"speaker_named": 1.0}}
    with pytest.raises(InvalidArgument, match="'speaker_named'"):
        linear.from_json(json.dumps(fields))


def test_files(tmp_path):
    path = tmp_path / "weights.json"
    path.write_text(ranker().to_json(), encoding="utf-8")
    assert linear.load(path) == ranker()
    with pytest.raises(InvalidArgument, match="Cannot read"):
        linear.load(tmp_path / "absent.json")
