"""Weights from labelled queries, on a made-up store where it is known what can be learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.cli import main
from recall_integrations.console import learning as training
from recall_integrations.errors import ConfigError, InvalidArgument, NotFound
from recall_integrations.evaluation.questions import Question
from recall_integrations.training import calibration as calibrating
from recall_integrations.training import learn as learning
from recall_integrations.types import Memory, Scope

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
ANN, BOB = Scope(user_id="ann"), Scope(user_id="bob")
THINGS = (
    "lantern kettle ladder anchor basket candle hammer mirror pillow ribbon saddle ticket violin wallet zipper "
    "barrel carpet drawer engine funnel"
).split()


def memories(scope: Scope) -> list[Memory]:
    """Of each thing a question, which the un-learned ranker punishes, and a statement. Relevant is the question."""
    made = []
    for thing in THINGS:
        made.append(Memory(f"The {thing} lies on the {thing} shelf", id=f"{scope.user_id}-{thing}-said", actor="Sam"))
        made.append(Memory(f"Where is the {thing}, Sam?", id=f"{scope.user_id}-{thing}-asked", actor="Priya"))
    return made


def questions(scope: Scope, what: str = "asked") -> list[Question]:
    return [
        Question(id=f"{scope.user_id}-{t}", text=f"{t} shelf", relevant=(f"{scope.user_id}-{t}-{what}",), scope=scope)
        for t in THINGS
    ]


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as made:
        for scope in (ANN, BOB):
            made.remember_many(memories(scope), scope=scope)
        yield made


def test_what_can_be_learned_is_learned_and_used(store: MemoryStore, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    asked = [*questions(ANN), *questions(BOB)]
    found = learning.learn(store, asked, now=NOW, progress=lambda *step: steps.append(step))
    assert (found.queries, found.usable, found.grouped_by, found.folds) == (40, 40, "scope", 2)
    assert found.fixed_weights["ndcg@10"] < 0.7 < found.learned["ndcg@10"]
    assert found.better and found.gain["ndcg@10"].mean == pytest.approx(
        found.learned["ndcg@10"] - found.fixed_weights["ndcg@10"]
    )
    assert steps[39] == ("Recalling", 40, 40) and steps[-1] == ("Cross-validating", 40, 40)

    path = tmp_path / "weights.json"
    path.write_text(found.ranker.to_json(), encoding="utf-8")
    config = RecallConfig.from_mapping({"ranking": {"strategy": "linear", "weights": str(path)}})
    for settings, first in ((RecallConfig(), "said"), (config, "asked")):
        optimizer = QueryOptimizer(store, config=settings)
        hits = optimizer.recall("kettle shelf", scope=ANN, now=NOW).hits
        optimizer.close()
        assert hits[0].memory.id == f"ann-kettle-{first}"


def test_the_weights_say_what_they_are_made_from_and_quote_nothing(store: MemoryStore) -> None:
    found = learning.learn(store, [*questions(ANN), *questions(BOB)], now=NOW)
    about = found.ranker.about
    assert about["data"] == {"queries": 40, "usable": 40, "relevant": 40, "scopes": 2}
    assert about["split"] == "figures: 2 folds by scope; these weights: all queries"
    assert about["figures"]["ndcg@10"]["learned"] == round(found.learned["ndcg@10"], 4)
    assert about["trained_at"] == "2026-03-01T00:00:00+00:00"
    text = found.ranker.to_json()
    assert not any(word in text for word in (*THINGS, "ann", "bob", "Priya"))
    assert found.ranker.version.startswith("linear-20260301-")
    again = learning.learn(store, [*questions(ANN), *questions(BOB)], now=NOW)
    assert again == found
    other = learning.learn(store, [*questions(ANN, "said"), *questions(BOB, "said")], now=NOW)
    assert other.ranker.version != found.ranker.version and not other.better


def test_the_figures_come_from_recalls_that_have_not_seen_the_query(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    fit = learning.fit_linear

    def spy(examples: list[learning.Example], **options: Any) -> learning.LinearRanker:
        seen.append({e.group for e in examples})
        return fit(examples, **options)

    monkeypatch.setattr(learning, "fit_linear", spy)
    learning.learn(store, [*questions(ANN), *questions(BOB)], now=NOW)
    assert seen == [{"bob/-/-"}, {"ann/-/-"}, {"ann/-/-", "bob/-/-"}] or seen[:2] == [{"ann/-/-"}, {"bob/-/-"}]


def test_one_scope_is_split_by_query(store: MemoryStore) -> None:
    twice = [replace(q, id=f"{q.id}-{i}") for q in questions(ANN) for i in range(2)]
    found = learning.learn(store, twice, now=NOW, folds=4)
    assert (found.grouped_by, found.folds) == ("query", 4)
    lopsided = [*twice, *questions(BOB)[:3]]  # without Ann too little is left to learn from
    assert learning.learn(store, lopsided, now=NOW).grouped_by == "query"


def test_labels_that_are_gone_are_counted(store: MemoryStore) -> None:
    asked = [*questions(ANN), *questions(BOB)]
    asked[0] = replace(asked[0], relevant=("forgotten",))
    asked[1] = replace(asked[1], relevant=(*asked[1].relevant, "forgotten"))
    found = learning.learn(store, asked, now=NOW)
    assert (found.queries, found.forgotten, found.unanswerable) == (39, 2, 1)


def test_what_cannot_be_learned_from_is_refused(store: MemoryStore) -> None:
    with pytest.raises(InvalidArgument, match="20 queries whose .* at least 30"):
        learning.learn(store, questions(ANN), now=NOW)
    both = [*questions(ANN), *questions(BOB)]
    with pytest.raises(InvalidArgument, match=r"carl/-/-.*does not have"):
        learning.learn(store, [replace(both[0], scope=Scope(user_id="carl")), *both], now=NOW)
    with pytest.raises(NotFound, match="default scope"):
        learning.learn(store, [replace(q, scope=Scope()) for q in both], now=NOW)
    with pytest.raises(InvalidArgument, match="linear, trees"):
        learning.learn(store, both, now=NOW, kind="forest")
    with pytest.raises(InvalidArgument, match="2 folds"):
        learning.learn(store, both, now=NOW, folds=1)
    off = RecallConfig.from_mapping({"ranking": {"features": False}})
    with MemoryStore.open(config=off) as bare:
        bare.remember_many([m for s in (ANN, BOB) for m in memories(s)])
        asked = [replace(q, scope=Scope()) for q in both]
        with pytest.raises(ConfigError, match=r"ranking\.features"):
            learning.learn(bare, asked, now=NOW)


def test_queries_whose_answers_no_arm_finds_teach_nothing(store: MemoryStore) -> None:
    found = np.asarray([True] * 10 + [False] * 30)
    with pytest.raises(InvalidArgument, match="10 queries with a relevant memory among the candidates"):
        learning._enough(int(found.sum()), "queries with a relevant memory among the candidates")


def test_probabilities_come_with_weights_from_enough_queries(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = learning.learn(store, [*questions(ANN), *questions(BOB)], now=NOW)
    assert few.calibration is None and few.ranker.calibration is None
    monkeypatch.setattr(calibrating, "MIN_OUTCOMES", 40)
    found = learning.learn(store, [*questions(ANN), *questions(BOB)], now=NOW)
    own = found.ranker.calibration
    assert own is not None and (own.ranker, own.ranker_version) == ("linear", found.ranker.version)
    assert found.calibration is not None
    assert (found.calibration.queries, found.calibration.wrong) == (40, 40)
    assert own.about == found.calibration.about() and 0 <= found.calibration.score_error < 0.2
    assert "own against wrong scope" in training.probabilities(found)
    assert "no probabilities" in training.probabilities(few)


def test_folds_keep_groups_whole_and_are_even() -> None:
    groups = [*"aaaaaa", *"bbb", *"ccc", *"dd", "e"]
    placed = learning.folds_of(groups, 3, seed=0)
    assert len({(g, f) for g, f in zip(groups, placed, strict=True)}) == 5
    assert max(map(placed.count, set(placed))) == 6 and set(placed) == {0, 1, 2}
    assert placed == learning.folds_of(groups, 3, seed=0)
    assert set(learning.folds_of(["a", "b"], 5, seed=0)) == {0, 1}
    many = [str(i) for i in range(40)]
    assert learning.folds_of(many, 5, seed=0) != learning.folds_of(many, 5, seed=1)


def test_the_figures_are_those_of_the_benchmark() -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")
    from benchmarks.quality import metrics

    rng = np.random.default_rng(0)
    for _ in range(50):
        ids = [str(i) for i in rng.permutation(14)[:10]]
        relevant = {str(i) for i in rng.permutation(14)[: rng.integers(1, 13)]}
        theirs = metrics.score({"q": ids}, {"q": relevant})["q"]
        assert learning._measured(ids, relevant) == pytest.approx({m: theirs[m] for m in learning.METRICS})


def test_trees(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightgbm")
    fit = learning.fit_trees

    def few(examples: list[learning.Example], **options: Any) -> learning.TreesRanker:
        return fit(examples, trees=10, leaves=4, parameters={"min_data_in_leaf": 5}, **options)

    monkeypatch.setattr(learning, "fit_trees", few)
    found = learning.learn(store, [*questions(ANN), *questions(BOB)], now=NOW, kind="trees")
    assert found.ranker.name == "trees" and found.better
    assert found.ranker.about["data"]["queries"] == 40 and found.ranker.version.startswith("trees-20260301-")


# -- the command -------------------------------------------------------------------------------------------------------

Train = Callable[..., Result]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    monkeypatch.delenv("RECALL_EMBEDDING", raising=False)
    monkeypatch.delenv("RECALL_DEBUG", raising=False)
    with MemoryStore.open(tmp_path / "s") as made:
        for scope in (ANN, BOB):
            made.remember_many(memories(scope), scope=scope)

    def run(what: str, *options: str, count: int = 20) -> Result:
        rows = [
            {"query": q.text, "relevant": list(q.relevant), "id": q.id, "scope": {"user_id": q.scope.user_id}}
            for scope in (ANN, BOB)
            for q in questions(scope, what)[:count]
        ]
        path = tmp_path / "queries.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        command = ["train", str(tmp_path / "s"), str(path), "--out", str(tmp_path / "w.json"), *options]
        return CliRunner().invoke(main, command)

    return run


def test_the_command_writes_weights_that_a_configuration_file_uses(tmp_path: Path, train: Train) -> None:
    done = train("asked", "--now", "2026-03-01T00:00:00Z")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    assert "40 queries" in done.stdout and "2 folds by scope" in done.stdout and "ndcg@10" in done.stdout
    config = tmp_path / "recall.yaml"
    config.write_text(done.stdout.split("uses it with:\n")[1], encoding="utf-8")
    with MemoryStore.open(tmp_path / "s") as store:
        optimizer = QueryOptimizer(store, config=RecallConfig.from_yaml(config))
        hits = optimizer.recall("kettle shelf", scope=ANN, now=NOW).hits
        optimizer.close()
    assert hits[0].memory.id == "ann-kettle-asked"


def test_weights_that_do_not_help_are_written_with_a_warning(tmp_path: Path, train: Train) -> None:
    done = train("said")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("Warning: The linear ranker is not ") and "Keep the default" in done.stderr
    assert json.loads((tmp_path / "w.json").read_text(encoding="utf-8"))["format"] == "recall-linear-1"


def test_too_few_queries_write_nothing(tmp_path: Path, train: Train) -> None:
    done = train("asked", count=5)
    assert done.exit_code == 1 and "10 queries" in done.stderr and "at least 30" in done.stderr
    assert not (tmp_path / "w.json").exists()


def test_a_place_that_cannot_be_written_is_named_before_the_work(tmp_path: Path, train: Train) -> None:
    done = train("asked", "--out", str(tmp_path / "absent" / "w.json"))
    assert done.exit_code == 1 and "does not exist" in done.stderr
