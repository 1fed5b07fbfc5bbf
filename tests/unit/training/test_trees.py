import sys
from dataclasses import replace

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument, MissingExtra
from recall_integrations.ranking.features.compute import Features
from recall_integrations.ranking.rankers import trees
from recall_integrations.training import fitting as training_trees
from recall_integrations.training.fitting import Example, fit_trees

SMALL = {"columns": ("cosine", "bm25", "speaker_named"), "trees": 20, "leaves": 4, "seconds": 2}


@pytest.fixture
def engine():
    return pytest.importorskip("lightgbm", reason="LightGBM (extra `rank`) is not installed")


def test_the_extra_is_named_where_lightgbm_is_missing(monkeypatch, examples):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"recall-integrations\[rank\]"):
        fit_trees(examples())


@pytest.mark.usefixtures("engine")
def test_trees_learn_what_matters(examples, hits):
    data = examples()
    ranker = fit_trees(data, **SMALL)
    assert hits([ranker.score(e.features).scores for e in data], data) > 0.5
    assert len(ranker.model.second) == 2 and ranker.model.second[0] != ranker.model.second[1]


@pytest.mark.usefixtures("engine")
def test_the_same_seed_gives_the_same_trees(examples):
    made = [
        fit_trees(examples(), columns=("cosine", "speaker_named"), trees=5, seed=seed).to_json() for seed in (0, 0, 1)
    ]
    assert made[0] == made[1] != made[2]


def test_trees_learn_from_what_they_will_order(monkeypatch, examples, engine):
    monkeypatch.setattr(trees, "FIRST_PASS", 10)
    monkeypatch.setattr(trees, "SECOND_PASS", 5)
    sizes = []
    train = engine.train
    monkeypatch.setattr(engine, "train", lambda how, data, **m: sizes.append(list(data.group)) or train(how, data, **m))
    rng = np.random.default_rng(0)  # something that misleads the un-learned ranker, so that some are not in its ten
    misled = [
        replace(
            e, features=replace(e.features, columns={**e.features.columns, "passage_match": rng.normal(size=40) * 9})
        )
        for e in examples()
    ]
    fit_trees(misled, columns=("cosine", "speaker_named"), trees=2, seconds=2)
    inner, first, second = sizes[:3], sizes[3], sizes[4:]
    assert [len(size) for size in inner] == [40, 40, 40] and second[0] == second[1]
    for size, kept in ((first, 10), (second[0], 5)):  # and the relevant one in any case
        assert len(size) == 60 and set(size) <= {kept, kept + 1} and kept + 1 in size


@pytest.mark.usefixtures("engine")
def test_first_scores_come_from_a_pass_that_has_not_seen_the_group(monkeypatch, examples):
    fitted, scored = [], []
    fit, score = training_trees._fit_first, training_trees._First.scores

    def spy(some, *rest):
        fitted.append({rows.example.group for rows in some})
        return fit(some, *rest)

    def listen(self, rows):
        scored.append((rows.example.group, fitted[-1]))
        return score(self, rows)

    monkeypatch.setattr(training_trees, "_fit_first", spy)
    monkeypatch.setattr(training_trees._First, "scores", listen)
    fit_trees(examples(), **SMALL)
    assert len(scored) == 60 and all(group not in seen for group, seen in scored)
    assert fitted[-1] == {"a", "b", "c"}


def test_groups_stay_whole_and_one_group_is_split_by_query():
    folds = training_trees._inner_folds(["b", "a", "b", "c", "cosine", "e"])
    assert folds == [1, 0, 1, 2, 3, 0]
    assert training_trees._inner_folds(["a"] * 6) == [0, 1, 2, 3, 0, 1]


@pytest.mark.usefixtures("engine")
def test_one_query_is_enough_to_run_and_none_is_refused(examples):
    (only,) = examples(("a",), 1)
    assert fit_trees([only], columns=("cosine", "speaker_named"), trees=2).model.first
    barren = Example(features=only.features, relevant=np.zeros(40, dtype=bool), group="a")
    with pytest.raises(InvalidArgument, match="No query"):
        fit_trees([barren], columns=("cosine", "speaker_named"), trees=2)


@pytest.mark.usefixtures("engine")
def test_monotone_trees_never_punish_more_relevance(examples):
    data = examples()
    for example in data:  # teach the opposite
        example.features.columns["cosine"][:] *= -1
    ranker = fit_trees(data, columns=("cosine", "speaker_named"), trees=20, monotone=True)
    rising = Features(
        rows=np.arange(50),
        columns={"cosine": np.linspace(-1, 1, 50, dtype=np.float32), "speaker_named": np.zeros(50, np.float32)},
        links=np.full((4, 50), -1),
        session=np.full(50, -1),
    )
    assert (np.diff(ranker.score(rising).scores) >= -1e-6).all()
