import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration import (
    BEST,
    HIT,
    LOGIT_MAX,
    RESULT,
    Calibration,
    Hidden,
    Logistic,
    from_json,
    hit_inputs,
    result_inputs,
    unknown_share,
    within,
)
from recall_integrations.ranking.feature_sum import FixedWeights, Ranking
from recall_integrations.ranking.features.compute import Features
from scripts.models_as_json import calibration_data, to_json
from tests.quick import examples
from tests.rows import each_row


def features(*, links=None, **columns):
    made = {k: np.asarray(v, dtype=np.float32) for k, v in columns.items()}
    size = len(next(iter(made.values())))
    links = np.full((4, size), -1) if links is None else np.asarray(links)
    return Features(rows=np.arange(size), columns=made, links=links)


def ranking(*scores):
    return Ranking(scores=np.asarray(scores, dtype=np.float32), added={})


def logistic(names, bias=0.0, **weights):
    return Logistic(
        names=tuple(names),
        weights=np.asarray([weights.get(name, 0.0) for name in names]),
        low=np.full(len(names), -100.0),
        high=np.full(len(names), 100.0),
        bias=bias,
    )


def calibration(result=None, hit=None, per_k=(0.5, 0.0), bias=0.0):
    return Calibration(
        ranker="fixed_weights",
        ranker_version="fixed_weights-1",
        version="v1",
        result=logistic(RESULT, bias, **(result or {})),
        per_k=per_k,
        hit=logistic(HIT, **(hit or {"gap": 1.0})),
        sole=logistic(HIT, s1=0.5),
        about={"data": "none"},
    )


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def test_both_models_by_hand():
    found = features(soft_match=[0.2, 0.8, 0.1])
    scores = ranking(1.0, 3.0, 0.0)
    model = calibration({"soft_match_top": 2.0, "unknown": -1.0, "gap2": 0.25}, per_k=(0.5, -0.1))
    z = math.log(3 / 10)  # k is 10, and there are three candidates
    logit = 2 * 0.8 - 0.4 + 0.25 * 2
    c = model.confidence(found, scores, 0.4)
    assert c == pytest.approx(sigmoid(logit + 0.5 * z - 0.1 * z * z), abs=1e-6)
    p = model.probabilities(found, scores, None, 0.4)
    np.testing.assert_allclose(p, [sigmoid(-2), sigmoid(0), sigmoid(-3)], rtol=1e-5)


def test_behind_a_filter_the_model_of_a_sole_candidate_has_its_part():
    found, scores = features(soft_match=[0.2, 0.8, 0.1]), ranking(1.0, 3.0, 0.0)
    p = calibration().probabilities(found, scores, None, 0.4, share=0.25)
    alone = 0.75 * 0.5 * 3.0  # s1 is 3 for all
    np.testing.assert_allclose(p, [sigmoid(0.25 * gap + alone) for gap in (-2, 0, -3)], rtol=1e-5)


def test_a_hidden_layer_by_hand():
    hidden = Hidden(into=np.asarray([[1.0], [-2.0]]), bias=np.asarray([0.5, 0.0]), out=np.asarray([2.0, 1.0]))
    one = Logistic(names=("a",), weights=np.ones(1), low=np.zeros(1), high=np.ones(1), bias=0.25, hidden=hidden)
    expected = [0.25 + a + 2 * math.tanh(a + 0.5) + math.tanh(-2 * a) for a in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(one.logits(np.asarray([[-3.0], [0.5], [7.0]])), expected)
    assert one.logit(np.asarray([0.5])) == pytest.approx(expected[1])


def test_inputs_of_the_result_by_hand():
    links = [[-1, 0, -1], [1, -1, -1], [-1] * 3, [-1] * 3]
    found = features(
        links=links,
        soft_match=[0.2, 0.8, 0.1],
        idf_coverage=[1, 0.5, 0],
        speaker_named=[1, 0, 0],
        bm25=[4.4, 2.2, 0],
        bm25_of_ceiling=[0.5, 0.25, 0],
    )
    x = dict(zip(RESULT, result_inputs(found, np.float32([1, 3, 0]), 0.25).tolist(), strict=True))
    expected = {
        **{
            "soft_match_top": 0.8,
            "idf_coverage_any": 1.0,
            "speaker_named_any": 1.0,
            "speaker_named_top": 1 / 3,
            "s1": 3.0,
            "gap2": 2.0,
            "gap10": 3.0,
        },
        **{"idf": math.log(4), "idf·unknown": math.log(4) / 4, "unknown²": 1 / 16, "vectors": 0.0},
        **{"beside": 2 / 3, "size": math.log(3), "soft_match_top²": 0.64},
    }
    assert {k: x[k] for k in expected} == pytest.approx(expected, abs=1e-6)


def test_inputs_of_hits_by_hand():
    found = features(
        soft_match=[0.2, 0.8, 0.1], cosine=[0.0, 0.6, 0.0], date_match=[0.0, 0.0, 1.0], weakest=[0.0, 0.7, 0.1]
    )
    rows = hit_inputs(replace(found, cosine_spread=0.5), np.float32([2.6, 3, 0]), np.asarray([1, 0, 2]), 0.25)
    table = dict(zip(HIT, rows.T.tolist(), strict=True))
    assert table["gap"] == pytest.approx([0, -0.4, -3])
    assert table["next"] == pytest.approx([0.4, 2.6, 0])
    assert table["above"] == pytest.approx([0, 0, math.log(3)])  # two are better than the third
    assert table["equals"] == pytest.approx([math.log(2), math.log(2), 0])  # .4 apart is as good as equal
    assert table["soft_match"] == pytest.approx([0.8, 0.2, 0.1])
    assert table["date_match"] == [0, 0, 1]
    assert table["weakest"] == pytest.approx([0.7, 0, 0.1])
    assert table["weakest_any"] == pytest.approx([0.7] * 3)
    assert table["cosine"] == pytest.approx([1.2, 0, 0])  # in units of the spread
    assert table["lift"] == pytest.approx([0.8, -0.4, -0.4])
    assert (
        table["vectors"] == [2, 2, 2] and table["unknown"] == [0.25] * 3 and table["few"] == pytest.approx([1 / 3] * 3)
    )


def test_equal_answers_are_equally_probable():
    model = calibration(hit={"above": -1.0, "gap": 0.0})
    p = model.probabilities(features(soft_match=[0.5] * 6), ranking(3.0, 2.9, 3.1, 3.0, 2.8, 1.0), None, 0.0)
    np.testing.assert_allclose(p, [0.5] * 5 + [sigmoid(-math.log(6))], rtol=1e-5)


def test_behind_the_best_the_odds_fall_with_the_score():
    scores = ranking(*(-0.1 * np.arange(BEST + 20)))
    p = calibration().probabilities(features(soft_match=[0.5] * (BEST + 20)), scores, None, 0.0)
    np.testing.assert_allclose(p, [sigmoid(float(score)) for score in scores.scores], rtol=1e-4)


def test_probabilities_are_shared_out_along_another_order():
    found, scores, model = features(soft_match=[0.0] * 4), ranking(4, 3, 2, 1), calibration()
    own = model.probabilities(found, scores, None, 0.0)
    other = model.probabilities(found, scores, [2, 0, 1, 3], 0.0)
    np.testing.assert_array_equal(other[[2, 0, 1, 3]], own)
    partly = model.probabilities(found, scores, [2], 0.0)
    np.testing.assert_array_equal(partly[[2, 0, 1, 3]], own)


def test_own_evidence_against_the_order_is_rearranged():
    model = calibration(hit={"soft_match": 3.0})
    p = model.probabilities(features(soft_match=[0.1, 0.9, 0.5]), ranking(3, 2, 1), None, 0.0)
    np.testing.assert_allclose(p, [sigmoid(2.7), sigmoid(1.5), sigmoid(0.3)], rtol=1e-5)


def test_confidence_rises_with_k_and_stops_where_it_would_fall():
    found, scores, model = features(soft_match=[0.5] * 60), ranking(*range(60)), calibration(per_k=(0.4, -0.2))
    values = [model.confidence(found, scores, 0.0, k=k) for k in (1, 2, 5, 10, 20, 27, 28, 60)]
    assert values == sorted(values)
    assert values[3] == 0.5
    assert values[-1] == values[-2]  # z stops at 1, k = 27.2


def test_empty_and_single():
    model = calibration({"soft_match_any": 1.0})
    assert model.confidence(features(soft_match=[]), ranking(), 1.0) == 0.0
    assert model.probabilities(features(soft_match=[]), ranking(), None, 1.0).shape == (0,)
    one = features(soft_match=[0.5])
    c = model.confidence(one, ranking(0.0), 0.0)
    assert model.confidence(one, ranking(0.0), 0.0, k=0) == 0.0
    assert 0 < c < 1
    sure = model.probabilities(one, ranking(4.0), [0], 0.0)
    np.testing.assert_allclose(sure, [sigmoid(2.0)], rtol=1e-5)  # it has a model of its own
    assert model.confidence(one, ranking(4.0), 0.0) == pytest.approx(float(sure[0]))


def test_inputs_are_clipped_to_what_was_seen():
    narrow = Logistic(names=("a",), weights=np.ones(1), low=np.zeros(1), high=np.ones(1), bias=0.5)
    assert narrow.logits(np.asarray([[-9.0], [0.5], [9.0]])).tolist() == [0.5, 1.0, 1.5]


def test_unknown_share():
    df = {"known": 1, "rare": 0}
    here = math.log1p(9.5 / 1.5)
    gone = math.log1p(10.5 / 0.5)
    assert unknown_share(("known", "rare"), lambda s: df[s], 10) == pytest.approx(gone / (here + gone))
    assert unknown_share(("known",), lambda s: df[s], 10) == 0.0
    assert unknown_share((), lambda s: 0, 10) == 1.0
    assert unknown_share(("rare",), lambda s: 0, 0) == 1.0


def test_json_round_trip_and_versions(tmp_path):
    model = calibration({"soft_match_top": 2.0}, per_k=(0.5, -0.1))
    path = tmp_path / "calibration.json"
    path.write_text(to_json({"fixed_weights": model}), encoding="utf-8")
    again = Calibration.load("fixed_weights", "fixed_weights-1", path)
    assert again is not None
    assert calibration_data(again) == calibration_data(model)
    assert Calibration.load("fixed_weights", "fixed_weights-2", path) is None
    assert Calibration.load("another", path=path) is None


@each_row(
    ("change", "message"),
    [
        (lambda f: f.pop("format"), "format"),
        (lambda f: f["rankers"]["fixed_weights"].pop("hit"), "hit"),
        (lambda f: f["rankers"]["fixed_weights"]["hit"]["inputs"].pop("soft_match"), "soft_match"),
        (lambda f: f["rankers"]["fixed_weights"]["hit"]["inputs"].update(soft_match=[1.0, 2.0, 1.0]), "bound"),
        (lambda f: f["rankers"]["fixed_weights"]["hit"]["inputs"].update(soft_match=[math.inf, 0, 1]), "finite"),
        (lambda f: f["rankers"]["fixed_weights"]["confidence"].update(per_k=[-1, 0]), "per_k"),
        (lambda f: f["rankers"]["fixed_weights"]["hit"].update(hidden={"into": [[1]], "bias": [0], "out": [1]}), "fit"),
    ],
)
def test_what_is_not_whole_is_refused(change, message):
    fields = json.loads(to_json({"fixed_weights": calibration()}))
    change(fields)
    with pytest.raises(InvalidArgument, match=message):
        from_json(json.dumps(fields))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidArgument, match="Cannot read"):
        Calibration.load("fixed_weights", path=tmp_path / "missing.json")
    with pytest.raises(InvalidArgument, match="JSON"):
        from_json("{")


COLUMNS = (
    "bm25",
    "bm25_of_ceiling",
    "idf_coverage",
    "soft_match",
    "near_match",
    "near_match_w1",
    "thread_best_soft_match",
    "cosine",
    "speaker_named",
    "speaker_prior_match",
    "date_match",
)
tables = st.integers(1, 30).flatmap(
    lambda n: st.lists(st.lists(st.floats(-1e6, 1e6, width=32), min_size=n, max_size=n), min_size=11, max_size=11)
)


@settings(max_examples=examples(60), deadline=None)
@given(table=tables, unknown=st.floats(0, 1), k=st.integers(1, 40), data=st.data())
def test_shipped_weights_bounds_and_order(table, unknown, k, data):
    model = Calibration.load("fixed_weights", FixedWeights.version)
    assert model is not None
    found = features(**dict(zip(COLUMNS, table, strict=True)))
    scores = FixedWeights().score(found)
    c = model.confidence(found, scores, unknown, k=k)
    assert 0 < c < 1
    order = data.draw(st.permutations(range(found.size)))
    p = model.probabilities(found, scores, order, unknown)
    assert p.dtype == np.float32
    assert p.shape == (found.size,)
    assert (p > 0).all()
    assert (p < 1).all()
    assert (np.diff(p[order]) <= 0).all()


def test_shipped_weights_absent_and_present_evidence():
    model = Calibration.load("fixed_weights")
    assert model is not None
    weak = features(soft_match=[0.1] * 20, near_match=[0.0] * 20, idf_coverage=[0.0] * 20)
    assert model.confidence(weak, FixedWeights().score(weak), 1.0) < 0.1
    first = np.eye(20)[0]
    good = features(
        weakest=first,
        focal_match=first,
        focal_word=first,
        soft_match=first,
        near_match=first,
        idf_coverage=first,
        near_match_w1=first,
        passage_match=first,
        lead_match=first,
        bm25=18 * first,
        bm25_of_ceiling=first,
        bigram_match=first,
        cosine=0.7 * first,
        thread_best_soft_match=first,
    )
    scores = FixedWeights().score(good)
    c = model.confidence(good, scores, 0.0)
    p = model.probabilities(good, scores, None, 0.0)
    assert c > 0.8
    assert p[0] > 0.5 > p[1]


def test_logits_stay_within_bounds():
    extreme = calibration(bias=1e6)
    assert extreme.confidence(features(soft_match=[0.0]), ranking(0.0), 0.0) <= sigmoid(LOGIT_MAX)


def test_a_confidence_is_within_what_the_scores_say():
    assert within(0.7, [0.5, 0.3]) == 0.7
    assert within(0.9, [0.5, 0.25]) == 0.75
    assert within(0.3, [0.5, 0.25]) == 0.5  # that one answers is as sure as that the first does
    assert within(0.9, []) == 0.0
