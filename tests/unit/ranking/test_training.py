import importlib.util
import json

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument, MissingExtra
from recall_integrations.ranking import trees
from recall_integrations.ranking.features import Features
from recall_integrations.ranking.ranker import Ranker, Unlearned
from recall_integrations.ranking.training import Example, fit_linear, fit_trees, leave_one_group_out, logistic


def examples(groups=("a", "b", "c"), queries=20, candidates=40, seed=0):
    """Relevant candidates have a high `d` and are spoken by the person named; `bm` says nothing."""
    rng = np.random.default_rng(seed)
    made = []
    for group in groups:
        for _ in range(queries):
            relevant = np.zeros(candidates, dtype=bool)
            relevant[rng.integers(candidates)] = True
            columns = {
                "d": (rng.normal(0.3, 0.1, candidates) + 0.25 * relevant).astype(np.float32),
                "bm": rng.normal(3, 1, candidates).astype(np.float32),
                "sp": ((rng.random(candidates) < 0.3) | relevant).astype(np.float32),
            }
            features = Features(
                rows=np.arange(candidates),
                columns=columns,
                links=np.full((4, candidates), -1),
                session=np.full(candidates, -1),
            )
            made.append(Example(features=features, relevant=relevant, group=group))
    return made


def hits(scores, data):
    return np.mean([e.relevant[s.argmax()] for s, e in zip(scores, data, strict=True)])


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


def test_the_linear_ranker_learns_what_matters():
    data = examples()
    ranker = fit_linear(data, spread=("bm", "d"), plain=("sp",), version="v", about={"data": "made up"})
    assert ranker.spread["d"] > 5 * abs(ranker.spread["bm"])
    assert ranker.plain["sp"] > 0
    assert ranker.about == {"data": "made up"} and isinstance(ranker, Ranker)
    assert hits([ranker.score(e.features).scores for e in data], data) > 0.5


def test_the_same_seed_gives_the_same_weights():
    data = examples()
    assert fit_linear(data, negatives=5) == fit_linear(data, negatives=5)
    assert fit_linear(data, negatives=5) != fit_linear(data, negatives=5, seed=1)


def test_a_feature_that_never_varies_gets_no_weight():
    ranker = fit_linear(examples(), spread=("d", "msn"), plain=("sp", "date"))
    assert ranker.spread["msn"] == 0 and ranker.plain["date"] == 0


def test_a_feature_that_hardly_varies_gets_no_weight_that_decides_alone():
    data = examples()
    for example in data:
        example.features.columns["date"] = 1e-6 * example.relevant.astype(np.float32)
    ranker = fit_linear(data, spread=("d",), plain=("sp", "date"))
    assert 0 <= ranker.plain["date"] < 1


def test_nothing_to_learn_from():
    data = [Example(features=e.features, relevant=np.zeros(40, dtype=bool), group="a") for e in examples(("a",), 2)]
    with pytest.raises(InvalidArgument, match="No query"):
        fit_linear(data)
    with pytest.raises(InvalidArgument, match="labels"):
        Example(features=data[0].features, relevant=np.zeros(3, dtype=bool), group="a")


def test_no_group_is_scored_by_a_ranker_that_has_seen_it():
    data, always = examples(), examples(("other",), 1)
    seen = []

    def fit(some):
        seen.append({e.group for e in some})
        return fit_linear(some, spread=("d",), plain=("sp",))

    scores = leave_one_group_out(data, fit, always=always)
    assert seen == [{"b", "c", "other"}, {"a", "c", "other"}, {"a", "b", "other"}]
    assert all(len(s) == 40 for s in scores) and hits(scores, data) > 0.5
    with pytest.raises(InvalidArgument, match="two groups"):
        leave_one_group_out(examples(("a",), 2), fit)


def test_trees_learn_and_explain_themselves():
    pytest.importorskip("lightgbm")
    data = examples()
    ranker = fit_trees(data, columns=("d", "bm", "z:d", "sp"), trees=20, leaves=4, explain=True)
    ranking = ranker.score(data[0].features)
    assert isinstance(ranker, Ranker) and ranker.detail
    assert hits([ranker.score(e.features).scores for e in data], data) > 0.5
    assert {"d", "bm", "sp"} == set(ranking.added)
    assert np.ptp(ranking.scores - sum(ranking.added.values())) < 1e-4  # but for a constant
    plain = trees.from_json(ranker.to_json())
    np.testing.assert_allclose(plain.score(data[0].features).scores, ranking.scores, atol=1e-4)
    assert (
        fit_trees(data, columns=("d", "sp"), trees=5).to_json()
        == fit_trees(data, columns=("d", "sp"), trees=5).to_json()
    )


@pytest.mark.parametrize("explain", [False, True])
def test_trees_order_what_the_unlearned_ranker_puts_first_and_the_rest_follows(explain):
    pytest.importorskip("lightgbm")
    ranker = fit_trees(examples(), columns=("d", "bm", "sp"), trees=20, leaves=4, explain=explain)
    (wide,) = examples(("wide",), 1, candidates=150, seed=5)
    ranking = ranker.score(wide.features)
    first = Unlearned().score(wide.features).scores
    by_first = np.argsort(-first, kind="stable")
    head, tail = by_first[: trees.AMONG], by_first[trees.AMONG :]
    assert ranking.scores[tail].max() <= ranking.scores[head].min()
    assert (np.diff(ranking.scores[tail]) <= 0).all()
    assert (np.argsort(-ranking.scores[head], kind="stable") != np.arange(len(head))).any()
    assert np.ptp(ranking.scores - sum(ranking.added.values())) < 1e-4
    if explain:
        assert not ranking.added["u"][head].any() and not ranking.added["d"][tail].any()


def test_trees_learn_from_what_they_will_order(monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setattr(trees, "AMONG", 10)
    rows = []
    engine = trees.require_lightgbm()
    train = engine.train
    monkeypatch.setattr(engine, "train", lambda how, data, **more: rows.extend(data.group) or train(how, data, **more))
    fit_trees(examples(), columns=("d", "sp"), trees=2)
    assert len(rows) == 60 and set(rows) <= {10, 11} and 11 in rows  # the relevant one is there in any case


def test_weights_get_another_name_and_stay_the_same():
    data = examples()
    rankers = [fit_linear(data)]
    if importlib.util.find_spec("lightgbm"):
        rankers.append(fit_trees(data, columns=("d", "sp"), trees=5))
    for ranker in rankers:
        named = ranker.described(version="mine", about={"data": "ours"})
        assert (named.version, named.about) == ("mine", {"data": "ours"})
        np.testing.assert_array_equal(named.score(data[0].features).scores, ranker.score(data[0].features).scores)


def test_trees_without_candidates():
    pytest.importorskip("lightgbm")
    ranker = fit_trees(examples(), columns=("d", "sp"), trees=5)
    nothing = np.empty(0, dtype=np.int64)
    none = Features(rows=nothing, columns={}, links=np.empty((4, 0), dtype=np.int64), session=nothing)
    assert ranker.score(none).scores.shape == (0,)


def test_trees_that_cannot_be_used(tmp_path):
    pytest.importorskip("lightgbm")
    good = fit_trees(examples(), columns=("d", "sp"), trees=5).to_json()
    for change, says in (
        ({"columns": ["d"]}, "2 columns"),
        ({"columns": ["d", "nonsense"]}, "'nonsense'"),
        ({"model": "not a model"}, "cannot be read"),
        ({"format": "x"}, "format"),
    ):
        with pytest.raises(InvalidArgument, match=says):
            trees.from_json(json.dumps({**json.loads(good), **change}))
    with pytest.raises(InvalidArgument, match="JSON"):
        trees.from_json("{")
    with pytest.raises(InvalidArgument, match="Cannot read"):
        trees.load(tmp_path / "absent.json")
    path = tmp_path / "trees.json"
    path.write_text(good, encoding="utf-8")
    assert trees.load(path).columns == ("d", "sp")


def test_the_extra_is_named_where_lightgbm_is_missing(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"recall-integrations\[rank\]"):
        fit_trees(examples())


def test_what_stands_around_a_candidate():
    d = np.asarray([0.1, 0.5, 0.3, 0.2, 0.4], dtype=np.float32)
    features = Features(
        rows=np.arange(5),
        columns={"d": d},
        links=np.asarray([[-1, 0, -1, -1, -1], [1, -1, -1, -1, -1], [-1] * 5, [-1] * 5]),
        session=np.asarray([0, 0, 0, 1, -1]),
    )
    u = Unlearned().score(features).scores
    names = ("u", "u_gap", "u_rank", "u_b1", "u_a1", "u_win", "u_other", "u_mean", "u_top")
    found = dict(zip(names, trees.tree_matrix(features, names).T, strict=True))
    np.testing.assert_allclose(found["u"], u)
    np.testing.assert_allclose(found["u_gap"], u - u[1])
    np.testing.assert_allclose(found["u_rank"], np.log1p([4, 0, 2, 3, 1]))
    np.testing.assert_allclose(found["u_b1"], u[[0, 0, 0, 0, 0]])  # row 0 is the worst, and the one before row 1
    np.testing.assert_allclose(found["u_a1"], u[[1, 0, 0, 0, 0]])
    np.testing.assert_allclose(found["u_win"], u[[1, 0, 0, 0, 0]])
    np.testing.assert_allclose(found["u_other"], u[[1, 2, 1, 0, 0]])
    np.testing.assert_allclose(found["u_mean"][[0, 3, 4]], [u[:3].mean(), u[3], u[4]], rtol=1e-5)
    np.testing.assert_allclose(found["u_top"], [3, 3, 3, 1, 1])


def test_monotone_trees_never_punish_more_relevance():
    pytest.importorskip("lightgbm")
    data = examples()
    for example in data:  # teach the opposite
        example.features.columns["d"][:] *= -1
    ranker = fit_trees(data, columns=("d", "sp"), trees=20, monotone=True)
    rising = Features(
        rows=np.arange(50),
        columns={"d": np.linspace(-1, 1, 50, dtype=np.float32), "sp": np.zeros(50, np.float32)},
        links=np.full((4, 50), -1),
        session=np.full(50, -1),
    )
    assert (np.diff(ranker.score(rising).scores) >= -1e-6).all()
